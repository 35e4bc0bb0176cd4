"""Observations: what a source saw of an entity, and the raw aspects they are read from."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.jsontext import clean
from palimpsest.core.moment import Moment


class Observation(NamedTuple):
    """Aspect `aspect`, key `key`, was seen with value `value`. For column aspects the key is the raw path as read."""

    aspect: str
    key: str
    value: Json


class Patch(NamedTuple):
    """One member that a PATCH adds to or takes from a value: a set's member, or a whole keyed cell.

    `member` None means the whole cell under `key` (a property, a column's edit); else it is the set's member, of which
    the first part names what to remove.
    """

    aspect: str
    key: str
    op: str
    member: tuple[str, ...] | None = None
    value: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What the catalog itself says about who wrote a raw aspect and when; empty where it says nothing."""

    at: Moment | None = None
    actor: str = ""
    run: str = ""


NO_STAMP = Stamp()


class Seen(NamedTuple):
    """What one raw aspect states: its cells, and its own stamp."""

    observations: list[Observation]
    stamp: Stamp


class Skip(StrEnum):
    """Why a record is no memory."""

    TIME_SERIES = "time series"
    UNKNOWN_ASPECT = "unknown aspect"
    OTHER_ENTITY = "entity kind that is not remembered"


class RawAspect(NamedTuple):
    """One raw aspect of one entity, as a record of the source states it: whole (`payload`), or a PATCH of it."""

    urn: str
    part: str
    payload: bytes
    is_patch: bool
    digest_of: bytes
    observed_at: Moment | None
    catalog_run: str


class StoredVersion(NamedTuple):
    """One version of a raw aspect as the catalog keeps it: its number there, when it was written, and by whom.

    Number 0 is none that it keeps: what goes without saying, such as that an entity is there from its creation on.
    """

    part: str
    number: int
    at: Moment
    actor: str
    catalog_run: str
    payload: bytes
    digest_of: bytes


class EntityHistory(NamedTuple):
    """What a catalog keeps of one entity: every version, by raw aspect, oldest first.

    `gone` maps a raw aspect to the number of its oldest version that is still there, where older ones are not.
    """

    urn: str
    versions: dict[str, list[StoredVersion]]
    gone: dict[str, int]


class Skipped(NamedTuple):
    """A record that is no memory."""

    why: Skip
    name: str


class Failed(NamedTuple):
    """A record that could not be read; `where` names it, `why` says what is wrong."""

    where: str
    why: str


@dataclass(slots=True)
class Tally:
    """What became of the records of one reading. `read` is the sum of the others, always."""

    read: int = 0
    used: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    failed: int = 0
    failures: list[str] = field(default_factory=list)
    unused_patches: dict[str, int] = field(default_factory=dict)
    out_of_scope: int = 0

    MOST_NAMED = 20
    MOST_KINDS = 200
    LONGEST_NAME = 300

    def skip(self, record: Skipped) -> None:
        """Count a record that is no memory, under why and what it is."""
        self._count(self.skipped, record.why, f"{record.why}: {record.name}")

    def leave(self, path: str) -> None:
        """Count a patched path that is no memory."""
        self._count(self.unused_patches, "paths", path)

    def fail(self, record: Failed) -> None:
        """Count a record that could not be read; the first few are named."""
        self.failed += 1
        if len(self.failures) < self.MOST_NAMED:
            self.failures.append(self._named(f"{record.where}: {record.why}"))

    def _count(self, counts: dict[str, int], what: str, name: str) -> None:
        """Count under a name; names come from the catalog, so beyond so many kinds they are no longer told apart."""
        name = self._named(name)
        if name not in counts and len(counts) >= self.MOST_KINDS:
            name = f"{what}: others"
        counts[name] = counts.get(name, 0) + 1

    def _named(self, name: str) -> str:
        return clean(name if len(name) <= self.LONGEST_NAME else name[: self.LONGEST_NAME] + "…")
