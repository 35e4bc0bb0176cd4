"""beliefs: a listing of what is held, narrowed and bounded; read in pages, so that any store can be listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from palimpsest.core.aspects import ASPECTS
from palimpsest.core.belief import State
from palimpsest.core.errors import UsageError
from palimpsest.core.ids import BeliefId, EntityId, Ids
from palimpsest.queries import entities, held
from palimpsest.queries.confidence import confidences_of
from palimpsest.queries.held import BeliefView, Sure, When
from palimpsest.queries.lineage import presence_of
from palimpsest.store import answers
from palimpsest.store.answers import Listing, Remembered
from palimpsest.store.engine import Connection, Store

_Found = tuple[Remembered, bool]  # a version, and whether it is current

_PAGE = 1_000
_MOST_ENTITIES = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefsRequest:
    """What is listed. `state` None means all; only `current` looks at the time asked about. `limit` 0 is no limit."""

    entity: str | None = None
    aspect: str | None = None
    platform: str | None = None
    state: State | None = State.CURRENT
    source: str | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedBelief:
    """A belief of the listing with its state, and whether it is current at the time of the question."""

    belief: BeliefView
    state: str
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefsView:
    """A listing, by entity. `more`: whether there is more than was asked for."""

    beliefs: tuple[ListedBelief, ...]
    more: bool


def beliefs(store: Store, request: BeliefsRequest, when: When) -> BeliefsView:
    """The listing. Raises UsageError for an unknown entity, aspect or source."""
    if request.aspect is not None and request.aspect not in ASPECTS:
        raise UsageError(f"{request.aspect!r} is no aspect", f"one of: {', '.join(sorted(ASPECTS))}")
    ids = store.ids
    return store.read(lambda connection: _beliefs(connection, ids, request, when))


def _beliefs(connection: Connection, ids: Ids, request: BeliefsRequest, when: When) -> BeliefsView:
    about: tuple[EntityId, ...] = ()
    if request.entity is not None:
        about = tuple(one.id for one in entities.matching(connection, request.entity, _MOST_ENTITIES))
    wants_current = request.state is State.CURRENT
    listing = Listing(
        aspect=request.aspect,
        platform=request.platform,
        source=request.source,
        state=None if wants_current and not when.is_now else request.state,
        entities=about,
        as_of=when.as_of if wants_current else None,
        known_at=when.known_at,
    )
    found: list[_Found] = []
    for page in answers.list_versions(connection, listing, _PAGE):
        presence = presence_of(connection, ids, list(dict.fromkeys(one.entity for one in page)), when)
        now = {(one.belief, one.number) for one in held.current(page, when, presence)}
        marked = [(one, (one.belief, one.number) in now) for one in page]
        found += [(one, is_current) for one, is_current in marked if is_current or not wants_current]
        if request.limit and len(found) > request.limit:
            return BeliefsView(beliefs=_views(connection, ids, found[: request.limit], when), more=True)
    return BeliefsView(beliefs=_views(connection, ids, found, when), more=False)


def _views(connection: Connection, ids: Ids, found: list[_Found], when: When) -> tuple[ListedBelief, ...]:
    named = answers.entities_by_id(connection, list(dict.fromkeys(one.entity for one, _ in found)))
    listed = list(dict.fromkeys(one.belief for one, _ in found))
    chains = held.by_belief(one for one in answers.versions_of_beliefs(connection, listed) if when.knows(one))
    sure = confidences_of(connection, ids, [one for one, is_current in found if is_current], when)
    return tuple(
        ListedBelief(
            belief=_view(one, named[one.entity].urn, chains, when, sure if is_current else {}),
            state=one.state.value,
            is_current=is_current,
        )
        for one, is_current in found
    )


def _view(
    one: Remembered,
    urn: str,
    chains: Mapping[BeliefId, Sequence[Remembered]],
    when: When,
    sure: Mapping[BeliefId, Sure],
) -> BeliefView:
    return held.belief_view(one, urn, chains.get(one.belief, ()), when, sure.get(one.belief))
