"""What is downstream of an entity or a column, by current beliefs about lineage; entities that exist only.

Walked level by level, for all seeds at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from palimpsest.core.aspects.existence import exists
from palimpsest.core.ids import EntityId, Ids
from palimpsest.core.jsontext import loads
from palimpsest.core.lineage import in_edge, upstreams_named
from palimpsest.core.paths import simple_path
from palimpsest.queries.held import EXISTENCE, Presence, When
from palimpsest.store import answers
from palimpsest.store.answers import Edge, Named
from palimpsest.store.engine import Connection

# (entity, column): the column is empty for the whole entity.
Node = tuple[EntityId, str]


def presence_of(connection: Connection, ids: Ids, entities: Sequence[EntityId], when: When) -> Presence:
    """When entities exist, by what every source says, in one set of statements."""
    return _presence(connection, ids, entities, answers.source_names(connection), when)


def existing(connection: Connection, ids: Ids, entities: Iterable[EntityId], when: When) -> set[EntityId]:
    """Those of the entities that exist, by any source that speaks of them."""
    wanted = list(dict.fromkeys(entities))
    sources = answers.source_names(connection)
    found = _said_to_exist(connection, ids, wanted, sources) if when.is_now else set()
    rest = [entity for entity in wanted if entity not in found]
    presence = _presence(connection, ids, rest, sources, when)
    return found | {entity for entity in rest if presence.exists_for_any(entity, sources)}


def _said_to_exist(
    connection: Connection, ids: Ids, entities: Sequence[EntityId], sources: Sequence[str]
) -> set[EntityId]:
    """Those of which a source holds now that they exist, which is all that there is to ask of most."""
    beliefs = {ids.belief(entity, source, EXISTENCE, ""): entity for entity in entities for source in sources}
    values = answers.current_values(connection, list(beliefs))
    return {beliefs[belief] for belief, value in values.items() if exists(loads(value))}


def _presence(
    connection: Connection, ids: Ids, entities: Sequence[EntityId], sources: Sequence[str], when: When
) -> Presence:
    beliefs = [ids.belief(entity, source, EXISTENCE, "") for entity in entities for source in sources]
    return Presence(answers.versions_of_beliefs(connection, beliefs), when)


def edges_below(connection: Connection, ids: Ids, named: Sequence[Named], when: When) -> list[Edge]:
    """What is made from the given entities at the time asked about. The past is read off the versions of lineage."""
    if when.is_now:
        return answers.edges_from(connection, [entity.id for entity in named])
    found = []
    for entity in named:
        for version in answers.lineage_naming(connection, entity.urn):
            if when.knows(version) and when.holds(version):
                for urn, column in sorted(upstreams_named(version.aspect, loads(version.value))):
                    if urn == entity.urn:
                        found.append(Edge(entity.id, column, version.entity, version.key, version.belief))
    return found


class Downstream:
    """The lineage below a set of seeds, read once."""

    def __init__(self, connection: Connection, ids: Ids, seeds: Iterable[Node], when: When) -> None:
        frontier = list(dict.fromkeys(entity for entity, _ in seeds))
        seen = set(frontier)
        edges: list[Edge] = []
        while frontier:
            found = answers.edges_from(connection, frontier)
            edges += found
            frontier = sorted({edge.downstream for edge in found} - seen)
            seen.update(frontier)
        here = existing(connection, ids, sorted({edge.downstream for edge in edges}), when)
        self._below: dict[EntityId, list[Edge]] = {}
        for edge in edges:
            if edge.downstream in here:
                self._below.setdefault(edge.upstream, []).append(edge)

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
                if path and _folded(edge.column) != in_edge(path):
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
