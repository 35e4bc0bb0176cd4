"""The log goes to stderr: JSON lines off a terminal, readable on one, with the run bound."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
from palimpsest import logs
log = logs.logger("run-7")
log.info("scan.started", source="file")
log.warning("record.skipped", name="caf\\u00e9 \\x1b[31m \\u202e")
"""


def run(script: str, level: str | None = None, stderr: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in ("PALIMPSEST_LOG", "NO_COLOR")}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    if level is not None:
        environment["PALIMPSEST_LOG"] = level
    command = [sys.executable, "-c", script]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True, check=False)


@pytest.mark.parametrize(
    ("level", "events"),
    [
        (None, ["record.skipped"]),
        ("INFO", ["scan.started", "record.skipped"]),
        ("error", []),
    ],
)
def test_off_a_terminal_each_event_is_one_line_of_json(level: str | None, events: list[str]) -> None:
    done = run(SCRIPT, level)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert (done.returncode, done.stdout) == (0, "")
    assert [line["event"] for line in lines] == events
    assert all(line["run_id"] == "run-7" and line["timestamp"].endswith("Z") for line in lines)


def test_on_a_terminal_values_cannot_move_the_cursor() -> None:
    ours, theirs = os.openpty()
    assert run(SCRIPT, stderr=theirs).returncode == 0
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert "record.skipped" in shown
    assert r"\x1b[31m \u202e" in shown
    assert "\x1b[31m \u202e" not in shown


def test_an_unknown_level_is_an_error_that_lists_the_levels() -> None:
    done = run(SCRIPT, "loud")
    assert "ConfigError: PALIMPSEST_LOG: no such level: loud" in done.stderr
