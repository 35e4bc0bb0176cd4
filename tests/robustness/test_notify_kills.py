"""`notify`, killed at any step, loses no message, and repeats one at the most."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def proof(folder: Path, seed: int, points: int, database: str) -> dict[str, Any]:
    """What the driver reports."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.robustness.notify_kills", str(folder), str(seed), str(points), database],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_notify_that_is_killed_at_a_few_steps_loses_nothing(tmp_path: Path) -> None:
    found = proof(tmp_path, 1, 4, "sqlite")
    assert (found["complaints"], found["messages"]) == ([], 3)


@pytest.mark.long
@pytest.mark.parametrize(("database", "seed"), [("sqlite", 20260801), ("postgresql", 20260802)])
def test_a_notify_that_is_killed_at_any_step_loses_nothing_and_repeats_one_message_at_most(
    tmp_path: Path, database: str, seed: int
) -> None:
    found = proof(tmp_path, seed, 1_000, database)
    assert (found["complaints"], found["messages"]) == ([], 3)
    assert found["repeated"] >= found["messages"]  # the steps between taking and writing down were among them
