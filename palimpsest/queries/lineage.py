"""What is downstream of an entity or a column, by current beliefs about lineage; entities that exist only.

Walked level by level, for all seeds at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from palimpsest.core.ids import EntityId, Ids
from palimpsest.core.paths import simple_path
from palimpsest.queries.held import EXISTENCE, Presence, When
from palimpsest.store import answers
from palimpsest.store.answers import Edge
from palimpsest.store.engine import Connection

# (entity, column): the column is empty for the whole entity.
Node = tuple[EntityId, str]


def presence_of(connection: Connection, ids: Ids, entities: Sequence[EntityId], when: When) -> Presence:
    """When entities exist, by what every source says, in one set of statements."""
    sources = answers.source_names(connection)
    wanted = [ids.belief(entity, source, EXISTENCE, "") for entity in entities for source in sources]
    return Presence(answers.versions_of_beliefs(connection, wanted), when)


def existing(connection: Connection, ids: Ids, entities: Iterable[EntityId], when: When) -> set[EntityId]:
    """Those of the entities that exist, by any source that speaks of them."""
    wanted = list(dict.fromkeys(entities))
    sources = answers.source_names(connection)
    presence = presence_of(connection, ids, wanted, when)
    return {entity for entity in wanted if presence.exists_for_any(entity, sources)}


class Downstream:
    """The lineage below a set of seeds, read once."""

    def __init__(self, connection: Connection, ids: Ids, seeds: Iterable[Node], when: When) -> None:
        self._below: dict[EntityId, list[Edge]] = {}
        here: set[EntityId] = set()
        frontier = list(dict.fromkeys(entity for entity, _ in seeds))
        seen = set(frontier)
        while frontier:
            edges = answers.edges_from(connection, frontier)
            unknown = {edge.downstream for edge in edges} - here
            here |= existing(connection, ids, sorted(unknown), when)
            for edge in edges:
                if edge.downstream in here:
                    self._below.setdefault(edge.upstream, []).append(edge)
            frontier = sorted((unknown & here) - seen)
            seen.update(frontier)

    def of(self, seed: Node) -> set[EntityId]:
        """The entities downstream of an entity, or of a column.

        A column of an entity without any lineage by column has what reads the entity directly.
        """
        entity, column = seed
        below = self._below.get(entity, [])
        if column and not any(edge.column for edge in below):
            return {edge.downstream for edge in below} - {entity}
        start = (entity, _folded(column))
        reached: set[Node] = {start}
        frontier = [start]
        while frontier:
            node, path = frontier.pop()
            for edge in self._below.get(node, []):
                if path and _folded(edge.column) != path:
                    continue
                if path and not edge.downstream_column:
                    continue
                below_node = (edge.downstream, _folded(edge.downstream_column) if path else "")
                if below_node not in reached:
                    reached.add(below_node)
                    frontier.append(below_node)
        return {node for node, _ in reached} - {entity}


def _folded(path: str) -> str:
    return simple_path(path).casefold()
