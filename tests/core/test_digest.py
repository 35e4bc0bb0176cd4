"""The digest: its words are never more than allowed, its sentences whole, its forms closed to what a catalog writes."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from palimpsest.core.digest import (
    Digest,
    Sentence,
    Topic,
    as_html,
    as_markdown,
    as_text,
    one_line,
    pack,
    words_of,
)

TITLE = "Memory, 2026-03-01 08:00 to 2026-03-02 08:00"
REF = "0123456789ab"


def sentence(text: str, topic: Topic = Topic.CHANGED, *, breaking: bool = False) -> Sentence:
    return Sentence(topic=topic, text=text, refs=(REF,), breaking=breaking)


TEXTS = st.text(max_size=400) | st.lists(
    st.sampled_from(["orders", "was", "x" * 90, "注文の表", "\n", "|"]), max_size=90
).map(" ".join)
SENTENCES = st.builds(
    sentence, TEXTS, st.sampled_from(list(Topic)), breaking=st.booleans()
)  # of any length, in any script, with any character


@given(st.lists(SENTENCES, max_size=60), st.sampled_from([60, 150, 250]))
def test_no_form_has_more_words_than_allowed_and_no_sentence_is_split(given_: list[Sentence], limit: int) -> None:
    digest = pack(TITLE, given_, limit)
    if not given_:
        assert digest is None
        return
    assert digest is not None
    text = as_text(digest)
    assert len(text.split()) <= words_of(text) <= digest.words <= limit
    assert len(as_markdown(digest).split()) <= digest.words
    assert len(re.sub(r"<[^>]*>", " ", as_html(digest)).split()) <= digest.words
    lines = text.splitlines()
    taken = [one for section in digest.sections for one in section.sentences]
    assert all(f"- {one.whole}" in lines for one in taken)
    assert all(one in given_ for one in taken)
    counted = sum(int(number) for number in re.findall(r"(\d+) [a-z]+", digest.left_out))
    assert len(taken) + counted == len(given_)


@given(st.lists(SENTENCES, min_size=1, max_size=40))
def test_every_sentence_names_a_belief(given_: list[Sentence]) -> None:
    digest = pack(TITLE, given_, 250)
    assert digest is not None
    for line in as_text(digest).splitlines():
        if line.startswith("- "):
            assert line.endswith(f"[{REF}]")


def test_nothing_is_no_digest() -> None:
    assert pack(TITLE, [], 150) is None


def test_the_first_of_every_topic_comes_before_the_second_of_any() -> None:
    many = [sentence(f"t{number}: one two three four five six seven", breaking=number < 3) for number in range(60)]
    others = [sentence(f"of {topic}", topic) for topic in Topic if topic is not Topic.CHANGED]
    digest = pack(TITLE, [*many, *others], 90)
    assert digest is not None
    assert as_text(digest).splitlines() == [
        TITLE,
        "",
        "Changed",
        *(f"- t{number}: one two three four five six seven [{REF}]" for number in range(3)),
        "",
        "Contested",
        f"- of contested [{REF}]",
        "",
        "Waits in the inbox",
        f"- of waiting [{REF}]",
        "",
        "Grew stale",
        f"- of stale [{REF}]",
        "",
        "Keeps changing",
        f"- of flapping [{REF}]",
        "",
        "Not shown: 57 changes",
    ]


def test_what_is_left_out_says_how_much_of_it_breaks() -> None:
    many = [sentence("one two three four five six seven eight nine", breaking=True) for _ in range(9)]
    digest = pack(TITLE, [*many, sentence("quite a bit more")], 40)
    assert digest is not None
    assert digest.left_out == "Not shown: 7 breaking, 1 change"


def test_a_sentence_that_is_too_long_makes_room_for_those_that_are_not() -> None:
    digest = pack(TITLE, [sentence("word " * 200), sentence("small")], 150)
    assert digest is not None
    assert [one.text for one in digest.sections[0].sentences] == ["small"]
    assert digest.left_out == "Not shown: 1 change"


@pytest.mark.parametrize(
    ("text", "words"),
    [("", 0), ("orders: owner was jonas", 4), ("x" * 30, 1), ("x" * 31, 2), ("注文の表", 2), ("a\u00a0b", 2)],
)
def test_a_long_run_of_letters_counts_as_several_words(text: str, words: int) -> None:
    assert words_of(text) == words


# --- what a catalog writes stays text -----------------------------------------------------------------------------

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "[click](https://evil.example)",
    "![x](https://evil.example/x.png)",
    "https://evil.example/a www.evil.example",
    "mailto:a@evil.example a@evil.example xmpp:a@evil.example",
    "@everyone @channel @org/team <!channel> <@U123>",
    "#1234 GH-1234 org/repo#12",
    "`code` *b* _i_ ~~s~~ | a | b |",
    "&lt;b&gt; &amp; &#64;x",
    "1. a",
    "- [ ] todo",
    "# head\n\n# next\n\n<b>x</b>",
    "a\u202eb\u200bc\x1b[31m",
    "<!-- x",
    "$$x$$ ![[x]]",
)


class Seen(HTMLParser):
    """The elements, attributes and text of an HTML document."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes.update(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def of(text: str) -> Digest:
    digest = pack(TITLE, [sentence(text)], 250)
    assert digest is not None
    return digest


def visible(text: str) -> str:
    return text.replace("\u2060", "")


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("place", ["{}", "orders: {}", "{} [ref] {}"])
def test_markdown_holds_no_link_no_markup_and_no_mention_that_a_catalog_wrote(text: str, place: str) -> None:
    said = place.format(text, text)
    html = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(as_markdown(of(said)))
    seen = Seen()
    seen.feed(html)
    assert seen.elements == {"h1", "h2", "ul", "li", "code"}
    assert seen.attributes == set()
    assert one_line(said) in visible(seen.text)
    assert not re.search(r"@\w|://|www\.|\bGH-\d|#\d|mailto:", seen.text)


@pytest.mark.parametrize("text", HOSTILE)
def test_html_is_all_text_and_loads_nothing(text: str) -> None:
    html = as_html(of(text))
    seen = Seen()
    seen.feed(html)
    assert seen.elements == {"html", "head", "meta", "body", "h1", "h2", "ul", "li", "code"}
    assert seen.attributes == {("lang", "en"), ("charset", "utf-8")}
    assert one_line(text) in visible(seen.text)
    assert "src=" not in re.sub(r">[^<]*<", "><", html)
    assert not re.search(r"@\w|://|www\.", unescape(html))


@pytest.mark.parametrize("text", HOSTILE)
def test_text_has_one_line_for_a_sentence_whatever_is_in_it(text: str) -> None:
    lines = as_text(of(text)).splitlines()
    assert lines[:3] == [TITLE, "", "Changed"]
    assert len(lines) == 4
    assert not re.search(r"[\x00-\x1f\u200b\u202e]", lines[3])
