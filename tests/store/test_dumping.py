"""What a dump holds of the store: every table has its place, and every column that cannot be made again."""

from __future__ import annotations

import pytest

from palimpsest.core.dump import TableHead
from palimpsest.store.dumping import (
    DUMPED,
    LEFT_OUT,
    REBUILT,
    MissingColumnError,
    TableReader,
    columns_of,
    reader_of,
)
from palimpsest.store.schema import metadata


def head(name: str, *columns: str) -> TableHead:
    """What a header says of a table."""
    return TableHead(name=name, columns=columns, rows=1)


def test_every_table_is_dumped_or_made_again() -> None:
    """A new table is decided upon in palimpsest.store.dumping."""
    names = [table.name for table in (*DUMPED, *REBUILT)]
    assert sorted(names) == sorted(metadata.tables)


def test_a_table_comes_after_those_it_refers_to() -> None:
    for at, table in enumerate(DUMPED):
        referred = {key.column.table for key in table.foreign_keys}
        assert referred <= set(DUMPED[:at]), table.name


def test_what_is_left_out_can_be_nothing() -> None:
    for name, columns in LEFT_OUT.items():
        assert all(metadata.tables[name].c[column].nullable for column in columns if column in metadata.tables[name].c)


def test_only_columns_that_the_dialects_spell_alike_are_dumped() -> None:
    forms = {type(column.type).__name__ for table in DUMPED for column in columns_of(table)}
    assert forms <= {"Id", "Bytes", "Text", "BigInteger", "Integer", "SmallInteger", "Boolean", "Float"}


def test_rows_are_read_column_by_column_and_checked_in_order() -> None:
    reader = TableReader(head("strength", "belief_id", "base", "at"))
    ids = [bytes([number]) * 16 for number in range(4)]
    rows = [["strength", one.hex(), 0.5, -number] for number, one in enumerate(ids)]
    assert reader.read(rows[:2]) == [(ids[0], 0.5, 0), (ids[1], 0.5, -1)]
    assert reader.read(rows[2:]) == [(ids[2], 0.5, -2), (ids[3], 0.5, -3)]
    with pytest.raises(ValueError, match="is a second row with the same key: strength"):
        reader.read(rows[3:])


def test_the_order_is_kept_from_one_batch_to_the_next() -> None:
    reader = TableReader(head("source", "name", "kind", "origin"))
    reader.read([["source", "b", "", ""]])
    with pytest.raises(ValueError, match="is out of order: source"):
        reader.read([["source", "a", "", ""]])


def test_columns_may_come_in_another_order() -> None:
    reader = TableReader(head("source", "origin", "name", "kind"))
    assert (reader.names, reader.read([["source", "o", "n", "k"]])) == (("origin", "name", "kind"), [("o", "n", "k")])


def test_a_column_without_a_default_cannot_be_missing() -> None:
    with pytest.raises(MissingColumnError, match=r"source\.origin"):
        TableReader(head("source", "name", "kind"))


def test_tables_come_in_one_order() -> None:
    store, source = head("store", "id", "secret", "created_at"), head("source", "name", "kind", "origin")
    assert list(reader_of([store, source])) == ["store", "source"]
    for wrong in ([source, store], [store, store]):
        with pytest.raises(ValueError, match="in another order, or twice"):
            reader_of(wrong)
