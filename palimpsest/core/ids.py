"""Ids and digests: 16 bytes, 8 of the entity's hash and 8 of the rest, so that an entity's rows are adjacent.

Every hash is keyed with the store's own secret, so that none of them tells which person it stands for.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NewType

EntityId = NewType("EntityId", bytes)
CellId = NewType("CellId", bytes)
BeliefId = NewType("BeliefId", bytes)
RunId = NewType("RunId", bytes)
Digest = NewType("Digest", bytes)

_REST = bytes(8)
_SEPARATOR = "\x1f"


class Ids:
    """Makes the ids of one store. `key` is the store's secret, 16 bytes."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def _hash8(self, data: bytes) -> bytes:
        return blake2b(data, digest_size=8, key=self._key).digest()

    def entity(self, urn: str) -> EntityId:
        """The entity's 8 bytes, followed by 8 zero bytes."""
        return EntityId(self._hash8(urn.encode("utf-8", "surrogatepass")) + _REST)

    def cell(self, entity: EntityId, source: str, observer: str, aspect: str, key: str) -> CellId:
        """Names (source, observer, entity, aspect, key)."""
        rest = _SEPARATOR.join((source, observer, aspect, key)).encode("utf-8", "surrogatepass")
        return CellId(entity[:8] + self._hash8(rest))

    def belief(self, entity: EntityId, source: str, aspect: str, key: str) -> BeliefId:
        """Names (source, entity, aspect, key)."""
        rest = _SEPARATOR.join(("belief", source, aspect, key)).encode("utf-8", "surrogatepass")
        return BeliefId(entity[:8] + self._hash8(rest))

    def run(self, job: str, source: str, started_at: int, holder: str) -> RunId:
        """Names a run by what started it, where and when."""
        seed = _SEPARATOR.join((job, source, str(started_at), holder)).encode("utf-8", "surrogatepass")
        return RunId(blake2b(seed, digest_size=16, key=self._key).digest())

    def person(self, name: str) -> bytes:
        """16 bytes that stand for the name of a person."""
        return blake2b(b"person" + name.encode("utf-8", "surrogatepass"), digest_size=16, key=self._key).digest()

    def digest(self, canonical: bytes) -> Digest:
        """8 bytes that stand for a canonical form or a raw aspect within one cell."""
        return Digest(self._hash8(canonical))


def belief_ref(belief: BeliefId) -> str:
    """How a belief is named to people: the 32 hexadecimal digits of its id."""
    return belief.hex()


def short_ref(belief: BeliefId) -> str:
    """A belief's short name: six hexadecimal digits of its entity and six of the rest, enough within one store."""
    return belief[:3].hex() + belief[8:11].hex()
