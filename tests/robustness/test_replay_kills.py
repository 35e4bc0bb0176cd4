"""Pass mark (d) of the replay: killing the process at every checkpoint and starting again gives the same memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long
@pytest.mark.parametrize("seed", [20260820])
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_real_history_killed_at_every_checkpoint_is_remembered_as_if_undisturbed(
    tmp_path: Path, shared: Path, database: str, seed: int
) -> None:
    checkpoints = shared / "data" / "replay" / "mcp_checkpoints"
    done = subprocess.run(
        [sys.executable, "-m", "tests.robustness.replay_kills", str(tmp_path), str(checkpoints), str(seed), database],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"seed": seed, "kills": 60, "complaints": []}
