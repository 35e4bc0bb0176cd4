"""Clusters: the pending episodes that bear on the same belief. Never stored."""

from __future__ import annotations

from typing import NamedTuple

from palimpsest.core.episode import Episode, Kind
from palimpsest.core.ids import BeliefId, EntityId
from palimpsest.core.observer import rank_of


class Cluster(NamedTuple):
    """The pending episodes of one belief, oldest first."""

    belief: BeliefId
    entity: EntityId
    aspect: str
    key: str
    episodes: list[Episode]

    @property
    def opens_a_belief(self) -> bool:
        """Whether no version of the belief can be there yet."""
        first = self.episodes[0]
        return first.kind is Kind.FIRST and first.number > 0


def in_time(cluster: Cluster) -> Cluster:
    """What was said by several, as it was said; where the times tie, whose word goes first comes first."""
    if cluster.episodes[0].kind is Kind.SAID and len(cluster.episodes) > 1:
        cluster.episodes.sort(key=lambda one: (one.observed_at, -rank_of(one.observer), one.cell, one.number))
    return cluster
