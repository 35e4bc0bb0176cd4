"""digest, stale and impact on the command line: lines, forms, one JSON document, exit codes; nothing is written."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest.surfaces.cli.app import main
from tests.building import Memory, dataset, lineage, mcp, owners, schema, text

ORDERS, FACTS = dataset("shop.orders"), dataset("shop.facts")
MONDAY, FRIDAY = "2026-03-02T08:00:00Z", "2026-03-06T08:00:00Z"
WEEK = ("--since", "2026-03-03", "--until", "2026-03-07")
Asked = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty home folder as the current one, and no variable of ours."""
    for variable in [name for name in os.environ if name.startswith(("PALIMPSEST_", "XDG_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = Memory(tmp_path)
    memory.remember(
        [
            mcp(ORDERS, "datasetProperties", text("Every order")),
            mcp(ORDERS, "ownership", owners("jonas", "mira")),
            mcp(ORDERS, "schemaMetadata", schema(("id", "bigint"), ("discount", "numeric"))),
            mcp(FACTS, "ownership", owners("jonas", "mira")),
            mcp(FACTS, "upstreamLineage", lineage([ORDERS], [(ORDERS, "id", "order_id")], FACTS)),
        ],
        at=MONDAY,
    )
    memory.remember(
        [
            mcp(ORDERS, "ownership", owners("<b>@lena</b>", "mira")),
            mcp(ORDERS, "schemaMetadata", schema(("id", "bigint"))),
        ],
        at=FRIDAY,
    )
    return memory


@pytest.fixture
def asked(memory: Memory, capsys: pytest.CaptureFixture[str]) -> Asked:
    """Runs a command on the memory: exit code, stdout with ids made alike, stderr."""

    def ask(*arguments: str) -> tuple[int, str, str]:
        code = main(["--store", memory.url, *arguments])
        out, err = capsys.readouterr()
        return code, re.sub(r"\b[0-9a-f]{12}\b", "ID", out), err

    return ask


def test_digest_as_text(asked: Asked) -> None:
    code, out, err = asked("digest", *WEEK)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "Memory, 2026-03-03 00:00 to 2026-03-07 23:59",
        "",
        "Changed",
        "- orders.discount: column gone (breaking, 0 downstream) [ID]",
        "- orders: owner <b>@lena</b> added; owner jonas removed [ID]",
        "",
        "Grew stale",
        "- facts: owner jonas no longer owns the only other one of before, the last until 2026-03-06 [ID]",
        "- orders: description since 2026-03-02 is older than 1 later change: column discount gone 2026-03-06 [ID]",
    ]


def test_digest_in_markdown_and_html_escapes_what_a_catalog_wrote(asked: Asked) -> None:
    _, markdown, _ = asked("digest", *WEEK, "--format", "markdown")
    assert "- orders: owner \\<b\\>@\u2060lena\\</b\\> added; owner jonas removed `ID`" in markdown.splitlines()
    _, html, _ = asked("digest", *WEEK, "--format", "html")
    assert (
        "<li>orders: owner &lt;b&gt;@\u2060lena&lt;/b&gt; added; owner jonas removed <code>ID</code></li>"
        in html.splitlines()
    )
    assert "http" not in html


def test_nothing_happened_prints_nothing_and_json_says_that_it_is_empty(asked: Asked) -> None:
    quiet = ("digest", "--since", "2026-03-07", "--until", "2026-03-20")
    for form in ("text", "markdown", "html"):
        assert asked(*quiet, "--format", form) == (0, "", "")
    code, out, _ = asked(*quiet, "--json")
    data = json.loads(out)["data"]
    assert (code, data["empty"], data["words"], data["sections"]) == (0, True, 0, [])


@pytest.mark.parametrize(
    ("arguments", "limit", "since"),
    [
        ((), 150, "2026-03-07T23:59:59.999000Z"),
        (("--daily",), 150, "2026-03-07T23:59:59.999000Z"),
        (("--weekly",), 250, "2026-03-01T23:59:59.999000Z"),
        (("--since", "2026-03-08"), 150, "2026-03-08T00:00:00Z"),
        (("--since", "3d"), 250, "2026-03-05T23:59:59.999000Z"),
        (("--since", "3d", "--daily"), 150, "2026-03-05T23:59:59.999000Z"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_a_day_has_150_words_and_more_than_a_day_250(
    arguments: tuple[str, ...], limit: int, since: str, asked: Asked
) -> None:
    _, out, _ = asked("digest", "--until", "2026-03-08", *arguments, "--json")
    data = json.loads(out)["data"]
    assert (data["limit"], data["since"]) == (limit, since)
    assert data["words"] <= limit


@pytest.mark.parametrize(
    "arguments",
    [
        ("digest", "--daily", "--weekly"),
        ("digest", "--format", "pdf"),
        ("digest", "--since", "last"),
        ("digest", "--since", "2026-03-09", "--until", "2026-03-08"),
        ("digest", "--owner", "nobody"),
        ("stale", "--kind", "cheese"),
        ("impact", "nowhere"),
        ("impact", f"{ORDERS}.nothing"),
        ("impact", "orders", "--as-of", "soon"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_asked_is_a_usage_error(arguments: tuple[str, ...], asked: Asked) -> None:
    code, out, err = asked(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert "hint: " in err


def test_stale(asked: Asked) -> None:
    code, out, err = asked("stale")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "owners who left everything else or own nothing else (2)",
        "  shop.facts: owner jonas no longer owns the only other one of before, the last until 2026-03-06 [ID] [ID]",
        "  shop.orders: owner <b>@lena</b> owns nothing else; 1 downstream [ID]",
        "",
        "descriptions older than what they describe (1)",
        "  shop.orders: description since 2026-03-02 is older than 1 later change: column discount gone 2026-03-06; "
        "1 downstream [ID] [ID]",
        "",
        "without owner or description, by what depends on them (1)",
        "  shop.facts: no description [ID]",
    ]
    assert asked("stale", "--kind", "lacking", "--kind", "read")[1].splitlines()[1:] == [
        "  shop.facts: no description [ID]"
    ]
    assert asked("stale", "--most", "1")[1].splitlines()[2] == "  1 more (--most)"
    assert asked("stale", "--platform", "kafka") == (0, "nothing is stale\n", "")
    _, out, _ = asked("stale", "--owner", "jonas", "--json")
    assert {one["urn"] for one in json.loads(out)["data"]["findings"]} == {FACTS}


def test_show_and_brief_name_what_is_stale(asked: Asked) -> None:
    said = "description since 2026-03-02 is older than 1 later change: column discount gone 2026-03-06"
    assert f"  {said} [ID] [ID]" in asked("show", "orders")[1].splitlines()
    assert f'- stale: "{said}" [ID] [ID]' in asked("brief", "orders")[1].splitlines()


def test_impact(asked: Asked) -> None:
    code, out, err = asked("impact", "orders.id")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "shop.orders.id: 1 dataset downstream",
        "owners: jonas, mira",
        "",
        "level 1 (1)",
        "  shop.facts (order_id)  postgres  jonas, mira  from orders.id [ID]",
    ]
    assert asked("impact", "facts")[1] == "nothing is held to lie downstream of shop.facts\n"
    assert asked("impact", "orders", "--as-of", "2026-03-01")[1] == (
        "nothing is held to lie downstream of shop.orders on 2026-03-01 23:59\n"
    )
    _, out, _ = asked("impact", "orders", "--json")
    data = json.loads(out)["data"]
    assert (data["count"], data["levels"][0]["reached"][0]["urn"]) == (1, FACTS)


def test_impact_counts_what_it_does_not_list_and_says_that_there_is_more_below(asked: Asked, memory: Memory) -> None:
    report, board = dataset("shop.report"), dataset("shop.board")
    further = [mcp(report, "upstreamLineage", lineage([ORDERS])), mcp(board, "upstreamLineage", lineage([report]))]
    memory.remember(further, at="2026-03-07T08:00:00Z")
    assert asked("impact", "orders", "--depth", "1", "--most", "1")[1].splitlines() == [
        "shop.orders: 2 datasets downstream",
        "owners: jonas, mira",
        "",
        "level 1 (2)",
        "  shop.facts  postgres  jonas, mira  from orders [ID]",
        "  1 more",
        "",
        "there is more below",
    ]
    assert asked("impact", "report")[1].splitlines()[-1] == "  shop.board  postgres  no owner  from report [ID]"


ASKING = [["stale"], ["impact", "orders"], ["digest", *WEEK]]


@pytest.mark.parametrize("arguments", ASKING, ids=lambda arguments: arguments[0])
def test_json_is_one_versioned_document(arguments: list[str], asked: Asked) -> None:
    code, out, err = asked(*arguments, "--json")
    document = json.loads(out)
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert (document["palimpsest"], document["kind"]) == (1, arguments[0])


@pytest.mark.parametrize("arguments", ASKING, ids=lambda arguments: arguments[0])
def test_asking_writes_nothing_and_needs_no_right_to(arguments: list[str], asked: Asked, memory: Memory) -> None:
    memory.store.dispose()
    file = memory.folder / "memory.db"
    before = file.read_bytes()
    file.chmod(0o444)
    assert asked(*arguments)[0] == 0
    assert file.read_bytes() == before


@pytest.mark.parametrize("arguments", [["stale"], ["digest"]], ids=" ".join)
def test_an_empty_memory_has_nothing_stale_and_no_digest(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = Memory(tmp_path, name="empty.db")
    assert main(["--store", empty.url, *arguments]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("" if arguments == ["digest"] else "nothing is stale\n", "")
