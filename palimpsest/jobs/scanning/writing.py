"""Writing: planned differences and new raw aspects as rows, in transactions that each renew the lease.

Here it is decided what counts as a change and what is a first reading (R14), and everything written is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from palimpsest.core.aspects import ASPECTS, RULES, existence
from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.baseline import Difference
from palimpsest.core.entity import kind_of, platform_of, short_name
from palimpsest.core.episode import Kind
from palimpsest.core.ids import EntityId, RunId
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import Moment
from palimpsest.core.observation import Stamp
from palimpsest.jobs.scanning.counting import Moves, move_of
from palimpsest.jobs.scanning.planning import Planner
from palimpsest.jobs.scanning.request import Work
from palimpsest.store import readings
from palimpsest.store.readings import Batch
from palimpsest.store.spool import PlannedPart, Spool, SpooledPart

_MOST_SAID = 1_000


class Where(NamedTuple):
    """Where a difference was seen: the entity, the raw aspect, its stamp, and the reading that did not show it yet."""

    entity: EntityId
    part: str
    stamp: Stamp
    after_at: int | None


class Writer:
    """Turns differences into rows. `run` None writes nothing and counts what would be (a dry run).

    written, baseline, quiet, contradicting   counts of episodes
    changes, by_aspect                        counts of what is a change by impact; of all by aspect
    moves                                     how cells moved, by raw aspect and aspect
    """

    def __init__(
        self, work: Work, planner: Planner, *, run: RunId | None, read_at: Moment, full: int,
        commit: Callable[[Batch, int], None],
    ) -> None:  # fmt: skip
        self.work, self.planner, self.run, self.read_at = work, planner, run, read_at
        self.written = self.baseline = self.quiet = self.contradicting = 0
        self.changes: Counter[str] = Counter()
        self.by_aspect: Counter[str] = Counter()
        self.moves: Moves = Counter()
        self._full, self._commit = full, commit
        self._batch = Batch()
        self._said: list[tuple[EntityId, str]] = []
        self._known: frozenset[tuple[str, str]] | None = None

    def write(self, spool: Spool) -> None:
        """Write the plan, then the raw aspects that are new."""
        self.work.progress.start("writing")
        for plan in spool.planned():
            self._add_planned(plan)
            self._flush_when_full()
        source = self.work.request.source
        ordinal = self.work.store.read(lambda connection: readings.next_ordinal(connection, source))
        last: EntityId | None = None
        for part in spool.new():
            if part.entity != last:  # an entity's new raw aspects are written together: what is known of it is whole
                self._flush_when_full()
                last = part.entity
            if self._add_new(part, ordinal):
                if part.payload is not None:
                    self.work.coverage.add(ordinal)
                ordinal += 1
        self._flush()

    def said(self, spool: Spool) -> list[str]:
        """What a dry run found, a line each with the entity's name."""
        unlisted = [entity for entity, _ in self._said if spool.urn(entity) is None]
        held = self.work.store.read(lambda c: readings.urns_of(c, unlisted)) if unlisted else {}
        return [f"{short_name(spool.urn(entity) or held[entity])}: {said}" for entity, said in self._said]

    # --- raw aspects --------------------------------------------------------------------------------------------

    def _add_planned(self, plan: PlannedPart) -> None:
        """The rows of one held raw aspect's differences."""
        stamp = Stamp(at=Moment(plan.stamped_at) if plan.stamped_at else None, actor=plan.actor, run=plan.catalog_run)
        where = Where(plan.entity, plan.part, stamp, plan.after_at)
        more = sum(self._add(where, difference, self._is_baseline(difference)) for difference in plan.differences)
        if plan.covers is not None:
            self.work.coverage.add(plan.covers)
        if plan.digest is not None:
            self._batch.changed_parts.append((plan.digest, more, plan.entity, self.work.request.source, plan.part))

    def _add_new(self, part: SpooledPart, ordinal: int) -> bool:
        """The rows of a raw aspect that was never held; whether it is held from now on."""
        differences, stamp = self.planner.differences(part, [])
        failed = self.planner.failed_last == (part.entity, part.part)
        if not differences and (part.is_known or part.payload is None or failed):
            return False
        self._batch.entities[part.entity] = part.urn
        stamped = Stamp(at=stamp.at, actor=stamp.actor, run=part.catalog_run or stamp.run)
        where = Where(part.entity, part.part, stamped, None)
        for difference in differences:
            self._add(where, difference, not self._is_news(part, difference))
        digest = self.planner.digest_after(part)
        row = (part.entity, self.work.request.source, part.part, digest, ordinal, len(differences))
        self._batch.new_parts.append(row)
        return True

    # --- what is a change (R14) ---------------------------------------------------------------------------------

    def _is_news(self, part: SpooledPart, difference: Difference) -> bool:
        """Whether something of a raw aspect that was never read before is a change: a new entity is one line.

        Only where it exists, and the source's last reading was finished and had such entities in its scope.
        """
        last, scope = self.work.last, self.work.last_scope
        if part.is_known or last is None or not last.finished or scope is None:
            return False
        if (
            difference.aspect != "existence"
            or difference.value is None
            or not existence.exists(loads(difference.value))
        ):
            return False
        known = (kind_of(part.urn) or "", platform_of(part.urn)) in self._known_platforms()
        return known and scope.admits(part.urn) and scope.domains == self.work.request.scope.domains

    def _known_platforms(self) -> frozenset[tuple[str, str]]:
        """(kind, platform) of what the source has read before."""
        if self._known is None:
            unfinished = self.work.last.unfinished if self.work.last else ()
            source = self.work.request.source
            self._known = self.work.store.read(lambda c: readings.known_platforms(c, source, unfinished))
        return self._known

    def _is_baseline(self, difference: Difference) -> bool:
        """Whether a first cell in a known raw aspect is no change: rules or what is ignored changed."""
        last, scope = self.work.last, self.work.last_scope
        if difference.kind is not Kind.FIRST:
            return False
        if last is None or scope is None:
            return last is None
        return last.rules != RULES or scope.ignores(difference.aspect, difference.key)

    # --- rows ---------------------------------------------------------------------------------------------------

    def _add(self, where: Where, difference: Difference, baseline: bool) -> int:
        """The rows of one difference; by how much the number of live cells grows."""
        held, ids, source = difference.held, self.work.ids, self.work.request.source
        if held is None:
            aspect, key = difference.aspect, difference.key
            cell = ids.cell(where.entity, source, "", aspect, key)
            belief = ids.belief(where.entity, source, aspect, key)
            number = 1
            self._batch.new_cells.append(
                (cell, where.entity, source, "", aspect, key, where.part, belief, difference.digest, number)
            )
        else:
            cell = held.cell
            number = held.last + (difference.kind is not None)
            self._batch.changed_cells.append((difference.digest, number, cell))
        if difference.kind is None:
            return 0
        self._count(where.entity, difference, baseline)
        if how := move_of(difference):
            self.moves[where.part, difference.aspect, how] += 1
        if self.run is not None:
            self._batch.episodes.append(
                (
                    cell,
                    number,
                    self.run,
                    self.read_at,
                    where.after_at,
                    difference.kind.value,
                    int(difference.impact),
                    baseline,
                    difference.value.decode() if difference.value is not None else None,
                    difference.ground.value if difference.ground else None,
                    where.stamp.at,
                    where.stamp.actor or None,
                    where.stamp.run or None,
                )
            )
        if difference.kind is Kind.REMOVED:
            return -1
        return 1 if held is None or held.value is None else 0

    def _count(self, entity: EntityId, difference: Difference, baseline: bool) -> None:
        self.written += 1
        self.by_aspect[difference.aspect] += 1
        if baseline:
            self.baseline += 1
            return
        if difference.impact is Impact.QUIET:
            self.quiet += 1
            return
        self.changes[difference.impact.word] += 1
        held = difference.held
        before = loads(held.value) if held is not None and held.value is not None else None
        if before is not None:
            self.contradicting += 1
        if self.work.request.dry_run and len(self._said) < _MOST_SAID:
            after = loads(difference.value) if difference.value is not None else None
            self._said.append((entity, ASPECTS[difference.aspect].say_change(difference.key, before, after)))

    def _flush_when_full(self) -> None:
        if len(self._batch) >= self._full:
            self._flush()

    def _flush(self) -> None:
        batch, self._batch = self._batch, Batch()
        self.work.progress.advance(len(batch.episodes))
        if self.run is not None and len(batch):
            self._commit(batch, self.written)
