"""What answers about changes are made from: readings, the episodes that they wrote, and what each cell held before.

Statements only, set-based. Which episodes count as changes is said by the caller; how they are worded is not said here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import sqlalchemy as sa

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.belief import State
from palimpsest.core.episode import Kind
from palimpsest.core.ids import BeliefId, CellId, EntityId, RunId
from palimpsest.core.moment import Moment
from palimpsest.store.answers import Remembered, Seen, endings_of, revises, versions_of_beliefs
from palimpsest.store.readings import ranges
from palimpsest.store.schema import cell, entity, episode, evidence, run, version

_AT_ONCE = 2_000


class Reading(NamedTuple):
    """A run that read a source."""

    run: RunId
    source: str
    read_at: Moment
    started_at: Moment
    finished: bool
    written: int
    is_first: bool


class Changed(NamedTuple):
    """An episode with what its cell held before it, None for nothing, and the belief it bears on."""

    entity: EntityId
    urn: str
    source: str
    aspect: str
    key: str
    belief: BeliefId
    before: str | None
    after: str | None
    seen: Seen
    before_forgotten_at: Moment | None = None


class Wanted(NamedTuple):
    """What the episodes of readings are narrowed to; None and empty mean all. `seen` is a time, both ends included."""

    aspect: str | None = None
    platform: str | None = None
    entities: tuple[EntityId, ...] = ()
    least: Impact = Impact.MINOR
    known_at: Moment | None = None
    seen: tuple[Moment | None, Moment | None] = (None, None)


def backfills(connection: sa.Connection, source: str | None) -> list[RunId]:
    """The runs that filled in what a catalog kept of the time before its first reading, of one source or of all."""
    statement = sa.select(run.c.id).where(run.c.job == "backfill", run.c.written > 0)
    if source is not None:
        statement = statement.where(run.c.source == source)
    return [RunId(row[0]) for row in connection.execute(statement)]


def readings_between(connection: sa.Connection, since: Moment | None, until: Moment | None) -> list[Reading]:
    """The readings of that time, both ends included, oldest first. `is_first`: before any that finished."""
    rows = connection.execute(
        sa.select(run.c.id, run.c.source, run.c.read_at, run.c.started_at, run.c.state, run.c.written)
        .where(run.c.read_at.is_not(None), run.c.source.is_not(None))
        .order_by(run.c.started_at, run.c.id)
    )
    finished: set[str] = set()
    found = []
    for row in rows:
        is_first = row[1] not in finished
        if row[4] == "done":
            finished.add(row[1])
        if (since is None or row[2] >= since) and (until is None or row[2] <= until):
            found.append(Reading(RunId(row[0]), row[1], row[2], row[3], row[4] == "done", row[5], is_first))
    return found


_BEFORE = episode.alias("before")
_COLUMNS = (
    cell.c.entity_id,
    entity.c.urn,
    cell.c.source,
    cell.c.aspect,
    cell.c.key,
    cell.c.belief_id,
    _BEFORE.c.value,
    episode.c.value,
    episode.c.cell_id,
    episode.c.number,
    episode.c.kind,
    episode.c.impact,
    episode.c.baseline,
    episode.c.observed_at,
    episode.c.after_at,
    episode.c.stamped_at,
    episode.c.actor,
    episode.c.catalog_run,
    episode.c.run_id,
    episode.c.forgotten_at,
    _BEFORE.c.forgotten_at,
    cell.c.observer,
    episode.c.verdict,
)


def changes_of(connection: sa.Connection, runs: Sequence[RunId], wanted: Wanted) -> list[Changed]:
    """The consolidated episodes of runs that are no baseline, by entity, aspect and key."""
    statement = _statement(wanted).where(sa.not_(episode.c.baseline), episode.c.impact >= int(wanted.least))
    return _rows(connection, statement, runs)


def first_stated(connection: sa.Connection, runs: Sequence[RunId], wanted: Wanted) -> list[Changed]:
    """The consolidated baseline episodes of runs: what was stated for the first time, which is no change."""
    return _rows(connection, _statement(wanted).where(episode.c.baseline), runs)


def page_of(
    connection: sa.Connection, run_id: RunId, wanted: Wanted, after: tuple[int, CellId, int] | None, most: int
) -> list[Changed]:
    """The changes of one run, at most so many: the weightiest first, then by cell; after (impact, cell, number)."""
    statement = _statement(wanted).where(sa.not_(episode.c.baseline)).order_by(None)
    statement = statement.order_by(episode.c.cell_id, episode.c.number)  # as the index has them: no more is read
    found: list[Changed] = []
    for impact in sorted(Impact, reverse=True):
        is_after = after is None or impact <= after[0]
        if impact < wanted.least or not is_after or len(found) >= most:
            continue
        alike = statement.where(episode.c.impact == int(impact))
        if after is not None and impact == after[0]:
            _, cell_id, number = after
            later = sa.or_(episode.c.cell_id > cell_id, episode.c.number > number)
            alike = alike.where(episode.c.cell_id >= cell_id, later)
        found += _rows(connection, alike.limit(most - len(found)), [run_id])
    return found


def latest_of(connection: sa.Connection, entities: Sequence[EntityId], until: Moment, most: int) -> list[Changed]:
    """The last changes of entities up to a time, the newest and then the weightiest first; no quiet ones."""
    if not entities:
        return []
    wanted = Wanted(entities=tuple(entities), seen=(None, until))
    statement = _statement(wanted).where(sa.not_(episode.c.baseline), episode.c.impact >= int(wanted.least))
    newest = statement.order_by(None).order_by(episode.c.observed_at.desc(), episode.c.impact.desc(), episode.c.cell_id)
    return _as_said(connection, [_changed(row) for row in connection.execute(newest.limit(most))])


@cache
def _all_changes() -> sa.Select[tuple[object, ...]]:
    earlier = episode.alias("earlier")  # forgetting leaves gaps in the numbers
    last = sa.select(sa.func.max(earlier.c.number)).where(
        earlier.c.cell_id == episode.c.cell_id, earlier.c.number < episode.c.number
    )
    previous = sa.and_(_BEFORE.c.cell_id == episode.c.cell_id, _BEFORE.c.number == last.scalar_subquery())
    return (
        sa.select(*_COLUMNS)
        .select_from(episode)
        .join(cell, cell.c.id == episode.c.cell_id)
        .join(entity, entity.c.id == cell.c.entity_id)
        .join(_BEFORE, previous, isouter=True)
        .where(episode.c.verdict.is_not(None), revises())
        .order_by(cell.c.entity_id, cell.c.aspect, cell.c.key, episode.c.number)
    )


def _statement(wanted: Wanted) -> sa.Select[tuple[object, ...]]:
    statement = _all_changes()
    if wanted.aspect is not None:
        statement = statement.where(cell.c.aspect == wanted.aspect)
    if wanted.platform is not None:
        statement = statement.where(entity.c.platform == wanted.platform)
    if wanted.entities:
        given = ranges(wanted.entities)
        statement = statement.join(given, episode.c.cell_id.between(given.c.first, given.c.last))
    if wanted.known_at is not None:
        statement = statement.where(_judged_by(wanted.known_at))
    since, until = wanted.seen
    if since is not None:
        statement = statement.where(episode.c.observed_at >= since)
    if until is not None:
        statement = statement.where(episode.c.observed_at <= until)
    return statement


def _judged_by(known_at: Moment) -> sa.ColumnElement[bool]:
    """Whether the verdict on an episode was recorded by then: the version it founded, or the one that it ended."""
    founded = sa.and_(version.c.cell_id == episode.c.cell_id, version.c.episode == episode.c.number)
    ended = sa.and_(evidence.c.cell_id == episode.c.cell_id, evidence.c.episode == episode.c.number)
    closed = sa.and_(version.c.belief_id == evidence.c.belief_id, version.c.number == evidence.c.number)
    return sa.or_(
        sa.exists(sa.select(1).where(founded, version.c.recorded_at <= known_at)),
        sa.exists(
            sa.select(1).select_from(evidence).join(version, closed).where(ended, version.c.closed_at <= known_at)
        ),
    )


def _rows(connection: sa.Connection, statement: sa.Select[tuple[object, ...]], runs: Sequence[RunId]) -> list[Changed]:
    found: list[Changed] = []
    for start in range(0, len(runs), _AT_ONCE):
        within = statement.where(episode.c.run_id.in_(runs[start : start + _AT_ONCE]))
        found.extend(_changed(row) for row in connection.execute(within))
    return _as_said(connection, found)


def _as_said(connection: sa.Connection, found: list[Changed]) -> list[Changed]:
    """The changes, those that somebody said with what was current before: mostly another one said that."""
    beliefs = sorted({one.belief for one in found if one.seen.kind is Kind.SAID})
    if not beliefs:
        return found
    before: dict[tuple[CellId, int], Remembered] = {}
    chains: dict[BeliefId, dict[int, Remembered]] = {}
    for held in versions_of_beliefs(connection, beliefs):
        chains.setdefault(held.belief, {})[held.number] = held
    for chain in chains.values():
        for one in chain.values():
            successor = chain.get(one.successor or 0)
            if successor is not None and one.opened_as is State.CURRENT:
                before[successor.founded.cell, successor.founded.number] = one
    for (belief, number), seen in endings_of(connection, beliefs).items():
        if chains[belief][number].opened_as is State.CURRENT:
            before[seen.cell, seen.number] = chains[belief][number]
    return [_said(one, before) if one.seen.kind is Kind.SAID else one for one in found]


def _said(one: Changed, before: dict[tuple[CellId, int], Remembered]) -> Changed:
    was = before.get((one.seen.cell, one.seen.number))
    return one._replace(
        before=was.value if was is not None else None,
        after=one.after if one.seen.verdict == "supersede" else None,
        before_forgotten_at=was.founded.forgotten_at if was is not None else None,
    )


def _changed(row: sa.Row[tuple[object, ...]]) -> Changed:
    entity_id, urn, source, aspect, key, belief, before, after, *rest = row
    cell_id, number, kind, impact, baseline, observed, after_at, stamped, actor, catalog_run, run_id, *forgot = rest
    seen = Seen(
        cell_id, number, Kind(kind), Impact(impact), baseline, observed, after_at, stamped, actor or "",
        catalog_run or "", run_id, forgot[0], forgot[2], forgot[3],
    )  # fmt: skip
    return Changed(entity_id, urn, source, aspect, key, belief, before, after, seen, forgot[1])


def count_changes(connection: sa.Connection, runs: Sequence[RunId]) -> dict[RunId, int]:
    """How many episodes of each run are no baseline, quiet and pending ones included."""
    found: dict[RunId, int] = {}
    for start in range(0, len(runs), _AT_ONCE):
        rows = connection.execute(
            sa.select(episode.c.run_id, sa.func.count())
            .where(episode.c.run_id.in_(runs[start : start + _AT_ONCE]), sa.not_(episode.c.baseline))
            .group_by(episode.c.run_id)
        )
        found.update((RunId(row[0]), int(row[1])) for row in rows)
    return found


def count_baseline_of(connection: sa.Connection, runs: Sequence[RunId], entities: Sequence[EntityId]) -> int:
    """How many baseline episodes runs wrote about the given entities."""
    total = 0
    for start in range(0, len(entities), _AT_ONCE):
        given = ranges(entities[start : start + _AT_ONCE])
        total += int(
            connection.scalar(
                sa.select(sa.func.count())
                .select_from(given)
                .join(episode, episode.c.cell_id.between(given.c.first, given.c.last))
                .where(episode.c.baseline, episode.c.run_id.in_(runs))
            )
            or 0
        )
    return total


def column_keys(connection: sa.Connection, entities: Sequence[EntityId]) -> dict[EntityId, frozenset[str]]:
    """The keys of the columns that entities have, or had when they went away."""
    found: dict[EntityId, set[str]] = {}
    for start in range(0, len(entities), _AT_ONCE):
        given = ranges(entities[start : start + _AT_ONCE])
        rows = connection.execute(
            sa.select(cell.c.entity_id, cell.c.key)
            .select_from(given)
            .join(cell, cell.c.id.between(given.c.first, given.c.last))
            .where(cell.c.aspect == "column", sa.func.length(cell.c.digest) > 0)
        )
        for row in rows:
            found.setdefault(EntityId(row[0]), set()).add(row[1])
    return {one: frozenset(keys) for one, keys in found.items()}
