"""A catalog that means harm: its text is shown as text, and nothing of it runs or leads anywhere."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import pytest

from palimpsest.surfaces.console.pages import PAGES, Desk
from palimpsest.surfaces.console.rendering import markdown
from tests.building import Memory, dataset, mcp, schema, tags, text
from tests.surfaces.console.reading import Seen, belief_path, client_of, desk_of, entity_path

HARM = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><circle/></svg>",
    "[a](javascript:alert(1))",
    "[a](data:text/html,<script>alert(1)</script>)",
    '<a href="javascript:alert(1)">a</a>',
    "![a](https://evil.example/pixel.png)",
    "{{ 7 * 7 }} {% for x in ''.__class__ %}",
    '"><h1 onmouseover="alert(1)">',
    "</title></head><body>",
    "\u202egnp.exe\u202c \x07\x1b[31m\u2066x",
    "</script><!-- --><![CDATA[",
    "<style>body{display:none}</style>",
    "<iframe src=https://evil.example></iframe>",
    "<base href=https://evil.example/>",
)
WHOLE = " ".join(HARM)
# A URN with a character that acts is no URN, and is refused where it is read.
HOSTILE = dataset("shop." + "".join(character for character in WHOLE if character.isprintable()))
LONG = dataset("shop.long")


def remembered(memory: Memory) -> Memory:
    """A memory of it, in which everything changed once."""
    for version, day in (("one", "02"), ("two", "03")):
        memory.remember(
            [
                mcp(HOSTILE, "datasetProperties", {**text(f"{WHOLE} {version}"), "name": WHOLE,
                    "customProperties": {WHOLE: f"{WHOLE} {version}", "big": "9" * 400}}),
                mcp(HOSTILE, "globalTags", tags(*(f"{harm} {version}" for harm in HARM))),
                mcp(HOSTILE, "ownership", {"owners": [{"owner": f"urn:li:corpuser:{harm} {version}",
                    "type": "DATAOWNER"} for harm in HARM]}),
                mcp(HOSTILE, "schemaMetadata", schema(*((harm, harm, f"{harm} {version}") for harm in HARM))),
                mcp(HOSTILE, "institutionalMemory", {"elements": [{"url": "javascript:alert(1)",
                    "description": f"{WHOLE} {version}", "createStamp": {"time": 0, "actor": "urn:li:corpuser:x"}}]}),
                mcp(LONG, "datasetProperties", text(f"{version} " + "word " * 200_000)),
                mcp(LONG, "globalTags", tags("x" * 100_000)),
            ],
            at=f"2026-03-{day}T08:00:00Z",
            source="<b>file</b>",
        )  # fmt: skip
    memory.index()
    return memory


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """What pages about it are made from."""
    memory = remembered(Memory(tmp_path_factory.mktemp("hostile")))
    desk = desk_of(memory)
    yield desk
    desk.store.dispose()
    memory.store.dispose()


def pages(desk: Desk) -> list[str]:
    """Every page that shows some of it."""
    run = client_of(desk).get("/runs.json").json()["data"]["runs"][0]["id"]
    source = "<b>file</b>"
    fixed = ["/", "/entities", "/changes", "/runs", "/rules", "/inbox", f"/run/{run}", "/search?q=alert&past=true"]
    beliefs = [
        belief_path(desk.store, urn, aspect, key, source)
        for urn, aspect, key in [
            (HOSTILE, "description", "source"), (HOSTILE, "tags", ""), (HOSTILE, "ownership", ""),
            (HOSTILE, "property", WHOLE), (HOSTILE, "links", ""), (LONG, "description", "source"),
        ]
    ]  # fmt: skip
    return [*fixed, entity_path(desk.store, HOSTILE), entity_path(desk.store, LONG), *beliefs]


# The kinds of elements that templates and Markdown make.
ALLOWED = {
    "a", "article", "blockquote", "body", "br", "button", "code", "dd", "del", "desc", "details", "div", "dl",
    "dt", "em", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "head", "header",
    "hr", "html", "input", "ins", "label", "legend", "li", "link", "main", "meta", "nav", "ol", "option", "p",
    "pre", "rect", "s", "script", "section", "select", "span", "strong", "summary", "svg", "table", "tbody",
    "td", "th", "thead", "time", "title", "tr", "ul",
}  # fmt: skip


def test_nothing_of_it_becomes_an_element_a_handler_or_a_script(hostile: Desk) -> None:
    client = client_of(hostile)
    for path in pages(hostile):
        answer = client.get(path)
        assert (path, answer.status_code) == (path, 200)
        page = Seen(answer.text)
        assert {name for name, _ in page.elements} <= ALLOWED, path
        assert [given for _, given in page.elements if any(name.startswith("on") for name in given)] == [], path
        assert [given.get("src") for given in page.all("script")] == [page.all("script")[0]["src"]], path
        assert str(page.all("script")[0]["src"]).startswith("/static/console.js")


def test_no_link_of_it_is_followed_anywhere_but_to_http(hostile: Desk) -> None:
    client = client_of(hostile)
    for path in pages(hostile):
        for link in Seen(client.get(path).text).all("a"):
            href = str(link["href"])
            if href.startswith(("/", "#")):
                continue
            assert href.startswith(("https://", "http://")), (path, href)
            assert set(str(link["rel"]).split()) == {"noopener", "nofollow"}, (path, href)


def test_its_text_is_shown_as_text(hostile: Desk) -> None:
    said = Seen(client_of(hostile).get(entity_path(hostile.store, HOSTILE)).text).text
    for harm in ("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "{{ 7 * 7 }}", "<svg onload=alert(1)>"):
        assert harm in said
    assert "49" not in said.replace("1049", "")


def test_characters_that_act_are_spelled_out(hostile: Desk) -> None:
    client = client_of(hostile)
    for path in pages(hostile):
        html = client.get(path).text
        for character in "\x07\x1b\u202e\u202c\u2066\x00":
            assert character not in html, (path, ascii(character))
    assert "\\u202e" in client.get(entity_path(hostile.store, HOSTILE)).text


def test_a_megabyte_of_text_makes_no_page_of_a_megabyte(hostile: Desk) -> None:
    client = client_of(hostile)
    for path in (
        entity_path(hostile.store, LONG),
        belief_path(hostile.store, LONG, "description", "source", "<b>file</b>"),
    ):
        answer = client.get(path)
        assert len(answer.content) < 400_000, path
        assert "more characters" in answer.text
    assert len(client.get("/changes").content) < 400_000


def test_the_twins_hold_it_whole_and_as_json(hostile: Desk) -> None:
    client = client_of(hostile)
    for path in pages(hostile):
        place, mark, asked = path.partition("?")
        answer = client.get(("/index" if place == "/" else place) + ".json" + mark + asked)
        assert answer.headers["content-type"] == "application/json"
        assert answer.json()["palimpsest"] == 1
        assert "\u202e" not in answer.text


def test_what_is_asked_is_shown_as_text_too(hostile: Desk) -> None:
    client = client_of(hostile)
    for page, harm in itertools.product(PAGES, HARM):
        if page.id_form:
            continue
        for name in page.asked.model_fields:
            answer = client.get(page.path, params={name: harm[:40]})
            assert answer.status_code in (200, 422), (page.name, name, harm)
            seen = Seen(answer.text)
            assert {kind for kind, _ in seen.elements} <= ALLOWED, (page.name, name, harm)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("a [b](https://x.org/c)", '<p>a <a href="https://x.org/c" rel="noopener nofollow">b</a></p>\n'),
        ("a [b](javascript:alert(1))", "<p>a [b](javascript:alert(1))</p>\n"),
        ("[b](vbscript:x)", "<p>[b](vbscript:x)</p>\n"),
        ("[b](data:text/html,x)", "<p>[b](data:text/html,x)</p>\n"),
        ("[b](//evil.example)", '<p><a rel="noopener nofollow">b</a></p>\n'),
        ("[b](../enter)", '<p><a rel="noopener nofollow">b</a></p>\n'),
        ("[b](ftp://x.org)", '<p><a rel="noopener nofollow">b</a></p>\n'),
        ("<https://x.org>", '<p><a href="https://x.org" rel="noopener nofollow">https://x.org</a></p>\n'),
        ("# head", "<p><strong>head</strong></p>\n"),
        ("<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>\n"),
        ("`{{ x }}`", "<p><code>{{ x }}</code></p>\n"),
        ("~~a~~", "<p><s>a</s></p>\n"),
        ("", ""),
    ],
)
def test_markdown_makes_only_what_cannot_act(given: str, made: str) -> None:
    assert str(markdown(given)) == made


def test_a_picture_of_markdown_is_not_fetched() -> None:
    assert "<img" not in markdown("![a](https://evil.example/pixel.png)")


@pytest.mark.parametrize(
    "given", ["[" * 5_000, "*" * 5_000 + "a", "> " * 3_000, "`" * 9_999, "a|" * 5_000 + "\n" + "-|" * 5_000]
)
def test_markdown_that_is_hard_to_read_is_read_in_time(given: str) -> None:
    began = time.perf_counter()
    markdown(given)
    assert time.perf_counter() - began < 5


def test_long_text_is_no_markdown() -> None:
    assert "<strong>" not in markdown("**a** " * 10_000)
