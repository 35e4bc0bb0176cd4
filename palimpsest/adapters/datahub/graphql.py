"""The GraphQL source: every entity by `scrollAcrossEntities`, then its raw aspects in batches, by `entities`.

Two requests per 1,000 entities for the listing and 25 for what they say, with batches of 40.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType

from palimpsest.adapters.datahub.batches import chunks, read_at_once
from palimpsest.adapters.datahub.cells import read_part
from palimpsest.adapters.datahub.graphql_client import GraphqlClient, Unanswered, UnknownToServer
from palimpsest.adapters.datahub.graphql_read import (
    Entity,
    Page,
    presence,
    raw_aspects,
    read_entities,
    read_page,
    stated,
)
from palimpsest.adapters.datahub.graphql_words import KINDS, PARTS, SCROLL, entities_query
from palimpsest.adapters.datahub.kept import KeptReading, read_whole
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.entity import kind_of
from palimpsest.core.errors import CatalogError
from palimpsest.core.moment import Moment
from palimpsest.core.observation import Failed, Patch, RawAspect, Seen, Skipped

_LISTED_AT_ONCE = 500
_KEEP_ALIVE = "10m"
_LISTING_TRIES = 3
# So many entities in a row that the server has no answer for are no longer their fault.
_MOST_FAILED_IN_A_ROW = 25

Found = Entity | Failed


class GraphqlReader:
    """Reads the whole catalog of a GMS. Use as a context manager, or close it."""

    kind = "datahub-graphql"
    listing_is_proof = False

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        page_size: int = 40,
        concurrency: int = 4,
        timeout: float = 30.0,
        kept: KeptReading | None = None,
    ) -> None:
        self.origin = url
        self.kept = kept or KeptReading()
        self._client = GraphqlClient(url, token, timeout=timeout)
        self._page_size = max(1, page_size)
        self._concurrency = max(1, concurrency)
        self._types = [entity_type for entity_type, _, _ in KINDS.values()]
        self._flag_known = True
        self._names_known = True
        self._listed_whole = False
        self._failed_in_a_row = 0

    def __enter__(self) -> GraphqlReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
        self.kept.close()

    @property
    def requests(self) -> int:
        """How many requests were sent."""
        return self._client.requests

    @property
    def is_complete(self) -> bool:
        """Whether the last reading listed every entity, as far as the server tells how many there are."""
        return self._listed_whole

    def sees(self) -> frozenset[str]:
        """The raw aspects that this source can ever see."""
        return frozenset(PARTS)

    # --- reading ------------------------------------------------------------------------------------------------

    def count(self) -> int:
        """How many entities the catalog lists. Raises CatalogError."""
        self._client.check()
        return self._page("", [], count=1).total

    def records(self) -> Iterator[RawAspect | Skipped | Failed]:
        """Every raw aspect of every entity, soft-deleted ones too. Raises CatalogError when DataHub cannot be read."""
        self._listed_whole = False
        self._client.check()
        urns, whole = self._list()
        taken: set[str] = set()
        for urn, records in self.kept.take(urns):
            taken.add(urn)
            yield from records
        for asked_at, batch in self._batches([urn for urn in urns if urn not in taken], PARTS):
            read: list[RawAspect | Failed] = []
            for found in batch:
                read.extend([found] if isinstance(found, Failed) else raw_aspects(found, PARTS))
            self.kept.keep(read_whole(read), asked_at)
            yield from read
        self._listed_whole = whole

    def urns(self) -> list[str]:
        """Every entity of the catalog by kind, soft-deleted ones too. Raises CatalogError."""
        self._client.check()
        return self._list()[0]

    def entities(self, urns: list[str]) -> Iterator[Found]:
        """What the catalog holds of each entity now. Raises CatalogError."""
        return self._entities(urns, PARTS)

    def confirm(self, wanted: Iterable[tuple[str, str]]) -> Iterator[RawAspect | Failed]:
        """What the catalog says of raw aspects (URN, name) now; empty where an entity that is there has none."""
        for some in chunks(wanted, self._page_size * 10):
            parts_of: dict[str, list[str]] = {}
            for urn, part in some:
                if part in PARTS:
                    parts_of.setdefault(urn, []).append(part)
            asked = tuple(sorted({part for parts in parts_of.values() for part in parts}))
            for found in self._entities(list(parts_of), asked):
                if isinstance(found, Failed):
                    yield found
                elif found.exists:
                    yield from (stated(found, part) for part in parts_of[found.urn])

    def confirm_gone(self, urns: Iterable[str]) -> Iterator[RawAspect | Failed]:
        """The `status` of entities that a listing lacks, each read by its URN."""
        for some in chunks(urns, self._page_size * 10):
            for found in self._entities(some, PARTS):
                yield found if isinstance(found, Failed) else presence(found)

    def observe(self, urn: str, part: str, payload: bytes) -> Seen:
        """The cells that a raw aspect states, and its stamp. Raises ValueError when it is not of the expected form."""
        return read_part(urn, part, payload)

    def patches(self, urn: str, part: str, payload: bytes) -> tuple[list[Patch], list[str]]:
        """No live reading has patches."""
        return [], []

    # --- the listing --------------------------------------------------------------------------------------------

    def _list(self) -> tuple[list[str], bool]:
        """Every URN, by kind, and whether they are as many as the server says there are."""
        urns, whole = self._scroll([])
        if not self._flag_known:
            removed, also_whole = self._scroll([{"and": [{"field": "removed", "values": ["true"]}]}])
            urns, whole = {**urns, **removed}, whole and also_whole
        order = {kind: place for place, kind in enumerate(KINDS)}
        known = [urn for urn in urns if kind_of(urn) in order]
        return sorted(known, key=lambda urn: order[kind_of(urn) or ""]), whole

    def _scroll(self, filters: list[Json]) -> tuple[dict[str, None], bool]:
        urns: dict[str, None] = {}
        scroll_id, total = "", 0
        seen_ids: set[str] = set()
        while True:
            page = self._page(scroll_id, filters, count=_LISTED_AT_ONCE)
            urns.update(dict.fromkeys(page.urns))
            total = max(total, page.total)
            scroll_id = page.next_id
            if not scroll_id or not page.urns or scroll_id in seen_ids:
                return urns, len(urns) >= total
            seen_ids.add(scroll_id)

    def _page(self, scroll_id: str, filters: list[Json], *, count: int) -> Page:
        tries = _LISTING_TRIES
        while True:
            flags: dict[str, Json] = {"skipHighlighting": True, "skipAggregates": True}
            if self._flag_known:
                flags["includeSoftDeleted"] = True
            asked: dict[str, Json] = {
                "types": list(self._types),
                "query": "*",
                "count": count,
                "keepAlive": _KEEP_ALIVE,
                "orFilters": filters,
                "searchFlags": flags,
            }
            if scroll_id:
                asked["scrollId"] = scroll_id
            try:
                return read_page(self._client.ask(SCROLL, {"input": asked}))
            except UnknownToServer as error:
                if not self._learn(str(error)):
                    raise CatalogError(f"{self.origin} does not understand the listing: {error}", _OLD) from error
            except (Unanswered, ValueError) as error:
                tries -= 1
                if tries:
                    continue
                raise CatalogError(
                    f"{self.origin} cannot list its entities: {error}", "nothing was written; try again later"
                ) from error

    def _learn(self, message: str) -> bool:
        """Leave out what an older server does not know, by its own message; False when the message names nothing."""
        unknown = [entity_type for entity_type in self._types if _names(message, entity_type)]
        if unknown and len(unknown) < len(self._types):
            self._types = [entity_type for entity_type in self._types if entity_type not in unknown]
            return True
        if self._flag_known and "includeSoftDeleted" in message:
            self._flag_known = False
            return True
        return False

    # --- entities -----------------------------------------------------------------------------------------------

    def _entities(self, urns: list[str], parts: tuple[str, ...]) -> Iterator[Found]:
        """What each URN is, in order."""
        for _, batch in self._batches(urns, parts):
            yield from batch

    def _batches(self, urns: list[str], parts: tuple[str, ...]) -> Iterator[tuple[Moment, list[Found]]]:
        """What each URN is, batch by batch, a few batches at once, in order, with the time of the question."""
        batches = _batches(urns, self._page_size)
        for asked_at, found in read_at_once(
            batches,
            lambda batch: self._read(*batch, parts),
            workers=self._concurrency,
            name="datahub",
            now=self.kept.now,
        ):
            for each in found:
                self._count_failure(each)
            yield asked_at, found

    def _count_failure(self, found: Found) -> None:
        self._failed_in_a_row = self._failed_in_a_row + 1 if isinstance(found, Failed) else 0
        if self._failed_in_a_row >= _MOST_FAILED_IN_A_ROW and isinstance(found, Failed):
            raise CatalogError(
                f"{self.origin} fails on one entity after the other, last {found.where}: {found.why}",
                "see DataHub's own log; nothing was written",
            )

    def _read(self, kind: str, urns: list[str], parts: tuple[str, ...], attempts: int | None = None) -> list[Found]:
        """The entities of one batch. One that fails whole is halved until the culprit is alone."""
        try:
            by_name = self._names_known
            variables: dict[str, Json] = {"urns": list(urns)}
            if by_name:
                variables["aspects"] = list(parts)
            answer = self._client.ask(entities_query(kind, by_name=by_name), variables, attempts=attempts)
            return read_entities(answer, urns)
        except UnknownToServer as error:
            if by_name and ("aspectNames" in str(error) or "aspects" in str(error)):
                self._names_known = False
                return self._read(kind, urns, parts)
            raise CatalogError(f"{self.origin} does not understand the question: {error}", _OLD) from error
        except (Unanswered, ValueError) as error:
            if len(urns) == 1:
                return [Failed(urns[0], str(error))]
            half = len(urns) // 2
            return [*self._read(kind, urns[:half], parts, 2), *self._read(kind, urns[half:], parts, 2)]


_OLD = "the server is older than what is supported: use scan datahub-mcp, or a file"


def _names(message: str, word: str) -> bool:
    """Whether a message names a word, not just a longer word with it inside."""
    at = message.find(word)
    while at >= 0:
        before, after = message[at - 1 : at], message[at + len(word) : at + len(word) + 1]
        if not (before.isalnum() or before == "_" or after.isalnum() or after == "_"):
            return True
        at = message.find(word, at + 1)
    return False


def _batches(urns: list[str], size: int) -> Iterator[tuple[str, list[str]]]:
    """(kind, URNs of it), each batch of one kind, in the order of the URNs."""
    batch: list[str] = []
    batch_kind = ""
    for urn in urns:
        kind = kind_of(urn) or ""
        if kind not in KINDS:
            continue
        if batch and (kind != batch_kind or len(batch) >= size):
            yield batch_kind, batch
            batch = []
        batch_kind = kind
        batch.append(urn)
    if batch:
        yield batch_kind, batch
