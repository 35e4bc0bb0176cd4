"""listing: the entities that are remembered, searched, narrowed, sorted, and paged by key. Of now only.

Its numbers and labels are counted by the index pass; what waits for that pass is counted anew when it is shown, and a
label that it no longer has finds it no more (R12).
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.aspects.words import label_of
from palimpsest.core.errors import UsageError
from palimpsest.core.ids import EntityId, Ids
from palimpsest.core.jsontext import clean, dumps, loads
from palimpsest.core.labels import LABELLED, Label
from palimpsest.core.moment import Moment
from palimpsest.core.passage import title_of
from palimpsest.core.volatility import volatility
from palimpsest.queries.held import moment_view
from palimpsest.store import labels, passages
from palimpsest.store import listing as rows
from palimpsest.store.engine import Connection, Store
from palimpsest.store.listing import Narrowed, Place, Row, Sort, Used

MOST_LISTED = 200
_MOST_WORDS = 8
_MOST_USED = 50
_LONGEST = 200  # letters of a cursor
_LARGEST = 1 << 53  # what a time or a count never reaches
_KEY_OF: dict[Sort, type | tuple[type, ...]] = {
    Sort.CHANGED: int,
    Sort.REVISIONS: int,
    Sort.VOLATILITY: (float, int),
}

__all__ = ["MOST_LISTED", "ListedEntity", "ListingPage", "Shown", "Sort", "UsedView", "Wanted", "listing", "used_view"]


class Shown(StrEnum):
    """Which entities are listed: those that exist, those that are gone, or both."""

    ALL = "all"
    HERE = "here"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is listed; empty means all.

    search     words, each a part of a URN
    tag, …     a URN, or the name in one
    reverse    the other way round: names from the last to the first, the rest from the least to the most
    after      the `next` of the page before
    """

    search: str = ""
    platform: str = ""
    kind: str = ""
    tag: str = ""
    term: str = ""
    domain: str = ""
    owner: str = ""
    shown: Shown = Shown.ALL
    sort: Sort = Sort.NAME
    reverse: bool = False
    after: str = ""
    page: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedEntity:
    """One entity: its permanent id, how many beliefs are current, when it was last revised, how often, and how often in
    30 days since something is held of it. `gone`: no source holds that it exists.
    """

    id: str
    urn: str
    name: str
    kind: str
    platform: str
    gone: bool
    beliefs: int
    changed: datetime | None
    revisions: int
    volatility: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedView:
    """A value that entities can be narrowed to, what it is called, and how many have it."""

    value: str
    label: str
    entities: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingPage:
    """A page of the listing, what comes `next` (empty at the end), and what can be asked for: the most used values.

    A page can hold fewer than were asked for and not be the last. `waiting` entities are still to be indexed: they are
    found by the labels that they had, and are not counted among `tags`, `terms`, `domains` and `owners`.
    """

    entities: tuple[ListedEntity, ...]
    next: str
    platforms: tuple[UsedView, ...]
    kinds: tuple[UsedView, ...]
    tags: tuple[UsedView, ...]
    terms: tuple[UsedView, ...]
    domains: tuple[UsedView, ...]
    owners: tuple[UsedView, ...]
    waiting: int


def listing(store: Store, wanted: Wanted, now: Moment) -> ListingPage:
    """A page of entities. Raises UsageError for a place that there is not."""
    ids = store.ids
    return store.read(lambda connection: _listing(connection, ids, wanted, now))


def _listing(connection: Connection, ids: Ids, wanted: Wanted, now: Moment) -> ListingPage:
    cursor = (
        _Cursor.read(wanted.after, wanted, now) if wanted.after else _Cursor(wanted.sort, wanted.reverse, now, None)
    )
    narrowed = _narrowed(connection, wanted)
    most = max(1, min(wanted.page, MOST_LISTED))
    found = _page(connection, narrowed, cursor, most + 1)
    shown = found[:most]
    used = rows.members(connection, LABELLED, _MOST_USED)
    titles = _titles(connection, ids, [one.value for some in used.values() for one in some])
    return ListingPage(
        entities=_entities(connection, shown, narrowed, cursor.now),
        next=cursor.after(shown[-1]) if len(found) > most else "",
        platforms=used_view(rows.platforms(connection, _MOST_USED)),
        kinds=used_view(rows.kinds(connection, _MOST_USED)),
        tags=used_view(used["tags"], titles),
        terms=used_view(used["terms"], titles),
        domains=used_view(used["domain"], titles),
        owners=used_view(used["ownership"], titles),
        waiting=passages.count_stale(connection),
    )


def _narrowed(connection: Connection, wanted: Wanted) -> Narrowed:
    asked = {"tags": wanted.tag, "terms": wanted.term, "domain": wanted.domain, "ownership": wanted.owner}
    return Narrowed(
        words=tuple(clean(wanted.search).split()[:_MOST_WORDS]),
        platform=clean(wanted.platform),
        kind=clean(wanted.kind),
        gone=None if wanted.shown is Shown.ALL else wanted.shown is Shown.GONE,
        labels=tuple((aspect, rows.meant(connection, aspect, clean(text))) for aspect, text in asked.items() if text),
    )


def _page(connection: Connection, narrowed: Narrowed, cursor: _Cursor, most: int) -> list[Row]:
    if any(not members for _, members in narrowed.labels):
        return []
    place = cursor.place
    if place is not None and cursor.sort is Sort.NAME:
        name = rows.name_of(connection, place.id)
        if name is None:
            raise _no_place(place.id[:8].hex())
        place = Place(name, place.id)
    down = cursor.reverse == (cursor.sort is Sort.NAME)  # the most first, but names from the first to the last
    return rows.page_of(connection, narrowed, cursor.sort, place, most, down=down, now=cursor.now)


def _entities(
    connection: Connection, found: Sequence[Row], narrowed: Narrowed, now: Moment
) -> tuple[ListedEntity, ...]:
    """The entities as they are shown. Those that wait to be indexed are counted anew, and left out if they are no
    longer what was asked for.
    """
    stale = [one.named.id for one in found if not one.fresh]
    stated = passages.stated_of(connection, stale, labels.NEEDED)
    anew = labels.listed_as(connection, stated, labels.held_of(connection, stale))
    entities = []
    for row in found:
        listed = anew.get(row.named.id)
        if listed is not None and not _fits(listed, narrowed):
            continue
        counts = listed.counts if listed is not None else row.counts
        assert counts is not None  # what was indexed was counted
        entities.append(
            ListedEntity(
                id=row.named.id[:8].hex(),
                urn=row.named.urn,
                name=row.named.name,
                kind=row.named.kind,
                platform=row.named.platform,
                gone=counts.gone,
                beliefs=counts.beliefs,
                changed=moment_view(counts.changed_at),
                revisions=counts.revisions,
                volatility=volatility(counts.revisions, counts.first_at, now),
            )
        )
    return tuple(entities)


def _fits(listed: labels.Listed, narrowed: Narrowed) -> bool:
    if narrowed.gone is not None and listed.counts.gone != narrowed.gone:
        return False
    return all(any(Label(aspect, member) in listed.labels for member in members) for aspect, members in narrowed.labels)


def _titles(connection: Connection, ids: Ids, members: Sequence[str]) -> dict[str, str]:
    """URN → the name that is held of it: a domain's URN often tells none."""
    named = {ids.entity(member): member for member in members}
    stated = passages.stated_of(connection, list(named), ("name",))
    return {named[one]: title for one, versions in stated.items() if (title := title_of(versions))}


def used_view(found: Sequence[Used], titles: Mapping[str, str] | None = None) -> tuple[UsedView, ...]:
    """Values as they are shown, by their title where one is held."""
    names = titles or {}
    return tuple(
        UsedView(value=one.value, label=names.get(one.value) or label_of(one.value), entities=one.entities)
        for one in found
    )


# --- where a page begins ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Cursor:
    """The order of a listing, the time at which its first page was asked for, and the place that a page begins after.

    As text it is opaque. A name is not in it: it is the entity's for ever.
    """

    sort: Sort
    reverse: bool
    now: Moment
    place: Place | None

    def after(self, row: Row) -> str:
        """The text for the page that begins after a row."""
        key: Json = None if self.sort is Sort.NAME else row.key
        told: Json = [self.sort.value, self.reverse, self.now, row.named.id[:8].hex(), key]
        return urlsafe_b64encode(dumps(told)).decode().rstrip("=")

    @classmethod
    def read(cls, text: str, wanted: Wanted, now: Moment) -> _Cursor:
        """The cursor of a text. Raises UsageError for one that is none, or of another order."""
        if len(text) > _LONGEST:
            raise _no_place(text)
        try:
            told = loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        except ValueError as error:
            raise _no_place(text) from error
        if not isinstance(told, list) or len(told) != 5 or told[:2] != [wanted.sort.value, wanted.reverse]:
            raise _no_place(text)
        at, digits, key = told[2:]
        if type(at) is not int or not 0 < at < _LARGEST or not isinstance(digits, str) or len(digits) != 16:
            raise _no_place(text)
        form = _KEY_OF.get(wanted.sort)
        if key is not None and (form is None or isinstance(key, bool) or not isinstance(key, form)):
            raise _no_place(text)
        if isinstance(key, int | float) and not -_LARGEST < key < _LARGEST:
            raise _no_place(text)
        try:
            place = Place(key, EntityId(bytes.fromhex(digits) + bytes(8)))  # type: ignore[arg-type]
        except ValueError as error:
            raise _no_place(text) from error
        return cls(wanted.sort, wanted.reverse, Moment(at), place)


def _no_place(text: str) -> UsageError:
    return UsageError(f"{text[:100]!r} is no place in this listing", "begin at its first page")
