"""`palimpsest config`: what is set, and where each value came from."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from palimpsest.surfaces.cli import output
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.groups import group

app = group()


@app.callback()
def config() -> None:
    """The settings in force."""


@app.command()
def show(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show every setting, its value, and where the value came from. Secrets are not shown."""
    from palimpsest.config import shown

    loaded = Context.of(ctx).loaded
    values = {name: shown(loaded.value(name)) for name in loaded.origins}
    if as_json:
        data = [
            {"key": name, "value": values[name], "from": origin.kind, "name": origin.name}
            for name, origin in loaded.origins.items()
        ]
        output.emit_json("config", data)
        return
    rows = [(name, _text(values[name]), str(origin)) for name, origin in loaded.origins.items()]
    output.emit_text(output.table(rows, header=("KEY", "VALUE", "FROM")))


def _text(value: object) -> str:
    match value:
        case None:
            return "-"
        case str():
            return value or '""'
        case _:
            return json.dumps(value, ensure_ascii=False)
