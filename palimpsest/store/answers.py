"""What answers about entities are made from: entities by URN, and every version of theirs with its founding episode.

Statements only, each for a whole set of entities. What of it is current is decided by the queries, not here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.belief import State, opened_as
from palimpsest.core.episode import Kind, credible
from palimpsest.core.ids import BeliefId, CellId, EntityId, RunId
from palimpsest.core.moment import Moment
from palimpsest.core.observer import NOTES
from palimpsest.store.readings import ranges
from palimpsest.store.schema import OF_LINEAGE, cell, edge, entity, episode, evidence, passage_of, source, version

_LAST_REST = b"\xff" * 8
_AT_ONCE = 2_000


class Named(NamedTuple):
    """An entity and what its URN tells."""

    id: EntityId
    urn: str
    kind: str
    platform: str
    name: str


class Seen(NamedTuple):
    """An episode as evidence: which run saw it, when, what the catalog itself said of it, when its text was forgotten.

    A text that was forgotten is JSON null wherever the value is given.
    """

    cell: CellId
    number: int
    kind: Kind
    impact: Impact
    baseline: bool
    observed_at: Moment
    after_at: Moment | None
    stamped_at: Moment | None
    actor: str
    catalog_run: str
    run: RunId
    forgotten_at: Moment | None = None
    observer: str = ""
    verdict: str | None = None


class Wording(NamedTuple):
    """A later episode that said the same in other words: what it says, since when, by whom, and who judged it so."""

    value: str
    said_at: Moment
    recorded_at: Moment | None
    observer: str
    judge: str


class Remembered(NamedTuple):
    """One version of a belief: what it says, when that held, why it was opened and ended, and its founding episode.

    Where later episodes said the same in other words, `value` is the newest of the `wordings`, `first_worded` that of
    the founding episode; which it was at another time, When.worded tells. `opened_as` is the state in which it began,
    which its state no longer tells once it has ended.
    """

    belief: BeliefId
    number: int
    state: State
    entity: EntityId
    source: str
    aspect: str
    key: str
    value: str
    valid_from: Moment
    valid_after: Moment | None
    valid_to: Moment | None
    recorded_at: Moment
    closed_at: Moment | None
    run: RunId
    judge: str
    reason: str
    reverts_to: int | None
    successor: int | None
    ended_reason: str
    founded: Seen
    opened_as: State = State.CURRENT
    wordings: tuple[Wording, ...] = ()
    first_worded: str | None = None


_VERSION_COLUMNS = (
    version.c.belief_id,
    version.c.number,
    version.c.state,
    cell.c.entity_id,
    cell.c.source,
    cell.c.aspect,
    cell.c.key,
    episode.c.value,
    version.c.valid_from,
    version.c.valid_after,
    version.c.valid_to,
    version.c.recorded_at,
    version.c.closed_at,
    version.c.run_id,
    version.c.judge,
    version.c.reason,
    version.c.reverts_to,
    version.c.successor,
    version.c.ended_reason,
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
    cell.c.observer,
    episode.c.verdict,
)
_FOUNDED_AT = 19
_KINDS = {kind.value: kind for kind in Kind}
_STATES = {state.value: state for state in State}
_IMPACTS = {int(impact): impact for impact in Impact}


def _seen(row: Sequence[Any]) -> Seen:
    return Seen(
        row[0], row[1], _KINDS[row[2]], _IMPACTS[row[3]], row[4], row[5], row[6], row[7], row[8] or "", row[9] or "",
        row[10], row[11], row[12], row[13],
    )  # fmt: skip


def _remembered(row: Sequence[Any]) -> Remembered:
    belief, number, state, *rest = row[: _FOUNDED_AT - 1]
    seen = _seen(row[_FOUNDED_AT:])
    opened = opened_as(seen.verdict, row[15])
    return Remembered._make((belief, number, _STATES[state], *rest, row[18] or "", seen, opened, (), None))


# Statements that a brief needs are built once: building one costs more than running it.
_VERSIONS = (
    sa.select(*_VERSION_COLUMNS)
    .select_from(version)
    .join(episode, sa.and_(episode.c.cell_id == version.c.cell_id, episode.c.number == version.c.episode))
    .join(cell, cell.c.id == version.c.cell_id)
    .order_by(version.c.belief_id, version.c.number)
)
_VERSIONS_BETWEEN = _VERSIONS.where(version.c.belief_id.between(sa.bindparam("first"), sa.bindparam("last")))
_VERSIONS_OF_BELIEFS = _VERSIONS.where(version.c.belief_id.in_(sa.bindparam("beliefs", expanding=True)))

# What restated versions, the oldest first; a forgotten text words nothing.
_WORDINGS = (
    sa.select(
        evidence.c.belief_id, evidence.c.number, episode.c.value, episode.c.observed_at, episode.c.after_at,
        episode.c.stamped_at, evidence.c.recorded_at, cell.c.observer, evidence.c.judge,
    )
    .select_from(evidence)
    .join(episode, sa.and_(episode.c.cell_id == evidence.c.cell_id, episode.c.number == evidence.c.episode))
    .join(cell, cell.c.id == evidence.c.cell_id)
    .where(evidence.c.role == "bears_out", episode.c.forgotten_at.is_(None))
    .order_by(episode.c.observed_at, evidence.c.cell_id, evidence.c.episode)
)  # fmt: skip
_WORDINGS_BETWEEN = _WORDINGS.where(evidence.c.belief_id.between(sa.bindparam("first"), sa.bindparam("last")))
_WORDINGS_OF_BELIEFS = _WORDINGS.where(evidence.c.belief_id.in_(sa.bindparam("beliefs", expanding=True)))

_VERSIONS_OF_PASSAGES = (
    _VERSIONS.add_columns(passage_of.c.passage_id)
    .join(passage_of, sa.and_(passage_of.c.belief_id == version.c.belief_id, passage_of.c.number == version.c.number))
    .where(passage_of.c.passage_id.in_(sa.bindparam("passages", expanding=True)))
    .order_by(None)
)


def versions_of(connection: sa.Connection, entities: Sequence[EntityId]) -> list[Remembered]:
    """Every version of the beliefs about entities, by belief and number."""
    if not entities:
        return []
    if len(entities) == 1:
        given = {"first": entities[0], "last": entities[0][:8] + _LAST_REST}
        found = [_remembered(row) for row in connection.execute(_VERSIONS_BETWEEN, given)]
        return _worded(found, connection.execute(_WORDINGS_BETWEEN, given))
    found = []
    for start in range(0, len(entities), _AT_ONCE):
        wanted = ranges(entities[start : start + _AT_ONCE])
        within = _VERSIONS.join(wanted, version.c.belief_id.between(wanted.c.first, wanted.c.last))
        reworded = _WORDINGS.join(wanted, evidence.c.belief_id.between(wanted.c.first, wanted.c.last))
        some = [_remembered(row) for row in connection.execute(within)]
        found += _worded(some, connection.execute(reworded))
    return found


def versions_of_beliefs(connection: sa.Connection, beliefs: Sequence[BeliefId]) -> list[Remembered]:
    """Every version of the given beliefs, by belief and number. Beliefs that are not held are left out."""
    found: list[Remembered] = []
    for start in range(0, len(beliefs), _AT_ONCE):
        given = {"beliefs": beliefs[start : start + _AT_ONCE]}
        some = [_remembered(row) for row in connection.execute(_VERSIONS_OF_BELIEFS, given)]
        found += _worded(some, connection.execute(_WORDINGS_OF_BELIEFS, given))
    return found


_CURRENT_VALUES = (
    sa.select(version.c.belief_id, episode.c.value)
    .join(episode, sa.and_(episode.c.cell_id == version.c.cell_id, episode.c.number == version.c.episode))
    .where(version.c.belief_id.in_(sa.bindparam("beliefs", expanding=True)), version.c.state == "current")
)


def current_values(connection: sa.Connection, beliefs: Sequence[BeliefId]) -> dict[BeliefId, str]:
    """Belief → the value that its current version was founded with, as JSON text; of beliefs that have one."""
    found: dict[BeliefId, str] = {}
    for start in range(0, len(beliefs), _AT_ONCE):
        rows = connection.execute(_CURRENT_VALUES, {"beliefs": beliefs[start : start + _AT_ONCE]})
        found.update((BeliefId(row[0]), row[1]) for row in rows)
    return found


def _worded(versions: list[Remembered], rows: Iterable[sa.Row[Any]]) -> list[Remembered]:
    """The versions with what restated them."""
    found: dict[tuple[BeliefId, int], list[Wording]] = {}
    for belief, number, value, observed, after, stamped, recorded, observer, judge in rows:
        at = credible(stamped, after, observed) or observed
        found.setdefault((belief, number), []).append(Wording(value, at, recorded, observer, judge or ""))
    if not found:
        return versions
    return [
        one._replace(value=said[-1].value, first_worded=one.value, wordings=tuple(said))
        if (said := found.get((one.belief, one.number)))
        else one
        for one in versions
    ]


def versions_of_passages(connection: sa.Connection, passages: Sequence[int]) -> list[tuple[int, Remembered]]:
    """Every version that passages state, with the passage."""
    found: list[tuple[int, Remembered]] = []
    for start in range(0, len(passages), _AT_ONCE):
        rows = connection.execute(_VERSIONS_OF_PASSAGES, {"passages": passages[start : start + _AT_ONCE]}).all()
        stated = [_remembered(row[:-1]) for row in rows]
        reworded = _reworded(connection, stated)
        found.extend((row[-1], one) for row, one in zip(rows, reworded, strict=True))
    return found


def _reworded(connection: sa.Connection, versions: list[Remembered]) -> list[Remembered]:
    """Versions of any beliefs with what restated them."""
    beliefs = list(dict.fromkeys(one.belief for one in versions))
    rows: list[sa.Row[Any]] = []
    for start in range(0, len(beliefs), _AT_ONCE):
        rows += connection.execute(_WORDINGS_OF_BELIEFS, {"beliefs": beliefs[start : start + _AT_ONCE]})
    return _worded(versions, rows)


_OF_LINEAGE = _VERSIONS.where(version.c.cell_id.in_(sa.select(cell.c.id).where(sa.text(f"cell.{OF_LINEAGE}"))))


def lineage_naming(connection: sa.Connection, text: str) -> list[Remembered]:
    """Every version about lineage whose value has a text in it, by belief and number. Walks all lineage."""
    statement = _OF_LINEAGE.where(episode.c.value.contains(text, autoescape=True))
    return [_remembered(row) for row in connection.execute(statement)]


class Listing(NamedTuple):
    """What a listing of versions is narrowed to; None or empty means all."""

    aspect: str | None = None
    platform: str | None = None
    source: str | None = None
    state: State | None = None
    entities: tuple[EntityId, ...] = ()
    as_of: Moment | None = None
    known_at: Moment | None = None


SAID = sa.select(cell.c.id).where(cell.c.observer != sa.literal_column("''"))  # spelt as in the index of these cells


def list_versions(connection: sa.Connection, wanted: Listing, page: int) -> Iterator[list[Remembered]]:
    """Versions in pages, by belief and number. The times narrow coarsely; the caller decides what held."""
    statement = _VERSIONS.limit(page)
    if wanted.platform is not None:
        statement = statement.join(entity, entity.c.id == cell.c.entity_id).where(entity.c.platform == wanted.platform)
    if wanted.aspect is not None:
        statement = statement.where(cell.c.aspect == wanted.aspect)
    if wanted.source is not None:
        statement = statement.where(cell.c.source == wanted.source)
    if wanted.source == NOTES:
        statement = statement.where(version.c.cell_id.in_(SAID))
    if wanted.state is not None:
        statement = statement.where(version.c.state == wanted.state.value)
    if wanted.as_of is not None:
        statement = statement.where(version.c.valid_from <= wanted.as_of)
    if wanted.known_at is not None:
        statement = statement.where(version.c.recorded_at <= wanted.known_at)
    if wanted.entities:
        given = ranges(wanted.entities)
        statement = statement.join(given, version.c.belief_id.between(given.c.first, given.c.last))
    after: tuple[bytes, int] = (b"", 0)
    while True:
        beyond = statement
        if after[0]:
            beyond = statement.where(
                version.c.belief_id >= after[0],
                sa.or_(version.c.belief_id > after[0], version.c.number > after[1]),
            )
        rows = [_remembered(row) for row in connection.execute(beyond)]
        if rows:
            yield _reworded(connection, rows)
        if len(rows) < page:
            return
        after = (rows[-1].belief, rows[-1].number)


def beliefs_beginning(connection: sa.Connection, low: bytes, high: bytes) -> list[BeliefId]:
    """The distinct beliefs whose ids lie between two bounds, both included."""
    rows = connection.execute(
        sa.select(version.c.belief_id).where(version.c.belief_id.between(low, high), version.c.number == 1)
    )
    return [BeliefId(row[0]) for row in rows]


_ENDINGS = (
    sa.select(evidence.c.belief_id, evidence.c.number, *_VERSION_COLUMNS[_FOUNDED_AT:])
    .select_from(evidence)
    .join(episode, sa.and_(episode.c.cell_id == evidence.c.cell_id, episode.c.number == evidence.c.episode))
    .join(cell, cell.c.id == evidence.c.cell_id)
    .where(evidence.c.role == "ended", evidence.c.belief_id.in_(sa.bindparam("beliefs", expanding=True)))
)


def endings_of(connection: sa.Connection, beliefs: Sequence[BeliefId]) -> dict[tuple[BeliefId, int], Seen]:
    """(belief, number) → the episode that ended a version which has no successor."""
    found: dict[tuple[BeliefId, int], Seen] = {}
    for start in range(0, len(beliefs), _AT_ONCE):
        rows = connection.execute(_ENDINGS, {"beliefs": beliefs[start : start + _AT_ONCE]})
        found.update(((BeliefId(row[0]), row[1]), _seen(row[2:])) for row in rows)
    return found


# --- entities ---------------------------------------------------------------------------------------------------

_NAMED = (entity.c.id, entity.c.urn, entity.c.kind, entity.c.platform, entity.c.name)
_NAMED_BY_ID = sa.select(*_NAMED).where(entity.c.id.in_(sa.bindparam("ids", expanding=True)))
_NAMED_BY_URN = sa.select(*_NAMED).where(entity.c.urn == sa.bindparam("urn"))
_SOURCES = sa.select(source.c.name).order_by(source.c.name)


def entities_by_id(connection: sa.Connection, ids: Sequence[EntityId]) -> dict[EntityId, Named]:
    """The entities of the given ids; ids that are only named by others' lineage are left out."""
    found: dict[EntityId, Named] = {}
    for start in range(0, len(ids), _AT_ONCE):
        rows = connection.execute(_NAMED_BY_ID, {"ids": ids[start : start + _AT_ONCE]})
        found.update((EntityId(row[0]), Named(*row)) for row in rows)
    return found


def entity_by_urn(connection: sa.Connection, urn: str) -> Named | None:
    """The entity of exactly this URN."""
    row = connection.execute(_NAMED_BY_URN, {"urn": urn}).first()
    return Named(*row) if row is not None else None


def entities_named(connection: sa.Connection, part: str, most: int) -> list[Named]:
    """The entities of exactly this name, letter case apart for ASCII; at most so many."""
    exact = connection.execute(sa.select(*_NAMED).where(entity.c.name == part).order_by(entity.c.urn).limit(most))
    found = [Named(*row) for row in exact]
    if found:
        return found
    rows = connection.execute(
        sa.select(*_NAMED).where(sa.func.lower(entity.c.name) == part.lower()).order_by(entity.c.urn).limit(most)
    )
    return [Named(*row) for row in rows]


def entities_ending(connection: sa.Connection, part: str, most: int) -> list[Named]:
    """The entities whose name ends with this part, after a dot or a slash; at most so many."""
    name = sa.func.lower(entity.c.name)
    rows = connection.execute(
        sa.select(*_NAMED)
        .where(sa.or_(*(name.endswith(mark + part.lower(), autoescape=True) for mark in "./")))
        .order_by(entity.c.urn)
        .limit(most)
    )
    return [Named(*row) for row in rows]


def entities_containing(connection: sa.Connection, part: str, most: int) -> list[Named]:
    """The entities whose URN contains this part; at most so many."""
    rows = connection.execute(
        sa.select(*_NAMED)
        .where(sa.func.lower(entity.c.urn).contains(part.lower(), autoescape=True))
        .order_by(entity.c.urn)
        .limit(most)
    )
    return [Named(*row) for row in rows]


def every_entity(connection: sa.Connection) -> Iterator[Named]:
    """All entities, streamed."""
    for row in connection.execute(sa.select(*_NAMED), execution_options={"yield_per": 5_000}):
        yield Named(*row)


def source_names(connection: sa.Connection) -> list[str]:
    """The sources that something was written of."""
    return [row[0] for row in connection.execute(_SOURCES)]


# --- lineage ----------------------------------------------------------------------------------------------------


class Edge(NamedTuple):
    """A current belief says that `downstream` is made from `upstream`; columns are empty for whole entities."""

    upstream: EntityId
    column: str
    downstream: EntityId
    downstream_column: str
    belief: BeliefId


_EDGES = (
    sa.select(edge.c.upstream_id, edge.c.column, edge.c.belief_id, edge.c.downstream_column)
    .where(edge.c.upstream_id.in_(sa.bindparam("upstreams", expanding=True)))
    .order_by(edge.c.upstream_id, edge.c.column, edge.c.belief_id)
)


def edges_from(connection: sa.Connection, upstreams: Sequence[EntityId]) -> list[Edge]:
    """What is made from the given entities, by current beliefs about lineage."""
    found: list[Edge] = []
    for start in range(0, len(upstreams), _AT_ONCE):
        rows = connection.execute(_EDGES, {"upstreams": upstreams[start : start + _AT_ONCE]})
        found.extend(Edge(row[0], row[1], EntityId(row[2][:8] + bytes(8)), row[3], row[2]) for row in rows)
    return found


@cache
def revises() -> sa.ColumnElement[bool]:
    """Whether a consolidated episode took the place of something current, or ended it.

    Not what only bore out what was held, nor, of what was said, what opened a matter or was put beside.
    """
    founding = episode.alias("founding")
    ended = (
        sa.select(evidence.c.belief_id)
        .join(version, sa.and_(version.c.belief_id == evidence.c.belief_id, version.c.number == evidence.c.number))
        .join(founding, sa.and_(founding.c.cell_id == version.c.cell_id, founding.c.number == version.c.episode))
        .where(
            evidence.c.cell_id == episode.c.cell_id,
            evidence.c.episode == episode.c.number,
            evidence.c.role == "ended",
            founding.c.verdict != "contest",
        )
        .correlate(episode)
        .exists()
    )
    return sa.and_(
        episode.c.verdict != "reinforce",
        sa.or_(
            episode.c.kind != "said",
            episode.c.verdict == "supersede",
            sa.and_(episode.c.verdict == "retract", ended),
        ),
    )


@cache
def is_counted() -> sa.ColumnElement[bool]:
    """Whether an episode, joined with its cell, is a revision: no baseline, not quiet, not its entity's appearance."""
    return sa.and_(
        sa.not_(episode.c.baseline),
        episode.c.impact > 0,
        episode.c.verdict.is_not(None),
        revises(),
        sa.or_(cell.c.aspect != "existence", episode.c.kind != "first"),
    )


class LabelCount(NamedTuple):
    """What our link in the catalog counts about an entity."""

    beliefs: int
    revisions: int
    latest: Moment | None


_FIRST, _LAST = sa.bindparam("first", type_=cell.c.id.type), sa.bindparam("last", type_=cell.c.id.type)
_HELD = sa.select(sa.func.count()).where(version.c.belief_id.between(_FIRST, _LAST), version.c.state == "current")
_REVISED = (
    sa.select(sa.func.count(), sa.func.max(episode.c.observed_at))
    .select_from(episode)
    .join(cell, cell.c.id == episode.c.cell_id)
    .where(episode.c.cell_id.between(_FIRST, _LAST), is_counted())
)


def label_count(connection: sa.Connection, entity_id: EntityId) -> LabelCount:
    """Current beliefs, revisions (changes that are neither baseline nor quiet nor its appearance), the latest."""
    given = {"first": entity_id, "last": entity_id[:8] + _LAST_REST}
    beliefs = connection.scalar(_HELD, given)
    revised = connection.execute(_REVISED, given).one()
    return LabelCount(int(beliefs or 0), int(revised[0]), revised[1])
