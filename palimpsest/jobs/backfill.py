"""backfill: the versions that a catalog keeps of its raw aspects become episodes at their own time, oldest first.

They lie before the first thing held of each cell, and alter nothing that was recorded. An entity is written whole, so
that a killed backfill is completed by the next one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from palimpsest.core.aspects import ASPECTS, RULES
from palimpsest.core.backfill import FirstHeld, Relived, gaps, numbered, relive
from palimpsest.core.baseline import GONE
from palimpsest.core.coverage import Coverage
from palimpsest.core.entity import short_name
from palimpsest.core.episode import Kind
from palimpsest.core.ids import EntityId
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import Moment
from palimpsest.core.noise import Scope
from palimpsest.core.observation import EntityHistory, Failed, Observation, StoredVersion, Tally
from palimpsest.jobs.leased import released_on_failure
from palimpsest.ports import Clock, HistoryReader, Progress
from palimpsest.store import erasing, history, readings, runs
from palimpsest.store.engine import Connection, Store
from palimpsest.store.readings import Batch
from palimpsest.store.runs import Lease, Origin

_ENTITIES_AT_ONCE = 100
_EPISODES_AT_ONCE = 20_000
_BEAT_EVERY_MS = 30_000
_MOST_NAMED = 20
_MOST_SAID = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillRequest:
    """What is to be filled in: under which source's name, and within which scope."""

    source: str
    scope: Scope = field(default_factory=Scope)
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillReport:
    """What a backfill found and wrote.

    entities, versions   of which the catalog keeps versions, and how many it gave
    written              episodes written; `by_aspect` the same by aspect
    oldest               the time of the oldest of them, None when none was written
    gaps                 raw aspect → of how many entities older versions are no longer kept; `gaps_named` the first few
    failed, failures     what could not be read: nothing of it was written
    """

    run: str
    source: str
    dry_run: bool
    entities: int
    versions: int
    written: int
    by_aspect: dict[str, int]
    oldest: Moment | None
    gaps: dict[str, int]
    gaps_named: list[str]
    failed: int
    failures: list[str]
    milliseconds: int
    planned: list[str] = field(default_factory=list)


def backfill(
    store: Store, reader: HistoryReader, request: BackfillRequest, *, clock: Clock, progress: Progress, holder: str
) -> BackfillReport:
    """Fill in what lies before the first reading, under a lease of its own.

    Raises LeaseHeldError, UsageError, CatalogError, StoreError.
    """
    runs.check_origin(store, name=request.source, kind=reader.kind, origin=reader.origin)
    if request.dry_run:
        return _Backfill(store, reader, request, clock, progress, None).run()
    lease = runs.acquire(store, job="backfill", source_name=request.source, rules=RULES, now=clock.now(), holder=holder)
    with released_on_failure(store, lease, clock):
        work = _Backfill(store, reader, request, clock, progress, lease)
        report = work.run()
        runs.release(store, lease, state="done", now=clock.now(), counts=counts_of(report), **work.run_values())
    return report


def counts_of(report: BackfillReport) -> dict[str, object]:
    """The counters of a report as its run keeps them."""
    return {
        "entities": report.entities,
        "versions": report.versions,
        "written": report.written,
        "by_aspect": report.by_aspect,
        "gaps": report.gaps,
        "failed": report.failed,
    }


class _Backfill:
    """One backfill at work. `lease` None writes nothing and counts what would be."""

    def __init__(
        self,
        store: Store,
        reader: HistoryReader,
        request: BackfillRequest,
        clock: Clock,
        progress: Progress,
        lease: Lease | None,
    ) -> None:
        self.store, self.reader, self.request = store, reader, request
        self.clock, self.progress, self.lease = clock, progress, lease
        self.ids = store.ids
        self.names = store.read(lambda connection: erasing.pseudonyms(connection, store.ids)) or None
        self.started_at = self.beat_at = clock.now()
        self.coverage, self.tally, self.batch = Coverage(), Tally(), Batch()
        self.ordinal = store.read(lambda connection: readings.next_ordinal(connection, request.source))
        self.counts: Counter[str] = Counter()
        self.by_aspect: Counter[str] = Counter()
        self.gaps: Counter[str] = Counter()
        self.gaps_named: list[str] = []
        self.planned: list[str] = []
        self.oldest: Moment | None = None

    def run(self) -> BackfillReport:
        """Read entity by entity, relive, write."""
        self.progress.start("listing")
        urns = [urn for urn in self.reader.urns() if self.request.scope.admits(urn)]
        self.progress.start("reading stored versions", len(urns))
        found = self.histories(urns)
        while some := list(islice(found, _ENTITIES_AT_ONCE)):
            self.add(some)
            if len(self.batch) >= _EPISODES_AT_ONCE:
                self.flush()
            self.beat()
        self.flush()
        self.progress.done()
        return self.report()

    def histories(self, urns: Sequence[str]) -> Iterator[EntityHistory]:
        """What could be read; what could not is counted and named."""
        for found in self.reader.histories(urns):
            self.progress.advance()
            if isinstance(found, Failed):
                self.tally.fail(found)
                continue
            yield found

    # --- entities -----------------------------------------------------------------------------------------------

    def add(self, some: Sequence[EntityHistory]) -> None:
        """The rows of some entities."""
        of = {self.ids.entity(one.urn): one for one in some}
        source = self.request.source

        def ask(connection: Connection) -> tuple[dict[history.Place, int], dict[history.Place, list[FirstHeld]]]:
            entities = sorted(of)
            return (
                history.ordinals(connection, source, entities),
                history.first_held(connection, source, entities),
            )

        ordinals, held = self.store.read(ask)
        for entity, one in of.items():
            self.count(one)
            for part, versions in one.versions.items():
                place = (entity, part)
                try:
                    relived = self.relive(entity, one.urn, versions, held.get(place, []))
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                    self.tally.fail(Failed(f"{one.urn} {part}", str(error)))
                    continue
                if relived:
                    self.batch.entities[entity] = one.urn
                    self.add_part(entity, one.urn, versions[-1], relived, ordinals.get(place))

    def count(self, one: EntityHistory) -> None:
        """Count what the catalog keeps of an entity, and what it no longer does."""
        self.counts["entities"] += bool(one.versions)
        kept = (version for versions in one.versions.values() for version in versions)
        self.counts["versions"] += sum(version.number > 0 for version in kept)  # 0 is none that the catalog keeps
        self.gaps.update(one.gone.keys())
        for said in gaps(one.gone):
            if len(self.gaps_named) < _MOST_NAMED:
                self.gaps_named.append(f"{short_name(one.urn)}: {said}")

    def relive(
        self, entity: EntityId, urn: str, versions: Sequence[StoredVersion], held: Sequence[FirstHeld]
    ) -> list[tuple[int, Relived]]:
        """The numbered differences that the versions of one raw aspect made before it was first read."""
        scope, source = self.request.scope, self.request.source

        def observe(version: StoredVersion) -> list[Observation]:
            seen = self.reader.observe(urn, version.part, version.payload)
            return (seen if self.names is None else self.names.seen(seen)).observations

        relived = relive(
            versions,
            observe,
            held=held,
            cell_of=lambda slot: self.ids.cell(entity, source, "", *slot),
            ignores=lambda slot: scope.ignores(*slot),
            digest_of=self.ids.digest,
        )
        return numbered(relived, held)

    def add_part(
        self, entity: EntityId, urn: str, newest: StoredVersion, relived: list[tuple[int, Relived]], ordinal: int | None
    ) -> None:
        """The rows of one raw aspect: itself where it is not held yet, its new cells, its episodes."""
        source, new = self.request.source, ordinal is None
        if ordinal is None:
            ordinal, self.ordinal = self.ordinal, self.ordinal + 1
        self.coverage.add(ordinal)
        last: dict[tuple[str, str], tuple[int, Relived]] = {}
        for number, one in relived:
            slot = (one.difference.aspect, one.difference.key)
            if number > 0:
                last[slot] = (number, one)
            self.add_episode(entity, urn, slot, number, one)
        live = 0
        for (aspect, key), (number, one) in last.items():
            cell, belief = self.ids.cell(entity, source, "", aspect, key), self.ids.belief(entity, source, aspect, key)
            ended = one.difference.kind is Kind.REMOVED
            digest = GONE if ended else one.difference.digest
            live += not ended
            self.batch.new_cells.append((cell, entity, source, "", aspect, key, newest.part, belief, digest, number))
        if new:
            digest = self.ids.digest(b"".join((entity[:8], newest.part.encode(), b"\0", newest.digest_of)))
            self.batch.new_parts.append((entity, source, newest.part, digest, ordinal, live))

    def add_episode(self, entity: EntityId, urn: str, slot: tuple[str, str], number: int, one: Relived) -> None:
        """The row of one episode."""
        difference, version = one.difference, one.version
        actor, catalog_run = version.actor, version.catalog_run
        if self.names is not None:
            actor, catalog_run = self.names.whole(actor), self.names.text(catalog_run)
        assert difference.kind is not None
        baseline = one.is_first and difference.kind is Kind.FIRST
        self.counts["written"] += 1
        self.by_aspect[slot[0]] += 1
        self.oldest = one.at if self.oldest is None else min(self.oldest, one.at)
        value = difference.value.decode() if difference.value is not None else None
        if self.lease is None:
            if not baseline and len(self.planned) < _MOST_SAID:
                was = difference.held.value if difference.held is not None else None
                before, after = (loads(text) if text is not None else None for text in (was, value))
                self.planned.append(f"{short_name(urn)}: {ASPECTS[slot[0]].say_change(slot[1], before, after)}")
            return
        self.batch.episodes.append(
            (
                self.ids.cell(entity, self.request.source, "", *slot),
                number,
                self.lease.run,
                one.at,
                None,
                difference.kind.value,
                int(difference.impact),
                baseline,
                value,
                difference.ground.value if difference.ground else None,
                one.at,
                actor or None,
                catalog_run or None,
            )
        )

    # --- transactions -------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """One transaction: the lease renewed, the run's counters exact, the rows written."""
        batch, self.batch = self.batch, Batch()
        if self.lease is None or not len(batch):
            return
        lease, values, now = self.lease, self.run_values(), self.clock.now()
        origin = Origin(name=self.request.source, kind=self.reader.kind, origin=self.reader.origin)
        self.store.write_leased(lambda connection: readings.commit_batch(connection, lease, now, values, origin, batch))
        self.beat_at = now

    def run_values(self) -> dict[str, object]:
        """What the run's row says so far. It has no time of reading: it is no reading of what is now."""
        return {"coverage": self.coverage.packed(), "written": self.counts["written"]}

    def beat(self) -> None:
        """Renew the lease when it is time to."""
        now = self.clock.now()
        if self.lease is None or now - self.beat_at < _BEAT_EVERY_MS:
            return
        lease = self.lease
        self.store.write(lambda connection: runs.beat(connection, lease, now))
        self.beat_at = now

    def report(self) -> BackfillReport:
        """Everything counted."""
        return BackfillReport(
            run=self.lease.run.hex() if self.lease else "",
            source=self.request.source,
            dry_run=self.request.dry_run,
            entities=self.counts["entities"],
            versions=self.counts["versions"],
            written=self.counts["written"],
            by_aspect=dict(sorted(self.by_aspect.items())),
            oldest=self.oldest,
            gaps=dict(sorted(self.gaps.items())),
            gaps_named=self.gaps_named,
            failed=self.tally.failed,
            failures=list(self.tally.failures),
            milliseconds=self.clock.now() - self.started_at,
            planned=self.planned,
        )
