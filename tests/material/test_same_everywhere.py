"""The same readings leave the same memory in every kind of database: the dumps are equal, line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from palimpsest.core.moment import Moment, parse
from palimpsest.testing import FixedClock
from tests import servers
from tests.jobs.dumps import dumped

DEMO = sorted((Path(__file__).resolve().parents[2] / "demo" / "catalog").glob("*.json"))
SERIES = ("bootstrap_mce", "golden_glue", "golden_dbt_enabled_with_schemas")
HISTORIES = ("replay", *SERIES, "wide_tables", "mce")
# What tells when and by whom something was recorded, and no more; ids of runs are made of it, too.
OF_RECORDING = {
    "store": {"created_at"},
    "run": {"holder", "beat_at", "started_at", "ended_at"},
    "version": {"recorded_at", "closed_at"},
    "evidence": {"recorded_at"},
}


def readings(name: str, data: Path, document: Any) -> Iterator[tuple[Path, str | Moment]]:
    """The files of a history, with the time of each."""
    match name:
        case "replay":
            folder = data / "replay" / "mcp_checkpoints"
            for step in document(folder / "CHECKPOINTS.json.gz"):
                yield folder / f"{step['file']}.gz", step["time"]
        case "wide_tables":
            for step in sorted(document(data / name / "TRUTH.json.gz"), key=lambda step: step["time"]):
                yield data / f"{step['file']}.gz", step["time"]
        case "mce":
            for number, path in enumerate(sorted((data / name).glob("*__*.json"))):
                yield path, Moment(parse("2026-10-01") + number * 60_000)
        case _:
            for step in document(data / "series" / name / "versions.json.gz"):
                yield data / "series" / name / f"{step['file']}.gz", step["time"]


def masked(lines: list[bytes]) -> list[list[Any]]:
    """The rows of a dump without what tells times of recording; a run goes by its number instead of its id."""
    columns = {table["name"]: table["columns"] for table in json.loads(lines[0])["tables"]}
    rows = [dict(zip(columns[name], row, strict=True)) | {"": name} for name, *row in map(json.loads, lines[1:-1])]
    started = sorted((row["started_at"], row["id"]) for row in rows if row[""] == "run")
    numbers = {run: number for number, (_, run) in enumerate(started)}
    for row in rows:
        for column in OF_RECORDING.get(row[""], ()):
            row[column] = row[column] is not None
        run = "id" if row[""] == "run" else "run_id"
        if run in row:
            row[run] = numbers[row[run]]
    return sorted((list(row.values()) for row in rows), key=repr)


@pytest.mark.parametrize("kind", servers.SERVERS)
def test_the_demo_catalog_leaves_the_same_dump_on_every_database(kind, new_memory_in):
    dumps = []
    for memory in (new_memory_in("sqlite"), new_memory_in(kind)):
        for file in DEMO:
            memory.remember(file, at=f"{file.name[:10]}T08:00:00Z", complete=True)
        dumps.append(dumped(memory.store))
    assert dumps[0] == dumps[1]
    assert len(dumps[0]) > 200


def test_another_time_and_another_machine_change_times_of_recording_and_ids_of_runs_and_no_more(new_memory_in):
    here, there = new_memory_in("sqlite"), new_memory_in("postgresql")
    there.clock, there.holder = FixedClock(parse("2031-05-05"), step=977), "another machine"
    for memory in (here, there):
        for file in DEMO:
            memory.remember(file, at=f"{file.name[:10]}T08:00:00Z", complete=True)
    assert dumped(here.store) != dumped(there.store)
    assert masked(dumped(here.store)) == masked(dumped(there.store))


@pytest.mark.long
@pytest.mark.needs_shared("reads genuine metadata files through their history")
@pytest.mark.parametrize("name", HISTORIES)
def test_a_real_history_leaves_the_same_dump_on_postgresql(name, shared, document, new_memory_in):
    here, there = new_memory_in("sqlite"), new_memory_in("postgresql")
    for path, at in readings(name, shared / "data", document):
        reports = [memory.remember(path, at=at) for memory in (here, there)]
        assert reports[0] == reports[1], path.name
    lines = dumped(here.store)
    assert lines == dumped(there.store)
    assert len(lines) > 1_000
    assert (here.broken(), there.broken()) == ([], [])
