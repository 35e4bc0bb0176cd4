"""The signs of vectors, where vectors are bytes: kept in rows of many, held in memory, and compared by counting bits.

What a first look finds is compared exactly after that (see `vectors`), so signs may be a little behind: those of
passages that are gone find nothing, and those that a transaction does not see yet are not missed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from palimpsest.core.vector import SIGN_BYTES, Vector, Vectors, signs
from palimpsest.store.schema import embedder, passage_vector, vector_sign

Ids = NDArray[np.int64]
Words = NDArray[np.uint64]

_ID = np.dtype("<i8")
_ROW = 4_096  # passages in a full row
_SMALL = _ROW // 2
_MANY = 16  # so many small rows are made one
_AT_ONCE = 1 << 16  # signs compared in one go: what fits into the processor's cache


class View(NamedTuple):
    """The signs at hand, in arrays that are never changed, and the last row of them that the transaction sees."""

    ids: Ids
    words: Words
    visible: int


class Signs:
    """The signs of one embedder's vectors, as far as this process has read them."""

    def __init__(self) -> None:
        self.ids: Ids = np.empty(0, dtype=np.int64)
        self.words: Words = np.empty((0, SIGN_BYTES // 8), dtype=np.uint64)
        self._seen = 0
        self._lock = threading.Lock()

    def refresh(self, connection: sa.Connection, of: int) -> View:
        """Read what was written since the last time."""
        with self._lock:
            rows = connection.execute(_SINCE, {"of": of, "seen": self._seen}).all()
            visible = int(connection.scalar(sa.select(embedder.c.batch).where(embedder.c.id == of)) or 0)
            if rows:
                ids, words = _unpacked([(row.passages, row.bits) for row in rows])
                if len(self.ids):
                    new = ~np.isin(ids, self.ids)
                    ids, words = np.concatenate([self.ids, ids[new]]), np.concatenate([self.words, words[new]])
                self.ids, self.words = ids, words
            self._seen = max(self._seen, visible)
            return View(self.ids, self.words, visible)

    def forget(self, dead: Ids, visible: int) -> None:
        """Hold the signs of these passages no longer: a transaction that saw as much as is held found no vector.

        One that saw less may have come before they were written.
        """
        with self._lock:
            if visible == self._seen:
                kept = ~np.isin(self.ids, dead)
                self.ids, self.words = self.ids[kept], self.words[kept]


_HELD: WeakKeyDictionary[sa.Engine, dict[int, Signs]] = WeakKeyDictionary()
_HELD_LOCK = threading.Lock()

_SINCE = (
    sa.select(vector_sign.c.batch, vector_sign.c.passages, vector_sign.c.bits)
    .where(vector_sign.c.embedder_id == sa.bindparam("of"), vector_sign.c.batch > sa.bindparam("seen"))
    .order_by(vector_sign.c.batch)
)


def held(connection: sa.Connection, of: int) -> Signs:
    """What this process holds of an embedder's signs."""
    with _HELD_LOCK:
        return _HELD.setdefault(connection.engine, {}).setdefault(of, Signs())


def listed(passages: Sequence[int]) -> sa.BindParameter[Any]:
    """Numbers of passages for IN, written into the statement: there may be thousands, more than some drivers bind."""
    return sa.bindparam("passages", list(passages), sa.BigInteger, expanding=True, literal_execute=True)


def nearest(ids: Ids, words: Words, question: Vector, most: int) -> Ids:
    """The passages whose signs differ least from the question's, in no order."""
    if len(ids) <= most:
        return ids
    asked = signs(question[None, :]).view(np.uint64)[0]
    differing = np.empty(len(ids), dtype=np.uint16)
    for start in range(0, len(ids), _AT_ONCE):
        part = words[start : start + _AT_ONCE]
        differing[start : start + _AT_ONCE] = np.bitwise_count(part ^ asked).sum(axis=1, dtype=np.uint16)
    return ids[np.argpartition(differing, most - 1)[:most]]


def write(connection: sa.Connection, of: int, passages: Sequence[int], rows: Vectors) -> None:
    """Add the signs of vectors, in the transaction that writes these. Writers wait for each other here."""
    _add(connection, of, np.array(passages, dtype=np.int64), signs(rows))


def tidy(connection: sa.Connection, of: int) -> None:
    """Make many small rows few, without passages that have no vector any more."""
    length = sa.func.length(vector_sign.c.passages)
    small = sa.select(vector_sign.c.batch, vector_sign.c.passages, vector_sign.c.bits).where(
        vector_sign.c.embedder_id == of, length < _SMALL * _ID.itemsize
    )
    rows = connection.execute(small).all()
    if len(rows) <= _MANY:
        return
    merged: dict[int, bytes] = {}
    for row in rows:
        merged.update(_pairs(row.passages, row.bits))
    kept = [one for part in _parts(sorted(merged)) for one in _alive(connection, of, part)]
    _drop(connection, of, [row.batch for row in rows])
    for part in _parts(kept):
        bits = np.frombuffer(b"".join(merged[one] for one in part), dtype=np.uint8).reshape(-1, SIGN_BYTES)
        _add(connection, of, np.array(part, dtype=np.int64), bits)


def batches(connection: sa.Connection, of: int) -> list[int]:
    """The numbers of an embedder's rows."""
    found = sa.select(vector_sign.c.batch).where(vector_sign.c.embedder_id == of).order_by(vector_sign.c.batch)
    return list(connection.scalars(found))


def count(connection: sa.Connection, of: int) -> int:
    """How many passages an embedder's rows hold, with those that are gone."""
    total = sa.func.sum(sa.func.length(vector_sign.c.passages))
    return int(connection.scalar(sa.select(total).where(vector_sign.c.embedder_id == of)) or 0) // _ID.itemsize


def prune(connection: sa.Connection, of: int, batch: int) -> None:
    """Take the passages that are gone out of one row."""
    chosen = (vector_sign.c.embedder_id == of) & (vector_sign.c.batch == batch)
    row = connection.execute(sa.select(vector_sign.c.passages, vector_sign.c.bits).where(chosen)).first()
    if row is None:
        return
    ids, words = _unpacked([row])
    kept = np.isin(ids, np.array(_alive(connection, of, ids.tolist()), dtype=np.int64))
    if kept.all():
        return
    _drop(connection, of, [batch])
    if kept.any():
        left = {"passages": ids[kept].astype(_ID).tobytes(), "bits": words[kept].tobytes()}
        connection.execute(sa.insert(vector_sign), {"embedder_id": of, "batch": batch, **left})


def drop(connection: sa.Connection, of: int) -> None:
    """Delete every row of an embedder."""
    connection.execute(sa.delete(vector_sign).where(vector_sign.c.embedder_id == of))


def _add(connection: sa.Connection, of: int, passages: Ids, bits: NDArray[np.uint8]) -> None:
    """The number comes from the embedder's row, whose lock is kept to the end: numbers become visible in order."""
    counted = sa.update(embedder).where(embedder.c.id == of).values(batch=embedder.c.batch + 1)
    number = connection.execute(counted.returning(embedder.c.batch)).scalar_one()
    row = {"embedder_id": of, "batch": number, "passages": passages.astype(_ID).tobytes(), "bits": bits.tobytes()}
    connection.execute(sa.insert(vector_sign), row)


def _drop(connection: sa.Connection, of: int, numbers: Sequence[int]) -> None:
    chosen = (vector_sign.c.embedder_id == of) & vector_sign.c.batch.in_(numbers)
    connection.execute(sa.delete(vector_sign).where(chosen))


def _alive(connection: sa.Connection, of: int, passages: Sequence[int]) -> list[int]:
    chosen = (passage_vector.c.embedder_id == of) & passage_vector.c.passage_id.in_(listed(passages))
    return list(connection.scalars(sa.select(passage_vector.c.passage_id).where(chosen)))


def _parts(passages: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(passages), _ROW):
        yield passages[start : start + _ROW]


def _pairs(passages: bytes, bits: bytes) -> Iterator[tuple[int, bytes]]:
    for place, one in enumerate(np.frombuffer(passages, dtype=_ID).tolist()):
        yield one, bits[place * SIGN_BYTES : (place + 1) * SIGN_BYTES]


def _unpacked(rows: Iterable[Sequence[bytes]]) -> tuple[Ids, Words]:
    """Passages and signs of rows; a passage that comes twice counts once."""
    passages, bits = zip(*rows, strict=True)
    ids = np.frombuffer(b"".join(passages), dtype=_ID).astype(np.int64)
    words = np.frombuffer(b"".join(bits), dtype=np.uint64).reshape(-1, SIGN_BYTES // 8)
    unique, places = np.unique(ids, return_index=True)
    return (ids, words) if len(unique) == len(ids) else (unique, words[places])
