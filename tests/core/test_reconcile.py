"""What pending episodes do to a belief: scenarios in words, and what holds for any of them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.aspects import Impact
from palimpsest.core.belief import State, Version
from palimpsest.core.episode import Episode, Ground, Kind
from palimpsest.core.ids import BeliefId, CellId
from palimpsest.core.jsontext import dumps
from palimpsest.core.moment import Moment
from palimpsest.core.reconcile import VerdictKind, reconcile, reconcile_before

CELL, BELIEF = CellId(b"c" * 16), BeliefId(b"b" * 16)
KINDS = {"first": Kind.FIRST, "now": Kind.CHANGED, "back": Kind.RETURNED, "gone": Kind.REMOVED, "taken": Kind.REMOVED}


def episode(number: int, said: str) -> Episode:
    """`now X @5 since 3 stamp 4`: kind, value, day of the reading, of the whole one before it, and by the catalog."""
    word, *rest = said.split()
    value = rest[0] if rest and not rest[0].startswith(("@", "stamp", "since")) else None
    day = next((int(part[1:]) for part in rest if part.startswith("@")), number)
    stamp = int(rest[rest.index("stamp") + 1]) if "stamp" in rest else None
    after = int(rest[rest.index("since") + 1]) if "since" in rest else day - 1
    ground = {"gone": Ground.UNLISTED, "taken": Ground.PATCH}.get(word)
    return Episode(
        CELL,
        number,
        KINDS[word],
        Impact.MINOR,
        word == "first",
        dumps(value).decode() if value else None,
        Moment(day * 10),
        Moment(after * 10) if word != "first" else None,
        Moment(stamp * 10) if stamp is not None else None,
        ground,
    )


def held(versions: str) -> tuple[Version | None, int, list[tuple[int, str | None]]]:
    """The versions so far: `A, B*` are two, of which the second is current."""
    found, current = [], None
    for number, word in enumerate(filter(None, versions.split(", ")), start=1):
        value = dumps(word.rstrip("*")).decode()
        found.append((number, value))
        if word.endswith("*"):
            current = Version(BELIEF, number, State.CURRENT, CELL, number, value, Moment(0))
    return current, len(found), found


def told(verdicts) -> list[str]:
    """`supersede 1 by 2 = B from 20`."""
    lines = []
    for verdict in verdicts:
        parts = [verdict.kind.value]
        if verdict.closed:
            parts.append(f"{verdict.closed.number} until {verdict.closed.valid_to}")
        if verdict.opened:
            value = (verdict.opened.episode.value or "").strip('"')
            after = f" after {verdict.opened.valid_after}" if verdict.opened.valid_after is not None else ""
            again = f" as {verdict.opened.reverts_to}" if verdict.opened.reverts_to else ""
            parts.append(f"{verdict.opened.number} = {value} from {verdict.opened.valid_from}{after}{again}")
        lines.append(" ".join(parts))
    return lines


@pytest.mark.parametrize(
    ("so_far", "observed", "expected"),
    [
        # a first reading opens; without a stamp nobody knows since when before it
        ("", ["first A @1"], ["open 1 = A from 10"]),
        ("", ["first A @5 stamp 3"], ["open 1 = A from 30"]),
        # a change supersedes: between the last reading and this one, or at the catalog's own time
        ("A*", ["now B @7"], ["supersede 1 until 70 2 = B from 70 after 60"]),
        ("A*", ["now B @7 stamp 7"], ["supersede 1 until 70 2 = B from 70"]),
        # a stamp that cannot be true is no time: of before the last reading, or of after this one
        ("A*", ["now B @7 stamp 6"], ["supersede 1 until 70 2 = B from 70 after 60"]),
        ("A*", ["now B @7 stamp 9"], ["supersede 1 until 70 2 = B from 70 after 60"]),
        # every episode founds a version, in order, however late the consolidation
        (
            "",
            ["first A @1", "now B @2", "now C @3"],
            [
                "open 1 = A from 10",
                "supersede 1 until 20 2 = B from 20 after 10",
                "supersede 2 until 30 3 = C from 30 after 20",
            ],
        ),
        # an earlier value again is a new version that says so
        ("A, B*", ["now A @4"], ["supersede 2 until 40 3 = A from 40 after 30 as 1"]),
        (
            "",
            ["first A @1", "now B @2", "now A @3"],
            [
                "open 1 = A from 10",
                "supersede 1 until 20 2 = B from 20 after 10",
                "supersede 2 until 30 3 = A from 30 after 20 as 1",
            ],
        ),
        # what is gone is retracted; what is stated again after that opens anew
        ("A*", ["gone @3"], ["retract 1 until 30"]),
        ("A*", ["taken @3"], ["retract 1 until 30"]),
        ("A*", ["gone @3", "back B @4"], ["retract 1 until 30", "open 2 = B from 40 after 30"]),
        ("A", ["back A @4"], ["open 2 = A from 40 after 30 as 1"]),
        ("A", ["gone @3"], ["retract"]),
        # a removal that no reading of the whole covered, and a stamp from before it: nothing holds before its end
        ("A*", ["taken @5", "back B @9 since 1 stamp 3"], ["retract 1 until 50", "open 2 = B from 50"]),
    ],
)
def test_what_episodes_do_to_a_belief(so_far, observed, expected):
    current, last, earlier = held(so_far)
    episodes = [episode(last + number, said) for number, said in enumerate(observed, start=1)]
    assert told(reconcile("property", current, last, earlier, episodes)) == expected


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("first B @3", "read live since then"),  # after what a backfill found before it
        ("now B @3", "the catalog says otherwise now"),
        ("back B @3", "stated again after it was gone"),
        ("now A @3", "the catalog says otherwise now; it is what version 1 said"),
    ],
)
def test_a_version_says_why_it_was_opened(said, reason):
    current, last, earlier = held("A, C*")
    (verdict,) = reconcile("property", current, last, earlier, [episode(3, said)])
    assert verdict.opened is not None
    assert verdict.opened.reason == reason


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("now B @3", "the catalog says otherwise now"),
        ("gone @3", "its raw aspect was read whole and no longer lists it"),
        ("taken @3", "removed by an explicit patch"),
    ],
)
def test_a_version_says_why_it_ended(said, reason):
    current, last, earlier = held("A*")
    (verdict,) = reconcile("property", current, last, earlier, [episode(2, said)])
    assert verdict.closed is not None
    assert verdict.closed.reason == reason


@pytest.mark.parametrize(
    ("observed", "expected", "tail"),
    [
        # what came before counts up to the first version, which is the successor of the last
        (["first A @1 stamp 1"], ["open 0 = A from 10"], "0 until 90 by 1"),
        (
            ["first A @1 stamp 1", "now B @3 stamp 3"],
            ["open -1 = A from 10", "supersede -1 until 30 0 = B from 30"],
            "0 until 90 by 1",
        ),
        # what had ended before the first version has no successor in it
        (["first A @1 stamp 1", "gone @3"], ["open 0 = A from 10", "retract 0 until 30"], None),
        (
            ["first A @1 stamp 1", "gone @3 stamp 3", "back A @4 stamp 4"],
            ["open -1 = A from 10", "retract -1 until 30", "open 0 = A from 40 as -1"],
            "0 until 90 by 1",
        ),
        # nothing outlasts the beginning of the first version
        (["first A @11 stamp 11"], ["open 0 = A from 90"], "0 until 90 by 1"),
    ],
)
def test_what_a_backfill_puts_before_a_belief(observed, expected, tail):
    first = Version(BELIEF, 1, State.CURRENT, CELL, 1, dumps("B").decode(), Moment(90))
    episodes = [episode(1 - len(observed) + number, said) for number, said in enumerate(observed)]
    verdicts, ended = reconcile_before("property", first, episodes)
    assert told(verdicts) == expected
    assert (f"{ended.number} until {ended.valid_to} by {ended.successor}" if ended else None) == tail


@st.composite
def histories(draw):
    """Episodes as scans write them: a first, then changes, removals and returns."""
    episodes, present, day = [], False, 0
    for number in range(1, draw(st.integers(1, 10)) + 1):
        last, day = day, day + draw(st.integers(1, 3))
        since = draw(st.integers(0, last))
        stamp = draw(st.none() | st.integers(0, 30))
        of = f" since {since}" + (f" stamp {stamp}" if stamp is not None else "")
        if number == 1:
            word = "first"
        elif present:
            word = draw(st.sampled_from(["now", "gone", "taken"]))
        else:
            word = "back"
        present = word not in {"gone", "taken"}
        value = draw(st.sampled_from("ABC")) if present else ""
        episodes.append(episode(number, f"{word} {value} @{day}{of}"))
    return episodes


def chain_of(episodes, cuts=()) -> list[tuple]:
    """(number, value, from, to, successor, reverts to) after consolidating at the given places."""
    rows: dict[int, list] = {}
    bounds = [0, *sorted(cuts), len(episodes)]
    for start, end in pairwise(bounds):
        pending = episodes[start:end]
        if not pending:
            continue
        open_rows = [row for row in rows.values() if row[6]]
        current = None
        if open_rows:
            number, value, since = open_rows[0][0], open_rows[0][1], open_rows[0][2]
            current = Version(BELIEF, number, State.CURRENT, CELL, number, value, since)
        earlier = [(row[0], row[1]) for row in rows.values()]
        ended = rows[len(rows)][3] if rows else None
        for verdict in reconcile("property", current, len(rows), earlier, pending, ended):
            if verdict.closed:
                row = rows[verdict.closed.number]
                row[3], row[4], row[6] = verdict.closed.valid_to, verdict.closed.successor, False
            if verdict.opened:
                one = verdict.opened
                rows[one.number] = [one.number, one.episode.value, one.valid_from, None, None, one.reverts_to, True]
            assert (verdict.kind is VerdictKind.SUPERSEDE) == (
                verdict.closed is not None and verdict.closed.successor is not None
            )
    return [tuple(row) for row in rows.values()]


@given(episodes=histories())
def test_versions_are_numbered_without_gaps_one_is_open_at_most_and_time_runs_forward(episodes):
    chain = chain_of(episodes)
    assert [row[0] for row in chain] == list(range(1, len(chain) + 1))
    assert len(chain) == sum(one.kind is not Kind.REMOVED for one in episodes)
    still_open = [row for row in chain if row[6]]
    assert len(still_open) == (episodes[-1].kind is not Kind.REMOVED)
    assert not still_open or still_open[0] is chain[-1]
    for row in chain:
        assert row[4] is None or row[4] == row[0] + 1
        assert row[3] is None or row[2] <= row[3]
        assert row[5] is None or (row[5] < row[0] and chain[row[5] - 1][1] == row[1])
    for row, following in pairwise(chain):
        assert row[3] is not None
        assert row[3] <= following[2]


@given(episodes=histories(), cuts=st.lists(st.integers(0, 10), max_size=4))
def test_when_it_is_consolidated_changes_no_version(episodes, cuts):
    assert chain_of(episodes, [min(cut, len(episodes)) for cut in cuts]) == chain_of(episodes)
