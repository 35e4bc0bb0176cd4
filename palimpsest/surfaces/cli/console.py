"""`palimpsest console`: what is remembered as pages, served on this machine or exported as files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.core.errors import ConfigError, ModelError, UsageError
from palimpsest.surfaces.cli import diagnostics
from palimpsest.surfaces.cli.asking import AsJson
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.groups import group

if TYPE_CHECKING:
    from palimpsest.config import Settings
    from palimpsest.jobs.verify import VerifyReport
    from palimpsest.queries.recall import Meaning
    from palimpsest.store.engine import Store
    from palimpsest.surfaces.console.pages import Desk

_COUNTING_MS = 30 * 60_000  # counting the rules of a large store takes its time, and hinders nobody

app = group()


@app.callback()
def console() -> None:
    """The same as pages: served, or as files."""


@app.command()
def serve(
    ctx: typer.Context,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; elsewhere than on this machine only with a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="0 is any free port.")] = 8321,
    root_path: Annotated[
        str, typer.Option(metavar="PATH", help="The path below which a proxy shows the console.")
    ] = "",
    token_env: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The environment variable with the token, in place of console.token.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[int, typer.Option(metavar="COUNT", min=1, max=64, help="How many processes answer.")] = 2,
) -> None:
    """Serve the pages until interrupted; they are only read."""
    _check_extra()
    from palimpsest import wiring
    from palimpsest.surfaces.console import app as console
    from palimpsest.surfaces.console import security, serving
    from palimpsest.surfaces.console.answering import Settled

    settings = Context.of(ctx).settings
    token = _token(settings, token_env)
    security.check_binding(host, token)
    settled = Settled(
        root=_root(root_path),
        door=security.Door(token, settings.console.public_url or ""),
        secure=(settings.console.public_url or "").startswith("https:"),
    )
    wiring.store_for_reading(settings).dispose()  # what is wrong with it is told before anybody asks
    listening = serving.listen(host, port)
    diagnostics.note(f"the console is at {serving.address(listening)}{settled.root}/ until ^C")
    serving.serve(
        lambda: console.create_app(desk_of(settings, milliseconds=console.READ_MS), settled), listening, workers
    )


@app.command()
def export(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder, or one exported into before.")],
    as_json: AsJson = False,
) -> None:
    """Write the same pages as files that open from disk and go on any static host."""
    _check_extra()
    from palimpsest.surfaces.cli import output
    from palimpsest.surfaces.console import export as job

    desk = desk_of(Context.of(ctx).settings, milliseconds=_COUNTING_MS)
    with diagnostics.progress() as progress:
        report = job.export(desk, folder, progress)
    if as_json:
        output.emit_json("console export", report)
    else:
        diagnostics.note(
            f"{report.pages:,} pages, {report.bytes / 1e6:,.1f} MB, {report.removed:,} old files removed: open "
            f"{folder / 'index.html'}"
        )


def desk_of(settings: Settings, *, milliseconds: int) -> Desk:
    """What pages are made from: a store that can only be read, each transaction for so long."""
    from palimpsest import wiring
    from palimpsest.jobs.verify import verify
    from palimpsest.ports import NoProgress
    from palimpsest.store.limits import only_read
    from palimpsest.surfaces.console.pages import Desk
    from palimpsest.surfaces.console.rules import RulesKeeper

    clock = wiring.clock()
    store = only_read(wiring.store_for_reading(settings, patience=milliseconds / 1000), milliseconds=milliseconds)

    def counted() -> VerifyReport:
        apart = only_read(wiring.store_for_reading(settings), milliseconds=_COUNTING_MS)
        try:
            return verify(apart, clock=clock, progress=NoProgress())
        finally:
            apart.dispose()

    return Desk(store=store, clock=clock, rules=RulesKeeper(counted, clock), meaning=_meaning(settings, store))


def _meaning(settings: Settings, store: Store) -> Callable[[str], Meaning | None]:
    """Questions as vectors; by words alone where the embedder cannot be used."""
    from palimpsest import wiring

    def meaning(question: str) -> Meaning | None:
        try:
            return wiring.meaning(settings, store, question)
        except (ModelError, ConfigError):
            return None

    return meaning


def _token(settings: Settings, variable: str | None) -> str:
    if variable is None:
        return settings.console.token.get_secret_value() if settings.console.token else ""
    found = os.environ.get(variable, "")
    if not found:
        raise UsageError(f"the environment variable {variable} holds no token", "set it, or leave out --token-env")
    return found


def _root(text: str) -> str:
    """A root path with a slash before it and none behind. Raises UsageError for what is no path."""
    path = "/" + text.strip("/") if text.strip("/") else ""
    if any(character in path for character in '?#\\ "<>') or "//" in path:
        raise UsageError(f"--root-path {text!r} is no path", "write it as /palimpsest")
    return path


def _check_extra() -> None:
    """Raises ConfigError where the extra is not installed."""
    from importlib.util import find_spec

    missing = [name for name in ("fastapi", "uvicorn", "jinja2", "markdown_it", "nh3") if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"the console needs more packages: {', '.join(missing)}",
            "install them: pip install 'datahub-palimpsest[console]'",
        )
