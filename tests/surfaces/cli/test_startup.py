"""A command that does no work starts quickly and imports nothing heavy; `main` maps every end to an exit code."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from palimpsest.surfaces.cli.app import COMMANDS, main

HEAVY = ("alembic", "click", "orjson", "pydantic", "pydantic_settings", "rich", "sqlalchemy", "structlog")
REPORT = """
import sys
from palimpsest.surfaces.cli.app import main
code = main(sys.argv[1:])
print([name for name in {heavy} if name in sys.modules], file=sys.stderr)
sys.exit(code)
"""


def python(script: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("PALIMPSEST_")}
    env = {**inherited, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], env=env, capture_output=True, text=True, check=False
    )


IDLE = [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS), ["config", "show", "--help"]]


@pytest.mark.parametrize("arguments", IDLE, ids=" ".join)
def test_help_and_version_import_nothing_heavy(arguments: list[str]) -> None:
    done = python(REPORT.format(heavy=HEAVY), *arguments)
    assert (done.returncode, done.stderr) == (0, "[]\n")
    assert done.stdout


def test_the_help_of_the_program_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.partition("Commands:\n")[2].splitlines()] == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_of_a_command_is_the_first_line_of_its_help(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main([name, "--help"]) == 0
    assert capsys.readouterr().out.splitlines()[2].strip() == COMMANDS[name][1]


def test_without_arguments_the_help_is_shown_and_it_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert (out, "Usage: palimpsest" in err) == ("", True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["inti"], "error: no such command: inti\nhint: did you mean init?\n"),
        (["zzz"], "error: no such command: zzz\nhint: palimpsest --help lists the commands\n"),
        (["init", "-z"], "error: no such option: -z\nhint: see palimpsest init --help\n"),
        (["config"], "error: missing command\nhint: see palimpsest config --help\n"),
        (["--store"], "error: option '--store' requires an argument\nhint: see palimpsest --help\n"),
        (
            ["config", "show", "--store", "x"],
            "error: --store is a global option\nhint: it goes before the command: palimpsest --store …\n",
        ),
    ],
)
def test_a_usage_error_is_one_line_and_a_hint(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr() == ("", said)


ENDINGS = """
import sys, os, signal, time, typer
from palimpsest.core.errors import *
from palimpsest.surfaces.cli import app
from palimpsest.surfaces.cli.diagnostics import ExitCode

def end():
    {body}

sys.modules["ending"] = sys.modules["__main__"]
app.COMMANDS["end"] = ("ending:end", "End.")
sys.exit(app.main(["end"]))
"""


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ("pass", 0, ""),
        ("return ExitCode.GATE", 6, ""),
        ("raise typer.Exit(ExitCode.GATE)", 6, ""),
        ("raise CatalogError('no such file', 'look')", 3, "error: no such file\nhint: look\n"),
        ("raise LeaseHeldError('held')", 1, "error: held\n"),
        ("raise KeyboardInterrupt", 130, "error: interrupted\n"),
        ("raise typer.Abort", 130, "error: interrupted\n"),
        ("sys.exit(9)", 9, ""),
        (
            "1 / 0",
            1,
            "error: unexpected error: ZeroDivisionError: division by zero\n"
            "hint: set PALIMPSEST_DEBUG=1 to see the traceback\n",
        ),
    ],
)
def test_every_end_of_a_command_has_its_exit_code(body: str, code: int, said: str) -> None:
    done = python(ENDINGS.format(body=body))
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)


def test_debug_shows_the_traceback_of_the_unexpected() -> None:
    done = python(ENDINGS.format(body="1 / 0"), PALIMPSEST_DEBUG="1")
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback (most recent call last):\n")


def test_an_interrupt_from_outside_is_exit_130() -> None:
    assert python(ENDINGS.format(body="os.kill(os.getpid(), signal.SIGINT); time.sleep(9)")).returncode == 130


def test_version_names_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("palimpsest ")
