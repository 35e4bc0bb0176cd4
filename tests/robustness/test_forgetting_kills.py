"""`forget` or `erase`, killed at any statement, leaves a store that verify passes; doing it again completes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
JOBS = ["forget", "compact", "erase"]


def proofs(folder: Path, seed: int, points: int, database: str) -> list[dict[str, Any]]:
    """What the driver reports of each job."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.robustness.forgetting_kills", str(folder), str(seed), str(points), database],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def complaints(found: list[dict[str, Any]]) -> list[str]:
    """What went wrong, with the seed that shows it."""
    return [f"seed {one['seed']}, {one['job']}, {said}" for one in found for said in one["complaints"]]


@pytest.mark.parametrize(("database", "points"), [("sqlite", 3), pytest.param("postgresql", 1, marks=pytest.mark.long)])
def test_what_is_killed_at_a_few_statements_is_completed_by_doing_it_again(
    tmp_path: Path, database: str, points: int
) -> None:
    found = proofs(tmp_path, 1, points, database)
    assert complaints(found) == []
    assert [one["job"] for one in found] == JOBS


@pytest.mark.long
@pytest.mark.parametrize(
    ("database", "seed", "points"), [("sqlite", 20260401, 60), ("sqlite", 20260402, 60), ("postgresql", 20260403, 20)]
)
def test_what_is_killed_at_any_statement_is_completed_by_doing_it_again(
    tmp_path: Path, database: str, seed: int, points: int
) -> None:
    found = proofs(tmp_path, seed, points, database)
    assert complaints(found) == []
    assert [one["job"] for one in found] == JOBS
    assert all(one["commits"] >= 6 for one in found)
