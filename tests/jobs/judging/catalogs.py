"""A small memory with something for the rules and something for a model, none of it consolidated since it changed."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from tests.building import Memory, Record, dataset, mcp, owners, schema, text

DATASETS = 12
# (held, then): every other one says the same in other words.
TEXTS = (
    ("One row per order.", "Holds one row per order."),
    ("Amounts are in euros.", "Amounts are in US dollars."),
)


def reading(day: int, datasets: int = DATASETS) -> list[Record]:
    """What the catalog says on the first day, and on the second: other owners, descriptions and column texts."""
    records = []
    for number in range(datasets):
        urn, words = dataset(f"shop.t{number}"), TEXTS[number % 2][day - 1]
        records += [
            mcp(urn, "ownership", owners("ana" if day == 1 else "bo")),
            mcp(urn, "datasetProperties", text(f"{words} Table {number}.")),
            mcp(urn, "schemaMetadata", schema(("id", "INT", words), ("note", "TEXT"))),
        ]
    return records


def changed(folder: Path, *, name: str = "memory.db", datasets: int = DATASETS) -> Memory:
    """A memory in which all of that has just changed."""
    memory = Memory(folder, name=name)
    memory.remember(reading(1, datasets), at="2026-03-02")
    memory.scan(reading(2, datasets), at="2026-03-03")
    return memory


def pending(memory: Memory) -> dict[str, int]:
    """How many episodes wait, by aspect."""
    statement = sa.text(
        "SELECT cell.aspect, count(*) FROM episode JOIN cell ON cell.id = episode.cell_id "
        "WHERE episode.verdict IS NULL GROUP BY cell.aspect ORDER BY cell.aspect"
    )
    return dict(memory.store.read(lambda c: c.execute(statement).tuples().all()))


def judges(memory: Memory) -> dict[str, int]:
    """How many versions and restatements each judge stands for."""
    statement = sa.text(
        "SELECT judge, count(*) FROM (SELECT judge FROM version UNION ALL "
        "SELECT judge FROM evidence WHERE role = 'bears_out') AS given GROUP BY judge ORDER BY judge"
    )
    return dict(memory.store.read(lambda c: c.execute(statement).tuples().all()))
