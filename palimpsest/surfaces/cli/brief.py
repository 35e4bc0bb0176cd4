"""`palimpsest brief`: what an agent should know of entities before it touches them, or since its last session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.core.errors import UsageError
from palimpsest.surfaces.cli import asking, diagnostics, output
from palimpsest.surfaces.cli.asking import AsJson, AsOf, KnownAt
from palimpsest.surfaces.cli.context import Context

if TYPE_CHECKING:
    from palimpsest.queries.brief import BriefView
    from palimpsest.queries.held import When
    from palimpsest.queries.session import SessionView
    from palimpsest.store.engine import Store

_SURFACE = "cli"
_PATIENCE_S = 2.0  # how long an answer waits for a writer before it is told unrecorded


def brief(
    ctx: typer.Context,
    urn: Annotated[
        list[str] | None, typer.Argument(metavar="[URN...]", help="Entities: URNs, names, or parts of them.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(min=1, help="How many tokens it may take; the setting brief.budget if not given.")
    ] = None,
    session: Annotated[
        bool,
        typer.Option(
            "--session", help="What changed since the agent's last session, in what it works with (or URN...)."
        ),
    ] = False,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="The agent it is for: what it is handed is written down.")
    ] = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    as_json: AsJson = False,
) -> None:
    """Tell an agent what to know of entities, in a token budget.

    With --session: what changed since its last session, in the entities that were handed to it or that it noted on.
    """
    from palimpsest import wiring
    from palimpsest.queries import brief as query

    if session and (as_of or known_at):
        raise UsageError("--session is about now", "leave out --as-of and --known-at")
    if not session and not urn:
        raise UsageError("no entity is named", "palimpsest brief URN, or palimpsest brief --session --agent NAME")
    cli, when = Context.of(ctx), asking.question(as_of, known_at)
    room = budget if budget is not None else cli.settings.brief.budget
    store = wiring.store_for_reading(cli.settings, patience=_PATIENCE_S)
    try:
        if session:
            view: BriefView | SessionView = _since_last(store, agent, tuple(urn or ()), room, when)
        else:
            view = query.brief(store, urn or [], room, when)
        if agent is not None:
            _record(store, view, agent, "session" if session else "brief")
    finally:
        store.dispose()
    if as_json:
        output.emit_json("session" if session else "brief", view)
    else:
        output.emit_text(view.text)


def _since_last(store: Store, agent: str | None, texts: tuple[str, ...], room: int, when: When) -> SessionView:
    from palimpsest.jobs.deliver import agent_of
    from palimpsest.queries.session import SessionRequest, session_brief

    if agent is None:
        raise UsageError("--session needs to know whose", "name the agent: --agent NAME")
    return session_brief(store, SessionRequest(agent=agent_of(agent), texts=texts), room, when)


def _record(store: Store, view: BriefView | SessionView, agent: str, kind: str) -> None:
    """Write down what the agent is handed; a store that cannot be written is no reason not to answer."""
    from palimpsest import wiring
    from palimpsest.jobs.deliver import Delivery, deliver
    from palimpsest.store.runs import this_process

    delivery = Delivery(
        agent=agent, surface=_SURFACE, kind=kind, urns=view.urns, versions=view.versions, tokens=view.tokens
    )
    why = deliver(store, delivery, clock=wiring.clock(), holder=this_process())
    if why:
        diagnostics.note(f"not recorded: {why}")
