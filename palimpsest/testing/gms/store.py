"""The aspects that the double holds, with their versions: 0 is the current one, 1, 2, … the ones that it replaced.

As in DataHub: an ingestion of what is held already makes no version, and old versions beyond the retention are pruned.
Every write that came over the wire is recorded. Not here: search, GraphQL, HTTP.
"""

from __future__ import annotations

import marshal
import threading
from dataclasses import dataclass, field

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.moment import Moment
from palimpsest.ports import Clock
from palimpsest.testing.gms.kinds import key_aspect, key_of

SYSTEM = "urn:li:corpuser:datahub"
NO_RUN = "no-run-id-provided"
Value = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Version:
    """One stored version of an aspect: its value, who wrote it when, and what came with it."""

    number: int
    value: Value
    at: int
    actor: str
    system: Value = field(default_factory=dict)

    @property
    def stamp(self) -> Value:
        """The audit stamp."""
        return {"time": self.at, "actor": self.actor}


@dataclass(frozen=True, slots=True)
class Write:
    """A write that came over the wire: `made` says whether it made a version."""

    urn: str
    aspect: str
    change: str
    actor: str
    way: str
    made: bool


@dataclass(slots=True)
class _Held:
    """The current version, and the old ones that are retained, oldest first."""

    current: Version
    old: list[Version] = field(default_factory=list)


class AspectStore:
    """Aspects by URN and name. `retention` is the number of old versions kept beside the current one."""

    def __init__(self, clock: Clock, retention: int = 20) -> None:
        self.clock = clock
        self.retention = retention
        self.lock = threading.RLock()
        self.generation = 0
        self.changed: set[str] = set()
        self._entities: dict[str, dict[str, _Held]] = {}

    # --- reading ----------------------------------------------------------------------------------------------------

    def urns(self, entity_type: str = "") -> list[str]:
        """The URNs of every entity, or of one type (`dataset`), in order."""
        head = f"urn:li:{entity_type}:".casefold() if entity_type else ""
        return sorted(urn for urn in self._entities if urn.casefold().startswith(head))

    def exists(self, urn: str) -> bool:
        """Whether the entity is there, soft-deleted or not."""
        return urn in self._entities

    def aspects(self, urn: str) -> list[str]:
        """The names of the aspects that an entity has."""
        return sorted(self._entities.get(urn, {}))

    def get(self, urn: str, aspect: str, version: int = 0) -> Version | None:
        """One version: 0 is the current one. None where there is none, or no longer."""
        held = self._entities.get(urn, {}).get(aspect)
        if held is None:
            return None
        if version == 0:
            return held.current
        return next((old for old in held.old if old.number == version), None)

    def value(self, urn: str, aspect: str) -> Value:
        """The current value, or an empty one."""
        held = self._entities.get(urn, {}).get(aspect)
        return held.current.value if held else {}

    def versions(self, urn: str, aspect: str) -> list[Version]:
        """Every version retained, oldest first, the current one last."""
        held = self._entities.get(urn, {}).get(aspect)
        return [*held.old, held.current] if held else []

    def version_of(self, urn: str, aspect: str) -> int:
        """The number that `If-Version-Match` is held against; -1 where there is no such aspect."""
        held = self._entities.get(urn, {}).get(aspect)
        return max(1, held.current.number) if held else -1

    def links(self, urn: str) -> list[Value]:
        """The elements of its `institutionalMemory`."""
        found = self.value(urn, "institutionalMemory").get("elements")
        return [element for element in found if isinstance(element, dict)] if isinstance(found, list) else []

    def is_removed(self, urn: str) -> bool:
        """Whether it is soft-deleted."""
        return self.value(urn, "status").get("removed") is True

    # --- writing ----------------------------------------------------------------------------------------------------

    def put(
        self,
        urn: str,
        aspect: str,
        value: Value,
        *,
        actor: str = SYSTEM,
        at: Moment | None = None,
        run_id: str = "",
        system: Value | None = None,
    ) -> bool:
        """Ingest a value. True when it made a version, False when it was held already."""
        with self.lock:
            now = int(at) if at is not None else int(self.clock.now())
            given = _system(system, run_id, now)
            parts = self._entities.get(urn)
            if parts is None:
                parts = self._entities[urn] = {}
                key = key_aspect(urn)
                if aspect != key:
                    parts[key] = _Held(Version(1, key_of(urn), now, actor, {**given, "version": "1"}))
                self._touch(urn)
            held = parts.get(aspect)
            if held is None:
                parts[aspect] = _Held(Version(1, _copy(value), now, actor, {**given, "version": "1"}))
                self._touch(urn)
                return True
            current = held.current
            if current.value == value:
                moved = {name: part for name, part in given.items() if name in ("lastObserved", "lastRunId")}
                held.current = Version(
                    current.number, current.value, current.at, current.actor, {**current.system, **moved}
                )
                return False
            number = current.number + 1
            held.old.append(current)
            held.current = Version(number, _copy(value), now, actor, {**given, "version": str(number)})
            del held.old[: max(0, len(held.old) - self.retention)]
            self._touch(urn)
            return True

    def remove(self, urn: str, *, removed: bool = True, actor: str = SYSTEM, at: Moment | None = None) -> None:
        """Soft-delete an entity, or bring it back."""
        self.put(urn, "status", {"removed": removed}, actor=actor, at=at)

    def drop(self, urn: str, aspect: str) -> bool:
        """Delete an aspect with every version of it. Without its key an entity is gone. True when it was there."""
        with self.lock:
            parts = self._entities.get(urn, {})
            if aspect not in parts:
                return False
            if aspect == key_aspect(urn):
                return self.delete(urn)
            del parts[aspect]
            self._touch(urn)
            return True

    def delete(self, urn: str) -> bool:
        """Hard-delete an entity. True when it was there."""
        with self.lock:
            self._touch(urn)
            return self._entities.pop(urn, None) is not None

    def _touch(self, urn: str) -> None:
        self.generation += 1
        self.changed.add(urn)


def _copy(value: Value) -> Value:
    """A copy that nobody else holds. Marshalling copies JSON many times faster than `deepcopy`."""
    copied: Value = marshal.loads(marshal.dumps(value))
    return copied


def _system(given: Value | None, run_id: str, now: int) -> Value:
    """The system metadata to store: what was given, completed as DataHub completes it."""
    system = dict(given or {})
    system.pop("version", None)
    if run_id:
        system["runId"] = run_id
    if not isinstance(system.get("lastObserved"), int) or system["lastObserved"] == 0:
        system["lastObserved"] = now
    system["runId"] = system.get("runId") or NO_RUN
    system["lastRunId"] = system["runId"]
    return system
