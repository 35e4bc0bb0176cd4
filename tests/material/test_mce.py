"""53 genuine metadata files: nothing is lost silently, nothing fails without a reason, nothing is written twice."""

from __future__ import annotations

import pytest

from palimpsest.core.aspects import ASPECTS, SAID

pytestmark = [pytest.mark.needs_shared("reads genuine metadata files"), pytest.mark.xdist_group("mce")]

# Why a record of these files is no memory, and how many are: aspects and kinds of entities that are not remembered yet.
REASONS = ("time series: ", "unknown aspect: ", "entity kind that is not remembered: ")


def test_every_record_of_every_file_is_used_or_named_and_a_second_scan_writes_nothing(shared, document, new_memory):
    index = document(shared / "data" / "mce" / "INDEX.json")
    assert len(index) == 53
    used = skipped = 0
    for entry in index:
        memory = new_memory()
        path = shared / "data" / "mce" / entry["file"]

        first = memory.scan(path, exclude_defaults=False)
        whole = memory.dump()

        assert first.records_read == sum(entry["aspects"].values()), entry["file"]
        assert first.records_read == first.records_used + sum(first.skipped.values()), entry["file"]
        assert (first.records_failed, first.failures, first.records_out_of_scope) == (0, [], 0), entry["file"]
        assert all(name.startswith(REASONS) for name in first.skipped), entry["file"]
        assert first.changes == {}, entry["file"]
        assert first.written == memory.count("episode") == memory.count("cell"), entry["file"]

        second = memory.scan(path, exclude_defaults=False)

        assert (second.written, second.unchanged_share) == (0, 1.0), entry["file"]
        assert second.unchanged == second.observations == first.written, entry["file"]
        assert memory.dump() == whole, entry["file"]
        assert memory.consolidate().left == 0, entry["file"]
        assert memory.count("version") == first.written, entry["file"]
        used += first.records_used
        skipped += sum(first.skipped.values())
    assert (used, skipped) == (5296, 6516)


def test_every_aspect_but_deprecation_is_stated_somewhere(shared, new_memory):
    """All files into one source, one after the other: what is held in the end, by aspect."""
    memory = new_memory()
    for number, path in enumerate(sorted((shared / "data" / "mce").glob("*__*.json"))):
        memory.scan(path, at=f"2026-10-01T00:{number:02}:00Z")
    memory.consolidate()
    held = {one.aspect for one in memory.episodes()}
    assert held == set(ASPECTS) - {"deprecation", "note", *SAID}  # which people and agents say
    assert memory.broken() == []
