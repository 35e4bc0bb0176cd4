"""What confidence is made from: where beliefs stand in their source's readings, and what those readings covered.

Reads only, each for a whole set of beliefs or sources; what they come to is computed by the queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import orjson
import sqlalchemy as sa

from palimpsest.core.confidence import Counted, Watched
from palimpsest.core.ids import CellId, EntityId
from palimpsest.core.moment import Moment
from palimpsest.store.schema import cell, episode, evidence, part, run, source, version

# (raw aspect, aspect) → what is counted of such cells from scan to scan
Learned = dict[str, dict[str, Counted]]

_LEARNED = "learned"
_AT_ONCE = 2_000
_LAST_REST = b"\xff" * 8


class Place(NamedTuple):
    """Where the cell of a belief stands: its bit in the coverage of a run, None for what nobody scans.

    `borne_out_at`: of what nobody scans, when it was last said again; `pending_at`: what nobody judged yet, the first.
    """

    ordinal: int | None
    borne_out_at: Moment | None
    pending_at: Moment | None


class Reading(NamedTuple):
    """One run of a source that read something: when, what it covered, and what was learned by then, if it ended."""

    source: str
    read_at: Moment
    coverage: bytes
    counts: str | None


_own = episode.alias("own")
_of_cell = _own.c.cell_id == cell.c.id
_PLACES = (
    sa.select(
        cell.c.id,
        part.c.ordinal,
        sa.case(
            (
                part.c.ordinal.is_(None),
                sa.select(sa.func.max(_own.c.observed_at))
                .select_from(evidence)
                .join(_own, sa.and_(_own.c.cell_id == evidence.c.cell_id, _own.c.number == evidence.c.episode))
                .join(
                    version, sa.and_(version.c.belief_id == evidence.c.belief_id, version.c.number == evidence.c.number)
                )
                .where(
                    evidence.c.belief_id == cell.c.belief_id,
                    evidence.c.role == "bears_out",
                    version.c.state == "current",
                )
                .correlate(cell)
                .scalar_subquery(),
            )
        ),
        sa.select(sa.func.min(_own.c.observed_at)).where(_of_cell, _own.c.verdict.is_(None)).scalar_subquery(),
    )
    .select_from(cell)
    .outerjoin(
        part, sa.and_(part.c.entity_id == cell.c.entity_id, part.c.source == cell.c.source, part.c.part == cell.c.part)
    )
)
_PLACES_BETWEEN = _PLACES.where(cell.c.id.between(sa.bindparam("first"), sa.bindparam("last")))
_PLACES_OF = _PLACES.where(cell.c.id.in_(sa.bindparam("cells", expanding=True)))


def places(connection: sa.Connection, cells: Sequence[CellId]) -> dict[CellId, Place]:
    """Where cells stand. Those of one entity are read by one walk."""
    found: dict[CellId, Place] = {}
    halves = {bytes(one[:8]) for one in cells}
    if len(halves) == 1:
        half = halves.pop()
        given = {"first": half + bytes(8), "last": half + _LAST_REST}
        return {CellId(row[0]): Place(*row[1:]) for row in connection.execute(_PLACES_BETWEEN, given)}
    for start in range(0, len(cells), _AT_ONCE):
        rows = connection.execute(_PLACES_OF, {"cells": cells[start : start + _AT_ONCE]})
        found.update((CellId(row[0]), Place(*row[1:])) for row in rows)
    return found


_READINGS = (
    sa.select(run.c.source, run.c.read_at, run.c.coverage, run.c.counts)
    .where(
        run.c.source.in_(sa.bindparam("sources", expanding=True)),
        run.c.read_at.is_not(None),
        run.c.coverage.is_not(None),
    )
    .order_by(run.c.started_at.desc())
    .limit(sa.bindparam("most"))
)
_READINGS_THEN = _READINGS.where(
    run.c.read_at <= sa.bindparam("upto"),
    sa.func.coalesce(run.c.ended_at, run.c.beat_at) <= sa.bindparam("known_at"),
)
_NEVER = 2**62


def readings(
    connection: sa.Connection,
    sources: Sequence[str],
    *,
    most: int,
    upto: Moment | None = None,
    known_at: Moment | None = None,
) -> list[Reading]:
    """At most so many readings of sources, the newest first: of those up to a moment, and recorded by another."""
    given: dict[str, object] = {"sources": sources, "most": most}
    statement = _READINGS
    if upto is not None or known_at is not None:
        statement = _READINGS_THEN
        given |= {"upto": _NEVER if upto is None else upto, "known_at": _NEVER if known_at is None else known_at}
    return [Reading(row[0], row[1], row[2], row[3]) for row in connection.execute(statement, given)]


def origins(connection: sa.Connection) -> dict[str, str]:
    """Source → its origin."""
    return {row[0]: row[1] for row in connection.execute(sa.select(source.c.name, source.c.origin))}


# --- what was learned -------------------------------------------------------------------------------------------


def learned_in(counts: str | None) -> Learned | None:
    """What the counters of a run say was learned by its end; None where they say nothing."""
    kept = orjson.loads(counts).get(_LEARNED) if counts else None
    if kept is None:
        return None
    return {
        name: {aspect: Counted(one[0], one[1], Watched(one[2], one[3])) for aspect, one in kinds.items()}
        for name, kinds in kept.items()
    }


def as_counts(learned: Learned) -> dict[str, dict[str, list[float]]]:
    """The same as it is kept among the counters of a run: cells, fresh ones, days watched, changes seen."""
    return {
        name: {
            aspect: [round(number, 3) for number in (one.cells, one.fresh, one.watched.days, one.watched.changes)]
            for aspect, one in sorted(kinds.items())
        }
        for name, kinds in sorted(learned.items())
    }


def last_learned(connection: sa.Connection, name: str) -> tuple[Moment, Learned] | None:
    """The newest reading of a source that kept what was learned, and that; None where none did."""
    rows = connection.execute(
        sa.select(run.c.read_at, run.c.counts)
        .where(run.c.source == name, run.c.read_at.is_not(None), run.c.state == "done")
        .order_by(run.c.started_at.desc())
        .limit(8)
    )
    for row in rows:
        learned = learned_in(row.counts)
        if learned is not None:
            return row.read_at, learned
    return None


def live_cells(connection: sa.Connection, name: str) -> dict[str, dict[str, int]]:
    """Raw aspect → aspect → how many cells of a source have not ended. Walks all of them."""
    rows = connection.execute(
        sa.select(cell.c.part, cell.c.aspect, sa.func.count())
        .where(cell.c.source == name, sa.func.length(cell.c.digest) > 0)
        .group_by(cell.c.part, cell.c.aspect)
    )
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        found.setdefault(row[0], {})[row[1]] = row[2]
    return found


# --- history, for calibrating -----------------------------------------------------------------------------------


class Step(NamedTuple):
    """One episode of a cell's history. `is_change`: neither quiet nor a restatement; `value` of existence only."""

    observed_at: Moment
    kind: str
    is_change: bool
    value: str | None


class History(NamedTuple):
    """A cell, its bit in the coverage of a run, and its episodes in order."""

    entity: EntityId
    aspect: str
    ordinal: int
    steps: tuple[Step, ...]


def every_reading(connection: sa.Connection, name: str, most: int) -> list[tuple[Moment, bytes]]:
    """(time, coverage) of the newest readings of a source, at most so many, the oldest first."""
    rows = connection.execute(
        sa.select(run.c.read_at, run.c.coverage)
        .where(run.c.source == name, run.c.read_at.is_not(None), run.c.coverage.is_not(None))
        .order_by(run.c.read_at.desc(), run.c.started_at.desc())
        .limit(most)
    )
    return [(row.read_at, row.coverage) for row in rows][::-1]


def scanned_sources(connection: sa.Connection) -> list[str]:
    """The sources that have readings, by name."""
    rows = connection.execute(
        sa.select(run.c.source)
        .where(run.c.source.is_not(None), run.c.read_at.is_not(None), run.c.coverage.is_not(None))
        .distinct()
        .order_by(run.c.source)
    )
    return [row[0] for row in rows]


def histories(connection: sa.Connection, name: str) -> Iterator[list[History]]:
    """The histories of a source's cells since they were first read, entity by entity, streamed."""
    statement = (
        sa.select(
            cell.c.id,
            cell.c.entity_id,
            cell.c.aspect,
            part.c.ordinal,
            episode.c.observed_at,
            episode.c.kind,
            sa.and_(episode.c.impact > 0, sa.func.coalesce(episode.c.verdict, "") != "reinforce"),
            sa.case((cell.c.aspect == "existence", episode.c.value)),
        )
        .select_from(cell)
        .join(
            part,
            sa.and_(part.c.entity_id == cell.c.entity_id, part.c.source == cell.c.source, part.c.part == cell.c.part),
        )
        .join(episode, episode.c.cell_id == cell.c.id)
        .where(cell.c.source == name, episode.c.number > 0)
        .order_by(cell.c.id, episode.c.number)
    )
    found: list[History] = []
    last: CellId | None = None
    for row in connection.execute(statement, execution_options={"yield_per": 5_000}):
        step = Step(row[4], row[5], bool(row[6]), row[7])
        if row[0] == last:
            found[-1] = found[-1]._replace(steps=(*found[-1].steps, step))
            continue
        if found and found[-1].entity != row[1]:
            yield found
            found = []
        last = row[0]
        found.append(History(EntityId(row[1]), row[2], row[3], (step,)))
    if found:
        yield found
