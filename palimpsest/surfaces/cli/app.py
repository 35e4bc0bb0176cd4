"""Assembles the command line: global options, the registry of commands, and `main`, which maps errors to exit codes.

Commands live one a file and are imported when they are called; nothing heavy is imported here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from palimpsest import __version__
from palimpsest.core.errors import UsageError
from palimpsest.surfaces.cli import diagnostics, output
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.diagnostics import ExitCode
from palimpsest.surfaces.cli.groups import Group, group
from palimpsest.surfaces.hooks import calling

# Name to "module:attribute" and summary, in the order of --help. The attribute is a function, or a typer app for a
# group; the summary is the first line of its docstring, repeated so that --help imports no command.
COMMANDS = {
    "init": ("palimpsest.surfaces.cli.init:init", "Write a commented palimpsest.toml into the current folder."),
    "scan": (
        "palimpsest.surfaces.cli.scan:scan",
        "Read a source, and write down only what differs.",
    ),
    "backfill": (
        "palimpsest.surfaces.cli.backfill:backfill",
        "Fill in the history that DataHub itself keeps.",
    ),
    "consolidate": (
        "palimpsest.surfaces.cli.consolidate:consolidate",
        "Turn what was written down into versioned beliefs.",
    ),
    "note": ("palimpsest.surfaces.cli.note:note", "Take down what somebody says of an entity."),
    "inbox": ("palimpsest.surfaces.cli.inbox:app", "List what is contested or proposed, and decide about it."),
    "embed": (
        "palimpsest.surfaces.cli.embed:embed",
        "Make the vectors that searching by meaning needs.",
    ),
    "run": (
        "palimpsest.surfaces.cli.run:run",
        "Scan, consolidate, verify, publish, notify.",
    ),
    "verify": (
        "palimpsest.surfaces.cli.verify:verify",
        "Count every rule on the database; exit 1 if any is broken.",
    ),
    "publish": (
        "palimpsest.surfaces.cli.publish:publish",
        "Write links to the memory's pages into DataHub.",
    ),
    "unpublish": (
        "palimpsest.surfaces.cli.unpublish:unpublish",
        "Take our links away from DataHub, and nothing else.",
    ),
    "notify": ("palimpsest.surfaces.cli.notify:notify", "Tell people what changed, by the rules of the settings."),
    "show": ("palimpsest.surfaces.cli.show:show", "Show everything that is held about one entity."),
    "brief": ("palimpsest.surfaces.cli.brief:brief", "Tell an agent what to know of entities, in a token budget."),
    "recall": ("palimpsest.surfaces.cli.recall:recall", "Ask a question in words, and be told what is held."),
    "beliefs": ("palimpsest.surfaces.cli.beliefs:beliefs", "List what is held, each with its id."),
    "history": ("palimpsest.surfaces.cli.history:history", "Show every version of what is held, with its evidence."),
    "why": ("palimpsest.surfaces.cli.why:why", "Tell why a belief is held, version by version."),
    "changes": ("palimpsest.surfaces.cli.changes:changes", "Tell what changed: was, now, since, by."),
    "digest": ("palimpsest.surfaces.cli.digest:digest", "Tell in few words what happened, or say nothing."),
    "stale": ("palimpsest.surfaces.cli.stale:stale", "List what is held and no longer fits: texts, owners, readers."),
    "impact": ("palimpsest.surfaces.cli.impact:impact", "Tell what lies downstream, by level, with owners."),
    "hook": ("palimpsest.surfaces.cli.hook:hook", "Answer an agent's client: what changed, in time or not at all."),
    "hooks": ("palimpsest.surfaces.cli.hooks:app", "Put our hooks into the settings of an agent's client."),
    "console": ("palimpsest.surfaces.cli.console:app", "The same as pages: served, or as files."),
    "noise": ("palimpsest.surfaces.cli.noise:noise", "List the cells that change most, and how to silence them."),
    "calibrate": (
        "palimpsest.surfaces.cli.calibrate:calibrate",
        "Tell how well confidence told what stayed true.",
    ),
    "runs": ("palimpsest.surfaces.cli.runs:runs", "List the runs, or tell one of them in detail."),
    "status": ("palimpsest.surfaces.cli.status:status", "Tell how much is remembered, how it grows, what waits."),
    "doctor": ("palimpsest.surfaces.cli.doctor:doctor", "Check that everything is in place."),
    "demo": ("palimpsest.surfaces.cli.demo:demo", "Show the main job on a sample catalog, in a store of its own."),
    "forget": ("palimpsest.surfaces.cli.forget:forget", "Forget what is weak, and nothing that is held rests on."),
    "erase": ("palimpsest.surfaces.cli.erase:erase", "Replace a person by a pseudonym, everywhere and from now on."),
    "task": ("palimpsest.surfaces.cli.task:app", "What is kept for one task, until it expires."),
    "dump": ("palimpsest.surfaces.cli.dump:dump", "Write all that is remembered into one file."),
    "load": ("palimpsest.surfaces.cli.load:load", "Fill an empty store with what a dump holds."),
    "mcp": ("palimpsest.surfaces.cli.mcp:app", "Serve agents by MCP: over stdio, or with --http."),
    "db": ("palimpsest.surfaces.cli.db:app", "The store's tables."),
    "config": ("palimpsest.surfaces.cli.config:app", "The settings in force."),
}

_GLOBAL_OPTIONS = ("--store", "--config", "-q", "--quiet")


class Commands(Group):
    """The commands of the registry, each imported when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the registry."""
        return list(COMMANDS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the names and summaries into a help text."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name. Raises UsageError, naming the nearest, if there is none."""
        if cmd_name not in COMMANDS:
            raise UsageError(f"no such command: {cmd_name}", _nearest_command(cmd_name))
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        found = getattr(import_module(module), attribute)
        if not isinstance(found, typer.Typer):
            function, found = found, typer.Typer(add_completion=False, rich_markup_mode=None)
            found.command(cmd_name)(function)
        command = typer.main.get_command(found)
        command.name = cmd_name
        return command


def _nearest_command(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, COMMANDS, n=1)
    return f"did you mean {close[0]}?" if close else "palimpsest --help lists the commands"


def _print_version(wanted: bool) -> None:
    if not wanted:
        return
    output.emit_text(f"palimpsest {__version__}")
    raise typer.Exit


app = group(Commands)


@app.callback(invoke_without_command=True)
def palimpsest(
    ctx: typer.Context,
    store: Annotated[
        str | None, typer.Option(metavar="URL", help="The database that holds the memory.", show_default=False)
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="PATH", help="The settings file to read.", show_default=False)
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing when all is well.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """A memory of a DataHub catalog that shows its edits."""
    diagnostics.be_quiet(quiet)
    ctx.obj = Context(config_path=config, overrides={"store": store}, quiet=quiet)
    if ctx.invoked_subcommand is None:
        diagnostics.note(ctx.get_help())
        raise typer.Exit(ExitCode.USAGE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the arguments of the process if none are given. Returns the exit code and raises nothing.

    A command ends well by returning None, and otherwise raises a PalimpsestError, or returns an ExitCode.
    """
    if calling.answered(sys.argv[1:] if arguments is None else arguments):
        return ExitCode.OK
    try:
        code = typer.main.get_command(app).main(arguments, prog_name="palimpsest", standalone_mode=False)
    except typer.TyperException as err:
        return _failed(_as_usage_error(err))
    except typer.Abort:
        return _failed(KeyboardInterrupt())
    except KeyboardInterrupt as err:
        return _failed(err)
    except Exception as err:  # noqa: BLE001  the last resort: one line for a person, whatever happened
        return _failed(err)
    if code == ExitCode.INTERRUPTED:  # typer turns ^C into this code
        return _failed(KeyboardInterrupt())
    return int(code or ExitCode.OK)


def _failed(err: BaseException) -> ExitCode:
    diagnostics.error(err)
    return diagnostics.exit_code_of(err)


def _as_usage_error(err: typer.TyperException) -> UsageError:
    """typer's own complaint (a wrong option, a missing argument) in our form: one line, and what to do."""
    context: typer.Context | None = getattr(err, "ctx", None)
    command = context.command_path if context else "palimpsest"
    option = getattr(err, "option_name", "")
    if option in _GLOBAL_OPTIONS and command != "palimpsest":
        return UsageError(f"{option} is a global option", f"it goes before the command: palimpsest {option} …")
    said = " ".join(err.format_message().split()).rstrip(".")
    return UsageError(said[:1].lower() + said[1:], f"see {command} --help")


if __name__ == "__main__":
    sys.exit(main())
