"""Where notes go, as rows: the leases on entities with notes that wait, what can be chosen for them, and the move.

A choice is written once, in the transaction that moves the episode, and never changed (R3).
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from palimpsest.core.aspects import SAID
from palimpsest.core.belief import State
from palimpsest.core.choosing import Note, OpenMatter, Placed, Subject
from palimpsest.core.ids import CellId, EntityId, Ids, RunId
from palimpsest.core.jsontext import dumps, loads
from palimpsest.core.moment import Moment
from palimpsest.core.observer import NOTES
from palimpsest.store.bulk import Row, execute_many
from palimpsest.store.pending import LEASE_MS, UNSORTED
from palimpsest.store.readings import LAST_REST, NEW_CELL, ranges
from palimpsest.store.schema import cell, choice, entity, episode, evidence, source, version

_AT_ONCE = 2_000
_CHOICE = ("cell_id", "episode", "run_id", "judge", "sure", "chosen_at")


def count_unsorted(connection: sa.Connection) -> int:
    """How many notes have no place yet."""
    if connection.scalar(sa.select(source.c.name).where(source.c.name == NOTES)) is None:
        return 0  # nobody ever said anything: what the catalogs have pending need not be walked
    waiting = (
        sa.select(sa.func.count())
        .select_from(episode)
        .join(cell, cell.c.id == episode.c.cell_id)
        .where(episode.c.verdict.is_(None), cell.c.aspect == UNSORTED)
    )
    return int(connection.scalar(waiting) or 0)


def claim(connection: sa.Connection, *, holder: str, now: Moment, after: EntityId, most: int) -> list[EntityId]:
    """Lease the next entities with unsorted notes that nobody else holds, by their ids; about `most` notes."""
    free = _is_free(holder, now)
    waiting = (
        sa.select(cell.c.entity_id)
        .select_from(episode)
        .join(cell, cell.c.id == episode.c.cell_id)
        .join(entity, entity.c.id == cell.c.entity_id)
        .where(
            episode.c.verdict.is_(None),
            cell.c.aspect == UNSORTED,
            episode.c.cell_id > after[:8] + LAST_REST if any(after) else sa.true(),
            free,
        )
        .order_by(episode.c.cell_id)
        .limit(most)
        .cte("waiting")
        .prefix_with("MATERIALIZED")
    )
    claimed = connection.execute(
        sa.update(entity)
        .where(entity.c.id.in_(sa.select(waiting.c.entity_id)), free)
        .values(holder=holder, held_until=now + LEASE_MS)
        .returning(entity.c.id)
    )
    return sorted(EntityId(row[0]) for row in claimed)


def claim_these(
    connection: sa.Connection, entities: Sequence[EntityId], *, holder: str, now: Moment
) -> frozenset[EntityId]:
    """Lease those of the entities that nobody else holds."""
    if not entities:
        return frozenset()
    claimed = connection.execute(
        sa.update(entity)
        .where(entity.c.id.in_(entities), _is_free(holder, now))
        .values(holder=holder, held_until=now + LEASE_MS)
        .returning(entity.c.id)
    )
    return frozenset(EntityId(row[0]) for row in claimed)


def give_back(connection: sa.Connection, entities: Sequence[EntityId], *, holder: str) -> None:
    """Give back leases."""
    connection.execute(
        sa.update(entity)
        .where(entity.c.id.in_(entities), entity.c.holder == holder)
        .values(holder=None, held_until=None)
    )


def _is_free(holder: str, now: Moment) -> sa.ColumnElement[bool]:
    return sa.or_(entity.c.holder.is_(None), entity.c.held_until < now, entity.c.holder == holder)


def unsorted(connection: sa.Connection, entities: Sequence[EntityId]) -> list[Note]:
    """The notes about entities that have no place yet, as they were said."""
    if not entities:
        return []
    given = ranges(entities)
    rows = connection.execute(
        sa.select(
            cell.c.id, cell.c.entity_id, entity.c.urn, cell.c.observer, cell.c.part, episode.c.value,
            episode.c.observed_at,
        )
        .select_from(given)
        .join(cell, cell.c.id.between(given.c.first, given.c.last))
        .join(entity, entity.c.id == cell.c.entity_id)
        .join(episode, sa.and_(episode.c.cell_id == cell.c.id, episode.c.number == 1))
        .where(cell.c.aspect == UNSORTED, episode.c.verdict.is_(None))
        .order_by(cell.c.entity_id, episode.c.observed_at, cell.c.id)
    )  # fmt: skip
    return [
        Note(CellId(row[0]), EntityId(row[1]), row[2], row[3], row[4], str(loads(row[5])), Moment(row[6]))
        for row in rows
    ]


def entities_called(connection: sa.Connection, names: Sequence[str]) -> dict[str, list[Subject]]:
    """The held entities of exactly these URNs or names."""
    found: dict[str, list[Subject]] = {}
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        for called in (entity.c.urn, entity.c.name):
            rows = connection.execute(
                sa.select(called, entity.c.id, entity.c.urn).where(called.in_(some)).order_by(entity.c.urn)
            )
            for row in rows:
                found.setdefault(row[0], []).append(Subject(EntityId(row[1]), row[2]))
    return found


def matters(
    connection: sa.Connection, entities: Sequence[EntityId]
) -> tuple[list[OpenMatter], list[tuple[EntityId, str, str]]]:
    """The open matters of entities, by how they are worded now, or waits to be judged; and every (entity, aspect, key)
    that notes have had so far.
    """
    if not entities:
        return [], []
    given = ranges(entities)
    taken = connection.execute(
        sa.select(cell.c.entity_id, cell.c.aspect, cell.c.key)
        .select_from(given)
        .join(cell, cell.c.id.between(given.c.first, given.c.last))
        .where(cell.c.source == NOTES, cell.c.aspect.in_(SAID))
        .distinct()
        .order_by(cell.c.entity_id, cell.c.aspect, cell.c.key)
    )
    keys = [(EntityId(row[0]), str(row[1]), str(row[2])) for row in taken]
    texts: dict[tuple[EntityId, str, str], str] = {}
    for statement in _wordings(given):
        for row in connection.execute(statement):
            said = loads(row[3])
            if isinstance(said, str):
                texts[EntityId(row[0]), row[1], row[2]] = said
    return [OpenMatter(*named, texts[named]) for named in keys if named in texts], keys


def _wordings(given: sa.CTE) -> list[sa.Select[tuple[object, ...]]]:
    """What matters say, from what counts least to what counts most: waiting, beside the current, current, newest."""
    said = (cell.c.entity_id, cell.c.aspect, cell.c.key, episode.c.value)
    of_note = sa.and_(cell.c.source == NOTES, cell.c.aspect.in_(SAID))
    waiting = (
        sa.select(*said)
        .select_from(given)
        .join(episode, episode.c.cell_id.between(given.c.first, given.c.last))
        .join(cell, cell.c.id == episode.c.cell_id)
        .where(of_note, episode.c.verdict.is_(None), episode.c.ground.is_(None))
        .order_by(episode.c.observed_at)
    )
    is_current = sa.case((version.c.state == State.CURRENT.value, 1), else_=0)
    held = (
        sa.select(*said)
        .select_from(given)
        .join(version, version.c.belief_id.between(given.c.first, given.c.last))
        .join(episode, sa.and_(episode.c.cell_id == version.c.cell_id, episode.c.number == version.c.episode))
        .join(cell, cell.c.id == version.c.cell_id)
        .where(of_note, version.c.state.in_([State.CURRENT.value, State.CONTESTED.value, State.PROPOSED.value]))
        .order_by(is_current, version.c.number)
    )
    worded = (
        sa.select(*said)
        .select_from(given)
        .join(evidence, evidence.c.belief_id.between(given.c.first, given.c.last))
        .join(version, sa.and_(version.c.belief_id == evidence.c.belief_id, version.c.number == evidence.c.number))
        .join(episode, sa.and_(episode.c.cell_id == evidence.c.cell_id, episode.c.number == evidence.c.episode))
        .join(cell, cell.c.id == evidence.c.cell_id)
        .where(of_note, evidence.c.role == "bears_out", version.c.state == State.CURRENT.value)
        .order_by(episode.c.observed_at)
    )
    return [waiting, held, worded]


_MOVE = (
    sa.update(episode)
    .where(episode.c.cell_id == sa.bindparam("of_cell"), episode.c.verdict.is_(None))
    .values(cell_id=sa.bindparam("new_cell"), number=sa.bindparam("new_number"))
)
_GROW = (
    sa.update(cell)
    .where(cell.c.id == sa.bindparam("of_cell"))
    .values(digest=sa.bindparam("new_digest"), last=sa.bindparam("new_last"))
)


def place(
    connection: sa.Connection, ids: Ids, notes: Sequence[Placed], *, run_id: RunId, judge: str, now: Moment
) -> None:
    """Move notes to the cells that were chosen for them, and write down the choices. The entities are leased."""
    wanted = {ids.cell(one.entity, NOTES, one.note.observer, one.aspect, one.key): one for one in notes}
    lasts: dict[CellId, int] = {}
    asked = list(wanted)
    for start in range(0, len(asked), _AT_ONCE):
        some = asked[start : start + _AT_ONCE]
        lasts |= {
            CellId(row[0]): row[1]
            for row in connection.execute(sa.select(cell.c.id, cell.c.last).where(cell.c.id.in_(some)))
        }
    held = dict(lasts)
    digests: dict[CellId, bytes] = {}
    moves: list[Row] = []
    choices: list[Row] = []
    for one in notes:
        where = ids.cell(one.entity, NOTES, one.note.observer, one.aspect, one.key)
        lasts[where] = lasts.get(where, 0) + 1
        digests[where] = ids.digest(dumps(one.note.text))
        moves.append((where, lasts[where], one.note.cell))
        choices.append((where, lasts[where], run_id, judge, one.sure, now))
    new = [
        (
            where, one.entity, NOTES, one.note.observer, one.aspect, one.key, "",
            ids.belief(one.entity, NOTES, one.aspect, one.key), digests[where], lasts[where],
        )
        for where, one in wanted.items()
        if where not in held
    ]  # fmt: skip
    execute_many(connection, sa.insert(cell), NEW_CELL, new)
    grown = [(digests[where], lasts[where], where) for where in wanted if where in held]
    execute_many(connection, _GROW, ("new_digest", "new_last", "of_cell"), grown)
    execute_many(connection, _MOVE, ("new_cell", "new_number", "of_cell"), moves)
    gone = [one.note.cell for one in notes]
    for start in range(0, len(gone), _AT_ONCE):
        connection.execute(sa.delete(cell).where(cell.c.id.in_(gone[start : start + _AT_ONCE])))
    execute_many(connection, sa.insert(choice), _CHOICE, choices)
