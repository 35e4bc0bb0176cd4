"""What lies downstream of something, level by level, and how much lies downstream of everything. Pure.

A node is an entity, or a column of one. Lineage may go round; nothing is reached twice.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from palimpsest.core.ids import BeliefId, EntityId
from palimpsest.core.lineage import in_edge
from palimpsest.core.paths import simple_path

# (entity, column): the column is empty for the whole entity, and folded otherwise.
Node = tuple[EntityId, str]
Name = TypeVar("Name", bound=Hashable)
_AT_ONCE = 4_096  # targets that are counted in one walk: as many bits


class Hop(NamedTuple):
    """A belief says that one node is made from another; columns are empty for whole entities."""

    upstream: EntityId
    column: str
    downstream: EntityId
    downstream_column: str
    belief: BeliefId


class Reached(NamedTuple):
    """An entity that was reached: the hop by which it was, and the columns of it that were."""

    hop: Hop
    columns: tuple[str, ...]


def folded(path: str) -> str:
    """A column's path as nodes have it."""
    return in_edge(simple_path(path).casefold())


class Walk:
    """A walk downstream from one node, a level at a time: `ask` for the lineage of the frontier, then `take` it.

    A column leads along columns only; one of an entity without any lineage by column leads to what reads the entity,
    and no further, as it is not known what becomes of it there.
    """

    def __init__(self, seed: Node) -> None:
        self._start = seed
        self._nodes = {seed}
        self._entities = {seed[0]}
        self.frontier: tuple[Node, ...] = (seed,)

    @property
    def ask(self) -> tuple[EntityId, ...]:
        """The entities whose readers the next level needs."""
        return tuple(dict.fromkeys(entity for entity, _ in self.frontier))

    def take(self, hops: Iterable[Hop]) -> dict[EntityId, Reached]:
        """The entities that the next level reaches for the first time, by the hops from those asked for."""
        below: dict[EntityId, list[Hop]] = {}
        for hop in sorted(hops):
            below.setdefault(hop.upstream, []).append(hop)
        seed, column = self._start
        whole = bool(column) and self.frontier == (self._start,) and not any(h.column for h in below.get(seed, ()))
        new: dict[EntityId, Hop] = {}
        columns: dict[EntityId, dict[str, None]] = {}
        frontier: dict[Node, None] = {}
        for entity, path in self.frontier:
            for hop in below.get(entity, ()):
                if path and not whole and (folded(hop.column) != path or not hop.downstream_column):
                    continue
                node = (hop.downstream, folded(hop.downstream_column) if path and not whole else "")
                if node in self._nodes:
                    continue
                self._nodes.add(node)
                if not whole:
                    frontier[node] = None
                if hop.downstream not in self._entities:
                    new.setdefault(hop.downstream, hop)
                    of_it = columns.setdefault(hop.downstream, {})
                    if node[1]:
                        of_it[hop.downstream_column] = None
        self._entities.update(new)
        self.frontier = tuple(frontier)
        return {one: Reached(hop, tuple(columns[one])) for one, hop in new.items()}


# --- how much is downstream of everything ------------------------------------------------------------------------


def counts_below(below: Mapping[Name, Iterable[Name]], wanted: Iterable[Name] | None = None) -> dict[Name, int]:
    """How many others lie downstream of each node (or of those wanted), all the way down.

    Nodes that lead to each other are one; what each reaches is a set of bits, so many targets at a time.
    """
    rounds = _Rounds(below)
    order = rounds.found  # what is downstream comes first
    place = {node: number for number, ring in enumerate(order) for node in ring}
    targets = [
        sorted({place[to] for node in ring for to in below.get(node, ())} - {at}) for at, ring in enumerate(order)
    ]
    sums = [0] * len(order)
    nodes = [at for at, ring in enumerate(order) for _ in ring]
    for start in range(0, len(nodes), _AT_ONCE):
        own = [0] * len(order)
        for bit, at in enumerate(nodes[start : start + _AT_ONCE]):
            own[at] |= 1 << bit
        for at, some in enumerate(targets):
            for to in some:
                own[at] |= own[to]
            sums[at] += own[at].bit_count()
    asked = place if wanted is None else [node for node in wanted if node in place]
    return {node: sums[place[node]] - 1 for node in asked}


class _Rounds(Generic[Name]):
    """The nodes that lead to each other, together; in an order in which what is downstream comes first (Tarjan)."""

    def __init__(self, below: Mapping[Name, Iterable[Name]]) -> None:
        self._below = below
        self._number: dict[Name, int] = {}
        self._low: dict[Name, int] = {}
        self._open: list[Name] = []
        self._is_open: set[Name] = set()
        self.found: list[Sequence[Name]] = []
        for node in below:
            if node not in self._number:
                self._visit(node)

    def _visit(self, root: Name) -> None:
        path = [(root, iter(self._enter(root)))]
        while path:
            node, left = path[-1]
            for to in left:
                if to not in self._number:
                    path.append((to, iter(self._enter(to))))
                    break
                if to in self._is_open:
                    self._low[node] = min(self._low[node], self._number[to])
            else:
                path.pop()
                if path:
                    above = path[-1][0]
                    self._low[above] = min(self._low[above], self._low[node])
                self._leave(node)

    def _enter(self, node: Name) -> Iterable[Name]:
        self._number[node] = self._low[node] = len(self._number)
        self._open.append(node)
        self._is_open.add(node)
        return self._below.get(node, ())

    def _leave(self, node: Name) -> None:
        if self._low[node] != self._number[node]:
            return
        at = _last_index(self._open, node)
        ring = self._open[at:]
        del self._open[at:]
        self._is_open.difference_update(ring)
        self.found.append(ring)


def _last_index(nodes: Sequence[Name], node: Name) -> int:
    at = len(nodes) - 1
    while nodes[at] != node:
        at -= 1
    return at
