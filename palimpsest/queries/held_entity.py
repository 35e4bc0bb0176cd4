"""held_entity: all versions about one entity, and what of them is current, loaded once for whatever is told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from palimpsest.core.ids import BeliefId
from palimpsest.queries import held
from palimpsest.queries.confidence import confidences
from palimpsest.queries.held import Presence, Sure, When
from palimpsest.store import answers
from palimpsest.store.answers import Named, Remembered
from palimpsest.store.engine import Connection


class HeldEntity(NamedTuple):
    """Every version about an entity, by belief in `chains`; what is current at the time of the question, how sure."""

    named: Named
    versions: Sequence[Remembered]
    chains: Mapping[BeliefId, list[Remembered]]
    presence: Presence
    now: Sequence[Remembered]
    sure: Mapping[BeliefId, Sure]


def held_entity(connection: Connection, named: Named, when: When) -> HeldEntity:
    """What is held of one entity."""
    versions = answers.versions_of(connection, [named.id])
    presence = Presence(versions, when)
    now = held.current(versions, when, presence)
    chains = held.by_belief(versions)
    return HeldEntity(named, versions, chains, presence, now, confidences(connection, now, chains, when))
