"""impact: what lies downstream of an entity or a column, by level, with owners, as lineage is held at any date.

Entities that exist only; each names the belief about lineage by which it was reached first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from palimpsest.core.aspects.sets import members_of
from palimpsest.core.aspects.words import label_of
from palimpsest.core.belief import State
from palimpsest.core.entity import short_name, split_field
from palimpsest.core.errors import UsageError
from palimpsest.core.ids import EntityId, Ids, belief_ref, short_ref
from palimpsest.core.impact import Hop, Reached, Walk, folded
from palimpsest.core.jsontext import loads
from palimpsest.core.lineage import in_edge, upstreams_named
from palimpsest.core.observer import NOTES
from palimpsest.queries import entities, held, lineage
from palimpsest.queries.held import EXISTENCE, EntityView, Presence, When, moment_view
from palimpsest.store import answers
from palimpsest.store import impact as rows
from palimpsest.store.answers import Named
from palimpsest.store.engine import Connection, Store

MOST_REACHED = 10_000  # entities of one answer; a walk that reached so many goes no level further
_NEAREST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedView:
    """An entity downstream: its owners, the columns reached, and the hop: from which entity, by which belief."""

    urn: str
    name: str
    kind: str
    platform: str
    owners: tuple[str, ...]
    columns: tuple[str, ...]
    through: str
    through_column: str
    belief: str
    ref: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelView:
    """So many hops downstream: how many entities are first reached there, those that are shown, and who owns any."""

    level: int
    count: int
    reached: tuple[ReachedView, ...]
    owners: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactView:
    """What lies downstream. `whole` says that the column has no lineage of its own: what reads its entity is told.

    `deeper`: there is more below the last level.
    """

    entity: EntityView
    column: str
    as_of: datetime | None
    whole: bool
    count: int
    levels: tuple[LevelView, ...]
    owners: tuple[str, ...]
    deeper: bool


def impact(store: Store, text: str, when: When, *, depth: int = 0, most: int = 0) -> ImpactView:
    """What lies downstream of what `text` names, an entity or `entity.column`; 0 is no limit. Raises UsageError."""
    ids = store.ids

    def work(connection: Connection) -> ImpactView:
        entity, column = named(connection, text)
        return _impact(connection, ids, entity, column, when, depth, most)

    return store.read(work)


def named(connection: Connection, text: str) -> tuple[Named, str]:
    """The entity, and the column or an empty text, that somebody means. Raises UsageError.

    A text that is an entity's name to its end is that entity; else what follows a dot may be a column.
    """
    of_field, path = split_field(text.strip())
    if path:
        entity = entities.resolve(connection, of_field)
        return entity, _column(connection, entity, path)
    wanted = text.strip()
    found: Named | UsageError
    try:
        found = entities.resolve(connection, wanted)
    except UsageError as error:
        found = error
    else:
        if _is_whole(found, wanted):
            return found, ""
    for at in reversed([place for place, letter in enumerate(wanted) if letter == "."]):
        left, path = wanted[:at], wanted[at + 1 :]
        try:
            entity = entities.resolve(connection, left)
        except UsageError:
            continue
        if entity.urn == left:
            return entity, _column(connection, entity, path)
        if _is_whole(entity, left) and (key := _known(connection, entity, path)) is not None:
            return entity, key
    if isinstance(found, UsageError):
        raise found
    return found, ""


def _is_whole(entity: Named, text: str) -> bool:
    """Whether a text is an entity's URN, or its name to the end."""
    return entity.urn == text or entity.name.casefold().endswith(text.casefold())


def _known(connection: Connection, entity: Named, path: str) -> str | None:
    wanted = folded(path)
    return next((key for key in rows.columns_of(connection, entity.id) if folded(key) == wanted), None)


def _column(connection: Connection, entity: Named, path: str) -> str:
    key = _known(connection, entity, path)
    if key is None:
        known = rows.columns_of(connection, entity.id)
        shown = ", ".join(known[:_NEAREST]) + (" …" if len(known) > _NEAREST else "")
        raise UsageError(f"{short_name(entity.urn)} has no column {path!r}", f"it has {shown or 'none'}")
    return key


def _impact(
    connection: Connection, ids: Ids, entity: Named, column: str, when: When, depth: int, most: int
) -> ImpactView:
    hops = hops_at(connection, ids, when)
    walk = Walk((entity.id, folded(column) if column else ""))
    levels: list[dict[EntityId, Reached]] = []
    count, whole = 0, False
    while walk.frontier and (not depth or len(levels) < depth) and count < MOST_REACHED:
        below = hops.below(walk.ask)
        here = lineage.existing(connection, ids, {hop.downstream for hop in below}, when)
        below = [hop for hop in below if hop.downstream in here]
        whole = whole or (bool(column) and not levels and not any(hop.column for hop in below))
        reached = walk.take(below)
        if reached:
            levels.append(reached)
        elif not walk.frontier:
            break
        count += len(reached)
    every = [one for level in levels for one in level]
    seen = answers.entities_by_id(connection, [entity.id, *every])
    owners = owners_of(connection, ids, every, when)
    views = tuple(_level(number, level, seen, owners, most) for number, level in enumerate(levels, start=1))
    return ImpactView(
        entity=entities.entity_view(entity),
        column=column,
        as_of=moment_view(when.as_of),
        whole=whole and bool(every),
        count=count,
        levels=views,
        owners=_sorted(owner for one in every for owner in owners.get(one, ())),
        deeper=bool(walk.frontier) and bool(_any_below(connection, ids, hops, walk, when)),
    )


def _any_below(connection: Connection, ids: Ids, hops: Hops, walk: Walk, when: When) -> bool:
    below = hops.below(walk.ask)
    here = lineage.existing(connection, ids, {hop.downstream for hop in below}, when)
    return bool(walk.take([hop for hop in below if hop.downstream in here]))


def _level(
    number: int,
    level: dict[EntityId, Reached],
    seen: dict[EntityId, Named],
    owners: dict[EntityId, tuple[str, ...]],
    most: int,
) -> LevelView:
    views = sorted(
        (_reached(seen[one], reached, seen, owners.get(one, ())) for one, reached in level.items() if one in seen),
        key=lambda view: (view.name, view.urn),
    )
    return LevelView(
        level=number,
        count=len(level),
        reached=tuple(views[:most] if most else views),
        owners=_sorted(owner for view in views for owner in view.owners),
    )


def _reached(one: Named, reached: Reached, seen: dict[EntityId, Named], owners: tuple[str, ...]) -> ReachedView:
    hop = reached.hop
    above = seen.get(hop.upstream)
    return ReachedView(
        urn=one.urn,
        name=one.name,
        kind=one.kind,
        platform=one.platform,
        owners=owners,
        columns=reached.columns,
        through=above.urn if above is not None else "",
        through_column=hop.column if reached.columns else "",
        belief=belief_ref(hop.belief),
        ref=short_ref(hop.belief),
    )


def _sorted(owners: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(owners)))


# --- lineage and owners at a time ---------------------------------------------------------------------------------


class Hops:
    """Lineage at the time of a question."""

    def __init__(self, connection: Connection, past: dict[EntityId, list[Hop]] | None) -> None:
        self._connection, self._past = connection, past

    def below(self, upstreams: Sequence[EntityId]) -> list[Hop]:
        """What is made from the given entities."""
        if self._past is not None:
            return [hop for one in upstreams for hop in self._past.get(one, ())]
        return [Hop(*edge) for edge in answers.edges_from(self._connection, upstreams)]


def hops_at(connection: Connection, ids: Ids, when: When) -> Hops:
    """The lineage that held at the time of a question. For the past every belief about lineage is read once."""
    if when.is_now:
        return Hops(connection, None)
    past: dict[EntityId, list[Hop]] = {}
    for version in rows.lineage_until(connection, when.as_of, when.known_at):
        if not when.knows(version) or not when.holds(version) or held.state_then(version) is not State.CURRENT:
            continue
        for urn, column in upstreams_named(version.aspect, loads(version.value)):
            above = ids.entity(urn)
            past.setdefault(above, []).append(Hop(above, column, version.entity, in_edge(version.key), version.belief))
    return Hops(connection, past)


def owners_of(
    connection: Connection, ids: Ids, wanted: Sequence[EntityId], when: When
) -> dict[EntityId, tuple[str, ...]]:
    """The names of the owners of entities at the time of a question, by any source."""
    sources = [source for source in answers.source_names(connection) if source != NOTES]
    beliefs = [
        ids.belief(one, source, aspect, "")
        for one in wanted
        for source in sources
        for aspect in (EXISTENCE, "ownership")
    ]
    versions = answers.versions_of_beliefs(connection, beliefs)
    found: dict[EntityId, set[str]] = {}
    for version in held.current(versions, when, Presence(versions, when)):
        if version.aspect == "ownership":
            found.setdefault(version.entity, set()).update(
                label_of(member[0]) for member in members_of(loads(version.value))
            )
    return {one: tuple(sorted(names)) for one, names in found.items()}
