"""Working memory as rows: what an agent keeps for one task, until it expires. Statements only.

The one place that reads or writes this table: no belief comes of it. What has expired is seen by nobody, and the next
write takes it away.
"""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa

from palimpsest.core.moment import Moment
from palimpsest.store.schema import working

TASK = ""  # the key of the row that is the task itself


class Kept(NamedTuple):
    """One thing that is kept for a task; with an empty key, the task itself and what it is about."""

    task: str
    key: str
    value: str
    observer: str
    put_at: Moment
    expires_at: Moment


_COLUMNS = (
    working.c.task, working.c.key, working.c.value, working.c.observer, working.c.put_at, working.c.expires_at,
)  # fmt: skip


def drop_expired(connection: sa.Connection, now: Moment) -> int:
    """Take away what has expired."""
    return connection.execute(sa.delete(working).where(working.c.expires_at <= now)).rowcount


def kept(connection: sa.Connection, task: str, now: Moment) -> list[Kept]:
    """Everything of one task by key, the task itself first; empty when there is no such task, or it has expired."""
    statement = sa.select(*_COLUMNS).where(working.c.task == task, working.c.expires_at > now)
    return sorted((Kept(*row) for row in connection.execute(statement)), key=lambda one: one.key)


def tasks(connection: sa.Connection, now: Moment) -> list[tuple[Kept, int]]:
    """Every task that has not expired, by name, each with how many keys it has."""
    statement = sa.select(*_COLUMNS).where(working.c.expires_at > now, working.c.key == TASK)
    counted = (
        sa.select(working.c.task, sa.func.count())
        .where(working.c.expires_at > now, working.c.key != TASK)
        .group_by(working.c.task)
    )
    keys = {row[0]: int(row[1]) for row in connection.execute(counted)}
    found = [Kept(*row) for row in connection.execute(statement)]
    return [(one, keys.get(one.task, 0)) for one in sorted(found, key=lambda one: one.task)]


def put(connection: sa.Connection, row: Kept) -> None:
    """Write one row in place of what was there."""
    connection.execute(sa.delete(working).where(working.c.task == row.task, working.c.key == row.key))
    connection.execute(sa.insert(working), row._asdict())


def end(connection: sa.Connection, task: str) -> int:
    """Take away everything of one task."""
    return connection.execute(sa.delete(working).where(working.c.task == task)).rowcount


def every(connection: sa.Connection) -> list[Kept]:
    """Everything that is there, expired or not: for who looks for a name in it."""
    return [Kept(*row) for row in connection.execute(sa.select(*_COLUMNS).order_by(working.c.task, working.c.key))]


def replace(connection: sa.Connection, row: Kept, by: Kept) -> None:
    """Write a row in place of another one; where there is one of that name, that one stays and the other goes."""
    connection.execute(sa.delete(working).where(working.c.task == row.task, working.c.key == row.key))
    taken = sa.select(working.c.task).where(working.c.task == by.task, working.c.key == by.key)
    if connection.scalar(taken) is None:
        connection.execute(sa.insert(working), by._asdict())
