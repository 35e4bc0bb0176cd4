"""A message has at most 20 lines, what breaks comes first and is never left out, and alike changes are one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.notice import News
from palimpsest.core.notice_lines import MOST_LETTERS, MOST_LINES, lines, message, plain, title
from tests.core.news import dataset, news

CONSOLE = "https://console.example.org"


def texts(found: list[News], most: int = MOST_LINES - 2) -> list[str]:
    """The lines of a message about changes."""
    return [line.text for line in lines(found, most)]


def gone(number: int, column: str, below: bytes = b"") -> News:
    """A column that went away, which breaks."""
    return news(
        number,
        said=f"column {column} gone",
        alike=f"{number} {column}",
        short=f"column {column} gone",
        edit="column gone",
        aspect="column",
        impact=Impact.BREAKING,
        below=frozenset([below] if below else []),
    )


def test_what_breaks_comes_first_then_by_name() -> None:
    found = [news(1), news(3, impact=Impact.MINOR), gone(2, "a"), news(0)]
    assert texts(found) == [
        "t002: column a gone", "t000: owner was ann, now bob", "t001: owner was ann, now bob",
        "t003: owner was ann, now bob",
    ]  # fmt: skip


def test_forty_one_tables_that_changed_owner_are_one_line_with_a_link() -> None:
    found = [news(number, alike="same", by="mira") for number in range(41)]
    told = message(found, key="k", console=CONSOLE)
    assert [(line.text, line.link) for line in told.lines] == [
        ("owner was ann, now bob on 41 datasets: t000, t001, t002 and 38 more, by mira", f"{CONSOLE}/run/aa")
    ]
    assert (told.title, told.link, told.changes) == ("41 changes in the catalog", f"{CONSOLE}/run/aa", 41)


def test_two_alike_changes_are_two_lines_still() -> None:
    assert len(texts([news(1, alike="same"), news(2, alike="same")])) == 2


def test_changes_of_several_runs_are_read_about_on_the_page_of_all_changes() -> None:
    told = message([news(1, run="aa"), news(2, run="bb")], key="k", console=CONSOLE)
    assert told.link == f"{CONSOLE}/changes"
    assert message([news(1)], key="k", console="").link == ""


def test_where_there_is_too_much_lesser_changes_are_drawn_together_by_entity_and_breaking_ones_stay() -> None:
    orders = [
        news(100 + n, dataset("orders"), said=f"tag {n} added", short=f"tag {n} added", impact=Impact.MINOR)
        for n in range(30)
    ]
    found = [gone(1, "a"), gone(2, "b"), *orders]
    assert texts(found) == [
        "t001: column a gone", "t002: column b gone",
        "orders: 30 changes: tag 0 added, tag 1 added, tag 10 added and 27 more",
    ]  # fmt: skip


def test_then_by_what_was_edited_and_breaking_ones_at_last() -> None:
    owners = [news(number) for number in range(30)]
    assert texts([gone(99, "a"), *owners]) == [
        "t099: column a gone", "owner changed on 30 datasets: t000, t001, t002 and 27 more",
    ]  # fmt: skip
    columns = [gone(number, name, bytes([number])) for number in range(10) for name in ("a", "b", "c")]
    assert texts([*columns, *owners]) == [
        "column gone (breaking, 10 downstream) 30 times on 10 datasets: t000, t001, t002 and 7 more",
        "owner changed on 30 datasets: t000, t001, t002 and 27 more",
    ]


def test_an_empty_message_is_none() -> None:
    with pytest.raises(ValueError, match="nothing to tell"):
        message([], key="k", console=CONSOLE)


@pytest.mark.parametrize(
    ("changes", "breaking", "said"),
    [
        (1, 0, "1 change in the catalog"),
        (12, 0, "12 changes in the catalog"),
        (1, 1, "1 breaking change in the catalog"),
        (4, 3, "3 breaking changes and 1 other in the catalog"),
        (15, 3, "3 breaking changes and 12 others in the catalog"),
    ],
)
def test_the_title_counts(changes: int, breaking: int, said: str) -> None:
    assert title(changes, breaking) == said


def test_nothing_of_a_catalog_ends_a_line_or_turns_it_round() -> None:
    assert plain("a\r\nBcc: eve\x00\x1b[31m b\u202ec\u2028d\u200be\ud800f") == "a Bcc: eve [31m b c d e f"
    assert plain("x" * 1000) == "x" * (MOST_LETTERS - 1) + "…"


CHANGES = st.builds(
    lambda number, entity, edit, impact, alike: news(
        number, dataset(f"t{entity}"), edit=edit, short=f"{edit} {number}", said="s", impact=impact, alike=alike
    ),
    st.integers(0, 10_000),
    st.integers(0, 60),
    st.sampled_from([f"edit {n}" for n in range(25)]),
    st.sampled_from([Impact.MINOR, Impact.NOTABLE, Impact.BREAKING]),
    st.sampled_from(["", "x", "y"]),
)


@given(st.lists(CHANGES, min_size=1, max_size=150))
def test_no_message_is_longer_than_twenty_lines_and_breaking_lines_come_first(found: list[News]) -> None:
    told = message(found, key="k", console=CONSOLE)
    assert 1 <= len(told.lines) <= MOST_LINES - 2
    assert all(len(line.text) <= MOST_LETTERS and "\n" not in line.text for line in told.lines)
    impacts = [line.impact is Impact.BREAKING for line in told.lines]
    assert impacts == sorted(impacts, reverse=True)
    assert told.breaking == sum(one.impact is Impact.BREAKING for one in found)
    assert impacts[0] or not told.breaking
