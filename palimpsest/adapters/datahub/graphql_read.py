"""GraphQL's answers into raw aspects, purely. An entity with an error in it fails whole; the others are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from palimpsest.adapters.datahub.graphql_client import Answer
from palimpsest.adapters.datahub.graphql_words import absent_parts
from palimpsest.adapters.datahub.wire import live_aspect
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.entity import kind_of
from palimpsest.core.jsontext import loads
from palimpsest.core.observation import Failed, RawAspect

# What an absent raw aspect is written as, where an empty object would not say it.
_EMPTY: dict[str, dict[str, Json]] = {
    "status": {"removed": False},
    "ownership": {"owners": []},
    "globalTags": {"tags": []},
    "glossaryTerms": {"terms": []},
    "domains": {"domains": []},
    "institutionalMemory": {"elements": []},
    "upstreamLineage": {"upstreams": []},
}


class Entity(NamedTuple):
    """One entity of an answer: its raw aspects as JSON text. `exists` is False for one that the catalog lacks."""

    urn: str
    exists: bool
    aspects: dict[str, str]


class Page(NamedTuple):
    """One page of the listing: its URNs, the id of the next page (empty at the end), and how many there are in all."""

    urns: list[str]
    next_id: str
    total: int


def read_page(answer: Answer) -> Page:
    """The page of a scroll. Raises ValueError when it is of another form, or has an error in it."""
    if answer.errors:
        raise ValueError(answer.errors[0][0])
    found = answer.data.get("scrollAcrossEntities")
    if not isinstance(found, dict):
        raise ValueError("the listing is missing")
    results, total, next_id = found.get("searchResults"), found.get("total"), found.get("nextScrollId")
    if not isinstance(results, list) or not isinstance(total, int):
        raise ValueError("the listing is of another form")
    urns = []
    for result in results:
        entity = result.get("entity") if isinstance(result, dict) else None
        urn = entity.get("urn") if isinstance(entity, dict) else None
        if not isinstance(urn, str):
            raise ValueError("an entry of the listing has no URN")
        urns.append(urn)
    return Page(urns, next_id if isinstance(next_id, str) else "", total)


def read_entities(answer: Answer, asked: list[str]) -> list[Entity | Failed]:
    """What an answer says of each URN that was asked for, in order. Raises ValueError when it is of another form."""
    listed = answer.data.get("entities")
    if not isinstance(listed, list) or len(listed) != len(asked):
        raise ValueError(answer.errors[0][0] if answer.errors else "the answer is not about what was asked")
    broken: dict[int, str] = {}
    for message, path in answer.errors:
        place = path[1] if len(path) > 1 and path[0] == "entities" else None
        if not isinstance(place, int):
            raise ValueError(message)
        broken.setdefault(place, message)
    return [_entity(asked[place], entry, broken.get(place)) for place, entry in enumerate(listed)]


def _entity(urn: str, entry: Json, error: str | None) -> Entity | Failed:
    if error is not None:
        return Failed(urn, error)
    if entry is None:
        return Entity(urn, False, {})
    if not isinstance(entry, dict) or entry.get("urn") != urn:
        return Failed(urn, "the answer is about another entity")
    listed = entry.get("aspects")
    if not isinstance(listed, list):
        return Failed(urn, "its aspects are not shown to this token")
    aspects: dict[str, str] = {}
    for aspect in listed:
        name = aspect.get("aspectName") if isinstance(aspect, dict) else None
        payload = aspect.get("payload") if isinstance(aspect, dict) else None
        if not isinstance(name, str) or not isinstance(payload, str):
            return Failed(urn, f"its {name or 'aspect'} came without a value")
        aspects[name] = payload
    said = entry.get("exists")
    exists = bool(said) if said is not None else any(not name.endswith("Key") for name in aspects)
    return Entity(urn, exists, aspects)


def raw_aspects(entity: Entity, parts: Iterable[str]) -> Iterator[RawAspect | Failed]:
    """The raw aspects of an entity that a reading states: those it has, and the absence of those that matter."""
    urn = entity.urn
    if not entity.exists:
        return
    absent = {"status", *absent_parts(kind_of(urn) or "")}
    for part in parts:
        if part in entity.aspects or part in absent:
            yield stated(entity, part)


def stated(entity: Entity, part: str) -> RawAspect | Failed:
    """One raw aspect of an entity that was read; empty where it has none."""
    payload = entity.aspects.get(part)
    try:
        value = loads(payload) if payload is not None else _EMPTY.get(part, {})
        if not isinstance(value, dict):
            raise ValueError("an aspect is an object")
        return live_aspect(entity.urn, part, value)
    except (ValueError, RecursionError) as error:
        return Failed(f"{entity.urn} {part}", str(error) or "it cannot be read")


def presence(entity: Entity) -> RawAspect | Failed:
    """The `status` of an entity that a listing lacks: removed when the catalog has none of that name."""
    if not entity.exists:
        return live_aspect(entity.urn, "status", {"removed": True})
    return stated(entity, "status")
