"""change_feed: a page ends anywhere, and the next goes on there, the weightiest changes of a reading first."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.moment import parse
from palimpsest.queries.change_feed import FeedRequest, change_feed
from palimpsest.queries.held import When
from tests.building import Memory, dataset, mcp, owners, schema, text

pytestmark = pytest.mark.usefixtures("dialect")

NAMES = ("a", "b", "c")
NOW = When(now=parse("2026-03-20"))


def readings(native: str, owner: str, said: str) -> list[dict[str, object]]:
    return [
        record
        for name in NAMES
        for record in (
            mcp(dataset(name), "schemaMetadata", schema(("id", native))),
            mcp(dataset(name), "ownership", owners(owner)),
            mcp(dataset(name), "datasetProperties", text(said)),
        )
    ]


def test_pages_of_two_hold_every_change_once_the_weightiest_first(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.remember(readings("BIGINT", "ana", "One."), at="2026-03-02T08:00:00Z")
    memory.remember(readings("INTEGER", "lea", "Two."), at="2026-03-03T08:00:00Z")
    found, after, pages = [], "", 0
    while pages < 9 and (pages == 0 or after):
        view = change_feed(memory.store, FeedRequest(page=2, after=after), NOW)
        for reading in view.readings:
            for group in reading.groups:
                found += [(group.impact, one.urn, one.aspect) for one in group.changes]
        after, pages = view.next, pages + 1
    assert pages == 5
    assert len(found) == len(set(found)) == 9
    assert [impact for impact, _, _ in found] == ["breaking"] * 3 + ["notable"] * 3 + ["minor"] * 3
    notable = change_feed(memory.store, FeedRequest(impact=Impact.NOTABLE, page=9), NOW)
    assert [group.impact for reading in notable.readings for group in reading.groups] == ["breaking", "notable"]
