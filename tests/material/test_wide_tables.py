"""Two tables of up to 7,429 columns: each version adds the columns of the truth; a missing schema ends none."""

from __future__ import annotations

from collections import defaultdict

import pytest

from palimpsest.core.moment import parse

pytestmark = [
    pytest.mark.needs_shared("reads two very wide tables in versions"),
    pytest.mark.xdist_group("wide_tables"),
]


@pytest.fixture(scope="session")
def steps(shared, document, new_memory):
    """Table → its memory, and (truth, report, episodes) of each version in order."""
    tables = defaultdict(list)
    for step in document(shared / "data" / "wide_tables" / "TRUTH.json.gz"):
        tables[step["file"].split("/")[1].partition("_v1_")[0]].append(step)
    told = {}
    for table, truth in tables.items():
        memory = new_memory()
        read = []
        for step in truth:
            report = memory.remember(shared / "data" / f"{step['file']}.gz", at=parse(step["time"]))
            read.append((step, report, memory.episodes(report.run)))
        told[table] = (memory, read)
    return told


def _columns(memory) -> set[str]:
    return {key for (_, aspect, key) in memory.current() if aspect == "column"}


def test_each_step_adds_the_columns_that_the_truth_names_and_nothing_else(steps):
    counts = {}
    for table, (_, read) in steps.items():
        counts[table] = [sum(one.aspect == "column" for one in episodes) for _, _, episodes in read]
        for step, _, episodes in read[1:]:
            columns = [one for one in episodes if one.aspect == "column"]
            assert sorted(one.key for one in columns) == sorted(step["added"] or []), step["file"]
            assert {(one.kind, one.baseline) for one in columns} <= {("first", False)}
    assert counts == {
        "main_remainder_1pct": [7422, 5, 2, 0, 0, 0, 0],
        "main_use_counter_1pct": [4874, 4, 24, 0, 0, 0],
    }


def test_a_file_without_the_schema_ends_no_column(steps):
    assert {table: len(_columns(memory)) for table, (memory, _) in steps.items()} == {
        "main_remainder_1pct": 7429,
        "main_use_counter_1pct": 4902,
    }
    for memory, _ in steps.values():
        assert not [one for one in memory.versions() if one.aspect == "column" and one.state != "current"]


def test_what_else_the_versions_of_the_tables_say(steps):
    """The small changes beside the columns, by run: none is lost among thousands of columns."""
    said = {
        table: [
            [f"{one.aspect} {one.kind}" for one in episodes if one.aspect != "column" and not one.baseline]
            for _, _, episodes in read
        ]
        for table, (_, read) in steps.items()
    }
    assert said == {
        "main_remainder_1pct": [[], [], [], [], ["description changed"], [], []],
        "main_use_counter_1pct": [[], [], [], [], [], []],
    }
