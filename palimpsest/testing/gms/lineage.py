"""Lineage as the double's store tells it: who is made from whom, by entity and by column; and DataHub's stale cache."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.entity import split_field
from palimpsest.testing.gms.faults import Faults
from palimpsest.testing.gms.store import AspectStore, Value

# (raw aspect, field, member, whether the member is downstream of the entity)
_EDGES = (
    ("upstreamLineage", "upstreams", "dataset", False),
    ("dataJobInputOutput", "inputDatasets", "", False),
    ("dataJobInputOutput", "inputDatasetEdges", "destinationUrn", False),
    ("dataJobInputOutput", "inputDatajobs", "", False),
    ("dataJobInputOutput", "inputDatajobEdges", "destinationUrn", False),
    ("dataJobInputOutput", "outputDatasets", "", True),
    ("dataJobInputOutput", "outputDatasetEdges", "destinationUrn", True),
    ("chartInfo", "inputs", "", False),
    ("chartInfo", "inputEdges", "destinationUrn", False),
    ("dashboardInfo", "charts", "", False),
    ("dashboardInfo", "chartEdges", "destinationUrn", False),
    ("dashboardInfo", "datasets", "", False),
    ("dashboardInfo", "datasetEdges", "destinationUrn", False),
    ("mlModelProperties", "mlFeatures", "", False),
    ("mlFeatureProperties", "sources", "", False),
)
UPSTREAM, DOWNSTREAM = "UPSTREAM", "DOWNSTREAM"


@dataclass(slots=True)
class Reached:
    """An entity found along lineage: how far away, and for columns by which ways."""

    urn: str
    degree: int
    paths: list[list[str]] = field(default_factory=list)


class Lineage:
    """The edges of the store, taken anew when it changed."""

    def __init__(self, store: AspectStore, faults: Faults) -> None:
        self.store = store
        self.faults = faults
        self._generation = -1
        self._next: dict[str, dict[str, list[str]]] = {UPSTREAM: {}, DOWNSTREAM: {}}
        self._products: dict[str, list[str]] = {}
        self._cache: dict[tuple[str, str], list[Reached]] = {}

    def reach(self, urn: str, direction: str, *, skip_cache: bool = False) -> list[Reached]:
        """Everything along lineage, nearest first. With a stale cache, what was found when it was first asked for."""
        key = (urn, direction)
        if self.faults.stale_lineage and not skip_cache and key in self._cache:
            return self._cache[key]
        self._fresh()
        found = self._columns(urn, direction) if urn.startswith("urn:li:schemaField:") else self._walk(urn, direction)
        self._cache[key] = found
        return found

    def neighbours(self, urn: str, direction: str) -> list[str]:
        """The entities one step away."""
        self._fresh()
        return sorted(set(self._next[direction].get(urn, ())))

    def products_of(self, urn: str) -> list[str]:
        """The data products that hold an entity."""
        self._fresh()
        return self._products.get(urn, [])

    def _walk(self, urn: str, direction: str) -> list[Reached]:
        found: dict[str, Reached] = {}
        queue = deque([(urn, 0)])
        while queue:
            at, degree = queue.popleft()
            for neighbour in self._next[direction].get(at, ()):
                if neighbour != urn and neighbour not in found:
                    found[neighbour] = Reached(neighbour, degree + 1)
                    queue.append((neighbour, degree + 1))
        return sorted(found.values(), key=lambda reached: (reached.degree, reached.urn))

    def _columns(self, urn: str, direction: str) -> list[Reached]:
        """The datasets whose columns are reached from a column, each with the ways to it."""
        found: dict[str, Reached] = {}
        seen = {urn}
        queue: deque[tuple[str, list[str]]] = deque([(urn, [urn])])
        while queue:
            at, way = queue.popleft()
            for neighbour in self._next[direction].get(at, ()):
                if neighbour in seen:
                    continue
                seen.add(neighbour)
                dataset = split_field(neighbour)[0]
                reached = found.setdefault(dataset, Reached(dataset, len(way)))
                reached.paths.append([*way, neighbour])
                queue.append((neighbour, [*way, neighbour]))
        return sorted(found.values(), key=lambda reached: (reached.degree, reached.urn))

    def _fresh(self) -> None:
        if self._generation == self.store.generation:
            return
        self._generation = self.store.generation
        self._next = {UPSTREAM: {}, DOWNSTREAM: {}}
        self._products = {}
        for urn in self.store.urns():
            for upstream, downstream in self._edges(urn):
                self._next[UPSTREAM].setdefault(downstream, []).append(upstream)
                self._next[DOWNSTREAM].setdefault(upstream, []).append(downstream)
            for asset in _members(self.store.value(urn, "dataProductProperties"), "assets", "destinationUrn"):
                self._products.setdefault(asset, []).append(urn)

    def _edges(self, urn: str) -> Iterator[tuple[str, str]]:
        """(upstream, downstream) of everything that an entity states."""
        for aspect, name, member, is_downstream in _EDGES:
            for other in _members(self.store.value(urn, aspect), name, member):
                yield (urn, other) if is_downstream else (other, urn)
        for aspect in ("upstreamLineage", "dataJobInputOutput"):
            listed = self.store.value(urn, aspect).get("fineGrainedLineages")
            for entry in listed if isinstance(listed, list) else []:
                if isinstance(entry, dict):
                    for upstream in _members(entry, "upstreams", ""):
                        for downstream in _members(entry, "downstreams", ""):
                            yield upstream, downstream


def _members(value: Value, name: str, member: str) -> list[str]:
    listed: Json = value.get(name)
    found: list[str] = []
    for entry in listed if isinstance(listed, list) else []:
        urn = entry.get(member) if isinstance(entry, dict) and member else entry
        if isinstance(urn, str):
            found.append(urn)
    return found
