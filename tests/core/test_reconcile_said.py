"""What is said on one matter and what becomes of it: scenarios in words, and what holds for any of them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.belief import State, opened_as
from palimpsest.core.cluster import Cluster, in_time
from palimpsest.core.episode import Ground
from palimpsest.core.jsontext import dumps
from palimpsest.core.moment import Moment
from palimpsest.core.observer import Rank, rank_of
from palimpsest.core.reconcile import judged
from palimpsest.core.verdict import VerdictKind
from tests.core.saying import BELIEF, ENTITY, Said, Scenario, Told, scenarios, told

SCENARIOS = scenarios(Path(__file__).parents[1] / "golden" / "said.txt")


def lines(scenario: Scenario, *, at_once: bool) -> tuple[Told, list[str]]:
    """The verdicts in the order of time, judged all at once or one after the other; `nothing` for none."""
    memory, found = Told(scenario.aspect), []
    for said in sorted(scenario.said, key=lambda one: (one.at, -rank_of(one.observer))):
        memory.say(said)
        if not at_once:
            found += [told(verdict) for verdict in memory.judge()] or ["nothing"]
    if at_once:
        found = [told(verdict) for verdict in memory.judge()]
        found += ["nothing"] * len(memory.pending)
    return memory, found


@pytest.mark.parametrize("at_once", [True, False], ids=["all at once", "one by one"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.title)
def test_what_is_said_becomes_what_the_scenario_tells(scenario: Scenario, at_once: bool) -> None:
    memory, found = lines(scenario, at_once=at_once)
    assert found == list(scenario.becomes)
    assert memory.held() == list(scenario.held)


def test_an_older_word_of_an_equal_does_not_put_a_newer_one_aside() -> None:
    memory = Told()
    memory.say(Said(at=Moment(20), observer="agent:bot", value='"four"'))
    memory.judge()
    memory.say(Said(at=Moment(10), observer="agent:two", value='"three"'))
    assert [told(verdict) for verdict in memory.judge()] == [
        "contest 2 (contested: it was said before what it contradicts)"
    ]


def test_a_reason_that_the_judge_gives_is_the_versions_and_its_end_s() -> None:
    memory = Told()
    memory.say(Said(at=Moment(10), observer="agent:bot", value='"four"'))
    memory.judge()
    memory.say(Said(at=Moment(20), observer="agent:two", value='"three"'))
    cluster = in_time(Cluster(BELIEF, ENTITY, "quality", "matter", [one for one, _ in memory.pending]))
    from palimpsest.core.matter import Opinion

    verdict = judged(cluster, [memory.versions[1]], {1: Opinion(None, "another count")}, "model x").verdicts[0]
    assert verdict.opened is not None
    assert verdict.closed is not None
    assert (verdict.opened.reason, verdict.closed.reason) == ("another count", "another count")


def test_who_gave_the_opinions_is_kept_with_the_verdicts() -> None:
    memory = Told()
    memory.say(Said(at=Moment(10), observer="agent:bot", value='"four"'))
    cluster = Cluster(BELIEF, ENTITY, "quality", "matter", [one for one, _ in memory.pending])
    assert judged(cluster, [], {}, "model x").judge == "model x"


OBSERVERS = ("person:mira", "person:jonas", "agent:bot", "agent:two", "document:adr")
TEXTS = ("three", "four", "five", "three again", "four again")


@st.composite
def sayings(draw: st.DrawFn) -> list[Said]:
    """Anything that anybody may say or decide, in any order of time."""
    found = []
    for position in range(draw(st.integers(1, 12))):
        by = draw(st.sampled_from(OBSERVERS))
        value: object = draw(st.sampled_from(TEXTS))
        ground = None
        if position and draw(st.integers(0, 4)) == 0:
            ground = Ground.DECISION
            number = draw(st.integers(1, 8))
            value = draw(st.sampled_from([value, {"decision": "reject", "version": number}, {"decision": "withdraw"}]))
        found.append(
            Said(
                at=Moment(draw(st.integers(1, 6)) * 1_000 if position else 1),  # one decides about what is there
                observer=by,
                value=dumps(value).decode(),
                ground=ground,
                place=draw(st.one_of(st.none(), st.integers(0, 6))),
                sure=draw(st.integers(0, 4)) > 0,
            )
        )
    return found


ASPECT = st.sampled_from(["quality", "decision", "usage"])


def remembered(aspect: str, said: list[Said], passes: int) -> Told:
    memory = Told(aspect)
    for position, one in enumerate(said, start=1):
        memory.say(one)
        if position % passes == 0:
            memory.judge()
    memory.judge()
    return memory


@given(ASPECT, sayings(), st.integers(1, 5))
def test_every_verdict_has_its_version_or_its_evidence_and_nothing_is_lost(
    aspect: str, said: list[Said], passes: int
) -> None:
    memory = remembered(aspect, said, passes)
    founded = {(one.cell, one.episode) for one in memory.versions.values()}
    witnessed = {(one.cell, one.number) for _, one, _ in memory.evidence}
    for verdict in memory.verdicts:
        named = (verdict.episode.cell, verdict.episode.number)
        if verdict.kind in {VerdictKind.OPEN, VerdictKind.SUPERSEDE, VerdictKind.CONTEST}:
            assert named in founded
        else:
            assert named in witnessed
    assert len(memory.verdicts) == len(said)


@given(ASPECT, sayings(), st.integers(1, 5))
def test_one_version_is_current_at_most_and_the_numbers_have_no_gap(aspect: str, said: list[Said], passes: int) -> None:
    memory = remembered(aspect, said, passes)
    assert sorted(memory.versions) == list(range(1, len(memory.versions) + 1))
    assert sum(one.state is State.CURRENT for one in memory.versions.values()) <= 1


@given(ASPECT, sayings(), st.integers(1, 5))
def test_what_was_put_beside_is_never_current_and_no_two_current_versions_overlap(
    aspect: str, said: list[Said], passes: int
) -> None:
    memory = remembered(aspect, said, passes)
    opened = {one.opened.number: (one.kind.value, one.opened.reason) for one in memory.verdicts if one.opened}
    spans = []
    for number, one in memory.versions.items():
        began = opened_as(*opened[number])
        if one.state not in {State.SUPERSEDED, State.RETRACTED}:
            assert one.state is began
        assert one.valid_to is None or one.valid_to >= one.valid_from
        if began is State.CURRENT:
            spans.append((one.valid_from, one.valid_to))
    for (_, end), (start, _) in pairwise(sorted(spans, key=lambda span: (span[0], span[1] or Moment(1 << 60)))):
        assert end is not None
        assert end <= start


@given(sayings(), st.integers(1, 5))
def test_only_a_person_s_word_makes_a_decision_current(said: list[Said], passes: int) -> None:
    memory = remembered("decision", said, passes)
    current = [one for one in memory.versions.values() if one.state is State.CURRENT]
    assert all(rank_of(one.observer) is Rank.PERSON for one in current)


@given(ASPECT, sayings(), st.integers(1, 5))
def test_judging_again_what_was_judged_changes_nothing(aspect: str, said: list[Said], passes: int) -> None:
    memory = remembered(aspect, said, passes)
    before = (dict(memory.versions), list(memory.evidence))
    assert memory.judge() == []
    assert (memory.versions, memory.evidence) == before
