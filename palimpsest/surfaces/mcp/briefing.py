"""The tool `brief`: what to know of entities before they are touched, or what changed since the last session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import orjson

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.brief import BYTES_PER_TOKEN, FRAME
from palimpsest.queries import brief as briefs
from palimpsest.queries import session as sessions
from palimpsest.queries.brief import BriefView, StatementView
from palimpsest.queries.session import SessionRequest, SessionView
from palimpsest.surfaces.mcp.answer import Answer, told
from palimpsest.surfaces.mcp.arguments import Arguments, CallError
from palimpsest.surfaces.mcp.finding import entity_of
from palimpsest.surfaces.mcp.memory import Caller, Memory

MOST_ENTITIES = 20
LEAST_BUDGET, MOST_BUDGET = 50, 8_000
_REST = 'history(entity="{urn}")'
_CHANGES = 'changes(since="{since}")'

View = TypeVar("View", BriefView, SessionView)


def brief(memory: Memory, caller: Caller, given: Arguments) -> Answer:
    """What to know before touching entities; with `session`, what changed since this agent's last one."""
    texts = given.texts("entities", most=MOST_ENTITIES)
    room = min(max(memory.budget, LEAST_BUDGET), MOST_BUDGET)
    budget = given.number("budget", default=room, least=LEAST_BUDGET, most=MOST_BUDGET)
    is_session = given.flag("session")
    if not texts and not is_session:
        raise CallError("entities", "no entity is named", 'write entities=["URN"], or session=true')
    urns = tuple(entity_of(memory, text, parameter="entities").urn for text in texts)
    when = memory.when()
    if is_session:
        request = SessionRequest(agent=caller.agent, session=caller.session, texts=urns)
        news = sessions.news(memory.store, request, when)
        return _session_answer(*_fitted(lambda size: sessions.packed(news, size, more=_CHANGES), _session_data, budget))
    everything = briefs.gathered(memory.store, urns, when)
    view, data = _fitted(lambda size: briefs.packed(everything, size, more=_REST), _brief_data, budget)
    return Answer(text=view.text, data=data, urns=view.urns, versions=view.versions)


def _session_answer(view: SessionView, data: dict[str, Json]) -> Answer:
    return Answer(text=view.text, data=data, urns=view.urns, versions=view.versions)


def _fitted(
    pack: Callable[[int], View], shape: Callable[[View], dict[str, Json]], budget: int
) -> tuple[View, dict[str, Json]]:
    """What fits in both forms: packed for a smaller text while the data is larger than the budget."""
    room = budget
    while True:
        view = pack(room)
        data = shape(view)
        size = -(-len(orjson.dumps(data)) // BYTES_PER_TOKEN)
        if size <= budget:
            return view, data
        if room <= 1:
            raise CallError("budget", f"{budget} tokens are too few for this", f"give {size + LEAST_BUDGET} or more")
        room = max(1, min(room - 1, room * budget // size - 2))


def _brief_data(view: BriefView) -> dict[str, Json]:
    entities: list[Json] = [
        {
            "urn": one.urn,
            "confirmed": told(one.confirmed),
            "statements": [_statement(said) for said in one.statements],
            "left_out": one.left_out,
        }
        for one in view.entities
    ]
    return {"frame": FRAME, "entities": entities, "tokens": view.tokens}


def _session_data(view: SessionView) -> dict[str, Json]:
    items: list[Json] = [{"urn": one.urn, **_statement(one.statement)} for one in view.news]
    return {
        "frame": FRAME,
        "since": told(view.since),
        "changed": view.changed,
        "items": items,
        "left_out": view.left_out,
        "tokens": view.tokens,
    }


def _statement(said: StatementView) -> dict[str, Json]:
    refs: list[Json] = list(said.refs)
    sure = round(said.confidence, 4) if said.confidence is not None else None
    return {"text": said.text.removeprefix("- "), "refs": refs, "confidence": sure}
