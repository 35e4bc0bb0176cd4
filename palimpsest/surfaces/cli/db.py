"""`palimpsest db`: the tables of the store, and bringing them up to date."""

from __future__ import annotations

from typing import Annotated

import typer

from palimpsest.surfaces.cli import output
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.diagnostics import ExitCode
from palimpsest.surfaces.cli.groups import group

app = group()


@app.callback()
def db() -> None:
    """The store's tables."""


@app.command()
def upgrade(ctx: typer.Context) -> None:
    """Bring the store's tables to this version."""
    from palimpsest import wiring
    from palimpsest.store import migrate
    from palimpsest.store.engine import open_store

    cli = Context.of(ctx)
    store = open_store(cli.settings.store)
    before = migrate.upgrade(store, now=wiring.clock().now())
    store.dispose()
    if not cli.quiet:
        done = len(before.pending)
        output.emit_text(
            f"{done} revisions applied, now at {before.newest}" if done else f"up to date at {before.newest}"
        )


@app.command()
def status(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> ExitCode:
    """Show which revision the store is at; exit 1 when it is behind."""
    from palimpsest.store import migrate
    from palimpsest.store.engine import open_store

    cli = Context.of(ctx)
    store = open_store(cli.settings.store, writing=False)
    found = migrate.status(store)
    store.dispose()
    if as_json:
        output.emit_json("db-status", found)
    elif not cli.quiet:
        at = found.at or "empty"
        output.emit_text(f"at {at}, newest {found.newest}, {len(found.pending)} to apply")
    return ExitCode.OK if found.is_current else ExitCode.FAILED
