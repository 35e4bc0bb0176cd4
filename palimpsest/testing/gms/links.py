"""The four mutations of links: `addLink`, `upsertLink`, `updateLink`, `removeLink`.

As in DataHub they read, change and write the whole list without a condition, and know an element by (URL, label).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from palimpsest.core.aspects.aspect import Json
from palimpsest.testing.gms.entity import system_error
from palimpsest.testing.gms.store import Value, Write

if TYPE_CHECKING:
    from palimpsest.testing.gms.answers import World

ASPECT = "institutionalMemory"
_SCHEMES = ("http://", "https://", "ftp://", "mailto:")


def add(world: World, given: Value) -> bool:
    """Append an element. An exact duplicate is an error."""
    urn, elements = _begin(world, given)
    url, label = _url(given.get("linkUrl")), str(given.get("label"))
    if _find(elements, url, label) is not None:
        raise _refused(f"Failed to add link: {url} with label {label} exists already on {urn}")
    return _write(world, urn, [*elements, _element(world, url, label, given)], "addLink")


def upsert(world: World, given: Value) -> bool:
    """Rewrite the element of this URL and label, or append one: a new label adds a second element."""
    urn, elements = _begin(world, given)
    url, label = _url(given.get("linkUrl")), str(given.get("label"))
    at = _find(elements, url, label)
    if at is None:
        return _write(world, urn, [*elements, _element(world, url, label, given)], "upsertLink")
    return _write(world, urn, _replaced(world, elements, at, url, label, given), "upsertLink")


def update(world: World, given: Value) -> bool:
    """Rewrite the element of `currentUrl` and `currentLabel`. It must be there."""
    urn, elements = _begin(world, given)
    url, label = _url(given.get("linkUrl")), str(given.get("label"))
    was, called = str(given.get("currentUrl")), str(given.get("currentLabel"))
    at = _find(elements, was, called)
    if at is None:
        raise _refused(f"Failed to update link: {was} with label {called} does not exist on {urn}")
    if (was, called) != (url, label) and _find(elements, url, label) is not None:
        raise _refused(f"Failed to update link: {url} with label {label} exists already on {urn}")
    return _write(world, urn, _replaced(world, elements, at, url, label, given), "updateLink")


def remove(world: World, given: Value) -> bool:
    """Take away the element of this URL and label; without a label, every element of the URL."""
    urn, elements = _begin(world, given)
    url, label = str(given.get("linkUrl")), given.get("label")
    kept = [
        element
        for element in elements
        if element.get("url") != url or (label is not None and element.get("description") != label)
    ]
    return _write(world, urn, kept, "removeLink")


def _begin(world: World, given: Value) -> tuple[str, list[Value]]:
    urn = str(given.get("resourceUrn"))
    if not world.may_write:
        raise system_error(
            "Unauthorized to perform this action. Please contact your DataHub administrator.", 403, "UNAUTHORIZED"
        )
    if not world.store.exists(urn):
        raise _refused(f"Failed to change links of {urn}: the entity does not exist")
    elements = world.store.links(urn)
    world.faults.write_begins(world.store, urn, ASPECT)  # what another writer does now is lost
    return urn, elements


def _refused(message: str) -> Exception:
    return system_error(message, 400, "BAD_REQUEST")


def _url(value: Json) -> str:
    url = str(value)
    if not url.startswith(_SCHEMES):
        raise _refused(f"{url!r} is no valid URL: http, https, ftp and mailto are")
    return url


def _find(elements: list[Value], url: str, label: str) -> int | None:
    pairs = ((element.get("url"), element.get("description")) for element in elements)
    return next((at for at, pair in enumerate(pairs) if pair == (url, label)), None)


def _stamp(world: World) -> Value:
    return {"time": int(world.store.clock.now()), "actor": world.actor}


def _element(world: World, url: str, label: str, given: Value) -> Value:
    element: Value = {"url": url, "description": label, "createStamp": _stamp(world)}
    if isinstance(given.get("settings"), dict):
        element["settings"] = given["settings"]
    return element


def _replaced(world: World, elements: list[Value], at: int, url: str, label: str, given: Value) -> list[Value]:
    """The list with one element rewritten: its creation kept, its settings only if given again."""
    element = _element(world, url, label, given)
    element["createStamp"] = elements[at].get("createStamp")
    element["updateStamp"] = _stamp(world)
    return [*elements[:at], element, *elements[at + 1 :]]


def _write(world: World, urn: str, elements: list[Value], way: str) -> bool:
    listed: list[Json] = [*elements]
    made = world.store.put(urn, ASPECT, {"elements": listed}, actor=world.actor)
    world.writes.append(Write(urn, ASPECT, "UPSERT", world.actor, f"graphql {way}", made))
    world.faults.write_ended(world.store, urn, ASPECT)
    return True
