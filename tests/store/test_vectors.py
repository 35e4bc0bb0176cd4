"""Vectors in the store: the nearest of one embedder's are found, wherever they are kept and however."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

from palimpsest.core.errors import ModelError, StoreError
from palimpsest.core.moment import parse
from palimpsest.core.vector import DIMENSION, Vectors
from palimpsest.store import embedders, migrate, vector_signs, vector_types, vectors
from palimpsest.store.dialects.dialect import Mode
from palimpsest.store.embedders import Known
from palimpsest.store.engine import Store, open_store
from palimpsest.store.schema import passage_vector, vector_sign
from palimpsest.store.vectors import Near
from tests import servers
from tests.building import Memory
from tests.passages import add_passages, clustered, drop_passages, exact

NOW = parse("2026-03-02")


def known(store: Store, name: str = "words:1", *, change: bool = False) -> Known:
    """An embedder that the store knows."""
    found = store.write(lambda connection: embedders.adopt(connection, name, now=NOW, change=change))
    assert found is not None
    return found


def fill(store: Store, of: Known, rows: Vectors, *, at_once: int = 100) -> list[int]:
    """Passages with these vectors."""
    numbers = add_passages(store, [f"text {place}" for place in range(len(rows))])
    write(store, of, numbers, rows, at_once=at_once)
    return numbers


def write(store: Store, of: Known, numbers: list[int], rows: Vectors, *, at_once: int = 100) -> None:
    """Write vectors in several transactions."""
    for start in range(0, len(numbers), at_once):
        part = slice(start, start + at_once)
        store.write(lambda c, part=part: vectors.write(c, of, numbers[part], rows[part]))


def nearest(store: Store, of: Known, question: Vectors, most: int, among: list[int] | None = None) -> list[Near]:
    """What a reader finds."""
    return store.read(lambda connection: vectors.nearest(connection, of, question, most, among=among))


def test_the_nearest_are_found_with_their_cosines(tmp_path: Path, dialect: str) -> None:
    store, rows = Memory(tmp_path).store, clustered(300)
    of = known(store)
    numbers = fill(store, of, rows)
    for question in clustered(5, seed=2):
        found = nearest(store, of, question, 10)
        places = exact(rows, question, 10)
        assert [one.passage for one in found] == [numbers[place] for place in places]
        assert [one.similarity for one in found] == pytest.approx((rows[places] @ question).tolist(), abs=1e-5)


def test_vectors_have_a_type_of_their_own_only_where_the_database_has_one(tmp_path: Path, dialect: str) -> None:
    store = Memory(tmp_path).store
    kept = vector_types.kept(store)
    assert (kept.form.native, kept.is_embedded) == (dialect in ("postgresql", "cockroachdb-real"), dialect == "sqlite")
    assert kept.indexed == kept.form.native
    assert vectors.NATIVE_AT_ONCE < vectors.BYTES_AT_ONCE
    at_once = store.read(vectors.at_once)
    assert at_once == (vectors.NATIVE_AT_ONCE if kept.form.native else vectors.BYTES_AT_ONCE)


def test_vectors_of_two_embedders_never_meet(tmp_path: Path, dialect: str) -> None:
    store, rows = Memory(tmp_path).store, clustered(200)
    old, new = known(store), known(store, "words:2", change=True)
    numbers = fill(store, old, rows)
    assert nearest(store, new, rows[0], 10) == []
    write(store, new, numbers, -rows)
    assert nearest(store, old, rows[3], 1)[0] == (numbers[3], pytest.approx(1, abs=1e-5))
    assert nearest(store, new, -rows[7], 1)[0] == (numbers[7], pytest.approx(1, abs=1e-5))
    assert len(nearest(store, new, -rows[7], 150)) == 150
    assert [one.similarity for one in nearest(store, new, -rows[7], 150)] == pytest.approx(
        sorted((rows @ rows[7]).tolist(), reverse=True)[:150], abs=1e-5
    )


@pytest.mark.parametrize("dimension", [0, 383, 385, 768])
def test_another_dimension_is_refused_before_anything_is_sent(tmp_path: Path, dimension: int) -> None:
    store = Memory(tmp_path).store
    of = known(store)
    numbers = add_passages(store, ["a", "b"])
    rows = np.ones((2, dimension), dtype=np.float32)
    with pytest.raises(ModelError, match=f"words:1 gave 2 by {dimension} numbers for 2 texts, not 384 for each"):
        store.write(lambda connection: vectors.write(connection, of, numbers, rows))
    with pytest.raises(ModelError, match="not 384"):
        nearest(store, of, rows[0], 10)
    assert store.read(lambda connection: vectors.count(connection, of)) == 0


@pytest.mark.parametrize("scale", [0.0, 0.5, float("nan"), float("inf")])
def test_a_vector_that_is_not_of_length_one_is_refused(tmp_path: Path, scale: float) -> None:
    store = Memory(tmp_path).store
    of = known(store)
    numbers = add_passages(store, ["a"])
    rows = clustered(1) * np.float32(scale)
    with pytest.raises(ModelError, match="not of length one"):
        store.write(lambda connection: vectors.write(connection, of, numbers, rows))


def test_the_database_itself_refuses_bytes_of_another_dimension(tmp_path: Path, dialect: str) -> None:
    store = Memory(tmp_path).store
    of = known(store)
    numbers = add_passages(store, ["a"])
    if not vector_types.kept(store).form.native and dialect != "sqlite":
        return  # there the code alone sees to it
    wrong: object = b"1234" if dialect == "sqlite" else "[1,2,3]"
    with pytest.raises(StoreError):
        store.write(
            lambda connection: connection.execute(
                sa.text("INSERT INTO passage_vector (passage_id, embedder_id, vec) VALUES (:p, :e, :v)"),
                {"p": numbers[0], "e": of.id, "v": wrong},
            )
        )


def test_vectors_of_passages_that_are_gone_vanish_with_them(tmp_path: Path, dialect: str) -> None:
    store, rows = Memory(tmp_path).store, clustered(40)
    of = known(store)
    numbers = fill(store, of, rows)
    assert nearest(store, of, rows[5], 1)[0].passage == numbers[5]
    drop_passages(store, numbers[:10])
    assert store.read(lambda connection: vectors.count(connection, of)) == 30
    found = nearest(store, of, rows[5], 40)
    assert sorted(one.passage for one in found) == sorted(numbers[10:])


def test_what_is_searched_can_be_narrowed_to_some_passages(tmp_path: Path, dialect: str) -> None:
    store, rows = Memory(tmp_path).store, clustered(300)
    of = known(store)
    numbers = fill(store, of, rows)
    some = list(range(0, 300, 7))
    wanted = [numbers[some[place]] for place in exact(rows[some], rows[0], 10)]
    found = nearest(store, of, rows[0], 10, among=[numbers[place] for place in some])
    assert [one.passage for one in found] == wanted
    assert nearest(store, of, rows[0], 10, among=[]) == []
    assert nearest(store, of, rows[0], 0) == []
    assert nearest(store, of, rows[0], 10, among=[1, 2, 3]) == []


def test_a_vector_is_written_once_and_only_for_a_passage_that_is_there(tmp_path: Path, dialect: str) -> None:
    store, rows = Memory(tmp_path).store, clustered(4)
    of = known(store)
    numbers = add_passages(store, ["a", "b", "c", "d"])
    drop_passages(store, numbers[3:])
    written = [store.write(lambda c: vectors.write(c, of, numbers, rows)) for _ in range(2)]
    assert written == [3, 0]
    assert store.read(lambda connection: vectors.count(connection, of)) == 3


def test_missing_passages_come_in_their_order_with_their_texts(tmp_path: Path, dialect: str) -> None:
    store, rows = Memory(tmp_path).store, clustered(5)
    of = known(store)
    texts = ["a", "b", "c", "d", "e"]
    numbers = add_passages(store, texts)
    write(store, of, numbers[:2], rows[:2])
    left = sorted(zip(numbers[2:], texts[2:], strict=True))
    ask = lambda after, most: store.read(lambda c: vectors.missing(c, of, after=after, most=most))  # noqa: E731
    assert ask(0, 10) == left
    assert ask(0, 2) == left[:2]
    assert ask(left[0][0], 10) == left[1:]


def test_nearly_all_of_the_nearest_are_found_among_many(tmp_path: Path) -> None:
    """Signs choose 500 of 4,000, which are compared exactly."""
    store, rows = Memory(tmp_path).store, clustered(4_000)
    of = known(store)
    numbers = fill(store, of, rows, at_once=1_000)
    hits = 0
    for question in clustered(40, seed=1):
        found = {one.passage for one in nearest(store, of, question, 10)}
        hits += len(found & {numbers[place] for place in exact(rows, question, 10)})
    assert hits >= 0.98 * 400


def test_what_another_process_writes_is_found_by_the_next_question(tmp_path: Path) -> None:
    memory, rows = Memory(tmp_path), clustered(60)
    of = known(memory.store)
    numbers = add_passages(memory.store, [str(place) for place in range(60)])
    reader = open_store(memory.url, writing=False)
    for start in range(0, 60, 20):
        part = slice(start, start + 20)
        write(memory.store, of, numbers[part], rows[part])
        assert nearest(reader, of, rows[start], 1)[0].passage == numbers[start]
    drop_passages(memory.store, numbers[:1])
    assert nearest(reader, of, rows[0], 1)[0].passage != numbers[0]
    reader.dispose()


def test_a_reader_that_began_earlier_takes_nothing_from_later_ones(tmp_path: Path) -> None:
    store, rows = Memory(tmp_path).store, clustered(4)
    of = known(store)
    numbers = add_passages(store, ["a", "b", "c", "d"])
    write(store, of, numbers[:2], rows[:2])
    with store.engine.connect() as fresh, (earlier := store.dialect.prepared(fresh, Mode.READ)).begin():
        assert vectors.count(earlier, of) == 2
        write(store, of, numbers[2:], rows[2:])
        assert nearest(store, of, rows[3], 1)[0].passage == numbers[3]
        assert vectors.nearest(earlier, of, rows[3], 1)[0].passage in numbers[:2]
    assert nearest(store, of, rows[3], 1)[0].passage == numbers[3]


def test_a_passage_that_returns_is_found_again(tmp_path: Path, dialect: str) -> None:
    store, rows = Memory(tmp_path).store, clustered(3)
    of = known(store)
    numbers = fill(store, of, rows)
    assert nearest(store, of, rows[1], 1)[0].passage == numbers[1]
    drop_passages(store, numbers)
    assert nearest(store, of, rows[1], 1) == []
    assert fill(store, of, rows) == numbers
    assert nearest(store, of, rows[1], 1)[0].passage == numbers[1]


def test_many_small_rows_of_signs_become_one_without_what_is_gone(tmp_path: Path) -> None:
    store, rows = Memory(tmp_path).store, clustered(40)
    of = known(store)
    numbers = fill(store, of, rows, at_once=2)
    assert nearest(store, of, rows[0], 1)[0].passage == numbers[0]
    drop_passages(store, numbers[:10])
    store.write(lambda connection: vector_signs.tidy(connection, of.id))
    assert store.read(lambda connection: vector_signs.batches(connection, of.id)) == [21]
    assert store.read(lambda connection: vector_signs.count(connection, of.id)) == 30
    for place in (12, 39):
        assert nearest(store, of, rows[place], 1)[0].passage == numbers[place]
    store.write(lambda connection: vector_signs.tidy(connection, of.id))
    drop_passages(store, numbers[10:39])
    store.write(lambda connection: vector_signs.prune(connection, of.id, 21))
    assert store.read(lambda connection: vector_signs.count(connection, of.id)) == 1
    assert [one.passage for one in nearest(store, of, rows[0], 5)] == numbers[39:]
    drop_passages(store, numbers[39:])
    store.write(lambda connection: vector_signs.prune(connection, of.id, 21))
    assert store.read(lambda connection: vector_signs.batches(connection, of.id)) == []


def test_a_server_that_does_not_let_us_have_pgvector_keeps_bytes() -> None:
    try:
        server = servers.kind("postgresql").server
    except servers.MissingServer as error:
        pytest.skip(str(error))
    server.execute("DROP DATABASE IF EXISTS plain_vectors WITH (FORCE)", "DROP ROLE IF EXISTS plain_user")
    server.execute("CREATE ROLE plain_user LOGIN", "CREATE DATABASE plain_vectors TEMPLATE template0")
    server.execute("GRANT ALL ON SCHEMA public TO plain_user", database="plain_vectors")
    store = open_store(server.url("plain_vectors", user="plain_user"))
    migrate.upgrade(store, now=NOW)
    kept = vector_types.kept(store)
    assert (kept.form.native, kept.indexed) == (False, False)
    rows = clustered(5)
    of = known(store)
    numbers = fill(store, of, rows)
    assert nearest(store, of, rows[2], 1)[0].passage == numbers[2]
    store.dispose()
    server.execute("DROP DATABASE plain_vectors WITH (FORCE)", "DROP ROLE plain_user")


def test_a_server_with_pgvector_at_hand_gets_it_by_the_migration() -> None:
    try:
        server = servers.kind("postgresql").server
    except servers.MissingServer as error:
        pytest.skip(str(error))
    server.execute("CREATE DATABASE own_vectors TEMPLATE template0")
    store = open_store(server.url("own_vectors"))
    migrate.upgrade(store, now=NOW)
    kept = vector_types.kept(store)
    assert (kept.form.native, kept.indexed, kept.form.pgvector >= (0, 8)) == (True, True, True)
    store.dispose()
    server.execute("DROP DATABASE own_vectors WITH (FORCE)")


def test_pgvector_uses_its_index_among_many(tmp_path: Path) -> None:
    try:
        with servers.places("postgresql") as place:
            store, rows = open_store(place(tmp_path, "memory")), clustered(vectors._EXACT_UP_TO + 500)
            of = known(store)
            fill(store, of, rows)
            found = store.read(lambda c: _plan(c, of, rows[0]))
            assert vector_types.INDEX in found
            hits = 0
            for question in rows[::550]:
                numbers = {one.similarity for one in nearest(store, of, question, 10)}
                hits += len({round(one, 4) for one in numbers})
            assert hits >= 90
            store.dispose()
    except servers.MissingServer as error:
        pytest.skip(str(error))


def _plan(connection: sa.Connection, of: Known, question: Vectors) -> str:
    connection.execute(sa.text("SET LOCAL enable_seqscan = off"))
    asked = {"asked": vectors.spelled(question), "of": of.id, "most": 10}
    return "\n".join(connection.scalars(sa.text(f"EXPLAIN {vectors._NEAREST.text}"), asked))


def test_the_statements_for_cockroachdb_are_these() -> None:
    """What no server here can run: VECTOR with its dimension, the index with its prefix, text literals with a cast."""
    cockroach = sa.create_engine("cockroachdb+psycopg://root@localhost/x").dialect
    made = " ".join(str(CreateTable(passage_vector).compile(dialect=cockroach)).split())
    assert made == (
        "CREATE TABLE passage_vector ( passage_id BIGINT NOT NULL, embedder_id INTEGER NOT NULL, "
        "vec VECTOR(384) NOT NULL, CONSTRAINT pk_passage_vector PRIMARY KEY (passage_id, embedder_id), "
        "CONSTRAINT fk_passage_vector_passage_id_passage FOREIGN KEY(passage_id) REFERENCES passage (id) "
        "ON DELETE CASCADE, "
        "CONSTRAINT fk_passage_vector_embedder_id_embedder FOREIGN KEY(embedder_id) REFERENCES embedder (id) )"
    )
    assert vector_types.index_statement("cockroachdb") == (
        "CREATE VECTOR INDEX IF NOT EXISTS ix_passage_vector_vec ON passage_vector (embedder_id, vec vector_cosine_ops)"
    )
    assert vector_types.index_statement("postgresql") == (
        "CREATE INDEX IF NOT EXISTS ix_passage_vector_vec ON passage_vector USING hnsw (vec vector_cosine_ops)"
    )
    assert " ".join(str(sa.insert(vectors._NATIVE).compile(dialect=cockroach)).split()) == (
        "INSERT INTO passage_vector (passage_id, embedder_id, vec) "
        "VALUES (%(passage_id)s, %(embedder_id)s, CAST(%(vec)s AS VECTOR(384)))"
    )
    assert " ".join(str(vectors._NEAREST.compile(dialect=cockroach)).split()) == (
        "SELECT passage_id, vec <=> CAST(%(asked)s AS VECTOR(384)) AS distance FROM passage_vector "
        "WHERE embedder_id = %(of)s ORDER BY distance LIMIT %(most)s"
    )
    assert DIMENSION == 384
    assert "BYTEA" in str(CreateTable(vector_sign).compile(dialect=postgresql.dialect()))
