"""DataHub's own timeline test, run through ours: the table in docs/datahub-timeline.md is made here and may not drift.

PALIMPSEST_WRITE_DOCS=1 writes the document anew.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from palimpsest.core.aspects import ASPECTS
from palimpsest.core.baseline import renamed_columns

pytestmark = [
    pytest.mark.needs_shared("runs the inputs of DataHub's own timeline test"),
    pytest.mark.xdist_group("timeline"),
]

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "datahub-timeline.md"
ASPECTS_OF = {
    "TAG": ("tags",),
    "DOCUMENTATION": ("description", "links"),
    "TECHNICAL_SCHEMA": ("column", "foreign_key"),
    "GLOSSARY_TERM": ("terms",),
    "OWNER": ("ownership",),
}
HEAD = """\
# DataHub's timeline beside ours

DataHub's own test of its timeline writes one dataset in three versions and asserts how many change events each version
makes. Here are the same inputs, scanned and consolidated, with our number of edits in the same categories: members of
sets added or removed, columns added, removed or changed, texts changed. A first version counts as additions there; here
it is held and counted as baseline, and is no change.

| test | version | DataHub | ours | why they differ |
|---|---|---|---|---|
"""
LABELS = (
    "the description and each tag of a column that comes or goes is an event of its own there ({count}); here a column "
    "is one fact with all that is said of it"
)
RENAMES = (
    "a renamed column is one event there ({count}); here one is gone and one is new, with a hint that they may be one"
)
DUPLICATES = "a link that the file lists twice is added twice there ({count}); here a duplicate is form"


@dataclass(frozen=True)
class Row:
    """One version of one test: DataHub's count, ours, and how many of each reason make up the difference."""

    test: str
    version: int
    theirs: int
    ours: int
    labels: int
    renames: int
    duplicates: int

    @property
    def accounted(self) -> int:
        """Our count with every reason applied."""
        return self.ours + self.labels - self.renames + self.duplicates

    def line(self) -> str:
        """The row of the table."""
        reasons = [
            text.format(count=count)
            for text, count in ((LABELS, self.labels), (RENAMES, self.renames), (DUPLICATES, self.duplicates))
            if count
        ]
        return f"| {self.test} | {self.version} | {self.theirs} | {self.ours} | {'; '.join(reasons)} |"


@pytest.fixture(scope="session")
def rows(shared, document, new_memory):
    """Every version of every test."""
    folder = shared / "data" / "oracle_datahub_timeline"
    found = []
    for test in document(folder / "EXPECTED.json")["tests"]:
        memory = new_memory()
        wanted = {aspect for category in test["categories"] for aspect in ASPECTS_OF[category]}
        for number, (name, truth) in enumerate(zip(test["files"], test["expected"], strict=True)):
            (path,) = (file for file in folder.iterdir() if file.name.endswith(name))
            body = document(path)
            records = body if isinstance(body, list) else [_record(test, body)]
            run = memory.remember(records, at=f"2026-01-0{number + 1}")
            episodes = [one for one in memory.episodes(run.run) if one.aspect in wanted]
            found.append(_row(test, truth, episodes, body))
    return found


def _record(test, body):
    return {
        "entityType": "dataset",
        "entityUrn": test["dataset"],
        "changeType": "UPSERT",
        "aspectName": test["aspect"],
        "aspect": {"json": body},
    }


def _row(test, truth, episodes, body) -> Row:
    edits = sum(len(ASPECTS[one.aspect].difference(one.before, one.value)) for one in episodes)
    columns = [one for one in episodes if one.aspect == "column"]
    come = {one.key: one.value for one in columns if one.before is None}
    gone = {one.key: one.before for one in columns if one.value is None}
    labels = 0
    if "DOCUMENTATION" in test["categories"] and "TAG" in test["categories"]:
        labels = sum(
            bool(value.get("description")) + len(value.get("tags", [])) for value in (*come.values(), *gone.values())
        )
    elements = Counter(one["url"] for one in body.get("elements", [])) if isinstance(body, dict) else Counter()
    return Row(
        test["test"],
        truth["version"],
        truth["changeEvents"],
        edits,
        labels,
        len(renamed_columns(gone, come)),
        sum(count - 1 for count in elements.values()),
    )


def test_every_difference_to_datahubs_own_count_is_accounted_for(rows):
    assert len(rows) == 18
    assert [(row.test, row.version, row.accounted) for row in rows] == [
        (row.test, row.version, row.theirs) for row in rows
    ]


def test_the_document_shows_what_is_counted(rows):
    text = HEAD + "".join(f"{row.line()}\n" for row in rows)
    if os.environ.get("PALIMPSEST_WRITE_DOCS"):
        DOCUMENT.write_text(text, encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == text
