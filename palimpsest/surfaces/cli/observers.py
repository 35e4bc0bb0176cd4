"""Who says something on the command line: the person at the keyboard, unless an agent or a document is named."""

from __future__ import annotations

from typing import Annotated

import typer

from palimpsest.core.errors import UsageError

By = Annotated[str | None, typer.Option("--by", metavar="NAME", help="The person who says it.", show_default="you")]
Agent = Annotated[str | None, typer.Option("--agent", metavar="NAME", help="The agent who says it.")]
Document = Annotated[str | None, typer.Option("--document", metavar="NAME", help="The document that says it.")]


def chosen(by: str | None, agent: str | None = None, document: str | None = None) -> str:
    """The observer that the options name; the user by their login name where they name none. Raises UsageError."""
    from palimpsest.core.observer import observer

    named = [
        (kind, name) for kind, name in (("person", by), ("agent", agent), ("document", document)) if name is not None
    ]
    if len(named) > 1:
        raise UsageError("two observers are named", "give one of --by, --agent and --document")
    kind, name = named[0] if named else ("person", _login())
    return observer(kind, name)


def _login() -> str:
    """The login name of whoever runs this. Raises UsageError where there is none."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError) as error:
        raise UsageError("who says it cannot be told", "name them: --by NAME") from error
