"""Notes and decisions as rows: free text that waits in cells of its own until its place is chosen, and what a person
decided about a belief. Episodes only; no belief is touched (R10).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.episode import Ground, Kind
from palimpsest.core.ids import BeliefId, CellId, EntityId, Ids, RunId
from palimpsest.core.jsontext import dumps, loads
from palimpsest.core.moment import Moment
from palimpsest.core.observer import NOTES
from palimpsest.store.bulk import Row, execute_many
from palimpsest.store.pending import UNSORTED
from palimpsest.store.readings import NEW_CELL, ranges
from palimpsest.store.schema import cell, entity, episode, run, source

_AT_ONCE = 2_000
_RUN = (
    "id", "job", "source", "state", "holder", "beat_at", "started_at", "ended_at", "read_at", "complete", "rules",
    "written", "founded", "counts",
)  # fmt: skip
_EPISODE = ("cell_id", "number", "run_id", "observed_at", "kind", "impact", "baseline", "value", "ground")


class NewNote(NamedTuple):
    """A note to be taken down: what is said, of which entity, by whom, when, of which kind if its author tells."""

    entity: EntityId
    observer: str
    kind: str
    text: str
    said_at: Moment


class Taken(NamedTuple):
    """A note as it was taken down: the run that is its name, and whether it was there already, waiting."""

    run: RunId
    is_new: bool


class NewDecision(NamedTuple):
    """What a person decided about a belief: the cell it goes to, and the episode's value as JSON text."""

    entity: EntityId
    observer: str
    aspect: str
    key: str
    value: str
    decided_at: Moment


class WaitingDecision(NamedTuple):
    """A decision that nobody has consolidated yet."""

    observer: str
    value: str
    decided_at: Moment


def entities_of(connection: sa.Connection, urns: Sequence[str]) -> dict[str, EntityId]:
    """The held entities of exactly these URNs."""
    found: dict[str, EntityId] = {}
    for start in range(0, len(urns), _AT_ONCE):
        rows = connection.execute(
            sa.select(entity.c.urn, entity.c.id).where(entity.c.urn.in_(urns[start : start + _AT_ONCE]))
        )
        found.update((row[0], EntityId(row[1])) for row in rows)
    return found


def take_down(
    connection: sa.Connection, ids: Ids, notes: Sequence[NewNote], *, rules: str, now: Moment, holder: str
) -> list[Taken]:
    """Write notes, each under a run of its own; one that waits already, of the same text by the same observer on the
    same entity, is not written again.
    """
    _know_source(connection)
    there = _waiting_texts(connection, sorted({note.entity for note in notes}))
    taken: list[Taken] = []
    runs = _free_runs(connection, ids, "note", notes, now, holder)
    rows: list[tuple[RunId, NewNote]] = []
    for run_id, note in zip(runs, notes, strict=True):
        named = (note.entity, note.observer, note.text)
        if named in there:
            taken.append(Taken(there[named], is_new=False))
            continue
        there[named] = run_id
        rows.append((run_id, note))
        taken.append(Taken(run_id, is_new=True))
    runs_done = [_run_row(run_id, "note", note.said_at, rules, now, holder) for run_id, note in rows]
    execute_many(connection, sa.insert(run), _RUN, runs_done)
    cells = {run_id: ids.cell(note.entity, NOTES, note.observer, UNSORTED, run_id.hex()) for run_id, note in rows}
    values = {run_id: dumps(note.text) for run_id, note in rows}
    execute_many(
        connection,
        sa.insert(cell),
        NEW_CELL,
        [
            (
                cells[run_id], note.entity, NOTES, note.observer, UNSORTED, run_id.hex(), note.kind,
                ids.belief(note.entity, NOTES, UNSORTED, run_id.hex()), ids.digest(values[run_id]), 1,
            )
            for run_id, note in rows
        ],
    )  # fmt: skip
    execute_many(
        connection,
        sa.insert(episode),
        _EPISODE,
        [_episode_row(cells[run_id], 1, run_id, note.said_at, values[run_id].decode(), None) for run_id, note in rows],
    )
    return taken


def decide(
    connection: sa.Connection, ids: Ids, decision: NewDecision, *, rules: str, now: Moment, holder: str
) -> RunId:
    """Write a decision as an episode of the cell that the belief has of whoever decided."""
    _know_source(connection)
    (run_id,) = _free_runs(connection, ids, "decide", [decision], now, holder)
    row = _run_row(run_id, "decide", decision.decided_at, rules, now, holder)
    execute_many(connection, sa.insert(run), _RUN, [row])
    where = ids.cell(decision.entity, NOTES, decision.observer, decision.aspect, decision.key)
    last = connection.scalar(sa.select(cell.c.last).where(cell.c.id == where))
    number = (last or 0) + 1
    digest = ids.digest(decision.value.encode())
    if last is None:
        belief = ids.belief(decision.entity, NOTES, decision.aspect, decision.key)
        row = (where, decision.entity, NOTES, decision.observer, decision.aspect, decision.key, "", belief, digest, 1)
        execute_many(connection, sa.insert(cell), NEW_CELL, [row])
    else:
        connection.execute(sa.update(cell).where(cell.c.id == where).values(last=number, digest=digest))
    row = _episode_row(where, number, run_id, decision.decided_at, decision.value, Ground.DECISION.value)
    execute_many(connection, sa.insert(episode), _EPISODE, [row])
    return run_id


def waiting_decisions(connection: sa.Connection, beliefs: Sequence[BeliefId]) -> dict[BeliefId, WaitingDecision]:
    """The newest decision about each of the beliefs that waits to be consolidated."""
    found: dict[BeliefId, WaitingDecision] = {}
    for start in range(0, len(beliefs), _AT_ONCE):
        some = beliefs[start : start + _AT_ONCE]
        given = ranges([EntityId(head + bytes(8)) for head in sorted({one[:8] for one in some})])
        rows = connection.execute(
            sa.select(cell.c.belief_id, cell.c.observer, episode.c.value, episode.c.observed_at)
            .select_from(given)
            .join(episode, episode.c.cell_id.between(given.c.first, given.c.last))
            .join(cell, cell.c.id == episode.c.cell_id)
            .where(episode.c.verdict.is_(None), episode.c.ground == Ground.DECISION.value, cell.c.belief_id.in_(some))
            .order_by(episode.c.observed_at)
        )
        found.update((BeliefId(row[0]), WaitingDecision(row[1], row[2], Moment(row[3]))) for row in rows)
    return found


def _know_source(connection: sa.Connection) -> None:
    if connection.scalar(sa.select(source.c.name).where(source.c.name == NOTES)) is None:
        connection.execute(sa.insert(source), {"name": NOTES, "kind": NOTES, "origin": NOTES})


def _run_row(run_id: RunId, job: str, read_at: Moment, rules: str, now: Moment, holder: str) -> Row:
    return (run_id, job, NOTES, "done", holder, now, now, now, read_at, False, rules, 1, 0, "{}")


def _episode_row(where: CellId, number: int, run_id: RunId, said_at: Moment, value: str, ground: str | None) -> Row:
    return (where, number, run_id, said_at, Kind.SAID.value, int(Impact.MINOR), False, value, ground)


def _free_runs(
    connection: sa.Connection,
    ids: Ids,
    job: str,
    things: Sequence[NewNote | NewDecision],
    now: Moment,
    holder: str,
) -> list[RunId]:
    """An id for the run of each: made of what it is about, and counted up where a run has it already."""
    found: dict[int, RunId] = {}
    count, used = 0, set[bytes]()
    while len(found) < len(things):
        tried: dict[int, RunId] = {}
        for place, thing in enumerate(things):
            if place not in found:
                tried[place] = ids.run(job, NOTES, now, f"{holder}\x1f{thing!r}\x1f{count}")
        asked = list(tried.values())
        for start in range(0, len(asked), _AT_ONCE):
            used.update(connection.scalars(sa.select(run.c.id).where(run.c.id.in_(asked[start : start + _AT_ONCE]))))
        for place, run_id in tried.items():
            if run_id not in used:
                found[place] = run_id
                used.add(run_id)
        count += 1
    return [found[place] for place in range(len(things))]


def _waiting_texts(connection: sa.Connection, entities: Sequence[EntityId]) -> dict[tuple[EntityId, str, str], RunId]:
    """(entity, observer, text) → the run of every note that waits, its place chosen or not."""
    found: dict[tuple[EntityId, str, str], RunId] = {}
    for start in range(0, len(entities), _AT_ONCE):
        given = ranges(entities[start : start + _AT_ONCE])
        rows = connection.execute(
            sa.select(cell.c.entity_id, cell.c.observer, episode.c.value, episode.c.run_id)
            .select_from(given)
            .join(episode, episode.c.cell_id.between(given.c.first, given.c.last))
            .join(cell, cell.c.id == episode.c.cell_id)
            .where(episode.c.verdict.is_(None), cell.c.source == NOTES, episode.c.ground.is_(None))
        )
        for row in rows:
            found[EntityId(row[0]), row[1], str(loads(row[2]))] = RunId(row[3])
    return found
