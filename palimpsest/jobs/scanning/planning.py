"""Planning: what a reading says differently from what is held, by raw aspect. The plan waits in the spool."""

from __future__ import annotations

from palimpsest.core.aspects import existence
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.baseline import Difference, Held, apply_patches, compare, keyed, removed
from palimpsest.core.coverage import Coverage
from palimpsest.core.entity import platform_of
from palimpsest.core.episode import Ground, Kind
from palimpsest.core.ids import EntityId, RunId
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import Moment
from palimpsest.core.observation import NO_STAMP, Failed, Patch, Stamp
from palimpsest.jobs.scanning.request import Work, chunks
from palimpsest.store import readings, runs
from palimpsest.store.engine import Connection, Store
from palimpsest.store.spool import STATUS, PlannedPart, Spool, SpooledPart

Slot = tuple[str, str]


class Planner:
    """Finds differences.

    compared  how many cells were looked at
    endings   how many cells would end, by (platform, aspect)
    """

    def __init__(self, work: Work) -> None:
        self.work = work
        self.compared = 0
        self.endings: dict[tuple[str, str], int] = {}
        self.failed_last: tuple[EntityId, str] | None = None
        self._ignored_aspects = work.request.scope.ignored_aspects()
        self._earlier = EarlierReadings(work.store, work.request.source)

    # --- raw aspects that are held ------------------------------------------------------------------------------

    def plan_changes(self, spool: Spool) -> None:
        """Find what differs in the raw aspects that are held already."""
        for chunk in chunks(spool.changed()):
            self.work.beat()
            held = self._held({part.entity for part in chunk}, {part.part for part in chunk})
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
                self._count_ending(part.urn, difference.aspect, more)
        # A run covers a raw aspect only once its differences are written: a killed one has not read what it left.
        covers = part.ordinal if part.ordinal in self.work.coverage else None
        self.work.coverage.discard(part.ordinal)
        spool.plan(
            PlannedPart(
                part.entity,
                part.part,
                self.digest_after(part),
                differences,
                stamp.at,
                stamp.actor,
                part.catalog_run or stamp.run,
                self._earlier.before(part.ordinal),
                covers,
            )
        )

    def digest_after(self, part: SpooledPart) -> bytes:
        """The digest to hold for a raw aspect. After a patch it is one that no raw aspect has: the next is compared."""
        if part.digest is not None and not part.patches:
            return part.digest
        return self.work.ids.digest(b"patched")

    # --- entities that a complete listing lacks -----------------------------------------------------------------

    def plan_unlisted(self, spool: Spool) -> None:
        """A complete listing lacks these entities: their existence ends."""
        scope = self.work.request.scope
        if scope.domains:
            return
        for chunk in chunks(spool.unlisted()):
            held = self._held(set(chunk), {STATUS})
            urns = self.work.store.read(lambda connection, chunk=chunk: readings.urns_of(connection, chunk))  # type: ignore[misc]
            for entity in chunk:
                if scope.admits(urns[entity]):
                    self._plan_gone(spool, entity, urns[entity], held.get((entity, STATUS), []))

    def _plan_gone(self, spool: Spool, entity: EntityId, urn: str, held: list[Held]) -> None:
        cells = [cell for cell in held if cell.aspect == "existence"]
        found = {("existence", ""): existence.absent(existence.LISTING)}
        differences = compare(cells, found, whole=False, digest_of=self.work.ids.digest)
        if differences:
            self._count_ending(urn, "existence", spool.live_cells(entity))
            after = self._earlier.before(spool.ordinal(entity, STATUS))
            spool.plan(PlannedPart(entity, STATUS, b"", differences, None, "", "", after))

    # --- one raw aspect -----------------------------------------------------------------------------------------

    def differences(self, part: SpooledPart, held: list[Held]) -> tuple[list[Difference], Stamp]:
        """What a raw aspect says differently from what is held; nothing, and a failure, when it cannot be read."""
        try:
            found, stamp, gone = self._stated(part, held)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self.failed_last = (part.entity, part.part)
            self.work.tally.used -= 1
            self.work.tally.fail(Failed(f"{part.urn} {part.part}", str(error)))
            if part.ordinal is not None:
                self.work.coverage.discard(part.ordinal)
            return [], NO_STAMP
        live = [cell for cell in held if not self._is_ignored(cell.aspect, cell.key)]
        differences = compare(live, found, whole=part.payload is not None, digest_of=self.work.ids.digest)
        if part.payload is None:
            differences += [removed(c, Ground.PATCH) for c in live if (c.aspect, c.key) in gone and c.value is not None]
        held_slots = {(cell.aspect, cell.key) for cell in live if cell.value is not None}
        self.compared += len(found.keys() & held_slots)
        self.compared += sum(
            1 for d in differences if d.kind in {Kind.FIRST, Kind.RETURNED} and (d.aspect, d.key) not in held_slots
        )
        return differences, stamp

    def _stated(self, part: SpooledPart, held: list[Held]) -> tuple[dict[Slot, Json], Stamp, set[Slot]]:
        """The cells that a raw aspect states after its patches, its stamp, and the cells that patches took away."""
        reader, found, stamp = self.work.reader, dict[Slot, Json](), NO_STAMP
        gone: set[Slot] = set()
        if part.payload is not None:
            seen = reader.observe(part.urn, part.part, part.payload)
            if self.work.names is not None:
                seen = self.work.names.seen(seen)
            found, stamp = keyed(held, seen.observations), seen.stamp
        elif part.digest is not None and part.patches:
            found = {(cell.aspect, cell.key): loads(cell.value) for cell in held if cell.value is not None}
        patches: list[Patch] = []
        for payload, _ in part.patches:
            read, unused = reader.patches(part.urn, part.part, payload)
            patches.extend(read if self.work.names is None else map(self.work.names.patch, read))
            for path in unused:
                self.work.tally.leave(f"{part.part} {path}")
        if patches:
            touched, gone = apply_patches(held, found, patches, whole=part.digest is not None)
            found = {slot: value for slot, value in {**found, **touched}.items() if slot not in gone}
        return {slot: value for slot, value in found.items() if not self._is_ignored(*slot)}, stamp, gone

    def _is_ignored(self, aspect: str, key: str) -> bool:
        return aspect in self._ignored_aspects and self.work.request.scope.ignores(aspect, key)

    def _held(self, entities: set[EntityId], parts: set[str]) -> dict[tuple[EntityId, str], list[Held]]:
        def ask(connection: Connection) -> dict[tuple[EntityId, str], list[Held]]:
            return readings.held_cells(connection, self.work.request.source, sorted(entities), sorted(parts))

        return self.work.store.read(ask)

    def _count_ending(self, urn: str, aspect: str, cells: int) -> None:
        group = (platform_of(urn), aspect)
        self.endings[group] = self.endings.get(group, 0) + cells


class EarlierReadings:
    """When a raw aspect was last read before this run, from the coverage of earlier runs, newest first."""

    _MOST_KEPT = 64

    def __init__(self, store: Store, source: str) -> None:
        self._store, self._source = store, source
        self._runs: list[tuple[Moment, RunId]] | None = None
        self._kept: list[Coverage] = []

    def before(self, ordinal: int) -> Moment | None:
        """The time of the newest earlier reading that covered this ordinal; None when none did."""
        if self._runs is None:
            self._runs = self._store.read(lambda connection: runs.coverages(connection, self._source))
        for position, (read_at, run) in enumerate(self._runs):
            if ordinal in self._coverage(position, run):
                return read_at
        return None

    def _coverage(self, position: int, run: RunId) -> Coverage:
        if position < len(self._kept):
            return self._kept[position]
        found = Coverage(self._store.read(lambda connection: runs.coverage_of(connection, run)))
        if len(self._kept) < self._MOST_KEPT:
            self._kept.append(found)
        return found
