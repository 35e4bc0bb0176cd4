"""stale: what is held and no longer fits, in the whole store: texts, owners, what is read, what is missing.

Everything is read in statements for all entities at once. What needs every entity's history (an owner who left
everything else) is told here only; what one entity tells by itself is in stale_facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.belief import State
from palimpsest.core.entity import short_name
from palimpsest.core.ids import BeliefId, EntityId, Ids
from palimpsest.core.impact import counts_below
from palimpsest.core.jsontext import loads
from palimpsest.core.labels import is_named
from palimpsest.core.moment import Moment
from palimpsest.core.observer import NOTES
from palimpsest.core.stale import (
    DATA,
    Finding,
    Kind,
    Later,
    Owned,
    Reader,
    cut,
    lacking,
    outdated,
    owner,
    ranked,
    still_read,
)
from palimpsest.queries import held
from palimpsest.queries.held import EXISTENCE, Presence, When
from palimpsest.queries.stale_facts import (
    FindingView,
    finding_view,
    is_deprecated,
    is_of_the_build,
    is_told,
    lack_of,
    last_said,
    later_of,
    since,
    texts_of,
    urns_of,
)
from palimpsest.store import answers, answers_changes, impact
from palimpsest.store import stale as rows
from palimpsest.store.answers import Remembered
from palimpsest.store.answers_changes import Wanted
from palimpsest.store.engine import Connection, Store

_CELLS = (
    (EXISTENCE, ""), ("ownership", ""), ("deprecation", ""), ("upstreams", ""),
    ("description", "source"), ("description", "edited"),
)  # fmt: skip
_MOST_READERS = 3
Ranked = tuple[Finding, str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleRequest:
    """What is asked: entities of one owner or platform, some kinds of findings, at most so many of each."""

    owner: str | None = None
    platform: str | None = None
    kinds: tuple[Kind, ...] = tuple(Kind)
    most: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class KindView:
    """How many findings of one kind there are, and how many of them are shown."""

    kind: str
    found: int
    shown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleView:
    """The findings, by kind and weight."""

    findings: tuple[FindingView, ...]
    kinds: tuple[KindView, ...]


def stale(store: Store, request: StaleRequest, when: When) -> StaleView:
    """What is stale in the whole store, now."""
    ids = store.ids
    return store.read(lambda connection: Facts(connection, ids, when).view(request))


class Facts:
    """All that findings rest on, read once for the whole store."""

    def __init__(self, connection: Connection, ids: Ids, when: When) -> None:
        self.connection, self.ids, self.when = connection, ids, when
        self.named = {one.id: one for one in rows.every_entity(connection)}
        self.sources = [one for one in answers.source_names(connection) if one != NOTES]
        self.versions = answers.versions_of_beliefs(
            connection,
            [ids.belief(one, source, *cell) for one in self.named for source in self.sources for cell in _CELLS],
        )
        self.presence = Presence(self.versions, when)
        self.now: dict[EntityId, dict[str, list[Remembered]]] = {}
        for one in held.current(self.versions, when, self.presence):
            self.now.setdefault(one.entity, {}).setdefault(one.aspect, []).append(one)
        self.here = {one for one in self.named if self.presence.exists_for_any(one, self.sources)}
        self.below: dict[EntityId, list[EntityId]] = {}
        for upstream, downstream in sorted(impact.pairs(connection)):
            if downstream in self.here and downstream != upstream:
                self.below.setdefault(upstream, []).append(downstream)
        self.counts = counts_below(self.below)
        self.owners = self._owners()

    def view(self, request: StaleRequest) -> StaleView:
        """The findings that are asked for."""
        found = [one for one in self.ranked() if one[0].kind in request.kinds and self._fits(one[1], request)]
        shown, counts = cut(found, request.most)
        return StaleView(
            findings=tuple(self.views(shown)),
            kinds=tuple(
                KindView(kind=kind, found=counts.get(kind, 0), shown=min(counts.get(kind, 0), request.most))
                for kind in Kind
                if kind in request.kinds
            ),
        )

    def ranked(self) -> list[Ranked]:
        """Every finding, with the URN it is about and how much lies downstream."""
        found = [*self._read(), *self._owner_findings(), *self._outdated(), *self._lacking()]
        return ranked((finding, self.named[one].urn, self.counts.get(one, 0)) for one, finding in found)

    def views(self, found: Sequence[Ranked]) -> list[FindingView]:
        """Findings as they are shown; what lacks something with the beliefs by which others depend on it."""
        lone = [self.ids.entity(urn) for finding, urn, _ in found if finding.kind is Kind.LACKING]
        edges: dict[EntityId, list[BeliefId]] = {}
        for edge in answers.edges_from(self.connection, lone):
            if edge.downstream in self.here and edge.downstream != edge.upstream:
                edges.setdefault(edge.upstream, []).append(edge.belief)
        views = []
        for finding, urn, below in found:
            one = self.ids.entity(urn)
            beliefs = finding.evidence
            if finding.kind is Kind.LACKING:
                beliefs = tuple(dict.fromkeys((*beliefs, *sorted(edges.get(one, ()))[:_MOST_READERS])))
            views.append(finding_view(self.named[one], finding, beliefs, below, self.owners.get(one, ())))
        return views

    def owned_by(self, text: str, since: Moment, until: Moment) -> frozenset[EntityId] | None:
        """The entities that somebody owned at any time between; None for somebody who never owned anything."""
        ever = [
            version
            for version in self.versions
            if version.aspect == "ownership" and any(is_named(urn, text) for urn in urns_of(version))
        ]
        if not ever:
            return None
        return frozenset(
            version.entity
            for version in ever
            if version.valid_from <= until and (version.valid_to is None or version.valid_to >= since)
        )

    def _fits(self, urn: str, request: StaleRequest) -> bool:
        one = self.ids.entity(urn)
        if request.platform is not None and self.named[one].platform != request.platform:
            return False
        return request.owner is None or any(is_named(owner, request.owner) for owner in self.owners.get(one, ()))

    def _owners(self) -> dict[EntityId, tuple[str, ...]]:
        """The URNs of the owners, also of what is gone."""
        found: dict[EntityId, set[str]] = {}
        for one in self.versions:
            if one.aspect == "ownership" and self._holds(one):
                found.setdefault(one.entity, set()).update(urns_of(one))
        return {one: tuple(sorted(urns)) for one, urns in found.items()}

    def _holds(self, one: Remembered) -> bool:
        return self.when.knows(one) and self.when.holds(one) and held.state_then(one) is State.CURRENT

    def _read(self) -> Iterable[tuple[EntityId, Finding]]:
        states: dict[EntityId, tuple[str, Remembered]] = {}
        for one, aspects in self.now.items():
            for version in aspects.get("deprecation", ()):
                if is_deprecated(loads(version.value)):
                    states[one] = "deprecated", version
        for one in self.named.keys() - self.here:
            said = last_said(self.presence, one, self.sources)
            if said is not None:
                states[one] = "gone", said
        wanted = sorted(one for one in states if self.below.get(one))
        readers: dict[EntityId, list[Reader]] = {}
        for edge in answers.edges_from(self.connection, wanted):
            if edge.downstream in self.here and edge.downstream != edge.upstream:
                reader = Reader(short_name(self.named[edge.downstream].urn), edge.belief)
                readers.setdefault(edge.upstream, []).append(reader)
        for one in wanted:
            state, version = states[one]
            finding = still_read(state, since(version), version.belief, readers.get(one, ()))
            if finding is not None:
                yield one, finding

    def _owner_findings(self) -> Iterable[tuple[EntityId, Finding]]:
        owned: dict[str, dict[EntityId, Owned]] = {}
        for one in self.versions:  # by belief and number: the last word on each entity is kept
            if one.aspect == "ownership" and one.entity in self.here and self.when.knows(one):
                until = None if self._holds(one) else self.when.ended(one)
                for urn in urns_of(one):
                    before = owned.setdefault(urn, {}).get(one.entity)
                    if before is None or before.until is not None:
                        owned[urn][one.entity] = Owned(one.entity, until, one.belief)
        for urn, places in owned.items():
            for place in places.values():
                if place.until is None:
                    finding = owner(urn, place.belief, place.entity, places.values())
                    if finding is not None:
                        yield place.entity, finding

    def _outdated(self) -> Iterable[tuple[EntityId, Finding]]:
        texts = {one: texts_of(aspects.get("description", ())) for one, aspects in self.now.items()}
        oldest = min((max(some).since for some in texts.values() if some), default=None)
        if oldest is None:
            return
        runs = rows.writing_runs(self.connection)
        changed: dict[EntityId, list[Later]] = {}
        broken: dict[EntityId, list[Later]] = {}
        for aspect in ("column", "upstreams", EXISTENCE):
            wanted = Wanted(aspect=aspect, seen=(oldest, None), known_at=self.when.known_at)
            for row in answers_changes.changes_of(self.connection, runs, wanted):
                if aspect != EXISTENCE and is_of_the_build(row):
                    changed.setdefault(row.entity, []).append(later_of(row, ""))
                if aspect != "upstreams" and row.seen.impact is Impact.BREAKING:
                    broken.setdefault(row.entity, []).append(later_of(row, short_name(row.urn)))
        for one, some in texts.items():
            above = {self.ids.entity(urn) for version in self.now[one].get("upstreams", ()) for urn in urns_of(version)}
            later = [*changed.get(one, ()), *(row for up in sorted(above - {one}) for row in broken.get(up, ()))]
            finding = outdated(some, later)
            if finding is not None and one in self.here:
                yield one, finding

    def _lacking(self) -> Iterable[tuple[EntityId, Finding]]:
        seeing: dict[str, set[str]] = {"ownership": set(), "description": set()}
        ended: dict[tuple[EntityId, str], Remembered] = {}
        for version in self.versions:
            if version.aspect in seeing and self.when.knows(version):
                seeing[version.aspect].add(version.source)
                ended[version.entity, version.aspect] = version
        for one in sorted(self.here):
            is_going = any(is_deprecated(loads(ver.value)) for ver in self.now.get(one, {}).get("deprecation", ()))
            if self.named[one].kind not in DATA or is_going:
                continue
            speaking = {source for source in self.sources if self.presence.said(one, source) is not None}
            lacks = []
            for what, aspect in (("owner", "ownership"), ("description", "description")):
                now = self.now.get(one, {}).get(aspect, ())
                if not speaking & seeing[aspect] or any(is_told(version) for version in now):
                    continue
                last = ended.get((one, aspect))
                lacks.append(lack_of(what, last, now, self.when))
            said = last_said(self.presence, one, self.sources)
            finding = lacking(lacks, [said.belief] if said is not None else [])
            if finding is not None:
                yield one, finding
