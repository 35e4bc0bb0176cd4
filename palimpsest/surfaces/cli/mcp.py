"""`palimpsest mcp`: the server by which agents ask, and how a client is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.core.errors import ConfigError
from palimpsest.surfaces.cli import diagnostics, output
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.groups import group

if TYPE_CHECKING:
    from palimpsest.config import Settings
    from palimpsest.surfaces.mcp.memory import Memory

_PATIENCE_S = 5.0  # how long a note waits for others who write

app = group()


@app.callback(invoke_without_command=True)
def mcp(
    ctx: typer.Context,
    http: Annotated[bool, typer.Option("--http", help="Serve streamable HTTP, not this process's client.")] = False,
    host: Annotated[str, typer.Option(metavar="HOST", help="Where --http listens.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="Where --http listens; 0 is any free port.")
    ] = 8765,
) -> None:
    """Serve agents by MCP: over stdio, or with --http.

    They read what is held, take notes and keep scratchpads; no tool can write a belief. Over HTTP, clients give
    mcp.token as bearer token; without it only this machine is served.
    """
    if ctx.invoked_subcommand is not None:
        return
    try:
        from palimpsest.surfaces.mcp import serving
    except ImportError as error:
        raise ConfigError(
            f"the MCP server needs more packages: {error.name} is missing",
            "install them: pip install 'datahub-palimpsest[mcp]'",
        ) from error
    settings = Context.of(ctx).settings
    memory = _memory(settings)
    try:
        if not http:
            serving.serve_stdio(memory)
            return
        token = settings.mcp.token.get_secret_value() if settings.mcp.token else ""
        with serving.bind(host, port, token=token) as listening:
            shown = f"[{host}]" if ":" in host else host
            diagnostics.note(f"serving http://{shown}:{listening.getsockname()[1]}{serving.PATH}; Ctrl-C ends it")
            serving.serve_http(memory, listening, token=token, hosts=settings.mcp.hosts)
    finally:
        memory.close()


@app.command()
def config(
    ctx: typer.Context,
    client: Annotated[
        str, typer.Argument(metavar="CLIENT", help="claude-code, claude-desktop, cursor, codex, vscode, or generic.")
    ],
) -> None:
    """Print what a client's settings need to start the server."""
    import shlex

    from palimpsest.surfaces.mcp import clients

    named = clients.client_of(client)
    command, environment = _command(Context.of(ctx))
    output.emit_text(clients.snippet(named, command, environment))
    if named.files:
        diagnostics.note(f"for {named.title}: it goes into {' or '.join(named.files)}")
    if named.how and not environment:
        diagnostics.note(f"or: {named.how}{shlex.join(command)}")


def _command(context: Context) -> tuple[list[str], dict[str, str]]:
    """What starts the server from anywhere, and its environment: the settings file or the store are named."""
    import shutil
    import sys
    from pathlib import Path

    from palimpsest.config import OriginKind, without_password

    beside = Path(sys.executable).with_name("palimpsest")
    program = str(beside) if beside.exists() else shutil.which("palimpsest") or "palimpsest"
    loaded = context.loaded
    origin, store = loaded.origins["store"], loaded.settings.store
    if origin.kind is OriginKind.PROJECT_FILE:
        return [program, "--config", str(Path(origin.name).absolute()), "mcp"], {}
    if origin.kind in {OriginKind.FLAG, OriginKind.ENVIRONMENT}:
        if without_password(store) == store:
            return [program, "--store", store, "mcp"], {}
        diagnostics.warn("the store's password is left out: put it in place of ***, or the store into palimpsest.toml")
        return [program, "mcp"], {"PALIMPSEST_STORE": without_password(store)}
    return [program, "mcp"], {}


def _memory(settings: Settings) -> Memory:
    """The memory that the settings name; it is opened when somebody asks."""
    from palimpsest import wiring
    from palimpsest.store.runs import this_process
    from palimpsest.surfaces.mcp.memory import Memory, Opening

    return Memory(
        Opening(
            reading=lambda: wiring.store_for_reading(settings, patience=_PATIENCE_S),
            writing=lambda: wiring.store_for_reading(settings, patience=_PATIENCE_S),
            meaning=lambda store, question: wiring.meaning(settings, store, question),
            clock=wiring.clock(),
            holder=this_process(),
            budget=settings.brief.budget,
            timeout_seconds=settings.mcp.timeout_seconds,
        )
    )
