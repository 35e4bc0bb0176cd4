"""A job killed at any statement leaves a store that verify passes; the next run ends where an undisturbed one does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
JOBS = ["scan 1", "consolidate 1", "scan 2", "consolidate 2", "run 1", "run 2"]


def proofs(folder: Path, seed: int, points: int, database: str) -> list[dict[str, Any]]:
    """What the driver reports of each job."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.robustness.killing", str(folder), str(seed), str(points), database],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    print(done.stdout)  # noqa: T201 - the seeds and figures, for whoever looks
    return [json.loads(line) for line in done.stdout.splitlines()]


def complaints(found: list[dict[str, Any]]) -> list[str]:
    """What went wrong, with the seed that shows it."""
    return [f"seed {one['seed']}, {one['job']}, {said}" for one in found for said in one["complaints"]]


@pytest.mark.parametrize(("database", "points"), [("sqlite", 5), pytest.param("postgresql", 2, marks=pytest.mark.long)])
def test_a_job_killed_at_a_few_statements_is_completed_by_the_next_run(
    tmp_path: Path, database: str, points: int
) -> None:
    found = proofs(tmp_path, 1, points, database)
    assert complaints(found) == []
    assert [one["job"] for one in found] == JOBS


@pytest.mark.long
@pytest.mark.parametrize(
    ("database", "seed", "points", "between"),
    [("sqlite", 20260302, 70, 30), ("sqlite", 20260303, 70, 30), ("postgresql", 20260304, 25, 18)],
)
def test_a_job_killed_at_any_statement_is_completed_by_the_next_run(
    tmp_path: Path, database: str, seed: int, points: int, between: int
) -> None:
    found = proofs(tmp_path, seed, points, database)
    assert complaints(found) == []
    assert [one["job"] for one in found] == JOBS
    assert all(one["points"] == points and one["between"] >= between and one["commits"] >= 8 for one in found)
