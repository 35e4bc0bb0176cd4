"""The versions that DataHub keeps of raw aspects, by its OpenAPI: for `backfill`.

DataHub keeps the current version and some that it replaced (20 by default), each with the time and the actor of its
writing. `batchGet` gives one version of each raw aspect a request, so a batch of entities takes as many requests as the
longest history in it has versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from types import TracebackType

from palimpsest.adapters.datahub.graphql import GraphqlReader
from palimpsest.adapters.datahub.graphql_client import GraphqlClient, Unanswered
from palimpsest.adapters.datahub.wire import live_aspect
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.entity import kind_of
from palimpsest.core.moment import Moment, told
from palimpsest.core.observation import EntityHistory, Failed, Seen, StoredVersion

_AT_ONCE = 20
_NO_RUN = "no-run-id-provided"
_STATUS = "status"

Places = dict[str, dict[str, int]]  # URN → raw aspect → number of the version to ask for, 0 the current one


class DatahubHistory:
    """Reads what a GMS keeps. Use as a context manager, or close it."""

    kind = "datahub-graphql"

    def __init__(self, url: str, token: str = "", *, concurrency: int = 4, timeout: float = 30.0) -> None:
        self.origin = url
        self._reader = GraphqlReader(url, token, concurrency=concurrency, timeout=timeout)
        self._client = GraphqlClient(url, token, timeout=timeout)

    def __enter__(self) -> DatahubHistory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._reader.close()
        self._client.close()

    def urns(self) -> list[str]:
        """Every entity of the catalog, soft-deleted ones too, by kind. Raises CatalogError."""
        return self._reader.urns()

    def observe(self, urn: str, part: str, payload: bytes) -> Seen:
        """The cells that a raw aspect states, and its stamp. Raises ValueError when it is not of the expected form."""
        return self._reader.observe(urn, part, payload)

    def histories(self, urns: Iterable[str]) -> Iterator[EntityHistory | Failed]:
        """What is kept of each entity that the catalog has. Raises CatalogError when DataHub cannot be read."""
        for kind, of_kind in groupby(urns, key=lambda urn: kind_of(urn) or ""):
            while some := list(islice(of_kind, _AT_ONCE)):
                parts: dict[str, list[str]] = {}
                for found in self._reader.entities(some):
                    if isinstance(found, Failed):
                        yield found
                    elif found.exists:
                        parts[found.urn] = [*found.aspects]
                yield from self._histories(kind, parts)

    def _histories(self, kind: str, parts: dict[str, list[str]]) -> Iterator[EntityHistory | Failed]:
        """What is kept of a batch. One that fails whole is halved until the culprit is alone."""
        if not parts:
            return
        try:
            yield from self._walk(kind, parts)
        except (Unanswered, ValueError) as error:
            if len(parts) == 1:
                yield Failed(next(iter(parts)), str(error))
                return
            urns = list(parts)
            for half in (urns[: len(urns) // 2], urns[len(urns) // 2 :]):
                yield from self._histories(kind, {urn: parts[urn] for urn in half})

    def _walk(self, kind: str, parts: dict[str, list[str]]) -> list[EntityHistory | Failed]:
        """From the current version of every raw aspect back, a version a request, to the oldest that is kept."""
        key = f"{kind}Key"
        versions: dict[str, dict[str, list[StoredVersion]]] = {urn: {} for urn in parts}
        gone: dict[str, dict[str, int]] = {urn: {} for urn in parts}
        failed: dict[str, Failed] = {}
        wanted: Places = {urn: dict.fromkeys([*names, key], 0) for urn, names in parts.items()}
        while wanted:
            answer = self._ask(kind, wanted)
            following: Places = {}
            for urn, places in wanted.items():
                for part, number in places.items():
                    try:
                        found = _stored(urn, part, number, answer.get(urn, {}).get(part))
                    except (ValueError, RecursionError) as error:
                        failed[urn] = Failed(f"{urn} {part} version {number}", str(error) or "it cannot be read")
                        continue
                    if found is None:
                        if number > 0:
                            gone[urn][part] = number + 1
                        continue
                    versions[urn].setdefault(part, []).insert(0, found)
                    if found.number > 1 and part != key:
                        following.setdefault(urn, {})[part] = found.number - 1
            wanted = following
        return [
            failed[urn] if urn in failed else _with_status(EntityHistory(urn, versions[urn], gone[urn]), key)
            for urn in parts
        ]

    def _ask(self, kind: str, wanted: Places) -> dict[str, dict[str, Json]]:
        """URN → raw aspect → what is shown of that version. Raises Unanswered, ValueError and CatalogError."""
        body: list[Json] = [
            {"urn": urn, **{part: {"headers": {"If-Version-Match": str(number)}} for part, number in places.items()}}
            for urn, places in wanted.items()
        ]
        answer = self._client.post(f"/openapi/v3/entity/{kind}/batchGet?systemMetadata=true", body)
        if not isinstance(answer, list):
            raise ValueError("the answer is no list of entities")
        return {str(entry.get("urn")): entry for entry in answer if isinstance(entry, dict)}


def _stored(urn: str, part: str, asked: int, shown: Json) -> StoredVersion | None:
    """The version as it is kept; None where there is none. Raises ValueError when it is of another form."""
    if shown is None:
        return None
    value = shown.get("value") if isinstance(shown, dict) else None
    if not isinstance(shown, dict) or not isinstance(value, dict):
        raise ValueError("a version is of another form")
    stamp, system = shown.get("auditStamp"), shown.get("systemMetadata")
    stamp, system = (each if isinstance(each, dict) else {} for each in (stamp, system))
    at = told(stamp.get("time"))
    if at is None:
        raise ValueError("a version does not say when it was written")
    raw = live_aspect(urn, part, value)
    actor, run = stamp.get("actor"), system.get("runId")
    return StoredVersion(
        part=part,
        number=asked or _number(system.get("version")),
        at=at,
        actor=actor if isinstance(actor, str) else "",
        catalog_run=run if isinstance(run, str) and run != _NO_RUN else "",
        payload=raw.payload,
        digest_of=raw.digest_of,
    )


def _number(version: Json) -> int:
    """The number of the current version, as a text or a number; 1 where DataHub does not tell."""
    text = str(version)
    return max(1, int(text)) if text.isdecimal() else 1


def _with_status(history: EntityHistory, key: str) -> EntityHistory:
    """The history without the key, and with a `status` from the entity's creation on: DataHub may write it late."""
    keys = history.versions.pop(key, [])
    told_at = [version.at for versions in (*history.versions.values(), keys) for version in versions[:1]]
    stated = history.versions.get(_STATUS, [])
    if _STATUS in history.gone or not told_at:
        return history
    created = Moment(min(told_at))
    if stated and stated[0].at <= created:
        return history
    by = keys[0] if keys else None
    raw = live_aspect(history.urn, _STATUS, {"removed": False})
    actor, run = (by.actor, by.catalog_run) if by is not None else ("", "")
    first = StoredVersion(_STATUS, 0, created, actor, run, raw.payload, raw.digest_of)
    return history._replace(versions={**history.versions, _STATUS: [first, *stated]})
