"""recall: what is held that answers a question in words, with its evidence; nothing is made up, and nothing is written.

Passages are found by their terms, and by vectors where there are some; what they state is then judged version by
version, so that only what is current at the time of the question is shown as current (R12).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from palimpsest.core import question as questions
from palimpsest.core.aspects import ASPECTS
from palimpsest.core.aspects.records import fields_of
from palimpsest.core.belief import State
from palimpsest.core.errors import UsageError
from palimpsest.core.ids import BeliefId, EntityId, Ids
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import Moment, spoken
from palimpsest.core.passage import spelled_out
from palimpsest.core.question import Question
from palimpsest.core.ranking import (
    WEIGHTS,
    Fused,
    Nearness,
    Read,
    Verdict,
    Weights,
    fuse,
    nearness_of,
    score,
    verdict_of,
)
from palimpsest.core.strength import favour
from palimpsest.core.terms import terms_of
from palimpsest.queries import entities, finding, held
from palimpsest.queries.confidence import confidences_of
from palimpsest.queries.finding import Found, Narrowed
from palimpsest.queries.held import BeliefView, EvidenceView, Sure, When
from palimpsest.queries.lineage import presence_of
from palimpsest.queries.waiting import WaitingView, waiting
from palimpsest.store import answers, embedders, search, vectors
from palimpsest.store.answers import Remembered
from palimpsest.store.embedders import Known
from palimpsest.store.engine import Connection, Store
from palimpsest.store.search import Candidate

if TYPE_CHECKING:
    from palimpsest.core.vector import Vector

_MOST_ENTITIES = 5_000
_READ_AT_ONCE = 40  # passages whose versions are read in one go
_MOST_READ = 240
_MOST_NEAR = 100  # passages that are taken by their vectors
_MOST_FAVOUR = 0.04
_MOST_ASKED = 3
_LEAST_WORTH = 0.5  # what tells less of its entity is near to any question that names it


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """What is asked, and what the answers are narrowed to. `since`: only versions that began then or later."""

    question: str
    entity: str | None = None
    aspect: str | None = None
    platform: str | None = None
    since: Moment | None = None
    include_superseded: bool = False
    limit: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """The question as a vector of an embedder, which gave itself that name, and what similarities of it mean."""

    embedder: str
    vector: Vector
    nearness: Nearness


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledView:
    """One answer: a version, its state, whether it is current at the time of the question, and why it is an answer.

    `matched` are the words of the question that it has, a corrected one as `wrod → word`; `coverage` their share;
    `similarity` how near its passage is in meaning, None where that is not known. `until` in words, where it has ended.
    """

    belief: BeliefView
    state: str
    is_current: bool
    until: str
    score: float
    sure: bool
    matched: tuple[str, ...]
    coverage: float
    similarity: float | None
    evidence: EvidenceView


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallView:
    """The answers, the best first, how sure the best one is, and what waits to be consolidated.

    `by_meaning`: whether vectors were looked through too.
    """

    question: str
    answer: str
    answers: tuple[RecalledView, ...]
    waiting: tuple[WaitingView, ...]
    by_meaning: bool


class _Answer(NamedTuple):
    """An answer on its way: the version, its place, and whether it is current."""

    version: Remembered
    fused: Fused
    score: float
    is_current: bool


def recall(
    store: Store, request: RecallRequest, when: When, meaning: Meaning | None = None, weights: Weights = WEIGHTS
) -> RecallView:
    """Answer a question. Raises UsageError for an unknown entity or aspect."""
    if request.aspect is not None and request.aspect not in ASPECTS:
        raise UsageError(f"{request.aspect!r} is no aspect", f"one of: {', '.join(sorted(ASPECTS))}")
    ids = store.ids
    return store.read(lambda connection: _Recall(connection, ids, request, when, meaning, weights).run())


class _Recall:
    """One recall."""

    def __init__(
        self,
        connection: Connection,
        ids: Ids,
        request: RecallRequest,
        when: When,
        meaning: Meaning | None,
        weights: Weights,
    ) -> None:
        self.connection, self.ids, self.request, self.when = connection, ids, request, when
        self.meaning, self.weights = meaning, weights
        self.nearness = meaning.nearness if meaning is not None else nearness_of("")
        self.question: Question = questions.read(request.question)
        about = request.entity and [one.id for one in entities.matching(connection, request.entity, _MOST_ENTITIES)]
        self.entities: tuple[EntityId, ...] | None = tuple(about) if about else None

    def run(self) -> RecallView:
        """The answers."""
        search.begin(self.connection)
        narrowed = Narrowed(
            entities=self.entities,
            aspect=self.request.aspect,
            platform=self.request.platform,
            past=self.request.include_superseded or not self.when.is_now,
        )
        known = self._embedder()
        near = self._near(known, narrowed)
        found = finding.find(self.connection, self.question, narrowed, [number for number, _ in near], self.weights)
        ranked = self._ranked(found, near)
        verdict = self._verdict(ranked)
        shown = self._with_current(ranked)[: self.request.limit] if verdict is not Verdict.NOTHING else []
        pending = waiting(self.connection, found.wanted, self.entities or (), self.request.aspect, self.when)
        return RecallView(
            question=self.request.question,
            answer=verdict.value,
            answers=self._views(shown),
            waiting=pending,
            by_meaning=known is not None,
        )

    # --- by vectors ---------------------------------------------------------------------------------------------

    def _embedder(self) -> Known | None:
        """The embedder whose vectors are searched, if the question was given in its terms."""
        if self.meaning is None:
            return None
        known = embedders.current(self.connection)
        return known if known is not None and embedders.kind_of(known.name) == self.meaning.embedder else None

    def _near(self, known: Known | None, narrowed: Narrowed) -> list[tuple[int, float]]:
        if known is None or self.meaning is None:
            return []
        among = None
        if narrowed.entities is not None:
            among = search.passages_about(self.connection, narrowed.entities, 20_000, past=False)
        near = vectors.nearest(self.connection, known, self.meaning.vector, _MOST_NEAR, among=among)
        return [(one.passage, one.similarity) for one in near]

    # --- version by version -------------------------------------------------------------------------------------

    def _ranked(self, found: Found, near: Sequence[tuple[int, float]]) -> list[_Answer]:
        """The versions that answer, the best first."""
        order = [one.id for one in fuse(found.order, near, self.nearness, self.weights)]
        versions: dict[tuple[BeliefId, int], tuple[Remembered, int, bool]] = {}
        for start in range(0, min(len(order), _MOST_READ), _READ_AT_ONCE):
            for version, passage, is_current in self._stated(found.candidates, order[start : start + _READ_AT_ONCE]):
                versions.setdefault((version.belief, version.number), (version, passage, is_current))
            if len(versions) >= 3 * self.request.limit:
                break
        given = list(versions.values())
        reads = [self._read(at, found, one, passage) for at, (one, passage, _) in enumerate(given)]
        likeness = dict(near)
        by_text = score(reads, found.wanted, self.weights)
        by_vector = [
            (at, likeness[passage])
            for at, (_, passage, _) in enumerate(given)
            if passage in likeness and (reads[at].worth >= _LEAST_WORTH or reads[at].asked)
        ]
        better = {one.id: one.score for one in by_text}
        by_vector.sort(key=lambda one: (-one[1], -better.get(one[0], 0.0), one[0]))
        fused = fuse(by_text, by_vector, self.nearness, self.weights)
        strengths = search.strengths(self.connection, [version.belief for version, _, _ in given])
        ranked = []
        for one in fused:
            version, _, is_current = given[one.id]
            more = favour(strengths.get(version.belief), version.valid_from, self.when.moment, most=_MOST_FAVOUR)
            if self._is_enough(one):
                ranked.append(_Answer(version, one, one.score * more, is_current))
        ranked.sort(key=lambda one: (-one.score, not one.is_current, _order_of(one.version)))
        return [*self._asked_of(ranked), *ranked]

    def _asked_of(self, ranked: Sequence[_Answer]) -> list[_Answer]:
        """What is asked about of the entity that answers best, where what answers is of another aspect: the owner of
        the table whose description has the words of the question."""
        aspects = [aspect for aspect, share in self.question.aspects().items() if share == 1.0]
        if not ranked or not aspects or self.request.aspect is not None:
            return []
        best = ranked[0]
        is_asked = best.version.aspect in self.question.aspects()
        if is_asked or best.fused.text is None or best.fused.text.coverage < self.weights.sure:
            return []
        about, past = [best.version.entity], self.request.include_superseded or not self.when.is_now
        passages = search.passages_about(self.connection, about, _MOST_READ, past=past, aspects=aspects)
        candidates = {one.id: one for one in search.candidates(self.connection, passages)}
        given = {one.version.belief for one in ranked}
        return [
            best._replace(version=version, is_current=is_current)
            for version, _, is_current in self._stated(candidates, passages)
            if version.belief not in given
        ][:_MOST_ASKED]

    def _stated(
        self, candidates: Mapping[int, Candidate], passages: Sequence[int]
    ) -> list[tuple[Remembered, int, bool]]:
        """The versions that passages state and that may be shown, with whether they are current."""
        stated = answers.versions_of_passages(self.connection, passages)
        place = {number: at for at, number in enumerate(passages)}
        stated.sort(key=lambda one: place[one[0]])
        versions = [version for _, version in stated]
        about = list(dict.fromkeys(version.entity for version in versions))
        presence = presence_of(self.connection, self.ids, about, self.when)
        now = {(one.belief, one.number) for one in held.current(versions, self.when, presence)}
        shown = []
        for passage, version in stated:
            is_current = (version.belief, version.number) in now
            if (is_current or self._is_shown_past(version)) and self._is_asked_for(version, candidates[passage]):
                shown.append((version, passage, is_current))
        return shown

    def _is_shown_past(self, version: Remembered) -> bool:
        began = version.valid_from <= self.when.moment
        return self.request.include_superseded and began and self.when.knows(version)

    def _is_asked_for(self, version: Remembered, candidate: Candidate) -> bool:
        request = self.request
        return (
            request.aspect in {None, version.aspect}
            and request.platform in {None, candidate.platform}
            and (request.since is None or version.valid_from >= request.since)
        )

    def _read(self, at: int, found: Found, version: Remembered, passage: int) -> Read:
        """A version as it is ranked: by its own words and those of its passage's head."""
        candidate = found.candidates[passage]
        value = loads(version.value)
        read = finding.read_of(candidate, self.question)
        own = terms_of(spelled_out(version.aspect, version.key, value))
        shorts = read.shorts
        if version.aspect == "name" and isinstance(value, str):
            shorts = (finding.short_terms(value),)
        elif ASPECTS[version.aspect].paths:
            shorts = (*shorts, finding.short_terms(version.key))
        asked = read.asked
        if (
            version.aspect == "column"
            and "description" in self.question.aspects()
            and not fields_of(value).get("description")
        ):
            asked = 0.0
        return read._replace(id=at, terms=read.head | own, shorts=shorts, asked=asked)

    def _is_enough(self, one: Fused) -> bool:
        by_text = one.text is not None and one.text.coverage >= self.weights.unsure
        return by_text or (one.similarity is not None and one.similarity >= self.nearness.floor)

    def _verdict(self, ranked: Sequence[_Answer]) -> Verdict:
        return self._verdict_of(ranked[0]) if ranked else Verdict.NOTHING

    def _verdict_of(self, answer: _Answer) -> Verdict:
        coverage = answer.fused.text.coverage if answer.fused.text is not None else 0.0
        return verdict_of(coverage, answer.fused.similarity, self.nearness, self.weights)

    # --- what is shown ------------------------------------------------------------------------------------------

    def _with_current(self, ranked: Sequence[_Answer]) -> list[_Answer]:
        """The answers with the current version of each belief above those that it superseded."""
        if not self.request.include_superseded:
            return list(ranked)
        missing = [one.version.belief for one in ranked[: self.request.limit] if not one.is_current]
        present = {one.version.belief: one for one in ranked if one.is_current}
        for version in self._current_of([belief for belief in missing if belief not in present]):
            below = next(one for one in ranked if one.version.belief == version.belief)
            present[version.belief] = below._replace(version=version, is_current=True)
        shown: dict[tuple[BeliefId, int], _Answer] = {}
        for one in ranked:
            for answer in (present.get(one.version.belief, one), one):
                shown.setdefault((answer.version.belief, answer.version.number), answer)
        return list(shown.values())

    def _current_of(self, beliefs: Sequence[BeliefId]) -> list[Remembered]:
        versions = answers.versions_of_beliefs(self.connection, list(dict.fromkeys(beliefs)))
        about = list(dict.fromkeys(version.entity for version in versions))
        return held.current(versions, self.when, presence_of(self.connection, self.ids, about, self.when))

    def _views(self, shown: Sequence[_Answer]) -> tuple[RecalledView, ...]:
        named = answers.entities_by_id(self.connection, list(dict.fromkeys(one.version.entity for one in shown)))
        beliefs = list(dict.fromkeys(one.version.belief for one in shown))
        chains = held.by_belief(
            one for one in answers.versions_of_beliefs(self.connection, beliefs) if self.when.knows(one)
        )
        now = [one.version for one in shown if one.is_current]
        sure = confidences_of(self.connection, self.ids, now, self.when)
        return tuple(
            self._view(one, named[one.version.entity].urn, chains, sure if one.is_current else {}) for one in shown
        )

    def _view(
        self, one: _Answer, urn: str, chains: Mapping[BeliefId, Sequence[Remembered]], sure: Mapping[BeliefId, Sure]
    ) -> RecalledView:
        version, text = one.version, one.fused.text
        ended = self.when.ended(version)
        return RecalledView(
            belief=held.belief_view(version, urn, chains.get(version.belief, ()), self.when, sure.get(version.belief)),
            state=State.CURRENT.value if one.is_current and ended is None else version.state.value,
            is_current=one.is_current,
            until=f"until {spoken(ended)}" if ended is not None else "",
            score=round(one.score, 4),
            sure=self._verdict_of(one) is Verdict.CONFIDENT,
            matched=text.found if text is not None else (),
            coverage=round(text.coverage, 3) if text is not None else 0.0,
            similarity=round(one.fused.similarity, 3) if one.fused.similarity is not None else None,
            evidence=held.evidence_view(version.founded, version.source),
        )


def _order_of(version: Remembered) -> tuple[int, str, str, bytes, int]:
    return ASPECTS[version.aspect].rank, version.aspect, version.key, version.belief, -version.number
