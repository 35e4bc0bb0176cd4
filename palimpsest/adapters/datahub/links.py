"""Our links in a running DataHub: read, decide, write on condition, read again and mend.

Never any aspect but `institutionalMemory`, and of that never a link that is not ours. It speaks the OpenAPI endpoints
itself, as the acryl-datahub emitter does in OPENAPI mode: a whole list with `If-Version-Match`, and where DataHub tells
no version a PATCH by URL. Some servers are known to ignore the condition: so what came between the list that was read
and the list that was written is looked up afterwards, and put back.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import stamina

from palimpsest.adapters.datahub.links_client import (
    ConflictError,
    LinksClient,
    PassingError,
    RefusedError,
    Standing,
)
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.link_list import (
    Decision,
    LinkOutcome,
    LinkResult,
    WantedLink,
    decide,
    is_taken_by_person,
    merged,
    our_links,
    repeated_urls,
    shown,
    their_links,
)

_BATCH = 100
_HISTORY = 25  # DataHub keeps 20 old versions
_MOST_WRITES = 6  # accepted ones, of one list
_MOST_CONFLICTS = 40
_MOST_IN_A_ROW = 5  # datasets that fail one after the other: then DataHub itself is down
_NO_DATASET = "DataHub has no such dataset"
_OVERWRITTEN = "DataHub ignored If-Version-Match: another writer's change was written over, and is put back"

Held = Standing | RefusedError | None  # None: DataHub has no such dataset


@dataclass(frozen=True, slots=True)
class _Sent:
    """A list that was sent, and may have been stored: on what it was based, and what was to come of it."""

    base: Standing
    decision: Decision


class GmsLinks:
    """The links of datasets in one GMS. Close it after use."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 30.0,
        attempts: int = 4,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.target = f"datahub:{url}"
        self._client = LinksClient(url, token, timeout=timeout)
        self._attempts = attempts
        self._pause = pause

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def plan(self, links: Iterable[WantedLink]) -> Iterator[LinkOutcome]:
        """What would become of each link; nothing is written. Raises CatalogError when DataHub cannot be used."""
        return self._each(links, self._planned)

    def apply(self, links: Iterable[WantedLink]) -> Iterator[LinkOutcome]:
        """Bring each link about, and read it again. Raises CatalogError when DataHub cannot be used."""
        return self._each(links, self._settled)

    def _each(
        self, links: Iterable[WantedLink], treat: Callable[[WantedLink, Standing], LinkOutcome]
    ) -> Iterator[LinkOutcome]:
        rest, down = iter(links), 0
        while batch := list(islice(rest, _BATCH)):
            held = self._read_all([link.urn for link in batch])
            for link in batch:
                try:
                    if down >= _MOST_IN_A_ROW:
                        raise RefusedError("not tried: DataHub failed too often in a row")
                    yield self._one(link, held[link.urn], treat)
                    down = 0
                except RefusedError as error:
                    down += isinstance(error, PassingError) or error.status == 401
                    yield LinkOutcome(urn=link.urn, result=LinkResult.FAILED, problem=str(error))

    @staticmethod
    def _one(link: WantedLink, held: Held, treat: Callable[[WantedLink, Standing], LinkOutcome]) -> LinkOutcome:
        if isinstance(held, RefusedError):
            raise held
        if held is None and not link.url:
            return LinkOutcome(urn=link.urn, result=LinkResult.UNCHANGED)
        if held is None:
            raise RefusedError(_NO_DATASET)
        return treat(link, held)

    # --- reading ------------------------------------------------------------------------------------------------------

    def _read_all(self, urns: list[str]) -> dict[str, Held]:
        """Every list, or why it cannot be read: one that cannot costs itself, and no other of its batch."""
        try:
            found = self._read(urns)
            return {urn: found.get(urn) for urn in urns}
        except RefusedError as error:
            self._client.check()
            if len(urns) == 1:
                return {urns[0]: error}
        held: dict[str, Held] = {}
        failed: RefusedError | None = None
        in_a_row = 0
        for urn in urns:
            if failed is not None and in_a_row >= _MOST_IN_A_ROW:
                held[urn] = failed
                continue
            try:
                held[urn] = self._client.read([urn]).get(urn)
                in_a_row = 0
            except RefusedError as error:
                held[urn] = failed = error
                in_a_row += 1
        return held

    def _read(self, urns: list[str], version: str = "0") -> dict[str, Standing]:
        for attempt in stamina.retry_context(on=_wait, attempts=self._attempts, timeout=120.0, wait_max=5.0):
            with attempt:
                return self._client.read(urns, version)
        raise AssertionError("a retry ends with an answer or an error")

    def _version(self, urn: str, number: int) -> Standing | None:
        """An old version, None where DataHub no longer keeps it."""
        found = self._read([urn], str(number)).get(urn)
        return found if found is not None and found.number else None

    def _taken(self, wanted: WantedLink, standing: Standing) -> bool:
        """Whether a person took our link out of the list: who wrote the first list without it tells."""
        if not wanted.published or wanted.force or our_links(standing.links) or not standing.number:
            return False
        without = standing
        for number in range(standing.number - 1, max(0, standing.number - _HISTORY), -1):
            row = self._version(wanted.urn, number)
            if row is None:
                break
            if our_links(row.links):
                return is_taken_by_person(row.links, without.links, actor=without.actor, run_id=without.run_id)
            without = row
        return is_taken_by_person(None, standing.links, actor=standing.actor, run_id=standing.run_id)

    # --- deciding and writing -----------------------------------------------------------------------------------------

    def _planned(self, wanted: WantedLink, standing: Standing) -> LinkOutcome:
        made = decide(wanted, standing.links, taken_by_person=self._taken(wanted, standing))
        return LinkOutcome(urn=wanted.urn, result=made.result, before=shown(standing.links), after=shown(made.links))

    def _settled(self, wanted: WantedLink, standing: Standing) -> LinkOutcome:
        """Write until a re-read finds our link as wanted and nobody else's change lost, or give up."""
        before, sent, result, note = standing.links, None, None, ""
        writes = conflicts = faults = 0
        while True:
            links = standing.links
            if sent is not None:
                links, told = self._mended(wanted.urn, sent, standing)
                result, note = result or sent.decision.result, told or note
            made = decide(wanted, links, taken_by_person=self._taken(wanted, standing))
            if made.links == standing.links:
                done = result or made.result
                return LinkOutcome(
                    urn=wanted.urn, result=done, before=shown(before), after=shown(standing.links), note=note
                )
            if writes >= _MOST_WRITES or conflicts >= _MOST_CONFLICTS:
                return _given_up(wanted, before, standing, conflicts, note)
            try:
                self._put(wanted, standing, made)
                writes, sent = writes + 1, _Sent(standing, made)
                wanted = replace(wanted, force=True)  # what vanishes from now on was not taken, but lost
            except ConflictError:
                conflicts, sent = conflicts + 1, None
                self._pause(random.uniform(0, min(1.0, 0.02 * 2 ** min(conflicts, 6))))
            except PassingError as error:
                faults, sent = faults + 1, _Sent(standing, made)  # it may have been written all the same
                if faults >= self._attempts:
                    raise
                self._pause(max(error.wait, random.uniform(0, 0.1 * 2**faults)))
            again = self._read([wanted.urn]).get(wanted.urn)
            if again is None:
                raise RefusedError(_NO_DATASET)
            standing = again

    def _put(self, wanted: WantedLink, standing: Standing, made: Decision) -> None:
        if standing.number is not None:
            self._client.write(wanted.urn, standing, made.links, wanted.at)
            return
        if repeated_urls(standing.links):
            raise RefusedError("DataHub tells no version of the list, and two links in it have one URL")
        added = [link for link in made.links if link not in standing.links]
        urls = {link.url for link in shown(added)}
        gone = shown([link for link in standing.links if link not in made.links])
        operations: list[Json] = [{"op": "remove", "path": _path(link.url)} for link in gone if link.url not in urls]
        operations += [
            {"op": "add", "path": _path(link.url), "value": value}
            for link, value in zip(shown(added), added, strict=True)
        ]
        self._client.patch(wanted.urn, operations, wanted.at)

    def _mended(self, urn: str, sent: _Sent, now: Standing) -> tuple[tuple[Json, ...], str]:
        """The list as it should be now, given what we wrote over without having read it; and what to tell of it."""
        base, first, last = sent.base, sent.base.number, now.number
        if first is None or last is None:
            return now.links, ""
        before = base
        for number in range(first + 1, min(last, first + _HISTORY) + 1):
            row = now if number == last else self._version(urn, number)
            if row is None:
                continue
            if row.links == sent.decision.links:
                if their_links(before.links) == their_links(base.links):
                    return now.links, ""
                return merged(base.links, before.links, now.links), _OVERWRITTEN
            before = row
        if last == first + 1 and our_links(now.links):
            kept = shown(now.links)
            dropped = [link for link in their_links(base.links) if shown([link])[0] not in kept]
            return (*now.links, *dropped), "DataHub dropped links of others: they are put back" if dropped else ""
        return now.links, ""


def _given_up(
    wanted: WantedLink, before: tuple[Json, ...], standing: Standing, conflicts: int, note: str
) -> LinkOutcome:
    missing = bool(wanted.url) and not our_links(standing.links)
    if conflicts >= _MOST_CONFLICTS:
        problem = f"others wrote to the same links {conflicts} times meanwhile: try again later"
    else:
        problem = "not found again after writing" if missing else "another writer keeps changing our link"
    return LinkOutcome(
        urn=wanted.urn,
        result=LinkResult.FAILED,
        before=shown(before),
        after=shown(standing.links),
        problem=problem,
        note=note,
        missing=missing,
    )


def _path(url: str) -> str:
    return "/elements/" + url.replace("~", "~0").replace("/", "~1")


def _wait(error: Exception) -> bool | float:
    """Whether, and after how many seconds, to read again."""
    if not isinstance(error, PassingError):
        return False
    return error.wait or True
