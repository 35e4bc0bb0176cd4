"""Reads what a hook tells from a store in a SQLite file, by the standard library alone: read-only, and in time.

The statements follow palimpsest.store; a test holds them to the schema. Writes nothing but the log of deliveries.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from palimpsest.core.ids import Ids
from palimpsest.core.moment import Moment
from palimpsest.surfaces.hooks.news import Version
from palimpsest.surfaces.hooks.outcome import Outcome
from palimpsest.surfaces.hooks.speech import Speech

MOST_ENTITIES = 50
_MOST_BELIEFS = 2_000
_MOST_DELIVERIES = 200
_MOST_RUNS = 20
_STEPS = 1_000
_LAST_REST = b"\xff" * 8
_SURFACE = "hook"


class Unanswered(Exception):
    """The store cannot tell, or not in time. `why` is how the call came out."""

    def __init__(self, why: Outcome) -> None:
        super().__init__(why)
        self.why = why


class Known(NamedTuple):
    """An entity: its id and URN."""

    id: bytes
    urn: str


class Seen(NamedTuple):
    """What an agent was handed before: when it last was anything, and each entity with when that was."""

    last: Moment | None
    entities: dict[bytes, Moment]


@contextmanager
def opened(file: Path, *, until: float) -> Iterator[sqlite3.Connection]:
    """A connection that only reads and breaks off at `until`, a time of the monotonic clock. Raises Unanswered."""
    if not file.is_file():
        raise Unanswered(Outcome.MISSING)
    mode = "mode=ro"
    if not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)) and not _size(Path(f"{file}-wal")):
        mode += "&immutable=1"
    try:
        left = max(0.0, until - time.monotonic())
        with closing(sqlite3.connect(f"file:{quote(str(file))}?{mode}", uri=True, timeout=left / 2)) as connection:
            connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
            yield connection
    except sqlite3.Error as error:
        raise Unanswered(_why(error)) from error


def seen_by(connection: sqlite3.Connection, agents: Sequence[str], session: str) -> Seen:
    """What an agent of these names was handed in other sessions than this, and what it noted on; the newest first."""
    rows = connection.execute(
        f"SELECT at, session, entities FROM delivery WHERE agent IN ({_marks(agents)}) ORDER BY at DESC LIMIT ?",
        (*agents, _MOST_DELIVERIES),
    )
    earlier = [(Moment(at), listed) for at, of, listed in rows if not session or of != session]
    if not earlier:
        return Seen(None, {})
    found: dict[bytes, Moment] = {}
    for at, listed in earlier:
        for one in json.loads(listed):
            found.setdefault(bytes.fromhex(one), at)
    last = earlier[0][0]
    noted = connection.execute(
        "SELECT c.entity_id, max(e.observed_at) AS at FROM cell c JOIN episode e ON e.cell_id = c.id"
        f" WHERE c.observer IN ({_marks(agents)}) AND c.observer <> '' AND c.source = 'notes'"
        " GROUP BY c.entity_id ORDER BY at DESC LIMIT ?",
        (*agents, MOST_ENTITIES),
    )
    for entity, at in noted:
        found[entity] = max(found.get(entity, Moment(at)), min(Moment(at), last))
    newest = sorted(found.items(), key=lambda one: (-one[1], one[0]))
    return Seen(last, dict(newest[:MOST_ENTITIES]))


def changed_last(connection: sqlite3.Connection) -> dict[bytes, Moment]:
    """The entities that the newest reading with a change changed, the weightiest first, each with when it began."""
    runs = connection.execute(
        "SELECT id, started_at FROM run WHERE read_at IS NOT NULL AND state = 'done' AND written > 0"
        " ORDER BY started_at DESC LIMIT ?",
        (_MOST_RUNS,),
    ).fetchall()
    for run, started_at in runs:
        rows = connection.execute(
            "SELECT c.entity_id, max(e.impact) AS impact FROM episode e JOIN cell c ON c.id = e.cell_id"
            " WHERE e.run_id = ? AND e.baseline = 0 AND e.impact > 0 AND e.verdict IS NOT NULL"
            " GROUP BY c.entity_id ORDER BY impact DESC, c.entity_id LIMIT ?",
            (run, MOST_ENTITIES),
        ).fetchall()
        if rows:
            return {entity: Moment(started_at - 1) for entity, _ in rows}
    return {}


def named(connection: sqlite3.Connection, urns: Sequence[str], names: Sequence[str]) -> list[Known]:
    """The entities of these URNs, and of these whole names."""
    found = [
        Known(*row)
        for column, texts in (("urn", urns), ("name", names))
        if texts
        for row in connection.execute(
            f"SELECT id, urn FROM entity WHERE {column} IN ({_marks(texts)}) ORDER BY id LIMIT {MOST_ENTITIES}", texts
        )
    ]
    return list(dict.fromkeys(found))[:MOST_ENTITIES]


def known(connection: sqlite3.Connection, ids: Sequence[bytes]) -> list[Known]:
    """Entities by id."""
    return [Known(*row) for row in connection.execute(f"SELECT id, urn FROM entity WHERE id IN ({_marks(ids)})", ids)]


def versions_since(connection: sqlite3.Connection, since: Mapping[bytes, Moment]) -> list[Version]:
    """Every version of the beliefs of which one was recorded or ended after its entity's moment; and of existence."""
    given = [value for one, at in since.items() for value in (one, one[:8] + _LAST_REST, at)]
    if not given:
        return []
    ranges = f"WITH given(first, last, since) AS (VALUES {', '.join(['(?, ?, ?)'] * len(since))})"
    asked = (
        f"{ranges} SELECT DISTINCT c.belief_id FROM given g CROSS JOIN cell c ON c.id BETWEEN g.first AND g.last"
        " WHERE c.aspect = 'existence'",
        f"{ranges} SELECT DISTINCT v.belief_id FROM given g"
        " CROSS JOIN version v ON v.belief_id BETWEEN g.first AND g.last"
        f" WHERE v.recorded_at > g.since OR v.closed_at > g.since LIMIT {_MOST_BELIEFS}",
    )
    beliefs = list(dict.fromkeys(row[0] for statement in asked for row in connection.execute(statement, given)))
    if not beliefs:
        return []
    rows = connection.execute(
        f"WITH given(belief) AS (VALUES {', '.join(['(?)'] * len(beliefs))})"
        " SELECT v.belief_id, v.number, v.state, v.recorded_at, v.closed_at, v.valid_from, v.valid_to, n.urn,"
        " c.source, c.observer, c.aspect, c.key, e.kind, e.baseline, e.value, e.forgotten_at, e.actor, e.stamped_at,"
        " e.after_at, e.observed_at"
        " FROM given g CROSS JOIN version v ON v.belief_id = g.belief"
        " JOIN cell c ON c.id = v.cell_id JOIN entity n ON n.id = c.entity_id"
        " JOIN episode e ON e.cell_id = v.cell_id AND e.number = v.episode",
        beliefs,
    )
    return [Version(*row) for row in rows]


def deliver(
    file: Path, said: Speech, *, agent: str, session: str, kind: str, tokens: int, now: Moment, until: float
) -> None:
    """Write down what the agent was handed, as jobs.deliver does; where that cannot be done in time it is left."""
    left = until - time.monotonic()
    if left <= 0:
        return
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=rw", uri=True, timeout=left / 2)) as connection:
            connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
            connection.execute("PRAGMA synchronous = NORMAL")
            with connection:
                ids = Ids(connection.execute("SELECT secret FROM store").fetchone()[0])
                row_id = ids.run("delivery", "\x1f".join((_SURFACE, agent, session, kind)), now, str(os.getpid()))
                entities = [ids.entity(urn).hex() for urn in said.urns]
                listed = [json.dumps(one, separators=(",", ":")) for one in (entities, said.versions, ())]
                connection.execute(
                    "INSERT OR IGNORE INTO delivery"
                    " (id, at, agent, session, surface, kind, entities, versions, scores, tokens)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (row_id, now, agent, session, _SURFACE, kind, *listed, tokens),
                )
    except sqlite3.Error:
        return


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _why(error: sqlite3.Error) -> Outcome:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    words = {
        sqlite3.SQLITE_BUSY: Outcome.LOCKED,
        sqlite3.SQLITE_LOCKED: Outcome.LOCKED,
        sqlite3.SQLITE_INTERRUPT: Outcome.LATE,
        sqlite3.SQLITE_ERROR: Outcome.BEHIND,  # no such table, no such column
    }
    return words.get(code, Outcome.BROKEN)
