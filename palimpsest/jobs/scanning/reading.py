"""Reading: every record of the source into the spool, and the time of the reading. Nothing is written to the store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from palimpsest.core.aspects.sets import members_of
from palimpsest.core.errors import StoreError, UsageError
from palimpsest.core.ids import EntityId
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import Moment, spoken
from palimpsest.core.observation import Failed, RawAspect, Skipped
from palimpsest.jobs.scanning.request import Work, chunks
from palimpsest.store import readings
from palimpsest.store.engine import Connection
from palimpsest.store.spool import Spool

_URNS_KEPT = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A reading in the spool: its newest `lastObserved`, and whether it lists every entity."""

    newest: Moment | None
    complete: bool


def read_into(spool: Spool, work: Work) -> Read:
    """Stream the source into the spool. Raises CatalogError, UsageError, and StoreError for ids that clash."""
    newest = _Records(spool, work).read()
    spool.flush()
    work.progress.done()
    if work.request.scope.domains:
        _narrow_to_domains(spool, work)
    spool.list_entities(work.ids.digest(b"listed"))
    clash = spool.clash()
    if clash is not None:
        raise StoreError(
            f"two URNs share one id: {clash[0]} and {clash[1]}", "report it: this store needs another secret"
        )
    return Read(
        newest=newest,
        complete=work.reader.is_complete and not work.tally.failed and work.request.limit is None,
    )


def confirm(spool: Spool, work: Work, read: Read) -> int:
    """Ask the source about what is held and the reading did not state, and put its answers into the spool too.

    Silence is not absence: what the source cannot tell stays held. Returns how many of these are unconfirmed.
    """
    asked = answered = 0
    records = _Records(spool, work)
    for chunk in chunks(iter(list(spool.unstated()))):
        asked += len(chunk)
        answered += records.add(work.reader.confirm(chunk))
    if read.complete and not work.reader.listing_is_proof:
        for gone in chunks(spool.unlisted()):
            held = work.store.read(lambda connection, gone=gone: readings.urns_of(connection, gone))  # type: ignore[misc]
            urns = [urn for urn in held.values() if work.request.scope.admits(urn)]
            asked += len(urns)
            answered += records.add(work.reader.confirm_gone(urns))
    spool.flush()
    return asked - answered


class _Records:
    """The records of one reading on their way into the spool."""

    def __init__(self, spool: Spool, work: Work) -> None:
        self.spool, self.work = spool, work
        self.listed: set[str] | None = set() if work.request.limit is not None else None
        self.keeps_all = work.reads_anew
        self.keeps_domains = bool(work.request.scope.domains)

    def read(self) -> Moment | None:
        """Every record; the newest `lastObserved` among them."""
        tally, newest = self.work.tally, None
        last_urn, entity = "", None
        known: dict[str, EntityId | None] = {}
        self.work.progress.start("reading")
        for found in self.work.reader.records():
            tally.read += 1
            if tally.read % 1_000 == 0:
                self.work.progress.advance(1_000)
                self.work.beat()
            if isinstance(found, Skipped):
                tally.skip(found)
                continue
            if isinstance(found, Failed):
                tally.fail(found)
                continue
            if found.urn != last_urn:
                last_urn = found.urn
                if last_urn not in known:
                    if len(known) >= _URNS_KEPT:
                        known.clear()
                    known[last_urn] = self.admit(last_urn)
                entity = known[last_urn]
            if entity is None:
                tally.out_of_scope += 1
                continue
            tally.used += 1
            if found.observed_at is not None and (newest is None or found.observed_at > newest):
                newest = found.observed_at
            self.keep(entity, found)
        return newest

    def add(self, answers: Iterator[RawAspect | Failed]) -> int:
        """Answers to what was asked again, into the spool; how many there were."""
        count = 0
        for found in answers:
            self.work.tally.read += 1
            if isinstance(found, Failed):
                self.work.tally.fail(found)
                continue
            self.work.tally.used += 1
            entity = self.work.ids.entity(found.urn)
            self.spool.see(entity, found.urn)
            self.spool.flush()
            self.keep(entity, found)
            count += 1
        return count

    def admit(self, urn: str) -> EntityId | None:
        """The id of an entity that the reading lists; None for one out of scope."""
        if not (self.work.request.scope.admits(urn) and self.within_limit(urn)):
            return None
        entity = self.work.ids.entity(urn)
        self.spool.see(entity, urn)
        return entity

    def within_limit(self, urn: str) -> bool:
        """Whether one more entity may be read."""
        if self.listed is None or urn in self.listed:
            return True
        if len(self.listed) >= (self.work.request.limit or 0):
            return False
        self.listed.add(urn)
        return True

    def keep(self, entity: EntityId, found: RawAspect) -> None:
        """One raw aspect into the spool."""
        if self.work.names is not None:
            found = found._replace(catalog_run=self.work.names.text(found.catalog_run))
        if found.is_patch:
            self.spool.flush()
            self.spool.add_patch(entity, found.part, found.payload, found.catalog_run)
            return
        digest = self.work.ids.digest(b"".join((entity[:8], found.part.encode(), b"\0", found.digest_of)))
        keep = self.keeps_all or (self.keeps_domains and found.part == "domains")
        self.spool.add(entity, found.part, digest, found.payload, found.catalog_run, keep=keep)


def _narrow_to_domains(spool: Spool, work: Work) -> None:
    """Drop the entities outside the wanted domains, as the reading tells them, or else as they are held."""
    wanted = {domain.removeprefix("urn:li:domain:") for domain in work.request.scope.domains}
    outside: list[bytes] = []
    for chunk in chunks(spool.entities()):
        silent = [entity for entity, _, payload in chunk if payload is None]

        def ask(connection: Connection, silent: list[EntityId] = silent) -> dict[EntityId, str]:
            return readings.held_domains(connection, work.request.source, silent)

        held = work.store.read(ask)
        for entity, urn, payload in chunk:
            domains = loads(held.get(entity, "[]"))
            if payload is not None:
                seen = work.reader.observe(urn, "domains", payload).observations
                domains = seen[0].value if seen else []
            names = {member[0].removeprefix("urn:li:domain:") for member in members_of(domains)}
            if not names & wanted:
                outside.append(entity)
    spool.drop_entities(outside)


def time_of(work: Work, newest: Moment | None, now: Moment) -> tuple[Moment, str]:
    """The time of the reading, and where it comes from. Raises UsageError for an `--at` before the last."""
    last = work.last.read_at if work.last else None
    at = work.request.at
    if at is not None:
        if last is not None and at < last:
            raise UsageError(
                f"--at {spoken(at)} is older than the last reading of {work.request.source} ({spoken(last)})",
                "a memory is not written backwards; give a later time, or another --source",
            )
        if at > now:
            raise UsageError(f"--at {spoken(at)} is in the future", "give the time of the reading")
        return at, "--at"
    is_repeat = work.last is not None and bool(work.last.unfinished) and newest == last
    if newest is not None and newest <= now and (last is None or newest > last or is_repeat):
        return newest, "lastObserved"
    return max(now, last) if last is not None else now, "now"
