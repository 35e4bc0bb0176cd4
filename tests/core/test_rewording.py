"""A catalog's text that only says the same in other words founds no version; whatever else differs does."""

from __future__ import annotations

from itertools import pairwise

import pytest

from palimpsest.core.aspects import Impact
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.belief import State, Version
from palimpsest.core.cluster import Cluster
from palimpsest.core.episode import Episode, Kind
from palimpsest.core.ids import BeliefId, CellId, EntityId
from palimpsest.core.jsontext import dumps
from palimpsest.core.matter import Opinion, matter_of
from palimpsest.core.moment import Moment
from palimpsest.core.reconcile import RulesJudge, judged

CELL, BELIEF, ENTITY = CellId(b"c" * 16), BeliefId(b"b" * 16), EntityId(b"b" * 8 + bytes(8))


def seen(number: int, value: Json, kind: Kind = Kind.CHANGED) -> Episode:
    """An episode on the day of its number."""
    text = dumps(value).decode() if value is not None else None
    return Episode(CELL, number, kind, Impact.MINOR, False, text, Moment(number * 10), Moment(number * 10 - 10), None)


def held(value: Json, *, number: int = 1, episode: int = 1, wording: Json = None) -> Version:
    """The current version of the belief."""
    worded = dumps(wording).decode() if wording is not None else None
    since = Moment(episode * 10)
    return Version(BELIEF, number, State.CURRENT, CELL, episode, dumps(value).decode(), since, None, worded)


def cluster(*episodes: Episode, aspect: str = "description") -> Cluster:
    """What is pending of the belief."""
    return Cluster(BELIEF, ENTITY, aspect, "source", list(episodes))


def told(found) -> list[str]:
    """`reinforce 1`, `supersede by 2 as 1`."""
    lines = []
    for verdict in found:
        if verdict.opened is None:
            lines.append(f"{verdict.kind.value} {verdict.witness or ''}".strip())
        else:
            again = f" as {verdict.opened.reverts_to}" if verdict.opened.reverts_to else ""
            lines.append(f"{verdict.kind.value} {verdict.opened.number}{again}")
    return lines


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["One row per order.", "one row per order"], ["open 1", "reinforce 1"]),
        (["One row per order.", "One row per basket."], ["open 1", "supersede 2"]),
        (["One row per order.", "No row per order."], ["open 1", "supersede 2"]),
        (["Orders", "ORDERS", "Baskets", "orders."], ["open 1", "reinforce 1", "supersede 2", "supersede 3"]),
        (["Orders", "Baskets", "Orders"], ["open 1", "supersede 2", "supersede 3 as 1"]),
        (["Orders", None, "orders"], ["open 1", "retract", "open 2"]),
    ],
)
def test_a_text_is_held_against_the_one_before_it(said: list[str | None], expected: list[str]) -> None:
    kinds = [Kind.FIRST]
    for before, now in pairwise(said):
        kinds.append(Kind.REMOVED if now is None else Kind.RETURNED if before is None else Kind.CHANGED)
    episodes = [seen(number, text, kind) for number, (text, kind) in enumerate(zip(said, kinds, strict=True), start=1)]
    (found,) = RulesJudge().judge([(cluster(*episodes), [])])
    assert told(found.every) == expected


def test_a_text_is_held_against_the_newest_wording_not_the_first() -> None:
    so_far = [held("Orders of the shop", wording="The shop's orders")]
    matter = matter_of(cluster(seen(3, "The shop’s orders!")), so_far)
    assert matter is not None
    assert [one.text for one in matter.statements] == ["The shop's orders", "The shop’s orders!"]


def test_only_prose_is_a_matter_and_only_where_all_else_is_the_same() -> None:
    was: Json = {"native_type": "int", "description": "the id"}
    reworded: Json = {"native_type": "int", "description": "The id."}
    retyped: Json = {"native_type": "text", "description": "The id."}
    (found,) = RulesJudge().judge([(cluster(seen(2, reworded), aspect="column"), [held(was)])])
    assert told(found.every) == ["reinforce 1"]
    (found,) = RulesJudge().judge([(cluster(seen(2, retyped), aspect="column"), [held(was)])])
    assert told(found.every) == ["supersede 2"]
    assert matter_of(cluster(seen(2, retyped), aspect="column"), [held(was)]) is None


def test_matters_can_be_left_to_another_judge() -> None:
    plain, matter = cluster(seen(2, None, Kind.REMOVED)), cluster(seen(2, "orders"))
    found = RulesJudge(leaves_matters=True).judge([(matter, [held("Orders")]), (plain, [held("Orders")])])
    assert [one.cluster for one in found] == [plain]


def test_the_judge_s_reason_is_the_version_s_and_its_name_is_kept() -> None:
    found = judged(cluster(seen(2, "Baskets")), [held("Orders")], {1: Opinion(None, "about baskets now")}, "model x")
    (verdict,) = found.verdicts
    assert (found.judge, verdict.opened.reason, verdict.closed.reason) == (
        "model x",
        "about baskets now",
        "about baskets now",
    )


def test_an_opinion_that_nobody_asked_for_counts_for_nothing() -> None:
    found = judged(cluster(seen(2, None, Kind.REMOVED)), [held("Orders")], {0: Opinion(0), 1: Opinion(0)}, "model x")
    assert told(found.verdicts) == ["retract"]


def test_what_a_backfill_found_before_is_reworded_too_and_counts_up_to_the_first() -> None:
    first = held("Baskets", number=1, episode=1)
    earlier = [seen(-3, "Orders", Kind.FIRST), seen(-2, "orders."), seen(-1, "Carts")]
    (found,) = RulesJudge().judge([(cluster(*earlier), [first])])
    assert told(found.before) == ["open -1", "reinforce -1", "supersede 0"]
    assert found.tail is not None
    assert (found.tail.number, found.tail.successor) == (0, 1)
