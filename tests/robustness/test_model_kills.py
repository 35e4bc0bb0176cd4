"""A consolidator killed at any moment, while its model thinks too, loses and duplicates nothing (R4, R5)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def proofs(folder: Path, seed: int, points: int, database: str) -> list[dict[str, Any]]:
    """What the driver reports of both ways."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.robustness.model_kills", str(folder), str(seed), str(points), database],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    print(done.stdout)  # noqa: T201 - the seeds and figures, for whoever looks
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_consolidator_with_a_model_killed_a_few_times_is_completed_by_the_next(tmp_path: Path) -> None:
    alone, chained = proofs(tmp_path, 1, 3, "sqlite")
    assert (alone["complaints"], chained["complaints"]) == ([], [])
    assert (alone["kills"], chained["kills"]) == (3, 3)


@pytest.mark.long
@pytest.mark.parametrize(("database", "seed", "points"), [("sqlite", 20261130, 50), ("postgresql", 20261201, 12)])
def test_a_consolidator_with_a_model_killed_at_any_moment_is_completed_by_the_next(
    tmp_path: Path, database: str, seed: int, points: int
) -> None:
    alone, chained = proofs(tmp_path, seed, points, database)
    assert (alone["complaints"], chained["complaints"]) == ([], [])
    assert alone["kills"] == points
    assert chained["kills"] >= points * 3 // 4  # it may be done before
