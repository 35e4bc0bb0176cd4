"""entity_page: an entity with the layers under each of its beliefs, and what changed lately around it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from palimpsest.core import say
from palimpsest.core.aspects import ASPECTS
from palimpsest.core.belief import State
from palimpsest.core.ids import EntityId, Ids
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import to_datetime
from palimpsest.queries import held
from palimpsest.queries.held import When
from palimpsest.queries.held_entity import held_entity
from palimpsest.queries.history import BeliefHistory, histories_of
from palimpsest.queries.show import ChangeLineView, EntityPage, page_of
from palimpsest.store import answers, answers_changes
from palimpsest.store.answers import Named
from palimpsest.store.answers_changes import Changed
from palimpsest.store.engine import Connection, Store

MOST_COLUMNS = 200
_MOST_LAYERS = 4  # the current one and three under it; the belief's own page has all
_MOST_AROUND = 40
_MOST_CHANGES = 200
_OPEN = frozenset({State.CONTESTED.value, State.PROPOSED.value})
_OF_COLUMNS = frozenset({"column", "column_edit", "column_upstreams"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersView:
    """A belief with its newest layers, the newest first, and how many lie deeper.

    `current`: whether one of them is; `open`: whether one is contested or proposed and waits for a decision.
    """

    history: BeliefHistory
    deeper: int
    current: bool
    open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedNeighbourView:
    """The last change of an entity up or down the lineage."""

    urn: str
    change: ChangeLineView


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityPageView:
    """Everything about one entity. `layers` are of what is in `page` and of what has ended.

    `more_columns`: the key of the last column shown, where there are more.
    """

    id: str
    page: EntityPage
    layers: tuple[LayersView, ...]
    around: tuple[ChangedNeighbourView, ...]
    columns: int
    more_columns: str


def entity_page(store: Store, entity_id: str, when: When, after_column: str = "") -> EntityPageView | None:
    """The page of the entity of a permalink, 16 hexadecimal digits; None where there is none of that id."""
    ids, wanted = store.ids, EntityId(bytes.fromhex(entity_id) + bytes(8))

    def work(connection: Connection) -> EntityPageView | None:
        named = answers.entities_by_id(connection, [wanted]).get(wanted)
        return _page(connection, ids, named, when, after_column) if named is not None else None

    return store.read(work)


def _page(connection: Connection, ids: Ids, named: Named, when: When, after_column: str) -> EntityPageView:
    found = held_entity(connection, named, when)
    page = page_of(connection, ids, found, when)
    later = [one for one in page.columns if one.key > after_column]
    shown = later[:MOST_COLUMNS]
    keys = {one.key for one in shown}
    last = shown[-1].key if len(later) > len(shown) else ""
    gone_too = not after_column and not last
    histories = histories_of(connection, found, when)
    kept = [one for one in histories if one.aspect not in _OF_COLUMNS or one.key in keys or gone_too]
    near = [ids.entity(one.urn) for one in (*page.upstreams[:_MOST_AROUND], *page.downstreams[:_MOST_AROUND])]
    return EntityPageView(
        id=named.id[:8].hex(),
        page=replace(page, columns=tuple(shown)),
        layers=tuple(_layers(kept, when)),
        around=_around(connection, near, when),
        columns=len(page.columns),
        more_columns=last,
    )


def _layers(histories: Iterable[BeliefHistory], when: When) -> Iterable[LayersView]:
    """The layers that lay there at the time of the question; those that came later are not there yet."""
    for one in histories:
        lying = one.versions
        if when.as_of is not None:
            lying = tuple(version for version in lying if version.since <= to_datetime(when.as_of))
        if lying:
            yield LayersView(
                history=replace(one, versions=lying[:_MOST_LAYERS]),
                deeper=max(0, len(lying) - _MOST_LAYERS),
                current=any(version.current for version in lying),
                open=any(version.state in _OPEN and version.until is None for version in lying),
            )


def _around(connection: Connection, near: Sequence[EntityId], when: When) -> tuple[ChangedNeighbourView, ...]:
    """The last change of each neighbour that has one, the newest first."""
    found: dict[str, ChangedNeighbourView] = {}
    for row in answers_changes.latest_of(connection, near, when.moment, _MOST_CHANGES):
        if row.urn not in found:
            found[row.urn] = _changed(row)
    return tuple(found.values())


def _changed(row: Changed) -> ChangedNeighbourView:
    before = loads(row.before) if row.before is not None else None
    after = loads(row.after) if row.after is not None else None
    said = say.change(row.aspect, row.key, before, after, row.seen.kind)
    if ASPECTS[row.aspect].paths:
        said = f"column {row.key}: {said.removeprefix('column ')}"
    by = held.author(row.seen)
    at = to_datetime(row.seen.observed_at)
    text = f"{said}, by {by}" if by else said
    return ChangedNeighbourView(urn=row.urn, change=ChangeLineView(at=at, impact=row.seen.impact.word, text=text))
