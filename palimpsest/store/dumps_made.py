"""The dumps that were made of this store: a run of its own each, so that whoever erases a person is told of them.

No dump holds these rows: equal stores give equal dumps, and a store that was loaded was not dumped yet.
"""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa

from palimpsest.core.ids import Ids
from palimpsest.core.jsontext import dumps, loads
from palimpsest.core.moment import Moment
from palimpsest.store.schema import run

JOB = "dump"


class Made(NamedTuple):
    """A dump: the file, and when it was made."""

    file: str
    made_at: Moment


def record(connection: sa.Connection, ids: Ids, made: Made, *, holder: str) -> None:
    """Write down that a dump was made. The same file at the same moment is one."""
    row = {
        "id": ids.run(JOB, made.file, made.made_at, holder),
        "job": JOB,
        "source": None,
        "state": "done",
        "holder": holder,
        "beat_at": made.made_at,
        "started_at": made.made_at,
        "ended_at": made.made_at,
        "complete": False,
        "rules": "",
        "written": 0,
        "founded": 0,
        "counts": dumps({"file": made.file}).decode(),
    }
    if connection.scalar(sa.select(run.c.state).where(run.c.id == row["id"])) is None:
        connection.execute(sa.insert(run), row)


def listed(connection: sa.Connection) -> list[Made]:
    """Every dump that was made, the newest of each file, oldest first."""
    rows = connection.execute(
        sa.select(run.c.counts, run.c.started_at).where(run.c.job == JOB).order_by(run.c.started_at, run.c.id)
    )
    found: dict[str, Made] = {}
    for counts, at in rows:
        told = loads(counts) if counts else None
        if isinstance(told, dict) and isinstance(told.get("file"), str):
            file = str(told["file"])
            found.pop(file, None)
            found[file] = Made(file, Moment(at))
    return list(found.values())
