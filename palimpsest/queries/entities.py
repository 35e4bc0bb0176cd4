"""Finding the entity that somebody means: by its URN, or by a part of it that only one entity has."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterable, Sequence

from palimpsest.core.entity import short_name
from palimpsest.core.errors import UsageError
from palimpsest.queries.held import EntityView
from palimpsest.store import answers
from palimpsest.store.answers import Named
from palimpsest.store.engine import Connection, Store

_MOST_NAMED = 10
_MOST_COMPARED = 200


def resolve(connection: Connection, text: str) -> Named:
    """The one entity that `text` names. Raises UsageError with the candidates, or with the nearest names.

    Tried in this order: the whole URN; the whole name; the last part of a name; any part of a URN. Letter case is no
    matter but in a whole URN.
    """
    wanted = text.strip()
    if not wanted:
        raise UsageError("an empty text names no entity", "give a URN, or a part of one")
    found = answers.entity_by_urn(connection, wanted)
    if found is not None:
        return found
    for look in (answers.entities_named, answers.entities_ending, answers.entities_containing):
        several = look(connection, wanted, _MOST_NAMED + 1)
        if several:
            return _only(wanted, several)
    return _only(wanted, _by_folded_name(connection, wanted))


def matching(connection: Connection, text: str, most: int) -> list[Named]:
    """Every entity whose URN has `text` in it; at most so many. Raises UsageError when there is none."""
    exact = answers.entity_by_urn(connection, text.strip())
    if exact is not None:
        return [exact]
    found = answers.entities_containing(connection, text.strip(), most)
    return found or [resolve(connection, text)]


def entity_view(entity: Named) -> EntityView:
    """An entity as it is shown."""
    return EntityView(urn=entity.urn, name=entity.name, kind=entity.kind, platform=entity.platform)


def find(store: Store, text: str) -> EntityView:
    """The one entity that `text` names, as a view. Raises UsageError."""
    return entity_view(store.read(lambda connection: resolve(connection, text)))


def nearest(store: Store, text: str, most: int = 3) -> tuple[str, ...]:
    """The URNs that a text is most like, the likest first: what was perhaps meant."""
    folded = text.strip().casefold()

    def work(connection: Connection) -> list[Named]:
        pairs = _pairs(folded)
        return heapq.nlargest(
            _MOST_COMPARED,
            answers.every_entity(connection),
            key=lambda one: max(_likeness(pairs, name.casefold()) for name in (one.name, short_name(one.urn))),
        )

    meant = {name.casefold(): one.urn for one in store.read(work) for name in (one.urn, one.name, short_name(one.urn))}
    close = difflib.get_close_matches(folded, meant, n=most, cutoff=0.5)
    return tuple(dict.fromkeys(meant[name] for name in close))


def _only(wanted: str, several: Sequence[Named]) -> Named:
    if len(several) == 1:
        return several[0]
    named = [entity.urn for entity in several[:_MOST_NAMED]]
    more = " and more" if len(several) > _MOST_NAMED else ""
    raise UsageError(f"{wanted!r} can mean any of {len(named)}{more}: {', '.join(named)}", "write more of the URN")


def _by_folded_name(connection: Connection, wanted: str) -> list[Named]:
    """The entities whose URN has the text in it, letter case of any script apart. Raises UsageError."""
    folded = wanted.casefold()
    near: list[tuple[float, str, Named]] = []
    pairs = _pairs(folded)
    found: list[Named] = []
    for entity in answers.every_entity(connection):
        if folded in entity.urn.casefold():
            found.append(entity)
            if len(found) > _MOST_NAMED:
                return found
        elif not found:
            names = (entity.name.casefold(), short_name(entity.urn).casefold())
            likeness = max(_likeness(pairs, name) for name in names)
            heapq.heappush(near, (likeness, entity.urn, entity))
            if len(near) > _MOST_COMPARED:
                heapq.heappop(near)
    if not found:
        raise UsageError(f"nothing is remembered of {wanted!r}", _nearest(folded, [one for _, _, one in near]))
    return found


def _nearest(folded: str, entities: Iterable[Named]) -> str:
    """The hint that names what was perhaps meant."""
    names: dict[str, str] = {}
    for entity in entities:
        names.setdefault(short_name(entity.urn).casefold(), short_name(entity.urn))
        names.setdefault(entity.name.casefold(), entity.name)
        names.setdefault(entity.urn.casefold(), entity.urn)
    close = difflib.get_close_matches(folded, names, n=3, cutoff=0.5)
    if not close:
        return "palimpsest beliefs lists what is remembered" if names else "palimpsest scan file:PATH reads a catalog"
    return f"the nearest: {', '.join(dict.fromkeys(names[name] for name in close))}"


def _pairs(text: str) -> frozenset[str]:
    return frozenset(text[i : i + 2] for i in range(len(text) - 1)) or frozenset(text)


def _likeness(pairs: frozenset[str], name: str) -> float:
    """How many of the wanted pairs of letters a name has, less for what it has besides."""
    shared = sum(1 for pair in pairs if pair in name)
    return shared / (len(pairs) + len(name)) if name else 0.0
