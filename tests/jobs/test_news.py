"""What is a first reading, and so no change, and what is a change although it was never held before (R14)."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.core.noise import Scope
from tests.building import Memory, Record, dataset, mcp, owners, schema, tags

pytestmark = pytest.mark.usefixtures("dialect")

A, B = dataset("a"), dataset("b")
MONDAY, TUESDAY = "2026-03-02T08:00:00Z", "2026-03-03T08:00:00Z"


def there(urn: str) -> Record:
    """The record that says that an entity is there."""
    return mcp(urn, "status", {"removed": False})


def test_the_first_owner_stated_of_a_known_dataset_is_a_first_reading(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.scan([there(A), there(B), mcp(B, "ownership", owners("ann"))], at=MONDAY)
    report = memory.scan([there(A), mcp(A, "ownership", owners("bob"))], at=TUESDAY)
    assert (report.written, report.changes, report.baseline, report.contradicting) == (1, {}, 1, 0)


def test_an_owner_where_there_was_said_to_be_none_is_a_change(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.scan([there(A), mcp(A, "ownership", owners())], at=MONDAY)
    report = memory.scan([there(A), mcp(A, "ownership", owners("bob"))], at=TUESDAY)
    assert (report.written, report.changes, report.baseline) == (1, {"notable": 1}, 0)


def test_an_aspect_that_the_source_never_read_is_a_first_reading(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.scan([there(A), there(B)], at=MONDAY)
    report = memory.scan([there(A), mcp(A, "ownership", owners("bob"))], at=TUESDAY)
    assert (report.written, report.changes, report.baseline) == (1, {}, 1)


def test_a_schema_that_is_stated_for_the_first_time_is_a_first_reading(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    columns = mcp(B, "schemaMetadata", schema(("id", "bigint")))
    memory.scan([there(A), there(B), columns], at=MONDAY)
    report = memory.scan([mcp(A, "schemaMetadata", schema(("id", "bigint"), ("total", "int")))], at=TUESDAY)
    assert (report.changes, report.baseline) == ({}, report.written)


def test_what_comes_with_a_new_dataset_is_part_of_its_one_line(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.scan([there(A), mcp(A, "ownership", owners("ann"))], at=MONDAY)
    report = memory.scan([there(B), mcp(B, "ownership", owners("bob")), mcp(B, "globalTags", tags("pii"))], at=TUESDAY)
    assert (report.written, sum(report.changes.values()), report.baseline) == (3, 1, 2)


def test_the_first_owner_in_a_scope_that_was_not_read_before_is_a_first_reading(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.scan([there(A), there(B), mcp(B, "ownership", owners("ann"))], at=MONDAY)
    memory.scan([there(B)], at=TUESDAY, scope=Scope(include=("*,b,*",)))
    report = memory.scan([mcp(A, "ownership", owners("bob"))], at="2026-03-04T08:00:00Z")
    assert (report.changes, report.baseline) == ({}, 1)
