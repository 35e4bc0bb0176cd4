"""Forgetting as rows: which episodes may go whatever happens, dropping them, and emptying those of closed versions.

What may go (R6): an episode that founded no version, ended none, and bears out only what a newer one of its cell bears
out too. So a version keeps its newest wording, by each who worded it, and a cell the value that it is compared with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.episode import Kind
from palimpsest.core.forgetting import FORGOTTEN_VALUE, Droppable, kept_reason
from palimpsest.core.ids import BeliefId, CellId, EntityId, RunId
from palimpsest.core.moment import Moment
from palimpsest.core.verdict import Reason
from palimpsest.store.bulk import Row, execute_many
from palimpsest.store.schema import cell, choice, entity, episode, evidence, label, passage, run, version

AT_ONCE = 500
_EXISTENCE = "existence"  # it is what history is clipped by, and no text
_OPEN = ("contested", "proposed")
_RULES = tuple(reason.value for reason in Reason)


class Emptiable(NamedTuple):
    """An episode of a closed version, founding or bearing out, whose value may be forgotten."""

    cell: CellId
    number: int
    entity: EntityId
    belief: BeliefId
    version: int
    aspect: str


# --- weak episodes ----------------------------------------------------------------------------------------------


def droppable(connection: sa.Connection, after: tuple[bytes, int]) -> list[Droppable]:
    """The next episodes by cell and number that may go, at most AT_ONCE."""
    other, newer = evidence.alias("other"), evidence.alias("newer")
    of_it = sa.and_(other.c.cell_id == episode.c.cell_id, other.c.episode == episode.c.number)
    is_borne_out_again = sa.exists(
        sa.select(1).where(
            newer.c.belief_id == other.c.belief_id,
            newer.c.number == other.c.number,
            newer.c.cell_id == other.c.cell_id,
            newer.c.episode > other.c.episode,
            newer.c.role == "bears_out",
        )
    )
    is_needed = sa.exists(sa.select(1).where(of_it, sa.or_(other.c.role != "bears_out", sa.not_(is_borne_out_again))))
    is_founding = sa.exists(
        sa.select(1).where(version.c.cell_id == episode.c.cell_id, version.c.episode == episode.c.number)
    )
    rows = connection.execute(
        sa.select(
            episode.c.cell_id, episode.c.number, episode.c.run_id, cell.c.entity_id, cell.c.belief_id, cell.c.aspect,
            episode.c.kind, episode.c.impact, cell.c.observer, episode.c.observed_at,
        )
        .join(cell, cell.c.id == episode.c.cell_id)
        .where(
            episode.c.verdict == "reinforce",
            episode.c.number < cell.c.last,
            _beyond(episode.c.cell_id, episode.c.number, after),
            sa.not_(is_founding),
            sa.not_(is_needed),
        )
        .order_by(episode.c.cell_id, episode.c.number)
        .limit(AT_ONCE)
    )  # fmt: skip
    return [
        Droppable(
            CellId(row[0]), row[1], RunId(row[2]), EntityId(row[3]), BeliefId(row[4]), row[5], Kind(row[6]),
            Impact(row[7]), row[8], Moment(row[9]),
        )
        for row in rows
    ]  # fmt: skip


def drop(connection: sa.Connection, episodes: Sequence[Droppable]) -> None:
    """Delete episodes with the evidence that they were; their runs count them no longer (R1)."""
    if not episodes:
        return
    named = [(one.cell, one.number) for one in episodes]
    for table in (evidence, choice):
        gone = (table.c.cell_id == sa.bindparam("of_cell")) & (table.c.episode == sa.bindparam("of_number"))
        execute_many(connection, sa.delete(table).where(gone), ("of_cell", "of_number"), named)
    gone = (episode.c.cell_id == sa.bindparam("of_cell")) & (episode.c.number == sa.bindparam("of_number"))
    execute_many(connection, sa.delete(episode).where(gone), ("of_cell", "of_number"), named)
    counts = Counter(one.run for one in episodes)
    fewer = sa.update(run).where(run.c.id == sa.bindparam("of_run"))
    fewer = fewer.values(written=run.c.written - sa.bindparam("fewer", type_=sa.Integer))
    execute_many(connection, fewer, ("of_run", "fewer"), sorted(counts.items()))
    _drop_stale_passages(connection, {one.entity for one in episodes})


# --- closed versions --------------------------------------------------------------------------------------------


def emptiable(connection: sa.Connection, before: Moment, after: tuple[bytes, int], most: int | None) -> list[Emptiable]:
    """The next episodes, by belief and version, of versions closed before a moment; None for all of them.

    Not the newest of a cell, and none of a belief about which a person or the consolidator has still to decide.
    """
    other, waiting, own = version.alias("other"), episode.alias("waiting"), cell.alias("own")
    is_open = sa.exists(sa.select(1).where(other.c.belief_id == version.c.belief_id, other.c.state.in_(_OPEN)))
    is_waiting = sa.exists(
        sa.select(1)
        .select_from(own)
        .join(waiting, waiting.c.cell_id == own.c.id)
        .where(own.c.belief_id == version.c.belief_id, own.c.entity_id == cell.c.entity_id, waiting.c.verdict.is_(None))
    )
    founding = sa.select(version.c.belief_id, version.c.number, version.c.cell_id, version.c.episode.label("episode"))
    bearing = sa.select(evidence.c.belief_id, evidence.c.number, evidence.c.cell_id, evidence.c.episode).where(
        evidence.c.role == "bears_out"
    )
    rests = sa.union(founding, bearing).subquery("rests")
    rows = connection.execute(
        sa.select(
            episode.c.cell_id, episode.c.number, cell.c.entity_id, version.c.belief_id, version.c.number, cell.c.aspect
        )
        .select_from(version)
        .join(rests, sa.and_(rests.c.belief_id == version.c.belief_id, rests.c.number == version.c.number))
        .join(episode, sa.and_(episode.c.cell_id == rests.c.cell_id, episode.c.number == rests.c.episode))
        .join(cell, cell.c.id == episode.c.cell_id)
        .where(
            version.c.state.in_(("superseded", "retracted")),
            version.c.closed_at < before,
            _beyond(version.c.belief_id, version.c.number, after),
            cell.c.aspect != _EXISTENCE,
            episode.c.forgotten_at.is_(None),
            episode.c.value.is_not(None),
            episode.c.number < cell.c.last,
            sa.not_(is_open),
            sa.not_(is_waiting),
        )
        .order_by(version.c.belief_id, version.c.number)
        .limit(most)
    )
    return [Emptiable(CellId(row[0]), row[1], EntityId(row[2]), BeliefId(row[3]), row[4], row[5]) for row in rows]


def empty(connection: sa.Connection, episodes: Sequence[Emptiable], now: Moment) -> None:
    """Forget the values of episodes: the rows stay (R6), and the versions; what searched for them goes at once."""
    if not episodes:
        return
    chosen = (episode.c.cell_id == sa.bindparam("of_cell")) & (episode.c.number == sa.bindparam("of_number"))
    forgotten = (
        sa.update(episode).where(chosen).values(value=sa.bindparam("new_value"), forgotten_at=sa.bindparam("at"))
    )
    rows: list[Row] = [(FORGOTTEN_VALUE, now, one.cell, one.number) for one in episodes]
    execute_many(connection, forgotten, ("new_value", "at", "of_cell", "of_number"), rows)
    _forget_reasons(connection, sorted({(one.belief, one.version) for one in episodes}))
    entities = {one.entity for one in episodes}
    _mark_stale(connection, entities)
    _drop_stale_passages(connection, entities)


def _forget_reasons(connection: sa.Connection, versions: Sequence[tuple[BeliefId, int]]) -> None:
    """What a judge said of a text may quote it."""
    beliefs = sorted({belief for belief, _ in versions})
    wanted = set(versions)
    rows = connection.execute(
        sa.select(version.c.belief_id, version.c.number, version.c.reason, version.c.ended_reason).where(
            version.c.belief_id.in_(beliefs)
        )
    )
    changed: list[Row] = []
    for belief, number, reason, ended in rows:
        kept = kept_reason(reason, _RULES), kept_reason(ended, _RULES)
        if (BeliefId(belief), number) in wanted and kept != (reason, ended):
            changed.append((*kept, belief, number))
    chosen = (version.c.belief_id == sa.bindparam("of_belief")) & (version.c.number == sa.bindparam("of_number"))
    worded = sa.update(version).where(chosen)
    worded = worded.values(reason=sa.bindparam("new_reason"), ended_reason=sa.bindparam("new_ended"))
    execute_many(connection, worded, ("new_reason", "new_ended", "of_belief", "of_number"), changed)


# --- what is searched -------------------------------------------------------------------------------------------


def _mark_stale(connection: sa.Connection, entities: Iterable[EntityId]) -> None:
    connection.execute(sa.update(entity).where(entity.c.id.in_(sorted(entities))).values(indexed_at=None))


def _drop_stale_passages(connection: sa.Connection, entities: Iterable[EntityId]) -> None:
    """Passages and labels of entities that are to be indexed anew: they may state what is gone. Vectors go too."""
    stale = sa.select(entity.c.id).where(entity.c.id.in_(sorted(entities)), entity.c.indexed_at.is_(None))
    for table in (passage, label):
        connection.execute(sa.delete(table).where(table.c.entity_id.in_(stale)))


def _beyond(
    first: sa.ColumnElement[bytes], second: sa.ColumnElement[int], after: tuple[bytes, int]
) -> sa.ColumnElement[bool]:
    id_, number = after
    return sa.and_(first >= id_, sa.or_(first > id_, second > number))
