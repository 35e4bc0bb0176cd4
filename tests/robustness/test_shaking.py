"""Many workers on one PostgreSQL, killed and cut off again and again, come to what one undisturbed worker comes to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECONDS = os.environ.get("PALIMPSEST_TEST_SHAKE_SECONDS", "40")


@pytest.mark.long
def test_workers_that_are_killed_and_cut_off_come_to_what_one_comes_to(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.robustness.shaking", str(tmp_path), "20261130", SECONDS],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    print(done.stdout)  # noqa: T201 - the figures, for whoever looks
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["complaints"] == []
    assert set(found["done"]) == {"kills", "cuts", "server restarts"}  # nobody ended but by a kill
    assert (found["done"]["server restarts"], min(found["readings"].values()) > 5) == (2, True)
