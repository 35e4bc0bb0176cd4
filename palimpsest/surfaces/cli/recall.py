"""`palimpsest recall`: ask memory a question in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.core.errors import PalimpsestError
from palimpsest.surfaces.cli import asking, diagnostics, output
from palimpsest.surfaces.cli.asking import AsJson, AsOf, KnownAt
from palimpsest.surfaces.cli.context import Context

if TYPE_CHECKING:
    from palimpsest.config import Settings
    from palimpsest.queries.recall import Meaning, RecalledView, RecallView
    from palimpsest.store.engine import Store

_SURFACE = "cli"
_PATIENCE_S = 2.0  # how long an answer waits for a writer before it is told unrecorded


def recall(
    ctx: typer.Context,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="Words of any language.")],
    entity: Annotated[str | None, typer.Option(metavar="PART", help="Only entities with this in their URN.")] = None,
    aspect: Annotated[str | None, typer.Option(help="Only this aspect.")] = None,
    platform: Annotated[str | None, typer.Option(help="Only entities of this platform.")] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Only what has held since then or later.")] = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    include_superseded: Annotated[
        bool, typer.Option("--include-superseded", help="What is no longer held too, below what is held now.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many answers at most.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Ask a question in words, and be told what is held.

    Says how sure it is, confident or weak, or that it holds nothing. Every recall is recorded, and what answers it is
    remembered the more strongly.
    """
    from palimpsest import wiring
    from palimpsest.core.moment import parse
    from palimpsest.queries import recall as query

    cli = Context.of(ctx)
    request = query.RecallRequest(
        question=question,
        entity=entity,
        aspect=aspect,
        platform=platform,
        since=parse(since) if since else None,
        include_superseded=include_superseded,
        limit=limit,
    )
    when = asking.question(as_of, known_at)
    store = wiring.store_for_reading(cli.settings, patience=_PATIENCE_S)
    try:
        view = query.recall(store, request, when, _meaning(cli.settings, store, question))
        unrecorded = _record(store, view)
    finally:
        store.dispose()
    if as_json:
        output.emit_json("recall", {"recall": view, "unrecorded": unrecorded})
    else:
        output.emit_text(lines(view))
        if unrecorded:
            diagnostics.note(f"not recorded: {unrecorded}")


def _meaning(settings: Settings, store: Store, question: str) -> Meaning | None:
    """The question as a vector of the embedder whose vectors are searched; None where there is none to be had."""
    from palimpsest import wiring

    try:
        return wiring.meaning(settings, store, question)
    except PalimpsestError as error:
        diagnostics.warn(f"searched by words only: {error.message}")
        return None


def _record(store: Store, view: RecallView) -> str:
    """Record the recall; why it was not, where it could not be."""
    from palimpsest import wiring
    from palimpsest.core.ids import BeliefId
    from palimpsest.jobs.reinforce import Recalled, reinforce
    from palimpsest.store.runs import this_process

    recalled = Recalled(
        question=view.question,
        surface=_SURFACE,
        answer=view.answer,
        versions=[(BeliefId(bytes.fromhex(one.belief.id)), one.belief.version) for one in view.answers],
        scores=[one.score for one in view.answers],
    )
    try:
        reinforce(store, recalled, clock=wiring.clock(), holder=this_process())
    except PalimpsestError as error:
        return error.message
    return ""


def lines(view: RecallView) -> list[str]:
    """The answers as text, under each entity's URN."""
    said = {
        "confident": "confident:",
        "weak": "weak, perhaps this is meant:",
        "nothing": "nothing is held that answers this",
    }[view.answer]
    found = [said]
    urn = ""
    for one in view.answers:
        if one.belief.urn != urn:
            urn = one.belief.urn
            found.append(urn)
        found.append(_line(one))
    if view.waiting:
        found.append("not consolidated yet, so nobody has judged it:")
        found += [f"  {one.urn}  {one.statement}  seen {asking.spoken(one.observed)}" for one in view.waiting]
    return [output.neutral_line(line) for line in found]


def _line(one: RecalledView) -> str:
    belief = one.belief
    mark = "" if one.is_current and not one.until else f"  ({' '.join(filter(None, (_state(one), one.until)))})"
    why = f"has {', '.join(one.matched)}" if one.matched else ""
    if one.similarity is not None and not one.coverage:
        why = f"near in meaning, {one.similarity:.2f}"
    return f"  {belief.ref}  {belief.statement}  {asking.since(belief.since_text, belief.by)}{mark}  [{why}]"


def _state(one: RecalledView) -> str:
    return one.state if one.state != "current" or one.is_current else "not current: it is gone"
