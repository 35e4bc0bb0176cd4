"""A dump and a load take no more memory for ten times the rows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.robustness.command import ROOT

pytestmark = pytest.mark.long


def peak(name: str, folder: Path, datasets: int) -> float:
    """The largest resident set of one measurement, in MB."""
    command = [sys.executable, "-m", "benchmarks.measure", name, str(folder), str(datasets)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    return float(json.loads(done.stdout)["peak_mb"])


def test_memory_is_flat(tmp_path: Path) -> None:
    found: dict[str, list[float]] = {"dump": [], "load": []}
    for datasets in (200, 2_000):
        for name in ("scan", "consolidate"):
            peak(name, tmp_path, datasets)
        for name, peaks in found.items():
            peaks.append(peak(name, tmp_path, datasets))
    for name, (small, big) in found.items():
        assert big <= 1.2 * small + 20, name
