"""stderr: one line and one hint, the right exit code, and progress on terminals only."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from palimpsest.core.errors import (
    CatalogError,
    ConfigError,
    LeaseHeldError,
    MassChangeError,
    PalimpsestError,
    StoppedError,
    StoreError,
    UsageError,
)
from palimpsest.surfaces.cli import diagnostics
from palimpsest.surfaces.cli.diagnostics import ExitCode


@pytest.fixture(autouse=True)
def talkative(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("PALIMPSEST_DEBUG", raising=False)
    diagnostics.be_quiet(False)
    yield
    diagnostics.be_quiet(False)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PalimpsestError("x"), ExitCode.FAILED),
        (StoppedError("x"), ExitCode.FAILED),
        (LeaseHeldError("x"), ExitCode.FAILED),
        (MassChangeError("x"), ExitCode.FAILED),
        (UsageError("x"), ExitCode.USAGE),
        (ConfigError("x"), ExitCode.USAGE),
        (CatalogError("x"), ExitCode.CATALOG),
        (StoreError("x"), ExitCode.STORE),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED),
        (ValueError("x"), ExitCode.FAILED),
    ],
)
def test_each_class_of_error_has_its_exit_code(error: BaseException, code: ExitCode) -> None:
    assert diagnostics.exit_code_of(error) is code


def test_the_exit_codes_are_the_documented_ones() -> None:
    assert {code.name: code.value for code in ExitCode} == {
        "OK": 0, "FAILED": 1, "USAGE": 2, "CATALOG": 3, "STORE": 4, "MODEL": 5, "GATE": 6, "INTERRUPTED": 130,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StoreError("memory.db is read-only", "chmod u+w"), "error: memory.db is read-only\nhint: chmod u+w\n"),
        (StoreError("memory.db\nis \x1b[31m\u202ered"), "error: memory.db is \\x1b[31m\\u202ered\n"),
        (KeyboardInterrupt(), "error: interrupted\n"),
        (
            ValueError("two\nlines"),
            "error: unexpected error: ValueError: two lines\nhint: set PALIMPSEST_DEBUG=1 to see the traceback\n",
        ),
    ],
)
def test_an_error_is_one_line_and_a_hint(error: BaseException, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    diagnostics.be_quiet(True)
    diagnostics.error(error)
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize(("value", "shown"), [("1", True), ("0", False), ("", False)])
def test_the_traceback_is_shown_only_on_demand(
    value: str, shown: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_DEBUG", value)
    diagnostics.error(StoreError("gone"))
    assert ("StoreError: gone" in capsys.readouterr().err) is shown


def test_quiet_silences_notes_but_not_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    diagnostics.note("reading\n")
    diagnostics.be_quiet(True)
    diagnostics.note("writing")
    diagnostics.warn("3 records skipped")
    assert capsys.readouterr() == ("", "reading\nwarning: 3 records skipped\n")


def test_progress_is_silent_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with diagnostics.progress() as progress:
        progress.start("reading", 3)
        progress.advance(3)
        progress.done()
    assert capsys.readouterr() == ("", "")


PROGRESS = """
import sys
from palimpsest.surfaces.cli import diagnostics
diagnostics.be_quiet("quiet" in sys.argv)
with diagnostics.progress() as progress:
    progress.start("reading [b]x[/b] \\x1b[31m", 4)
    progress.advance(3)
    print("data")
    progress.start("writing", None)
    progress.advance(1)
    progress.done()
diagnostics.warn("[red]done[/red]")
print("rich" in sys.modules)
"""


def on_a_terminal(*arguments: str, **environment: str) -> tuple[str, str]:
    """What PROGRESS writes to stdout (a pipe) and to stderr (a terminal)."""
    ours, theirs = os.openpty()
    inherited = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    env = {**inherited, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm", **environment}
    command = [sys.executable, "-c", PROGRESS, *arguments]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=theirs, text=True, check=True)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    return done.stdout, shown


def test_progress_on_a_terminal_is_a_bar_that_goes_away_and_leaves_stdout_alone() -> None:
    out, err = on_a_terminal()
    assert out == "data\nTrue\n"
    assert "reading [b]x[/b] \\x1b[31m" in err
    assert "3/4" in err
    assert "\x1b[1;33mwarning:\x1b[0m [red]done[/red]" in err


def test_no_color_is_respected() -> None:
    _, err = on_a_terminal(NO_COLOR="1")
    assert "warning: [red]done[/red]" in err.replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert "\x1b[1;33m" not in err


@pytest.mark.parametrize(("arguments", "environment"), [(("quiet",), {}), ((), {"TERM": "dumb"})])
def test_no_progress_when_quiet_or_on_a_dumb_terminal(arguments: tuple[str], environment: dict[str, str]) -> None:
    out, err = on_a_terminal(*arguments, **environment)
    assert out.startswith("data\n")
    assert "reading" not in err
