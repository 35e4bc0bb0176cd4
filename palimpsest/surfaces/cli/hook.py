"""`palimpsest hook`: what an agent's client calls when a session starts, at a prompt, and at the end of a turn.

Here is its help, and what a person at a terminal is told. Calls are answered by palimpsest.surfaces.hooks.calling.
"""

from __future__ import annotations

from typing import Annotated

import typer

from palimpsest.core.errors import UsageError


def hook(
    event: Annotated[str, typer.Argument(metavar="EVENT", help="session-start, prompt or stop.")],
    client: Annotated[
        str, typer.Option(metavar="NAME", help="Who calls: claude-code, codex, cursor or generic.")
    ] = "generic",
    agent: Annotated[
        str, typer.Option(metavar="NAME", help="The agent that it is for; the client if not given.", show_default=False)
    ] = "",
    within: Annotated[
        str,
        typer.Option(
            metavar="SECONDS", help="How long it may take: 2 for session-start, 0.5 for the others.", show_default=False
        ),
    ] = "",
) -> None:
    """Answer an agent's client: what changed, in time or not at all.

    Reads the client's event as JSON from standard input. See palimpsest hooks install.
    """
    raise UsageError("a hook is called by an agent's client", "set it up with: palimpsest hooks install CLIENT")
