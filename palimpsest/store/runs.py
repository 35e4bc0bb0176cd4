"""Runs: the row that is a job's record and, while it runs, the lease on its source. Statements only."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import orjson
import sqlalchemy as sa

from palimpsest.core.errors import LeaseHeldError, PalimpsestError, UsageError
from palimpsest.core.ids import RunId
from palimpsest.core.moment import Moment, spoken
from palimpsest.core.observer import NOTES
from palimpsest.store.engine import Store
from palimpsest.store.schema import episode, run, source

STALE_AFTER_MS = 5 * 60 * 1000
LOST_COUNTS = '{"failure":"lost"}'  # what a run counts whose process was gone before it ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A running row: the right to write for its source."""

    run: RunId
    job: str
    source: str | None
    holder: str
    started_at: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a source's name stands for."""

    name: str
    kind: str
    origin: str


def this_process() -> str:
    """How this process names itself as a holder: machine, process and the moment it was started."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"


def _started(pid: int) -> str:
    """When a process of this machine started, as the kernel counts it; empty where that cannot be told."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def is_dead(holder: str) -> bool:
    """Whether a holder is a process of this machine that is no more. False when nobody can tell."""
    host, _, rest = holder.partition(":")
    pid_text, _, started = rest.partition(":")
    if host != socket.gethostname() or not pid_text.isdigit():
        return False
    pid = int(pid_text)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return bool(started) and _started(pid) != started


def acquire(store: Store, *, job: str, source_name: str | None, rules: str, now: Moment, holder: str) -> Lease:
    """Insert the running row. A dead holder's lease is taken over; a living one's raises LeaseHeldError."""
    run_id = store.ids.run(job, source_name or "", now, holder)

    def work(connection: sa.Connection) -> Lease:
        if source_name is not None:
            _clear_the_way(connection, source_name, now)
        row = {
            "id": run_id,
            "job": job,
            "source": source_name,
            "state": "running",
            "holder": holder,
            "beat_at": now,
            "started_at": now,
            "complete": False,
            "rules": rules,
            "written": 0,
            "founded": 0,
        }
        connection.execute(sa.insert(run), row)
        return Lease(run=run_id, job=job, source=source_name, holder=holder, started_at=now)

    return store.write(work)


def _clear_the_way(connection: sa.Connection, source_name: str, now: Moment) -> None:
    found = connection.execute(
        sa.select(run.c.id, run.c.holder, run.c.beat_at, run.c.job, run.c.started_at).where(
            run.c.source == source_name, run.c.state == "running"
        )
    ).first()
    if found is None:
        return
    if not _is_lost(found.holder, found.beat_at, now):
        machine, _, rest = found.holder.partition(":")
        raise LeaseHeldError(
            f"{found.job} of {source_name} is at work: process {rest.partition(':')[0]} on {machine}, "
            f"since {spoken(found.started_at)}",
            "wait for it to end; a dead one's place is taken over",
        )
    _end(connection, [found.id], now)


def end_lost(store: Store, *, job: str, now: Moment) -> None:
    """End the runs of a job without a source whose process is no more: no lease is in the way of the next one."""
    statement = sa.select(run.c.id, run.c.holder, run.c.beat_at).where(
        run.c.job == job, run.c.source.is_(None), run.c.state == "running"
    )
    rows = store.read(lambda connection: connection.execute(statement).all())
    lost = [row.id for row in rows if _is_lost(row.holder, row.beat_at, now)]
    if lost:
        store.write(lambda connection: _end(connection, lost, now))


def at_work(connection: sa.Connection, now: Moment, *, but: Sequence[str]) -> str | None:
    """A job that is at work, other than these; None where none is. Those whose process is no more are not."""
    rows = connection.execute(
        sa.select(run.c.job, run.c.holder, run.c.beat_at).where(run.c.state == "running", run.c.job.not_in(but))
    )
    return next((row.job for row in rows if not _is_lost(row.holder, row.beat_at, now)), None)


def _is_lost(holder: str, beat_at: Moment, now: Moment) -> bool:
    return is_dead(holder) or now - beat_at >= STALE_AFTER_MS


def _end(connection: sa.Connection, lost: Sequence[bytes], now: Moment) -> None:
    values = {"state": "failed", "ended_at": now, "counts": LOST_COUNTS}
    connection.execute(sa.update(run).where(run.c.id.in_(lost), run.c.state == "running").values(values))


def beat(connection: sa.Connection, lease: Lease, now: Moment, **values: object) -> None:
    """Renew the lease inside a transaction, and set what is given of its row.

    Raises LeaseHeldError when somebody took the lease over: nothing of the transaction may stay.
    """
    updated = connection.execute(
        sa.update(run)
        .where(run.c.id == lease.run, run.c.holder == lease.holder, run.c.state == "running")
        .values(beat_at=now, **values)
    )
    if updated.rowcount != 1:
        raise LeaseHeldError(f"the lease on {lease.source or lease.job} was taken over", "run again")


def release(store: Store, lease: Lease, *, state: str, now: Moment, counts: object, **values: object) -> None:
    """End the run: its state, its counters, and what else is to be set."""
    text = orjson.dumps(counts, option=orjson.OPT_SORT_KEYS).decode()
    store.write(lambda connection: beat(connection, lease, now, state=state, ended_at=now, counts=text, **values))


def release_quietly(store: Store, lease: Lease, *, now: Moment, counts: object, state: str = "failed") -> None:
    """End a run that failed. When the store itself is what failed, the next run takes the lease over."""
    try:
        release(store, lease, state=state, now=now, counts=counts)
    except PalimpsestError:
        return


def known_origin(connection: sa.Connection, name: str) -> tuple[str, str] | None:
    """(kind, origin) of a source, None for a new one."""
    found = connection.execute(sa.select(source.c.kind, source.c.origin).where(source.c.name == name)).first()
    return (found.kind, found.origin) if found is not None else None


def check_origin(store: Store, *, name: str, kind: str, origin: str) -> bool:
    """Whether the source is known already. Raises UsageError when it is known with another origin."""
    if name == NOTES and kind != NOTES:
        raise UsageError(
            f"the source {name!r} is what people and agents say", "give this one its own name: --source NAME"
        )
    found = store.read(lambda connection: known_origin(connection, name))
    if found is not None and found != (kind, origin):
        was = found[1] if found[0] == found[1] else f"{found[0]} {found[1]}"
        now = origin if kind == origin else f"{kind} {origin}"
        raise UsageError(
            f"the source {name!r} stands for {was}, not for {now}", "give this one its own name: --source NAME"
        )
    return found is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class LastReading:
    """The newest reading of a source that wrote or finished: its time, and the rules and scope it was made under.

    Rules and scope are those of the newest finished one, where there is one. `unfinished` are the runs since then.
    """

    read_at: Moment
    rules: str
    scope: str | None
    finished: bool
    unfinished: tuple[RunId, ...] = ()


def last_reading(connection: sa.Connection, name: str) -> LastReading | None:
    """The newest reading of a source, finished or not; None before the first."""
    rows = connection.execute(
        sa.select(run.c.read_at, run.c.rules, run.c.scope, run.c.state, run.c.id)
        .where(run.c.source == name, run.c.read_at.is_not(None), (run.c.state == "done") | (run.c.written > 0))
        .order_by(run.c.read_at.desc(), run.c.started_at.desc())
    ).all()
    if not rows:
        return None
    finished = next((row for row in rows if row.state == "done"), None)
    newest = finished or rows[0]
    unfinished = takewhile(lambda row: row is not finished, rows)
    return LastReading(
        read_at=rows[0].read_at,
        rules=newest.rules,
        scope=newest.scope,
        finished=finished is not None,
        unfinished=tuple(RunId(row.id) for row in unfinished),
    )


def coverages(connection: sa.Connection, name: str) -> list[tuple[Moment, RunId]]:
    """(time of the reading, run) of every run of a source that covered something, newest first."""
    rows = connection.execute(
        sa.select(run.c.read_at, run.c.id)
        .where(run.c.source == name, run.c.coverage.is_not(None), run.c.read_at.is_not(None))
        .order_by(run.c.read_at.desc(), run.c.started_at.desc())
    )
    return [(row.read_at, RunId(row.id)) for row in rows]


def coverage_of(connection: sa.Connection, run_id: RunId) -> bytes:
    """The packed coverage of one run."""
    return bytes(connection.scalar(sa.select(run.c.coverage).where(run.c.id == run_id)) or b"")


def stopped_run(connection: sa.Connection, prefix: str, name: str) -> str | None:
    """The counters of the stopped run of a source whose id begins with `prefix`; None when there is none."""
    rows = connection.execute(sa.select(run.c.id, run.c.counts).where(run.c.source == name, run.c.state == "stopped"))
    for row in rows:
        if bytes(row.id).hex().startswith(prefix.lower()):
            return str(row.counts)
    return None


def count_written(connection: sa.Connection, run_id: RunId) -> int:
    """How many episodes a run wrote, counted from the rows."""
    return int(connection.scalar(sa.select(sa.func.count()).where(episode.c.run_id == run_id)) or 0)
