"""Owns stderr and the exit codes: errors, warnings, notes and progress. Data goes to stdout, by output.py.

Styled only on a terminal that wants it (NO_COLOR, TERM=dumb); rich is imported only there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING

from palimpsest.core.errors import CatalogError, ModelError, PalimpsestError, StoreError, UsageError
from palimpsest.surfaces.cli.output import neutral, neutral_line

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from palimpsest.ports import Progress

_REFRESH_SECONDS = 0.1


class ExitCode(IntEnum):
    """What a command tells its caller."""

    OK = 0
    FAILED = 1  # ran, but something failed, stopped before writing, or broke a rule
    USAGE = 2
    CATALOG = 3
    STORE = 4
    MODEL = 5
    GATE = 6  # a --fail-on gate tripped
    INTERRUPTED = 130


class _Talk:
    """How talkative this process is. Set once, by the command line."""

    quiet = False


def be_quiet(quiet: bool) -> None:
    """Whether notes and progress are silent from now on."""
    _Talk.quiet = quiet


def exit_code_of(error: BaseException) -> ExitCode:
    """The exit code that stands for an error."""
    match error:
        case UsageError():
            return ExitCode.USAGE
        case CatalogError():
            return ExitCode.CATALOG
        case StoreError():
            return ExitCode.STORE
        case ModelError():
            return ExitCode.MODEL
        case KeyboardInterrupt():
            return ExitCode.INTERRUPTED
        case _:
            return ExitCode.FAILED


def error(err: BaseException) -> None:
    """Say what went wrong in one line, and in another what to do. The traceback only under PALIMPSEST_DEBUG=1."""
    if os.environ.get("PALIMPSEST_DEBUG", "") not in ("", "0"):
        import traceback

        _write(neutral("".join(traceback.format_exception(err))))
    match err:
        case PalimpsestError():
            _say("error", "bold red", err.message)
            hint = err.hint
        case KeyboardInterrupt():
            _say("error", "bold red", "interrupted")
            hint = ""
        case _:
            _say("error", "bold red", f"unexpected error: {type(err).__name__}: {err}")
            hint = "set PALIMPSEST_DEBUG=1 to see the traceback"
    if hint:
        _say("hint", "bold", hint)


def warn(text: str) -> None:
    """Say, in one line, what may be wrong; under --quiet too."""
    _say("warning", "bold yellow", text)


def note(text: str) -> None:
    """Say what is going on; silent under --quiet. May have several lines."""
    if not _Talk.quiet:
        _write(neutral(text.rstrip("\n")) + "\n")


@contextmanager
def progress() -> Iterator[Progress]:
    """A progress to hand to a job: a bar while the block lasts, on a terminal that is not quiet; else silent."""
    if _Talk.quiet or not _is_terminal() or os.environ.get("TERM") == "dumb":
        from palimpsest.ports import NoProgress

        yield NoProgress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # stdout is data: only stderr may pass through the display.
    with RichProgress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as display:
        yield TerminalProgress(display)


class TerminalProgress:
    """Progress as one bar. Steps are handed to the display at most every tenth of a second: `advance` is cheap."""

    def __init__(self, display: RichProgress) -> None:
        self._display = display
        self._task: TaskID | None = None
        self._pending = 0
        self._shown_at = 0.0

    def start(self, what: str, total: int | None = None) -> None:
        """Shows the new stretch in place of the one before."""
        self.done()
        self._task = self._display.add_task(neutral_line(what), total=total)

    def advance(self, count: int = 1) -> None:
        """Moves the bar."""
        self._pending += count
        now = self._display.get_time()
        if now - self._shown_at >= _REFRESH_SECONDS:
            self._shown_at = now
            self._show()

    def done(self) -> None:
        """Takes the bar away."""
        if self._task is not None:
            self._show()
            self._display.refresh()
            self._display.remove_task(self._task)
            self._task = None

    def _show(self) -> None:
        if self._task is not None:
            self._display.advance(self._task, self._pending)
        self._pending = 0


def _say(label: str, style: str, text: str) -> None:
    line = neutral_line(text.replace("\n", " "))
    if not _is_terminal():
        _write(f"{label}: {line}\n")
        return
    from rich.console import Console
    from rich.text import Text

    styled = Text.assemble((f"{label}:", style), " ", line)
    Console(stderr=True, highlight=False).print(styled, soft_wrap=True)


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _write(text: str) -> None:
    if sys.stderr is None:  # closed by the caller
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:  # nobody can be told that nobody can be told
        pass
