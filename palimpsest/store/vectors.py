"""Vectors of passages: which are missing, writing them, and finding the nearest of one embedder's, never of two.

Where the database has a type for vectors it finds the nearest itself. Where they are bytes, their signs are looked
through in memory and the best of them compared exactly. A dimension is checked before anything is sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from palimpsest.core.vector import Vector, Vectors, fitting, spelled, unpacked
from palimpsest.store import vector_signs
from palimpsest.store.bulk import Row, execute_many
from palimpsest.store.embedders import EmbedderState, Known
from palimpsest.store.schema import FIRST_PAST, embedder, passage, passage_vector
from palimpsest.store.vector_signs import listed
from palimpsest.store.vector_types import NativeVec, form_of, has_index

NATIVE_AT_ONCE = 50  # rows a transaction, where writing a vector means writing its index
BYTES_AT_ONCE = 1_000
_LOOKED_AT = 500  # how many the signs choose, at least, and of a thousand
_LOOKED_AT_SHARE = 1_000
_AMONG_EXACT = 4_000  # so many named passages are compared without a first look
_EXACT_UP_TO = 5_000  # vectors: they are compared in a few milliseconds
_ITERATES_FROM = (0, 8)  # pgvector's own scan goes on while rows are filtered away

_NATIVE = sa.table("passage_vector", sa.column("passage_id"), sa.column("embedder_id"), sa.column("vec", NativeVec()))
_NAMES = ("passage_id", "embedder_id", "vec")
_NEAREST = sa.text(
    "SELECT passage_id, vec <=> CAST(:asked AS VECTOR(384)) AS distance FROM passage_vector "
    "WHERE embedder_id = :of ORDER BY distance LIMIT :most"
)
_NEAREST_EXACTLY = sa.text(  # the same without the index: no index serves a sum
    "SELECT passage_id, vec <=> CAST(:asked AS VECTOR(384)) AS distance FROM passage_vector "
    "WHERE embedder_id = :of ORDER BY (vec <=> CAST(:asked AS VECTOR(384))) + 0, passage_id LIMIT :most"
)
_NEAREST_AMONG = sa.text(  # apart, or an index that knows nothing of the choice would be walked
    "WITH chosen AS MATERIALIZED (SELECT passage_id, vec <=> CAST(:asked AS VECTOR(384)) AS distance "
    "FROM passage_vector WHERE embedder_id = :of AND passage_id IN :among) "
    "SELECT passage_id, distance FROM chosen ORDER BY distance, passage_id LIMIT :most"
).bindparams(sa.bindparam("among", type_=sa.BigInteger, expanding=True, literal_execute=True))


class Near(NamedTuple):
    """A passage and how near its vector is: the cosine, from -1 to 1."""

    passage: int
    similarity: float


def at_once(connection: sa.Connection) -> int:
    """How many vectors to write in one transaction."""
    return NATIVE_AT_ONCE if form_of(connection).native and has_index(connection) else BYTES_AT_ONCE


def missing(connection: sa.Connection, of: Known, *, after: int, most: int) -> list[tuple[int, str]]:
    """The next passages, by number, that state what is current and have no vector of the embedder; with their text."""
    own = (passage_vector.c.passage_id == passage.c.id) & (passage_vector.c.embedder_id == of.id)
    rows = connection.execute(
        sa.select(passage.c.id, passage.c.text)
        .select_from(passage.outerjoin(passage_vector, own))
        .where(passage.c.id > after, passage.c.id < FIRST_PAST, passage_vector.c.passage_id.is_(None))
        .order_by(passage.c.id)
        .limit(most)
    )
    return [(row.id, row.text) for row in rows]


def write(connection: sa.Connection, of: Known, passages: Sequence[int], rows: Vectors) -> int | None:
    """Write vectors, but for passages that are gone by now or have one. Returns how many.

    None if the embedder was given up meanwhile. Raises ModelError for vectors of another dimension.
    """
    rows = fitting(rows, len(passages), of.name)
    state = connection.scalar(sa.select(embedder.c.state).where(embedder.c.id == of.id))
    if state not in (EmbedderState.CURRENT, EmbedderState.COMING):
        return None
    wanted = _without_vector(connection, of, passages)
    places = [place for place, one in enumerate(passages) if one in wanted]
    if not places:
        return 0
    form = form_of(connection)
    given: list[Row] = [(passages[place], of.id, form.write(rows[place])) for place in places]
    if form.native:
        sent = [dict(zip(_NAMES, row, strict=True)) for row in given]
        connection.execute(sa.insert(_NATIVE), sent)
    else:
        execute_many(connection, sa.insert(passage_vector), _NAMES, given)
        vector_signs.write(connection, of.id, [passages[place] for place in places], rows[places])
    return len(places)


def nearest(
    connection: sa.Connection, of: Known, question: Vector, most: int, *, among: Sequence[int] | None = None
) -> list[Near]:
    """The passages whose vectors are nearest to the question's, the nearest first; `among` these if they are given.

    Exact among few; else of a hundred nearest, nearly all are found. Raises ModelError for another dimension.
    """
    asked = fitting(question[None, :], 1, of.name)[0]
    if most < 1 or (among is not None and not among):
        return []
    if form_of(connection).native:
        return _nearest_native(connection, of, asked, most, among)
    signs = vector_signs.held(connection, of.id)
    ids, words, visible = signs.refresh(connection, of.id)
    if among is not None:
        chosen = np.isin(ids, np.array(among, dtype=np.int64))
        ids, words = ids[chosen], words[chosen]
    looked_at = max(_LOOKED_AT, 2 * most, len(ids) // _LOOKED_AT_SHARE)
    if among is not None and len(ids) <= _AMONG_EXACT:
        looked_at = len(ids)
    while True:
        best = vector_signs.nearest(ids, words, asked, looked_at)
        found, cosines = _compared(connection, of, asked, best)
        dead = np.setdiff1d(best, found)
        if not len(dead):
            return _first(found, cosines, most)
        signs.forget(dead, visible)
        kept = ~np.isin(ids, dead)
        ids, words = ids[kept], words[kept]
        if len(found) >= min(most, len(ids)):
            return _first(found, cosines, most)


def count(connection: sa.Connection, of: Known) -> int:
    """How many vectors an embedder has."""
    counted = sa.select(sa.func.count()).where(passage_vector.c.embedder_id == of.id)
    return int(connection.scalar(counted) or 0)


def delete_some(connection: sa.Connection, of: Known, *, after: int, most: int) -> tuple[int | None, int]:
    """Delete the next vectors of an embedder that is going, with their signs: the last passage, and how many.

    None when there are none left, or when the embedder is wanted again.
    """
    if connection.scalar(sa.select(embedder.c.state).where(embedder.c.id == of.id)) != EmbedderState.GOING:
        return None, 0
    own = passage_vector.c.embedder_id == of.id
    numbers = connection.scalars(
        sa.select(passage_vector.c.passage_id)
        .where(own, passage_vector.c.passage_id > after)
        .order_by(passage_vector.c.passage_id)
        .limit(most)
    ).all()
    if not numbers:
        vector_signs.drop(connection, of.id)
        return None, 0
    done = passage_vector.c.passage_id.between(after + 1, numbers[-1])
    connection.execute(sa.delete(passage_vector).where(own, done))
    return int(numbers[-1]), len(numbers)


def _without_vector(connection: sa.Connection, of: Known, passages: Sequence[int]) -> set[int]:
    own = (passage_vector.c.passage_id == passage.c.id) & (passage_vector.c.embedder_id == of.id)
    return set(
        connection.scalars(
            sa.select(passage.c.id)
            .select_from(passage.outerjoin(passage_vector, own))
            .where(passage.c.id.in_(listed(passages)), passage_vector.c.passage_id.is_(None))
        )
    )


def _nearest_native(
    connection: sa.Connection, of: Known, asked: Vector, most: int, among: Sequence[int] | None
) -> list[Near]:
    given: dict[str, object] = {"asked": spelled(asked), "of": of.id, "most": most}
    if among is None and form_of(connection).pgvector and _are_few(connection, of):
        rows = connection.execute(_NEAREST_EXACTLY, given)
    elif among is None:
        _widen(connection, most)
        rows = connection.execute(_NEAREST, given)
    else:
        rows = connection.execute(_NEAREST_AMONG, {**given, "among": list(among)})
    return [Near(int(row.passage_id), 1.0 - float(row.distance)) for row in rows]


def _are_few(connection: sa.Connection, of: Known) -> bool:
    """Whether to compare them all: HNSW loses some among few that are much alike."""
    some = sa.select(sa.literal(1)).where(passage_vector.c.embedder_id == of.id).limit(_EXACT_UP_TO + 1).subquery()
    return int(connection.scalar(sa.select(sa.func.count()).select_from(some)) or 0) <= _EXACT_UP_TO


def _widen(connection: sa.Connection, most: int) -> None:
    """Let pgvector look at enough for this transaction, and go on past another embedder's vectors."""
    version = form_of(connection).pgvector
    if not version:
        return
    connection.execute(sa.text("SELECT set_config('hnsw.ef_search', :wide, true)"), {"wide": str(_ef(most))})
    if version >= _ITERATES_FROM:
        connection.execute(sa.text("SELECT set_config('hnsw.iterative_scan', 'strict_order', true)"))


def _ef(most: int) -> int:
    return min(1_000, max(100, 2 * most))


def _compared(
    connection: sa.Connection, of: Known, asked: Vector, passages: vector_signs.Ids
) -> tuple[vector_signs.Ids, Vector]:
    """Those of the passages that have a vector and their cosines, exactly, the nearest first."""
    rows = (
        connection.execute(
            sa.select(passage_vector.c.passage_id, passage_vector.c.vec).where(
                passage_vector.c.embedder_id == of.id, passage_vector.c.passage_id.in_(listed(passages.tolist()))
            )
        ).all()
        if len(passages)
        else []
    )
    if not rows:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
    found, vecs = zip(*rows, strict=True)
    numbers = np.array(found, dtype=np.int64)
    cosines = unpacked(list(vecs)) @ asked
    order = np.lexsort((numbers, -cosines))
    return numbers[order], cosines[order]


def _first(passages: vector_signs.Ids, cosines: Vector, most: int) -> list[Near]:
    return [Near(*one) for one in zip(passages[:most].tolist(), cosines[:most].tolist(), strict=True)]
