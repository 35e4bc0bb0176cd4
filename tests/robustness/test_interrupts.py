"""A job that is interrupted says so, exits 130, and gives its lease back; one that is ended leaves a dead holder's."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.building import Memory
from tests.robustness import catalogs
from tests.robustness.command import ROOT, palimpsest


@pytest.mark.parametrize(
    ("sent", "code", "state"), [(signal.SIGINT, 130, "failed"), (signal.SIGTERM, -signal.SIGTERM, "running")]
)
def test_an_interrupted_scan_writes_nothing_and_the_next_one_works(
    tmp_path: Path, sent: signal.Signals, code: int, state: str
) -> None:
    Memory(tmp_path).store.dispose()
    pipe = tmp_path / "endless.json"
    os.mkfifo(pipe)
    store = tmp_path / "memory.db"
    process = subprocess.Popen(
        [sys.executable, "-m", "palimpsest.surfaces.cli.app", "--store", f"sqlite:///{store}", "scan", f"file:{pipe}"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while states(store) != ["running"]:
        time.sleep(0.02)
    process.send_signal(sent)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, states(store)) == (code, "", [state])
    assert err == ("error: interrupted\n" if sent == signal.SIGINT else "")
    catalog = catalogs.write(tmp_path, "first.json", catalogs.first(3))
    assert palimpsest("scan", f"file:{catalog}", store=store, folder=tmp_path).said == (0, [])
    assert states(store) == ["done", "failed"]


def states(store: Path) -> list[str]:
    """The states of all runs."""
    db = sqlite3.connect(store)
    found = sorted(row[0] for row in db.execute("SELECT state FROM run"))
    db.close()
    return found
