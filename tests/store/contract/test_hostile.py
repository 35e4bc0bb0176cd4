"""What catalogs can hold and databases cannot: NUL, lone surrogates, very long names. A reading never fails for it."""

from __future__ import annotations

import random
import string
from pathlib import Path

import pytest

from palimpsest.core.moment import parse
from palimpsest.jobs.verify import verify
from palimpsest.queries.changes import ChangesRequest, changes
from palimpsest.queries.held import When
from palimpsest.queries.show import show
from palimpsest.testing import FixedClock, NoProgress
from tests.building import Memory, Record, dataset, lineage, mcp, owners, schema, text

pytestmark = pytest.mark.usefixtures("dialect")
NOW = When(now=parse("2026-03-09T00:00:00Z"))
ORDERS, USERS = dataset("orders"), dataset("users")
LONG = "".join(random.Random(1).choices(string.ascii_lowercase, k=9_000))  # nothing that compresses
CASES: dict[str, Record] = {
    "NUL in a member": mcp(ORDERS, "ownership", owners("jo\0nas")),
    "NUL in a column": mcp(ORDERS, "schemaMetadata", schema(("a\0b", "INT"))),
    "NUL in an actor": mcp(ORDERS, "ownership", owners("jonas", by="x\0y", at="2026-03-01")),
    "NUL in lineage": mcp(ORDERS, "upstreamLineage", lineage([USERS], [(USERS, "a\0b", "c\0d")], ORDERS)),
    "a lone surrogate in a column": mcp(ORDERS, "schemaMetadata", schema(("a\ud800b", "INT"))),
    "a long column": mcp(ORDERS, "schemaMetadata", schema((LONG, "INT"))),
    "a long column in lineage": mcp(ORDERS, "upstreamLineage", lineage([USERS], [(USERS, LONG, LONG)], ORDERS)),
    "a long text": mcp(ORDERS, "datasetProperties", text(LONG * 100)),
    "a long URN": mcp(dataset(LONG), "ownership", owners("jonas")),
    "NUL in a URN": mcp(dataset("or\0ders"), "ownership", owners("jonas")),
    "a time beyond time": mcp(ORDERS, "ownership", owners("jonas") | {"lastModified": {"time": 2**63, "actor": "x"}}),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_held_as_far_as_it_can_be_and_nothing_else_is_lost(tmp_path: Path, case: str) -> None:
    memory = Memory(tmp_path)
    beside = mcp(USERS, "ownership", owners("lena"))
    first = memory.remember([CASES[case], beside], at="2026-03-02T08:00:00Z")
    assert first.records_failed == ("URN" in case)
    again = memory.remember([CASES[case], beside], at="2026-03-03T08:00:00Z")
    assert again.written == 0
    memory.remember([mcp(ORDERS, "ownership", owners("ana")), beside], at="2026-03-04T08:00:00Z")
    changes(memory.store, ChangesRequest(since="2026-01-01"), NOW)
    assert show(memory.store, USERS, NOW) is not None
    assert verify(memory.store, clock=FixedClock(NOW.now), progress=NoProgress()).broken == 0


def test_names_are_sorted_by_their_letters_codes_everywhere(tmp_path: Path) -> None:
    """Not as the language of the server's machine would sort them."""
    memory = Memory(tmp_path)
    names = ["b", "B", "a", "_c", "é", "A", "z", "Ä"]
    memory.remember([mcp(dataset(name), "ownership", owners("x")) for name in names], at="2026-03-02T08:00:00Z")
    memory.remember([mcp(dataset(name), "ownership", owners("y")) for name in names], at="2026-03-03T08:00:00Z")
    import sqlalchemy as sa

    from palimpsest.store.schema import entity

    found = memory.store.read(lambda c: list(c.scalars(sa.select(entity.c.name).order_by(entity.c.name))))
    assert found == sorted(names)
