"""choose: give each note that waits its entity, aspect and matter, once and for all, before it is reconciled (R3).

The rules choose, or a model among numbered candidates. A note without an answer waits for the next pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from palimpsest.core.aspects import RULES
from palimpsest.core.choosing import Candidates, Placed, RulesChooser, Subject, candidates_of, names_in, placed
from palimpsest.core.ids import EntityId
from palimpsest.core.language import Usage
from palimpsest.jobs.leased import released_on_failure
from palimpsest.ports import Chooser, Clock, Progress
from palimpsest.store import choosing, runs
from palimpsest.store.engine import Connection, Store
from palimpsest.store.runs import Lease

_NOTES_AT_ONCE = 200
_MOST_NAMES = 50  # of a text that are looked up
_FIRST = EntityId(bytes(16))
_Taken = list[tuple[EntityId, str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChooseReport:
    """What was chosen: notes that got their place, and those that nobody could place yet; what a model used for it."""

    run: str
    dry_run: bool
    chosen: int
    left: int
    usage: Usage = field(default_factory=Usage)
    failures: tuple[str, ...] = ()


def choose(
    store: Store,
    *,
    clock: Clock,
    progress: Progress,
    holder: str,
    chooser: Chooser | None = None,
    dry_run: bool = False,
) -> ChooseReport:
    """Choose for every note that waits, under a run of its own; nothing waiting writes nothing.

    `chooser` None is the rules. `dry_run` asks nobody, and tells how many wait.
    """
    waiting = store.read(choosing.count_unsorted)
    if not dry_run:
        runs.end_lost(store, job="choose", now=clock.now())
    if dry_run or not waiting:
        return ChooseReport(run="", dry_run=dry_run, chosen=0, left=waiting)
    lease = runs.acquire(store, job="choose", source_name=None, rules=RULES, now=clock.now(), holder=holder)
    progress.start("choosing", waiting)
    with released_on_failure(store, lease, clock):
        work = _Choosing(store, clock, progress, lease, chooser or RulesChooser())
        chosen = work.walk()
        left = store.read(choosing.count_unsorted)
    counts: dict[str, object] = {"chosen": chosen, "left": left}
    runs.release(store, lease, state="done", now=clock.now(), counts=counts)
    progress.done()
    return ChooseReport(run=lease.run.hex(), dry_run=False, chosen=chosen, left=left)


class _Choosing:
    """One pass at work."""

    def __init__(self, store: Store, clock: Clock, progress: Progress, lease: Lease, chooser: Chooser) -> None:
        self.store, self.clock, self.progress, self.lease, self.chooser = store, clock, progress, lease, chooser

    def walk(self) -> int:
        """Lease, choose and move, stretch by stretch; how many notes were placed."""
        after, chosen = _FIRST, 0
        while entities := self.claim(after):
            chosen += self.place(entities)
            after = entities[-1]
        return chosen

    def claim(self, after: EntityId) -> list[EntityId]:
        """The next leased entities."""
        now, holder = self.clock.now(), self.lease.holder
        return self.store.write_leased(
            lambda connection: choosing.claim(connection, holder=holder, now=now, after=after, most=_NOTES_AT_ONCE)
        )

    def place(self, entities: Sequence[EntityId]) -> int:
        """Choose for the notes about leased entities, and move them in one transaction. None is open meanwhile."""
        waiting, taken = self.store.read(lambda connection: _candidates(connection, entities))
        found = placed(waiting, self.chooser.choose(waiting), taken) if waiting else []
        return self.store.write_leased(self.moving(entities, found))

    def moving(self, entities: Sequence[EntityId], found: Sequence[Placed]) -> Callable[[Connection], int]:
        """The transaction that moves notes; one whose entity somebody else holds waits."""
        lease, now, ids, judge = self.lease, self.clock.now(), self.store.ids, self.chooser.name
        others = sorted({one.entity for one in found} - set(entities))

        def work(connection: Connection) -> int:
            runs.beat(connection, lease, now)
            ours = choosing.claim_these(connection, [*entities, *others], holder=lease.holder, now=now)
            moved = [one for one in found if one.entity in ours and _home(one) in ours]
            choosing.place(connection, ids, moved, run_id=lease.run, judge=judge, now=now)
            choosing.give_back(connection, [*entities, *others], holder=lease.holder)
            return len(moved)

        return work


def _home(one: Placed) -> EntityId:
    """The entity that a note was said of."""
    return one.note.entity


def _candidates(connection: Connection, entities: Sequence[EntityId]) -> tuple[list[Candidates], _Taken]:
    """What can be chosen for each note about entities, and the keys that are taken."""
    notes = choosing.unsorted(connection, entities)
    names = {note.cell: names_in(note.text)[:_MOST_NAMES] for note in notes}
    called = choosing.entities_called(connection, sorted({name for some in names.values() for name in some}))
    named = {cell: _named(some, called) for cell, some in names.items()}
    around = sorted({*entities, *(subject.entity for some in named.values() for subject in some)})
    matters, taken = choosing.matters(connection, around)
    of_entity: dict[EntityId, list[int]] = {}
    for place, matter in enumerate(matters):
        of_entity.setdefault(matter.entity, []).append(place)
    waiting = []
    for note in notes:
        subjects = named[note.cell]
        near = dict.fromkeys([note.entity, *(subject.entity for subject in subjects)])
        waiting.append(
            candidates_of(note, subjects, [matters[place] for one in near for place in of_entity.get(one, ())])
        )
    return waiting, taken


def _named(names: Sequence[str], called: dict[str, list[Subject]]) -> list[Subject]:
    """The entities that names mean; a name that several have means none."""
    found = [called[name][0] for name in names if len(called.get(name, ())) == 1]
    return list(dict.fromkeys(found))
