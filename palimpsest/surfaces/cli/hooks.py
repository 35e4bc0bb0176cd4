"""`palimpsest hooks install`: puts our hooks into the settings of an agent's client, and takes them out again."""

from __future__ import annotations

import shlex
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.core.errors import UsageError
from palimpsest.surfaces.cli import diagnostics, output
from palimpsest.surfaces.cli.groups import group

if TYPE_CHECKING:
    from palimpsest.surfaces.hooks.clients import Client
    from palimpsest.surfaces.hooks.event import Event

app = group()


class Scope(StrEnum):
    """Whose settings."""

    USER = "user"
    PROJECT = "project"


@app.callback()
def hooks() -> None:
    """Put our hooks into the settings of an agent's client."""


@app.command()
def install(
    client: Annotated[str, typer.Argument(metavar="CLIENT", help="claude-code, codex, cursor or generic.")],
    scope: Annotated[
        Scope, typer.Option(help="Whose settings: the user's, or those of the project in the current folder.")
    ] = Scope.USER,
    prompt: Annotated[
        bool, typer.Option("--prompt", help="Also answer to prompts that name an entity, each within half a second.")
    ] = False,
    stop: Annotated[bool, typer.Option("--stop", help="Also count the ends of turns; nothing is said there.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the difference, and change nothing.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take our hooks out.")] = False,
) -> None:
    """Put our hooks in, or take them out; shows the difference.

    Nothing else in the file changes, not a byte. Installing again replaces what was installed before.
    """
    from palimpsest.surfaces.hooks import installing
    from palimpsest.surfaces.hooks.clients import CLIENTS
    from palimpsest.surfaces.hooks.event import Event

    if client not in CLIENTS:
        raise UsageError(f"no client {client!r} is known", f"one of: {', '.join(CLIENTS)}")
    known = CLIENTS[client]
    wanted = [Event.SESSION_START] + ([Event.PROMPT] if prompt else []) + ([Event.STOP] if stop else [])
    for event in wanted:
        if event not in known.events:
            raise UsageError(f"{client} takes no answer to a {event}", f"leave out --{event}")
    commands = {} if remove else _commands(known, wanted, scope)
    if not known.file:
        output.emit_text(installing.written(commands) if commands else "")
        diagnostics.note("let these commands run with the event as JSON on standard input, and hand on what they print")
        return
    file = installing.settings_file(known, project=Path.cwd() if scope is Scope.PROJECT else None)
    made = installing.plan(known, file, commands)
    output.emit_text(made.difference())
    if not made.changes:
        diagnostics.note(f"nothing to change in {file}")
    elif dry_run:
        diagnostics.note("nothing was changed")
    else:
        installing.apply(made)
        diagnostics.note(f"changed: {file}" + (f"\n{known.remark}" if known.remark and not remove else ""))


def _commands(client: Client, events: list[Event], scope: Scope) -> dict[Event, str]:
    """The command for each event: by its whole path for a user; for a project so that it fails for nobody."""
    if scope is Scope.PROJECT:
        before, behind = "palimpsest", " 2>/dev/null || true"
    else:
        before, behind = _program(), ""
    return {event: f"{before} hook {event} --client {client.name}{behind}" for event in events}


def _program() -> str:
    """This program, as a shell calls it from anywhere."""
    called = Path(sys.argv[0])
    if called.stem == "palimpsest" and called.is_file():
        return shlex.quote(str(called.absolute()))
    found = shutil.which("palimpsest")
    return shlex.quote(found) if found else f"{shlex.quote(sys.executable)} -m palimpsest.surfaces.cli.app"
