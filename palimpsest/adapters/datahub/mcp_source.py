"""The MCP source: every entity by `search`, what it is by `get_entities`, where it comes from by `get_lineage`.

For 1,000 datasets: 20 searches, 100 calls of 10 entities, and one lineage call for each dataset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import TracebackType

from palimpsest.adapters.datahub.batches import chunks, read_at_once
from palimpsest.adapters.datahub.cells import read_part
from palimpsest.adapters.datahub.credentials import Credentials, normalised
from palimpsest.adapters.datahub.graphql_words import KINDS as TYPES
from palimpsest.adapters.datahub.kept import KeptReading, read_whole
from palimpsest.adapters.datahub.mcp import DEFAULT_COMMAND, Connection, ToolFailed
from palimpsest.adapters.datahub.mcp_listing import Listing
from palimpsest.adapters.datahub.mcp_read import (
    HISTORY_PARTS,
    KINDS,
    Value,
    aspects_of,
    has_column_edits,
    is_missing,
    lineage_page,
    of_history,
    search_page,
    shown_parts,
    upstreams,
)
from palimpsest.adapters.datahub.wire import live_aspect
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.entity import kind_of
from palimpsest.core.errors import CatalogError
from palimpsest.core.moment import Moment
from palimpsest.core.observation import Failed, Patch, RawAspect, Seen, Skipped

Found = RawAspect | Failed
_Read = Callable[[list[str]], list[Found]]

_ENTITIES_AT_ONCE = 10
_COLUMNS_AT_ONCE = 2_000
_LINEAGE_AT_ONCE = 100
_MOST_LINEAGE = 5_000
_HISTORY = "get_aspect_history"
_HISTORY_URNS, _HISTORY_ASPECTS, _HISTORY_PAIRS = 10, 8, 40
_MOST_FAILED_IN_A_ROW = 25
_TOKEN_HINT = "set DATAHUB_GMS_TOKEN to a valid token that may read the catalog"


class McpReader:
    """Reads the whole catalog through DataHub's MCP server. Use as a context manager, or close it.

    With `url` the server at that address is asked, with the token as its bearer; else `command` starts one of our own
    for the GMS of `gms`. `environ` is the environment of this process.
    """

    kind = "datahub-mcp"
    listing_is_proof = False

    def __init__(
        self,
        gms: Credentials | None = None,
        *,
        command: Sequence[str] = DEFAULT_COMMAND,
        url: str = "",
        token: str = "",
        environ: Mapping[str, str],
        concurrency: int = 4,
        timeout: float = 30.0,
        start_timeout: float = 120.0,
        window: int = 10_000,
        kept: KeptReading | None = None,
    ) -> None:
        if gms is None and not url:
            raise ValueError("either a GMS or the address of an MCP server")
        self.origin = normalised(url) if url else gms.url if gms else ""
        self.kept = kept or KeptReading()
        self._gms, self._command, self._url, self._token = gms, tuple(command), url, token
        self._environ = environ
        self._concurrency = max(1, concurrency)
        self._window = window
        secret = token or (gms.token if gms else "")
        self._server = Connection(self.origin, timeout=timeout, start_timeout=start_timeout, secret=secret)
        self._is_open = False
        self._listed_whole = False
        self._failed_in_a_row = 0

    def __enter__(self) -> McpReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the session, and the server's process if it is ours."""
        self._server.close()
        self.kept.close()

    @property
    def requests(self) -> int:
        """How many tools were called."""
        return self._server.calls

    @property
    def is_complete(self) -> bool:
        """Whether the last reading listed every entity that the server counts."""
        return self._listed_whole

    def sees(self) -> frozenset[str]:
        """The raw aspects that this source can ever see. Raises CatalogError when the server does not start."""
        return shown_parts(history=_HISTORY in self._open().tools)

    # --- reading ------------------------------------------------------------------------------------------------

    def count(self) -> int:
        """How many entities the catalog lists. Raises CatalogError."""
        self._open()
        types = ", ".join(TYPES[kind][0] for kind in KINDS)
        try:
            return search_page(self._search(f"entity_type IN ({types})", offset=0, count=0, ascending=True))[1]
        except (ToolFailed, ValueError) as error:
            raise self._unlisted(error) from error

    def records(self) -> Iterator[RawAspect | Skipped | Failed]:
        """What the server shows of every entity that is not deleted. Raises CatalogError when it cannot be read."""
        self._listed_whole = False
        self._open()
        listing = Listing(self._search, tuple(TYPES[kind][0] for kind in KINDS), window=self._window)
        try:
            urns = listing.urns()
        except (ToolFailed, ValueError) as error:
            raise self._unlisted(error) from error
        yield from listing.failures
        known = [urn for urn in urns if kind_of(urn) in KINDS]
        taken: set[str] = set()
        for urn, records in self.kept.take(known):
            taken.add(urn)
            yield from records
        rest = [urn for urn in known if urn not in taken]
        for asked_at, found in self._batches(rest, _ENTITIES_AT_ONCE, self._read):
            self.kept.keep(read_whole(found), asked_at)
            yield from found
        self._listed_whole = listing.is_whole

    def confirm(self, wanted: Iterable[tuple[str, str]]) -> Iterator[Found]:
        """What `get_aspect_history` says of raw aspects (URN, name) now; nothing where it cannot tell."""
        if _HISTORY not in self._open().tools:
            return
        of_part: dict[tuple[str, ...], list[str]] = {}
        parts_of: dict[str, set[str]] = {}
        for urn, part in wanted:
            if part in HISTORY_PARTS:
                parts_of.setdefault(urn, set()).add(part)
        for urn, parts in parts_of.items():
            for some in chunks(sorted(parts), _HISTORY_ASPECTS):
                of_part.setdefault(tuple(some), []).append(urn)
        for names, urns in of_part.items():
            at_once = min(_HISTORY_URNS, _HISTORY_PAIRS // len(names))
            yield from self._at_once(urns, at_once, partial(self._history, names=names))

    def confirm_gone(self, urns: Iterable[str]) -> Iterator[Found]:
        """The `status` of entities that a listing lacks; nothing of one that is there and cannot be told."""
        self._open()
        for some in chunks(urns, 50):
            yield from self._at_once(some, _ENTITIES_AT_ONCE, self._presence)

    def observe(self, urn: str, part: str, payload: bytes) -> Seen:
        """The cells that a raw aspect states, and its stamp. Raises ValueError when it is not of the expected form."""
        return read_part(urn, part, payload)

    def patches(self, urn: str, part: str, payload: bytes) -> tuple[list[Patch], list[str]]:
        """No live reading has patches."""
        return [], []

    # --- the listing --------------------------------------------------------------------------------------------

    def _open(self) -> Connection:
        if not self._is_open:
            if self._url:
                self._server.open_http(self._url, token=self._token)
            elif self._gms is not None:
                self._server.open_stdio(
                    self._command, gms_url=self._gms.url, token=self._gms.token, environ=self._environ
                )
            self._is_open = True
            missing = {"search", "get_entities", "get_lineage"} - self._server.tools
            if missing:
                raise CatalogError(
                    f"the MCP server at {self.origin} has no tool {sorted(missing)[0]}", "is it mcp-server-datahub?"
                )
        return self._server

    def _search(self, where: str, *, offset: int, count: int, ascending: bool) -> Value:
        answer = self._server.call(
            "search",
            {
                "query": "*",
                "filter": where,
                "num_results": count,
                "offset": offset,
                "sort_by": "urn",
                "sort_order": "asc" if ascending else "desc",
            },
        )
        if not isinstance(answer, dict):
            raise ToolFailed("the answer of search is of another form")
        return answer

    def _unlisted(self, error: Exception) -> CatalogError:
        hint = _TOKEN_HINT if _is_refused(str(error)) else "nothing was written; try again later"
        return CatalogError(f"the MCP server at {self.origin} cannot list its entities: {error}", hint)

    # --- entities -----------------------------------------------------------------------------------------------

    def _at_once(self, urns: list[str], size: int, read: _Read) -> Iterator[Found]:
        """What a reading function says of the URNs, in order."""
        for _, found in self._batches(urns, size, read):
            yield from found

    def _batches(self, urns: list[str], size: int, read: _Read) -> Iterator[tuple[Moment, list[Found]]]:
        """The same, batch by batch, some batches at once, with the time of the question."""
        for asked_at, found in read_at_once(
            chunks(urns, size), read, workers=self._concurrency, name="datahub-mcp", now=self.kept.now
        ):
            for each in found:
                self._count_failure(each)
            yield asked_at, found

    def _count_failure(self, found: Found) -> None:
        self._failed_in_a_row = self._failed_in_a_row + 1 if isinstance(found, Failed) else 0
        if isinstance(found, Failed) and self._failed_in_a_row >= _MOST_FAILED_IN_A_ROW:
            raise CatalogError(
                f"the MCP server at {self.origin} fails on one entity after the other, last {found.where}: {found.why}",
                "see DataHub's own log; nothing was written",
            )

    def _read(self, urns: list[str]) -> list[Found]:
        """What the server shows of some entities."""
        found: list[Found] = []
        edited: list[str] = []
        for urn, entry in self._entities(urns):
            if isinstance(entry, Failed):
                found.append(entry)
            elif not is_missing(entry):
                try:
                    columns = self._columns(urn, entry)
                    stated = [*aspects_of(urn, entry, columns), *self._upstreams(urn)]
                except (ToolFailed, ValueError) as error:
                    self._refused(str(error))
                    found.append(Failed(urn, str(error)))
                    continue
                found.extend(stated)
                if has_column_edits(columns):
                    edited.append(urn)
        if edited and _HISTORY in self._server.tools:
            found.extend(self._history(edited, ("editableSchemaMetadata",)))
        return found

    def _entities(self, urns: list[str]) -> list[tuple[str, Value | Failed]]:
        """`get_entities` of some; of a call that fails whole, of each half. One that failed is tried once more."""
        try:
            answer = self._server.call("get_entities", {"urns": list(urns)})
        except ToolFailed as error:
            self._refused(str(error))
            if len(urns) == 1:
                return [(urns[0], Failed(urns[0], str(error)))]
            self._still_there()
            half = len(urns) // 2
            return [*self._entities(urns[:half]), *self._entities(urns[half:])]
        entries = answer if isinstance(answer, list) else []
        if len(entries) != len(urns):
            return [(urn, Failed(urn, "the server's answer is not about what was asked")) for urn in urns]
        found: list[tuple[str, Value | Failed]] = []
        for urn, entry in zip(urns, entries, strict=True):
            if not isinstance(entry, dict) or entry.get("urn") != urn:
                found.append((urn, Failed(urn, "the server's answer is about another entity")))
            elif "error" in entry and not is_missing(entry):
                why = str(entry["error"])
                self._refused(why)
                found.extend(self._entities([urn]) if len(urns) > 1 else [(urn, Failed(urn, why[:300]))])
            else:
                found.append((urn, entry))
        return found

    def _still_there(self) -> None:
        """See that the server answers at all. Raises CatalogError."""
        try:
            self.count()
        except ToolFailed as error:
            raise self._unlisted(error) from error

    def _refused(self, why: str) -> None:
        if _is_refused(why):
            raise CatalogError(f"the MCP server at {self.origin}: DataHub refuses the token", _TOKEN_HINT)

    def _columns(self, urn: str, entity: Value) -> list[Value] | None:
        """All columns: those in the answer or, of a wide table that was cut, page by page, by what was returned."""
        shown = entity.get("schemaMetadata")
        if not isinstance(shown, dict):
            return None
        if "schemaFieldsTruncated" not in shown:
            return _records(shown.get("fields"))
        columns: dict[str, Value] = {}
        offset, total = 0, 1
        while offset < total:
            page = self._server.call("list_schema_fields", {"urn": urn, "limit": _COLUMNS_AT_ONCE, "offset": offset})
            fields = _records(page.get("fields")) if isinstance(page, dict) else []
            counted = page.get("totalFields") if isinstance(page, dict) else None
            if not fields or not isinstance(counted, int):
                raise ToolFailed(f"{len(columns)} of its columns came, and then no more")
            total = counted
            columns.update({str(field.get("fieldPath")): field for field in fields})
            offset += len(fields)
        if len(columns) < total:
            raise ToolFailed(f"{len(columns)} of its {total} columns came")
        return list(columns.values())

    def _upstreams(self, urn: str) -> list[RawAspect]:
        """`upstreamLineage` of a dataset, whole: the server cannot page, so it is asked for as many as it counts."""
        if kind_of(urn) != "dataset":
            return []
        most = _LINEAGE_AT_ONCE
        while True:
            answer = self._server.call(
                "get_lineage", {"urn": urn, "upstream": True, "max_hops": 1, "max_results": most, "offset": 0}
            )
            urns, total = lineage_page(answer if isinstance(answer, dict) else {})
            if len(urns) >= total:
                stated = upstreams(urn, urns)
                return [] if stated is None else [stated]
            if most >= min(total, _MOST_LINEAGE):
                raise ToolFailed(f"{len(urns)} of its {total} upstreams came")
            most = min(total, _MOST_LINEAGE)

    # --- confirming ---------------------------------------------------------------------------------------------

    def _history(self, urns: list[str], names: tuple[str, ...]) -> list[Found]:
        try:
            answer = self._server.call(
                _HISTORY, {"urns": list(urns), "aspect_names": list(names), "limit": 1, "include_current": True}
            )
        except ToolFailed as error:
            if len(urns) == 1:
                return [Failed(f"{urns[0]} {', '.join(names)}", str(error))]
            half = len(urns) // 2
            return [*self._history(urns[:half], names), *self._history(urns[half:], names)]
        results = _records(answer.get("results")) if isinstance(answer, dict) else []
        found = [of_history(entry) for entry in results]
        return [each for each in found if each is not None]

    def _presence(self, urns: list[str]) -> list[Found]:
        """Soft-deleted, by history or by search; gone, by `get_entities`."""
        found: dict[str, Found] = {}
        rest: list[str] = []
        for urn, entry in self._entities(urns):
            if isinstance(entry, Failed):
                found[urn] = entry
            elif is_missing(entry):
                found[urn] = live_aspect(urn, "status", {"removed": True})
            else:
                rest.append(urn)
        if rest and _HISTORY in self._server.tools:
            for each in self._history(rest, ("status",)):
                found[each.urn if isinstance(each, RawAspect) else each.where.split(" ", 1)[0]] = each
        unknown = [urn for urn in rest if urn not in found]
        if unknown:
            for urn in self._soft_deleted(unknown):
                found[urn] = live_aspect(urn, "status", {"removed": True})
        return list(found.values())

    def _soft_deleted(self, urns: list[str]) -> list[str]:
        named = [urn for urn in urns if '"' not in urn]
        if not named:
            return []
        listed = ", ".join(f'"{urn}"' for urn in named)
        try:
            answer = self._search(
                f"status = ONLY_SOFT_DELETED AND urn IN ({listed})", offset=0, count=50, ascending=True
            )
            return [urn for urn in search_page(answer)[0] if urn in named]
        except (ToolFailed, ValueError):
            return []  # what is not known stays as it is held


def _is_refused(why: str) -> bool:
    """Whether the server passes on that DataHub refuses the token."""
    return "Unauthorized" in why or "401 Client Error" in why


def _records(value: Json) -> list[Value]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
