"""scan: read a source once, write down only what differs from its baseline.

read (into the spool) → plan (what differs) → apply (in transactions that each renew the lease). Nothing is written
before the reading is whole; no belief is touched.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from palimpsest.core.aspects import ASPECTS, RULES, existence
from palimpsest.core.aspects.aspect import Impact, Json, members_of
from palimpsest.core.baseline import GONE, Difference, Held, apply_patches, compare, keyed, removed
from palimpsest.core.coverage import Coverage
from palimpsest.core.entity import kind_of, platform_of, short_name
from palimpsest.core.episode import Ground, Kind
from palimpsest.core.errors import LeaseHeldError, MassChangeError, StoreError, UsageError
from palimpsest.core.ids import Digest, EntityId
from palimpsest.core.jsontext import dumps, loads
from palimpsest.core.moment import Moment, spoken
from palimpsest.core.noise import Scope
from palimpsest.core.observation import NO_STAMP, Failed, RawAspect, Skipped, Stamp, Tally
from palimpsest.ports import CatalogReader, Clock, Progress
from palimpsest.store import readings, runs
from palimpsest.store.engine import Store
from palimpsest.store.runs import Lease
from palimpsest.store.spool import STATUS, PlannedPart, Spool, SpooledPart

Item = TypeVar("Item")
Slot = tuple[str, str]

_PARTS_AT_ONCE = 400
_EPISODES_AT_ONCE = 20_000
_BEAT_EVERY_MS = 30_000
_URNS_KEPT = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRequest:
    """What a scan is asked to do. `limit` reads only so many entities; such a reading ends nothing."""

    source: str
    at: Moment | None = None
    scope: Scope = field(default_factory=Scope)
    limit: int | None = None
    dry_run: bool = False
    accept_mass_change: str | None = None
    mass_share: float = 0.2
    mass_cells: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanReport:
    """What a scan found and wrote. `observations` = `unchanged` + the compared ones; every number is counted from rows.

    written        episodes written, quiet and baseline ones included
    changes        of those, what counts as a change (no baseline, not quiet), by impact
    baseline       of those, first readings, which are no change
    contradicting  of those, what contradicts a held value
    """

    run: str
    source: str
    read_at: Moment
    read_at_from: str
    last_read_at: Moment | None
    complete: bool
    is_first: bool
    dry_run: bool
    entities: int
    observations: int
    written: int
    unchanged: int
    baseline: int
    quiet: int
    contradicting: int
    changes: dict[str, int]
    by_aspect: dict[str, int]
    records_read: int
    records_used: int
    records_out_of_scope: int
    records_failed: int
    skipped: dict[str, int]
    failures: list[str]
    unused_patches: dict[str, int]
    milliseconds: int
    planned: list[str] = field(default_factory=list)

    @property
    def unchanged_share(self) -> float:
        """Which share of the observations was unchanged, between 0 and 1."""
        return self.unchanged / self.observations if self.observations else 1.0


def scan(
    store: Store, reader: CatalogReader, request: ScanRequest, *, clock: Clock, progress: Progress, holder: str
) -> ScanReport:
    """Scan under a lease of its own. Raises LeaseHeldError, MassChangeError, UsageError, CatalogError, StoreError."""
    if request.dry_run:
        return _Scan(store, reader, request, clock, progress, None).run()
    runs.check_origin(store, name=request.source, kind=reader.kind, origin=reader.origin)
    lease = runs.acquire(store, job="scan", source_name=request.source, rules=RULES, now=clock.now(), holder=holder)
    with released_on_failure(store, lease, clock):
        report, values = scan_under(store, reader, request, clock=clock, progress=progress, lease=lease)
        runs.release(store, lease, state="done", now=clock.now(), counts=counts_of(report), **values)
    return report


def scan_under(
    store: Store, reader: CatalogReader, request: ScanRequest, *, clock: Clock, progress: Progress, lease: Lease
) -> tuple[ScanReport, dict[str, object]]:
    """Scan under a lease that the caller holds: the report, and what the caller must set on the run when it ends it."""
    runs.check_origin(store, name=request.source, kind=reader.kind, origin=reader.origin)
    work = _Scan(store, reader, request, clock, progress, lease)
    return work.run(), work.run_values()


class released_on_failure:
    """Ends a run as failed, or stopped, when the block raises."""

    def __init__(self, store: Store, lease: Lease, clock: Clock) -> None:
        self._store, self._lease, self._clock = store, lease, clock

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, LeaseHeldError):
            return
        stopped = isinstance(error, MassChangeError)
        counts: dict[str, object] = {"failure": str(error) or type(error).__name__}
        if isinstance(error, MassChangeError):
            counts["ending"] = error.ending
        state = "stopped" if stopped else "failed"
        runs.release_quietly(self._store, self._lease, state=state, now=self._clock.now(), counts=counts)


def counts_of(report: ScanReport) -> dict[str, object]:
    """The counters of a report as its run keeps them."""
    return {
        "entities": report.entities,
        "observations": report.observations,
        "written": report.written,
        "unchanged": report.unchanged,
        "baseline": report.baseline,
        "quiet": report.quiet,
        "contradicting": report.contradicting,
        "changes": report.changes,
        "by_aspect": report.by_aspect,
        "records": {
            "read": report.records_read,
            "used": report.records_used,
            "out of scope": report.records_out_of_scope,
            "failed": report.records_failed,
            "skipped": report.skipped,
        },
    }


class _Scan:
    """One scan at work. The order of its steps is the order of its methods."""

    def __init__(
        self,
        store: Store,
        reader: CatalogReader,
        request: ScanRequest,
        clock: Clock,
        progress: Progress,
        lease: Lease | None,
    ) -> None:
        self.store, self.reader, self.request = store, reader, request
        self.clock, self.progress, self.lease = clock, progress, lease
        self.ids = store.ids
        self.started_at = clock.now()
        self.beat_at = self.started_at
        self.tally = Tally()
        self.newest: Moment | None = None
        self.last = store.read(lambda connection: runs.last_reading(connection, request.source))
        self.last_scope = _scope_of(self.last.scope) if self.last else None
        self.coverage = Coverage()
        self.readings = _Readings(store, request.source)
        self.listed = self._part_digest(b"listed")
        self.ignored_aspects = request.scope.ignored_aspects()
        self.compared = 0
        self.counted: Counter[str] = Counter()
        self.changes: Counter[str] = Counter()
        self.by_aspect: Counter[str] = Counter()
        self.ending: dict[tuple[str, str], int] = {}
        self.accepted: dict[str, int] = {}
        self.planned: list[tuple[EntityId, str]] = []
        self.planned_lines: list[str] = []
        self.read_at, self.read_at_from = self.started_at, "now"
        self.complete = False
        self.failed_last: tuple[EntityId, str] | None = None
        self.reads_anew = self.last is not None and (
            self.last.rules != RULES or self.last_scope is None or self.last_scope.ignore != request.scope.ignore
        )

    def run(self) -> ScanReport:
        """Read, plan, apply."""
        self.accepted = self.accepted_endings()
        with Spool() as spool:
            spool.load_held(readings.held_parts(self.store, self.request.source))
            self.read(spool)
            self.read_at, self.read_at_from = self.choose_time()
            entities = spool.entity_count()
            for ordinal in spool.covered():
                self.coverage.add(ordinal)
            unchanged = spool.unchanged_cells()
            self.plan_changes(spool)
            if self.complete:
                self.plan_unlisted(spool)
            self.guard()
            self.apply(spool)
            self.name_planned(spool)
        self.progress.done()
        return self.report(entities, unchanged)

    # --- read ---------------------------------------------------------------------------------------------------

    def read(self, spool: Spool) -> None:
        """Stream the reading into the spool."""
        scope, tally = self.request.scope, self.tally
        keep_domains = bool(scope.domains)
        last_urn, entity = "", None
        known: dict[str, EntityId | None] = {}
        listed: set[str] | None = set() if self.request.limit is not None else None
        self.progress.start("reading")
        for found in self.reader.records():
            tally.read += 1
            if tally.read % 1_000 == 0:
                self.progress.advance(1_000)
                self.beat()
            if isinstance(found, Skipped):
                tally.skip(found)
                continue
            if isinstance(found, Failed):
                tally.fail(found)
                continue
            if found.urn != last_urn:
                last_urn = found.urn
                if last_urn in known:
                    entity = known[last_urn]
                else:
                    entity = self.admit(spool, scope, listed, last_urn)
                    if len(known) >= _URNS_KEPT:
                        known.clear()
                    known[last_urn] = entity
            if entity is None:
                tally.out_of_scope += 1
                continue
            tally.used += 1
            if found.observed_at is not None and (self.newest is None or found.observed_at > self.newest):
                self.newest = found.observed_at
            self.spool_part(spool, entity, found, keep_domains)
        spool.flush()
        self.progress.done()
        if keep_domains:
            self.narrow_to_domains(spool)
        spool.list_entities(self.listed)
        clash = spool.clash()
        if clash is not None:
            raise StoreError(
                f"two URNs share one id: {clash[0]} and {clash[1]}", "report it: this store needs another secret"
            )
        self.complete = self.reader.is_complete and not tally.failed and self.request.limit is None

    def admit(self, spool: Spool, scope: Scope, listed: set[str] | None, urn: str) -> EntityId | None:
        """The id of an entity that the reading lists; None for one out of scope."""
        if not (scope.admits(urn) and self.within_limit(listed, urn)):
            return None
        entity = self.ids.entity(urn)
        spool.see(entity, urn)
        return entity

    def spool_part(self, spool: Spool, entity: EntityId, found: RawAspect, keep_domains: bool) -> None:
        """One raw aspect into the spool."""
        if found.is_patch:
            spool.flush()
            spool.add_patch(entity, found.part, found.payload, found.catalog_run)
            return
        digest = self.ids.digest(b"".join((entity[:8], found.part.encode(), b"\0", found.digest_of)))
        keep = self.reads_anew or (keep_domains and found.part == "domains")
        spool.add(entity, found.part, digest, found.payload, found.catalog_run, keep=keep)

    def within_limit(self, listed: set[str] | None, urn: str) -> bool:
        """Whether one more entity may be read."""
        if listed is None or urn in listed:
            return True
        if len(listed) >= (self.request.limit or 0):
            return False
        listed.add(urn)
        return True

    def narrow_to_domains(self, spool: Spool) -> None:
        """Drop the entities outside the wanted domains, as the reading tells them, or else as they are held."""
        wanted = {domain.removeprefix("urn:li:domain:") for domain in self.request.scope.domains}
        outside: list[bytes] = []
        for chunk in _chunks(spool.entities(), _PARTS_AT_ONCE):
            silent = [entity for entity, _, payload in chunk if payload is None]
            held = self.store.read(lambda c, silent=silent: readings.held_domains(c, self.request.source, silent))  # type: ignore[misc]
            for entity, urn, payload in chunk:
                domains = loads(held.get(entity, "[]"))
                if payload is not None:
                    seen = self.reader.observe(urn, "domains", payload).observations
                    domains = seen[0].value if seen else []
                names = {member[0].removeprefix("urn:li:domain:") for member in members_of(domains)}
                if not names & wanted:
                    outside.append(entity)
        spool.drop_entities(outside)

    def choose_time(self) -> tuple[Moment, str]:
        """The time of the reading, and where it comes from. Raises UsageError for an `--at` before the last."""
        last = self.last.read_at if self.last else None
        now = self.clock.now()
        at = self.request.at
        if at is not None:
            if last is not None and at < last:
                raise UsageError(
                    f"--at {spoken(at)} is older than the last reading of {self.request.source} ({spoken(last)})",
                    "a memory is not written backwards; give a later time, or another --source",
                )
            if at > now:
                raise UsageError(f"--at {spoken(at)} is in the future", "give the time of the reading")
            return at, "--at"
        is_repeat = self.last is not None and bool(self.last.unfinished) and self.newest == last
        if self.newest is not None and self.newest <= now and (last is None or self.newest > last or is_repeat):
            return self.newest, "lastObserved"
        return max(now, last) if last is not None else now, "now"

    # --- plan ---------------------------------------------------------------------------------------------------

    def plan_changes(self, spool: Spool) -> None:
        """Find what differs in the raw aspects that are held already, and keep it in the spool."""
        for chunk in _chunks(spool.changed(), _PARTS_AT_ONCE):
            self.beat()
            entities = list(dict.fromkeys(part.entity for part in chunk))
            held = self.store.read(lambda c, e=entities: readings.held_cells(c, self.request.source, e))  # type: ignore[misc]
            for part in chunk:
                self.plan_part(spool, part, held.get((part.entity, part.part), []))

    def plan_part(self, spool: Spool, part: SpooledPart, held: list[Held]) -> None:
        """The differences of one held raw aspect."""
        differences, stamp = self.differences(part, held)
        restates = part.part == STATUS and spool.ended_by_listing(part.entity)
        if part.ordinal is None or not (differences or restates):
            return
        for difference in differences:
            if difference.ends:
                more = spool.live_cells(part.entity) if difference.aspect == "existence" else 1
                self.count_ending(part.urn, difference.aspect, more)
        # A run covers a raw aspect only once its differences are written: a killed one has not read what it left.
        covers = part.ordinal if part.ordinal in self.coverage else None
        self.coverage.discard(part.ordinal)
        spool.plan(
            PlannedPart(
                part.entity,
                part.part,
                self.digest_after(part),
                differences,
                stamp.at,
                stamp.actor,
                part.catalog_run or stamp.run,
                self.readings.before(part.ordinal),
                covers,
            )
        )

    def digest_after(self, part: SpooledPart) -> bytes:
        """The digest to hold for a raw aspect. After a patch it is one that no raw aspect has: the next is compared."""
        return part.digest if part.digest is not None and not part.patches else self._part_digest(b"patched")

    def differences(self, part: SpooledPart, held: list[Held]) -> tuple[list[Difference], Stamp]:
        """What a raw aspect says differently from what is held; nothing, and a failure, when it cannot be read."""
        try:
            found, stamp, gone = self.stated(part, held)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self.failed_last = (part.entity, part.part)
            self.tally.used -= 1
            self.tally.fail(Failed(f"{part.urn} {part.part}", str(error)))
            if part.ordinal is not None:
                self.coverage.discard(part.ordinal)
            return [], NO_STAMP
        live = [cell for cell in held if not self.is_ignored(cell.aspect, cell.key)]
        differences = compare(live, found, whole=part.payload is not None, digest_of=self.ids.digest)
        if part.payload is None:
            differences += [removed(c, Ground.PATCH) for c in live if (c.aspect, c.key) in gone and c.value is not None]
        held_slots = {(cell.aspect, cell.key) for cell in live if cell.value is not None}
        self.compared += len(found.keys() & held_slots)
        self.compared += sum(
            1 for d in differences if d.kind in {Kind.FIRST, Kind.RETURNED} and (d.aspect, d.key) not in held_slots
        )
        return differences, stamp

    def stated(self, part: SpooledPart, held: list[Held]) -> tuple[dict[Slot, Json], Stamp, set[Slot]]:
        """The cells that a raw aspect states after its patches, its stamp, and the cells that patches took away."""
        found: dict[Slot, Json] = {}
        stamp = NO_STAMP
        gone: set[Slot] = set()
        if part.payload is not None:
            seen = self.reader.observe(part.urn, part.part, part.payload)
            found, stamp = keyed(held, seen.observations), seen.stamp
        elif part.digest is not None and part.patches:
            found = {(cell.aspect, cell.key): loads(cell.value) for cell in held if cell.value is not None}
        patches = []
        for payload, _ in part.patches:
            read, unused = self.reader.patches(part.urn, part.part, payload)
            patches.extend(read)
            for path in unused:
                self.tally.leave(f"{part.part} {path}")
        if patches:
            touched, gone = apply_patches(held, found, patches, whole=part.digest is not None)
            found = {slot: value for slot, value in {**found, **touched}.items() if slot not in gone}
        found = {slot: value for slot, value in found.items() if not self.is_ignored(*slot)}
        return found, stamp, gone

    def is_ignored(self, aspect: str, key: str) -> bool:
        """Whether the rules leave a cell out."""
        return aspect in self.ignored_aspects and self.request.scope.ignores(aspect, key)

    def plan_unlisted(self, spool: Spool) -> None:
        """A complete listing lacks these entities: their existence ends."""
        for chunk in _chunks(spool.unlisted(), _PARTS_AT_ONCE):
            entities = list(chunk)
            held = self.store.read(lambda c, e=entities: readings.held_cells(c, self.request.source, e))  # type: ignore[misc]
            urns = self.store.read(lambda c, e=entities: readings.urns_of(c, e))  # type: ignore[misc]
            for entity in entities:
                if not self.request.scope.admits(urns[entity]) or self.request.scope.domains:
                    continue
                cells = [cell for cell in held.get((entity, STATUS), []) if cell.aspect == "existence"]
                value = existence.absent(existence.LISTING)
                found = {("existence", ""): value}
                differences = compare(cells, found, whole=False, digest_of=self.ids.digest)
                if not differences:
                    continue
                self.count_ending(urns[entity], "existence", spool.live_cells(entity))
                after = self.readings.before(spool.ordinal(entity, STATUS))
                spool.plan(PlannedPart(entity, STATUS, b"", differences, None, "", "", after))

    def count_ending(self, urn: str, aspect: str, cells: int) -> None:
        """Count cells that would end, by platform and aspect."""
        group = (platform_of(urn), aspect)
        self.ending[group] = self.ending.get(group, 0) + cells

    def guard(self) -> None:
        """Stop before writing when too much of a platform would end. Raises MassChangeError."""
        by_platform: Counter[str] = Counter()
        for (platform, _), cells in self.ending.items():
            by_platform[platform] += cells
        if not any(cells >= self.request.mass_cells for cells in by_platform.values()):
            return
        held = self.store.read(lambda connection: readings.cells_by_platform(connection, self.request.source))
        over = [
            platform
            for platform, cells in by_platform.items()
            if cells >= self.request.mass_cells
            and cells > self.request.mass_share * held.get(platform, 0)
            and cells > self.accepted.get(platform, 0)
        ]
        if not over:
            return
        groups = sorted(self.ending.items(), key=lambda item: (-item[1], item[0]))
        named = ", ".join(
            f"{aspect} on {platform or 'no platform'} ({cells} cells)" for (platform, aspect), cells in groups[:3]
        )
        total = sum(by_platform[platform] for platform in over)
        of = sum(held.get(platform, 0) for platform in over)
        where = ", ".join(platform or "no platform" for platform in sorted(over))
        hint = "scan without --dry-run to be told how to accept it"
        if self.lease is not None:
            run = self.lease.run.hex()[:12]
            hint = f"nothing was written; if the catalog really lost them: --accept-mass-change {run}"
        message = f"this reading would end {total} of {of} cells on {where}: {named}"
        raise MassChangeError(message, hint, ending=by_platform)

    def accepted_endings(self) -> dict[str, int]:
        """How many cells may end on each platform, as an earlier stopped run reported them."""
        wanted = self.request.accept_mass_change
        if wanted is None:
            return {}
        counts = self.store.read(lambda connection: runs.stopped_run(connection, wanted, self.request.source))
        if counts is None:
            raise UsageError(
                f"no stopped run {wanted!r} of {self.request.source}",
                "take the run's id from the message, or from: palimpsest runs",
            )
        ending = json.loads(counts).get("ending", {})
        return {str(platform): int(cells) for platform, cells in ending.items()}

    # --- apply --------------------------------------------------------------------------------------------------

    def apply(self, spool: Spool) -> None:
        """Write the plan, then the raw aspects that are new, in transactions of some 20,000 episodes."""
        batch = readings.Batch()
        self.progress.start("writing")
        for plan in spool.planned():
            self.add_planned(batch, plan)
            batch = self.written(batch)
        platforms: frozenset[tuple[str, str]] | None = None
        unfinished = self.last.unfinished if self.last else ()
        ordinal = self.store.read(lambda connection: readings.next_ordinal(connection, self.request.source))
        for part in spool.new():
            if platforms is None:
                platforms = self.store.read(
                    lambda connection: readings.known_platforms(connection, self.request.source, unfinished)
                )
            if self.add_new(batch, part, ordinal, platforms):
                if part.payload is not None:
                    self.coverage.add(ordinal)
                ordinal += 1
            batch = self.written(batch)
        self.written(batch, last=True)

    def add_planned(self, batch: readings.Batch, plan: PlannedPart) -> None:
        """The rows of one held raw aspect's differences."""
        stamp = Stamp(at=Moment(plan.stamped_at) if plan.stamped_at else None, actor=plan.actor, run=plan.catalog_run)
        more = 0
        for difference in plan.differences:
            more += self.add_difference(batch, plan.entity, plan.part, difference, stamp, plan.after_at, is_new=False)
        if plan.covers is not None:
            self.coverage.add(plan.covers)
        digest = plan.digest
        if digest is not None:
            batch.changed_parts.append((digest, more, plan.entity, self.request.source, plan.part))

    def add_new(
        self, batch: readings.Batch, part: SpooledPart, ordinal: int, platforms: frozenset[tuple[str, str]]
    ) -> bool:
        """The rows of a raw aspect that was never held; whether it is held from now on."""
        differences, stamp = self.differences(part, [])
        if not differences and (part.is_known or part.payload is None or self.failed_last == (part.entity, part.part)):
            return False
        batch.entities[part.entity] = part.urn
        for difference in differences:
            baseline = not (difference.aspect == "existence" and self.is_news(part, difference, platforms))
            stamped = Stamp(at=stamp.at, actor=stamp.actor, run=part.catalog_run or stamp.run)
            self.add_difference(
                batch, part.entity, part.part, difference, stamped, None, is_new=True, baseline=baseline
            )
        digest = self.digest_after(part)
        batch.new_parts.append((part.entity, self.request.source, part.part, digest, ordinal, len(differences)))
        return True

    def is_news(self, part: SpooledPart, difference: Difference, platforms: frozenset[tuple[str, str]]) -> bool:
        """Whether a new entity is one line of news: it exists, in a platform and scope read before (R14)."""
        if part.is_known or self.last is None or not self.last.finished or self.last_scope is None:
            return False
        if difference.value is None or not existence.exists(loads(difference.value)):
            return False
        known = (kind_of(part.urn) or "", platform_of(part.urn)) in platforms
        return known and self.last_scope.admits(part.urn) and self.last_scope.domains == self.request.scope.domains

    def add_difference(
        self,
        batch: readings.Batch,
        entity: EntityId,
        part: str,
        difference: Difference,
        stamp: Stamp,
        after_at: int | None,
        *,
        is_new: bool,
        baseline: bool = False,
    ) -> int:
        """The rows of one difference; by how much the number of live cells grows."""
        held = difference.held
        source = self.request.source
        if held is None:
            aspect, key = difference.aspect, difference.key
            cell = self.ids.cell(entity, source, "", aspect, key)
            belief = self.ids.belief(entity, source, aspect, key)
            number = 1
            batch.new_cells.append((cell, entity, source, "", aspect, key, part, belief, difference.digest, number))
        else:
            cell = held.cell
            number = held.last + (difference.kind is not None)
            batch.changed_cells.append((difference.digest, number, cell))
        if difference.kind is None:
            return 0
        baseline = baseline if is_new else self.is_baseline(difference)
        self.count(entity, difference, baseline)
        if self.lease is not None:
            batch.episodes.append(
                (
                    cell,
                    number,
                    self.lease.run,
                    self.read_at,
                    after_at,
                    difference.kind.value,
                    int(difference.impact),
                    baseline,
                    difference.value.decode() if difference.value is not None else None,
                    difference.ground.value if difference.ground else None,
                    stamp.at,
                    stamp.actor or None,
                    stamp.run or None,
                )
            )
        if difference.kind is Kind.REMOVED:
            return -1
        return 1 if held is None or held.value is None else 0

    def is_baseline(self, difference: Difference) -> bool:
        """Whether a first cell in a known raw aspect is no change: rules or what is ignored changed (R14)."""
        if difference.kind is not Kind.FIRST or self.last is None or self.last_scope is None:
            return difference.kind is Kind.FIRST and self.last is None
        return self.last.rules != RULES or self.last_scope.ignores(difference.aspect, difference.key)

    def count(self, entity: EntityId, difference: Difference, baseline: bool) -> None:
        """Count an episode."""
        self.counted["written"] += 1
        self.by_aspect[difference.aspect] += 1
        if baseline:
            self.counted["baseline"] += 1
            return
        if difference.impact is Impact.QUIET:
            self.counted["quiet"] += 1
            return
        self.changes[difference.impact.word] += 1
        held = difference.held
        if held is not None and held.value is not None:
            self.counted["contradicting"] += 1
        if self.request.dry_run and len(self.planned) < 1_000:
            before = loads(held.value) if held is not None and held.value is not None else None
            after = loads(difference.value) if difference.value is not None else None
            self.planned.append((entity, ASPECTS[difference.aspect].say_change(difference.key, before, after)))

    def name_planned(self, spool: Spool) -> None:
        """Put the entity's name before what a dry run found of it."""
        unlisted = [entity for entity, _ in self.planned if spool.urn(entity) is None]
        held = self.store.read(lambda c: readings.urns_of(c, unlisted)) if unlisted else {}
        for entity, said in self.planned:
            self.planned_lines.append(f"{short_name(spool.urn(entity) or held[entity])}: {said}")

    def written(self, batch: readings.Batch, *, last: bool = False) -> readings.Batch:
        """Write a batch when it is full; the batch to go on with."""
        if len(batch) < _EPISODES_AT_ONCE and not last:
            return batch
        self.progress.advance(len(batch.episodes))
        if self.lease is None or not (batch.episodes or len(batch)):
            return readings.Batch()
        lease, values = self.lease, self.run_values()
        now = self.clock.now()

        origin = runs.Origin(name=self.request.source, kind=self.reader.kind, origin=self.reader.origin)
        self.store.write(lambda connection: readings.commit_batch(connection, lease, now, values, origin, batch))
        return readings.Batch()

    def run_values(self) -> dict[str, object]:
        """What the run's row says of this reading so far."""
        return {
            "read_at": self.read_at,
            "complete": self.complete,
            "scope": _scope_text(self.request.scope),
            "coverage": self.coverage.packed(),
            "written": self.counted["written"],
        }

    def beat(self) -> None:
        """Renew the lease when it is time to."""
        now = self.clock.now()
        if self.lease is None or now - self.beat_at < _BEAT_EVERY_MS:
            return
        lease = self.lease
        self.store.write(lambda connection: runs.beat(connection, lease, now))
        self.beat_at = now

    def report(self, entities: int, unchanged: int) -> ScanReport:
        """Everything counted."""
        written = self.counted["written"]
        observations = unchanged + self.compared
        return ScanReport(
            run=self.lease.run.hex() if self.lease else "",
            source=self.request.source,
            read_at=self.read_at,
            read_at_from=self.read_at_from,
            last_read_at=self.last.read_at if self.last else None,
            complete=self.complete,
            is_first=self.last is None,
            dry_run=self.request.dry_run,
            entities=entities,
            observations=observations,
            written=written,
            unchanged=max(0, observations - written),
            baseline=self.counted["baseline"],
            quiet=self.counted["quiet"],
            contradicting=self.counted["contradicting"],
            changes=dict(self.changes),
            by_aspect=dict(sorted(self.by_aspect.items())),
            records_read=self.tally.read,
            records_used=self.tally.used,
            records_out_of_scope=self.tally.out_of_scope,
            records_failed=self.tally.failed,
            skipped=dict(sorted(self.tally.skipped.items())),
            failures=list(self.tally.failures),
            unused_patches=dict(sorted(self.tally.unused_patches.items())),
            milliseconds=self.clock.now() - self.started_at,
            planned=self.planned_lines,
        )

    def _part_digest(self, raw: bytes) -> Digest:
        return self.ids.digest(raw)


class _Readings:
    """When a raw aspect was last read before this run, from the coverage of earlier runs, newest first."""

    _MOST_KEPT = 64

    def __init__(self, store: Store, source: str) -> None:
        self._store, self._source = store, source
        self._runs: list[tuple[Moment, object]] | None = None
        self._kept: list[tuple[Moment, Coverage]] = []

    def before(self, ordinal: int) -> Moment | None:
        """The time of the newest earlier reading that covered this ordinal; None when none did."""
        if self._runs is None:
            self._runs = list(self._store.read(lambda connection: runs.coverages(connection, self._source)))
        for position, (read_at, run) in enumerate(self._runs):
            if ordinal in self._coverage(position, read_at, run):
                return read_at
        return None

    def _coverage(self, position: int, read_at: Moment, run: object) -> Coverage:
        if position < len(self._kept):
            return self._kept[position][1]
        found = Coverage(self._store.read(lambda connection: runs.coverage_of(connection, run)))  # type: ignore[arg-type]
        if len(self._kept) < self._MOST_KEPT:
            self._kept.append((read_at, found))
        return found


def _chunks(items: Iterator[Item], size: int) -> Iterator[list[Item]]:
    while chunk := list(islice(items, size)):
        yield chunk


def _scope_text(scope: Scope) -> str:
    return dumps(
        {
            "include": list(scope.include),
            "exclude": list(scope.exclude),
            "platforms": list(scope.platforms),
            "environments": list(scope.environments),
            "domains": list(scope.domains),
            "ignore": list(scope.ignore),
            "exclude_defaults": scope.exclude_defaults,
        }
    ).decode()


def _scope_of(text: str | None) -> Scope | None:
    if text is None:
        return None
    fields = json.loads(text)
    listed = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
    return Scope(**listed, exclude_defaults=bool(fields.get("exclude_defaults", True)))


__all__ = ["GONE", "ScanReport", "ScanRequest", "counts_of", "scan", "scan_under"]
