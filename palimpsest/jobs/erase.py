"""erase: a person's name is replaced by a pseudonym, everywhere and from now on.

First it is written down that the name is not to be held, so that whatever is read or said meanwhile is replaced as it
comes. Then every place where it stands, stretch by stretch; a kill in between is made good by doing it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from palimpsest.core.errors import LeaseHeldError, UsageError
from palimpsest.core.ids import EntityId
from palimpsest.core.moment import Moment, to_datetime
from palimpsest.core.pseudonym import PREFIXES, Pseudonyms, folded, name_in
from palimpsest.jobs.leased import released_on_failure
from palimpsest.ports import Clock, Progress
from palimpsest.store import dumps_made, erasing, pending, runs, shedding
from palimpsest.store.engine import Connection, Store
from palimpsest.store.erasing import Finder, Plan
from palimpsest.store.runs import Lease

_RULES = ""  # what is erased depends on no rules of comparing
_FIRST = EntityId(bytes(16))
MARK = "erased-"


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpView:
    """A dump that was made of the store, and may still hold the name."""

    file: str
    made: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseReport:
    """What was erased: `counts` tells by place how often the name stood there. It does not tell the name.

    dumps      what was dumped of this store before: the name is in there still
    rewritten  whether the file was written anew; None where that was not needed, or is a server's affair
    """

    run: str
    dry_run: bool
    pseudonym: str
    counts: dict[str, int]
    dumps: tuple[DumpView, ...]
    rewritten: bool | None
    milliseconds: int

    @property
    def places(self) -> int:
        """In how many places the name stood."""
        return sum(self.counts.values())


def erase(
    store: Store,
    urn: str,
    *,
    salt: Callable[[], str],
    clock: Clock,
    progress: Progress,
    holder: str,
    dry_run: bool = False,
) -> EraseReport:
    """Erase the person of a URN. `salt` gives hexadecimal digits that nobody can guess: they are the pseudonym.

    Raises UsageError for a URN of nobody, LeaseHeldError while others are at work on what is to be replaced.
    """
    name = name_in(urn)
    if store.read(lambda connection: erasing.is_pseudonym(connection, name)):
        raise UsageError(f"{name} is a pseudonym already", f"give the name itself, as {PREFIXES[0]}NAME")
    work = _Erasing(store, name, clock, progress)
    started_at = clock.now()
    if dry_run:
        known = store.read(lambda connection: erasing.pseudonyms(connection, store.ids)).of(name)
        work.stand_in(known or f"{MARK}…")
        work.plan_only()
        return work.report(None, None, started_at, dry_run=True)
    for job in shedding.JOBS:
        runs.end_lost(store, job=job, now=clock.now())
    ids, now = store.ids, clock.now()
    wished = MARK + salt()
    work.stand_in(store.write(lambda connection: erasing.stand_in(connection, ids, name, wished, now)))
    busy = store.read(lambda connection: runs.at_work(connection, now, but=shedding.JOBS))
    if busy is not None:
        raise LeaseHeldError(
            f"{busy} is at work, and may be writing the name", "wait for it to end, and erase again: it goes on"
        )
    work.plan_only()
    if not work.counts.total() and not store.read(shedding.is_unfinished):
        return work.report(None, None, started_at)
    lease = runs.acquire(store, job="erase", source_name=None, rules=_RULES, now=clock.now(), holder=holder)
    with released_on_failure(store, lease, clock):
        work.apply(lease)
        shedding.drop_signs(store)
        rewritten = shedding.rewrite(store)
        counts = {"places": dict(sorted(work.counts.items())), "rewritten": rewritten}
        runs.release(store, lease, state="done", now=clock.now(), counts=counts)
    return work.report(lease, rewritten, started_at)


class _Erasing:
    """One erasing at work."""

    def __init__(self, store: Store, name: str, clock: Clock, progress: Progress) -> None:
        self.store, self.name, self.clock, self.progress = store, name, clock, progress
        self.ids, self.finder = store.ids, Finder(name)
        self.counts: Counter[str] = Counter()
        self.pseudonym = ""
        self.names = Pseudonyms({}, self.ids.person)

    def stand_in(self, pseudonym: str) -> None:
        """What stands for the name. Others who were erased are replaced already."""
        self.pseudonym = pseudonym
        self.names = Pseudonyms({self.ids.person(folded(self.name)): pseudonym}, self.ids.person)

    def plan_only(self) -> None:
        """Count where the name stands."""
        self.counts.clear()
        self.walk(lambda first, last: self.store.read(lambda c: self.plan(c, first, last)))
        names, finder = self.names, self.finder
        self.counts.update(self.store.read(lambda c: erasing.elsewhere(c, names, finder, may_write=False)))

    def apply(self, lease: Lease) -> None:
        """Replace it, one stretch of entities in one transaction."""
        gone = [holder for holder in self.store.read(pending.holders) if runs.is_dead(holder)]
        if gone:
            self.store.write(lambda connection: pending.release(connection, gone))
        self.counts.clear()
        self.walk(lambda first, last: self.replace(lease, first, last))
        names, finder = self.names, self.finder
        self.counts.update(self.store.write(lambda c: erasing.elsewhere(c, names, finder, may_write=True)))

    def walk(self, each: Callable[[EntityId, bytes], Plan]) -> None:
        """Go through all entities, stretch by stretch."""
        self.progress.start("looking for the name")
        after = _FIRST
        while found := self.store.read(lambda c, after=after: erasing.stretch(c, after)):  # type: ignore[misc]
            first, last = found
            self.counts.update(each(first, last).counts)
            self.progress.advance(erasing.ENTITIES_AT_ONCE)
            after = EntityId(last)
        self.progress.done()

    def plan(self, connection: Connection, first: EntityId, last: bytes) -> Plan:
        """What is to be replaced in a stretch."""
        return erasing.plan(connection, self.ids, self.names, self.finder, first, last)

    def replace(self, lease: Lease, first: EntityId, last: bytes) -> Plan:
        """Replace it in a stretch. Raises LeaseHeldError when somebody is at work on one of the entities."""
        found = self.store.read(lambda c: self.plan(c, first, last))
        if not found.counts.total():
            return found

        def work(connection: Connection) -> Plan:
            now = self.clock.now()
            runs.beat(connection, lease, now)
            made = self.plan(connection, first, last)
            holder = erasing.held_by(connection, made.entities, now)
            if holder is not None:
                raise LeaseHeldError(
                    f"{holder.partition(':')[0]} is consolidating what names the person", "erase again: it goes on"
                )
            erasing.write(connection, self.ids, made)
            return made

        return self.store.write(work)

    def report(
        self, lease: Lease | None, rewritten: bool | None, started_at: Moment, *, dry_run: bool = False
    ) -> EraseReport:
        """Everything counted, and the dumps that were made before."""
        dumps = self.store.read(dumps_made.listed)
        return EraseReport(
            run=lease.run.hex() if lease is not None else "",
            dry_run=dry_run,
            pseudonym=self.pseudonym,
            counts={place: count for place, count in sorted(self.counts.items()) if count},
            dumps=tuple(DumpView(file=one.file, made=to_datetime(one.made_at)) for one in dumps),
            rewritten=rewritten,
            milliseconds=self.clock.now() - started_at,
        )
