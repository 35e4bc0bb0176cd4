"""Who makes vectors: which embedder's are searched, which one's are being made, which one's are being deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa

from palimpsest.core.moment import Moment, spoken
from palimpsest.store.schema import FIRST_PAST, embedder, passage, passage_vector

_MOST_ID = 2**31 - 1


class EmbedderState(StrEnum):
    """What its vectors are for."""

    CURRENT = "current"
    COMING = "coming"
    GOING = "going"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """An embedder that the store knows."""

    id: int
    name: str
    state: EmbedderState


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """How many vectors an embedder has; `passages` is how many it could have."""

    name: str
    state: EmbedderState
    vectors: int
    passages: int


def known(connection: sa.Connection) -> list[Known]:
    """Every embedder, the oldest first."""
    rows = connection.execute(sa.select(embedder.c.id, embedder.c.name, embedder.c.state).order_by(embedder.c.id))
    return [Known(id=row.id, name=row.name, state=EmbedderState(row.state)) for row in rows]


def current(connection: sa.Connection) -> Known | None:
    """The embedder whose vectors are searched; None before the first."""
    return _in_state(known(connection), EmbedderState.CURRENT)


def kind_of(name: str) -> str:
    """The name that an embedder gave itself; that of one that is being made anew is marked behind it."""
    return name.partition(" (")[0]


def adopt(connection: sa.Connection, name: str, *, now: Moment, change: bool) -> Known | None:
    """The embedder to make vectors with: the current or the coming one of that name, or the very first.

    `change`: also one that is neither yet; it is coming, and what else was coming is given up. With the name of the
    current one, that is made anew, unless another was coming. None where that would be a change and none is wanted.
    """
    rows = known(connection)
    found = next((row for row in rows if row.name == name), None)
    now_current, coming = (_in_state(rows, state) for state in (EmbedderState.CURRENT, EmbedderState.COMING))
    if now_current is None:
        return _put(connection, rows, found, name, EmbedderState.CURRENT, now)
    if found is not None and found == coming:
        return found
    if not change:
        return found if found == now_current else None
    if coming is not None:
        _move(connection, coming.id, EmbedderState.GOING)
    if found == now_current:
        if coming is not None:
            return found
        marked = f"{name} (before {spoken(now)}, {now_current.id})"
        connection.execute(sa.update(embedder).where(embedder.c.id == now_current.id).values(name=marked))
        found = None
    return _put(connection, rows, found, name, EmbedderState.COMING, now)


def switch(connection: sa.Connection, coming: Known) -> bool:
    """Search the vectors of the coming embedder from now on; False where somebody gave it up or was first."""
    if connection.scalar(sa.select(embedder.c.state).where(embedder.c.id == coming.id)) != EmbedderState.COMING:
        return False
    connection.execute(
        sa.update(embedder).where(embedder.c.state == EmbedderState.CURRENT).values(state=EmbedderState.GOING)
    )
    _move(connection, coming.id, EmbedderState.CURRENT)
    return True


def leave(connection: sa.Connection, gone: Known) -> None:
    """Note that the last vector of an embedder was deleted, unless it is wanted again."""
    connection.execute(
        sa.update(embedder)
        .where(embedder.c.id == gone.id, embedder.c.state == EmbedderState.GOING)
        .values(state=EmbedderState.GONE)
    )


def filled(connection: sa.Connection) -> list[Filled]:
    """How far each embedder is that has vectors or is to have them, the current one first."""
    counts = dict(
        connection.execute(
            sa.select(passage_vector.c.embedder_id, sa.func.count()).group_by(passage_vector.c.embedder_id)
        )
        .tuples()
        .all()
    )
    passages = count_passages(connection)
    order = list(EmbedderState)
    rows = sorted(known(connection), key=lambda row: (order.index(row.state), row.id))
    return [
        Filled(name=row.name, state=row.state, vectors=counts.get(row.id, 0), passages=passages)
        for row in rows
        if row.state is not EmbedderState.GONE
    ]


def count_passages(connection: sa.Connection) -> int:
    """How many passages state what is current: those that are to have a vector."""
    counted = sa.select(sa.func.count()).select_from(passage).where(passage.c.id < FIRST_PAST)
    return int(connection.scalar(counted) or 0)


def _in_state(rows: Sequence[Known], state: EmbedderState) -> Known | None:
    return next((row for row in rows if row.state is state), None)


def _put(
    connection: sa.Connection, rows: Sequence[Known], found: Known | None, name: str, state: EmbedderState, now: Moment
) -> Known:
    """Bring a known embedder into a state, or add it; its id never was another's: memory of vectors goes by it."""
    if found is not None:
        _move(connection, found.id, state)
        return Known(id=found.id, name=name, state=state)
    new = max([now // 1000 % _MOST_ID, *(row.id + 1 for row in rows)])
    row = {"id": new, "name": name, "state": state, "created_at": now, "batch": 0}
    connection.execute(sa.insert(embedder), row)
    return Known(id=new, name=name, state=state)


def _move(connection: sa.Connection, row: int, state: EmbedderState) -> None:
    connection.execute(sa.update(embedder).where(embedder.c.id == row).values(state=state))
