"""The tools that read: recall, changes, history, why, entities, status. Each is a thin layer over a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from palimpsest.core import say
from palimpsest.core.aspects import ASPECTS
from palimpsest.core.aspects.aspect import Impact, Json
from palimpsest.core.brief import as_author, as_name, plain, quoted, tokens_of
from palimpsest.core.confidence import spoken as percent
from palimpsest.queries import changes as change_queries
from palimpsest.queries import history as histories
from palimpsest.queries import listing
from palimpsest.queries import recall as recalls
from palimpsest.queries import status as state
from palimpsest.queries.change_row import ChangeView
from palimpsest.queries.history import BeliefHistory, VersionView
from palimpsest.queries.listing import ListedEntity, ListingPage, UsedView
from palimpsest.queries.recall import RecalledView
from palimpsest.surfaces.mcp.answer import Answer, Item, bounded, call_of, cut, shown, told
from palimpsest.surfaces.mcp.arguments import Arguments, about
from palimpsest.surfaces.mcp.finding import entity_of
from palimpsest.surfaces.mcp.memory import Caller, Memory

IMPACTS = ("minor", "notable", "breaking")
MOST_ANSWERS = 25
MOST_LISTED = 100
_MOST_SKIPPED = 100_000
_RULES = "rules"


def recall(memory: Memory, caller: Caller, given: Arguments) -> Answer:
    """What is held that answers a question in words."""
    asked: dict[str, Json] = {
        "question": given.text("question", needed=True),
        "entity": given.text("entity"),
        "aspect": given.text("aspect"),
        "superseded": given.flag("superseded"),
    }
    skip = given.number("skip", default=0, most=MOST_ANSWERS)
    limit = given.number("limit", default=10, least=1, most=MOST_ANSWERS)
    question = str(asked["question"])
    entity = entity_of(memory, str(asked["entity"])).urn if asked["entity"] else None
    request = recalls.RecallRequest(
        question=question,
        entity=entity,
        aspect=_aspect(given) or None,
        include_superseded=bool(asked["superseded"]),
        limit=limit,
    )
    with about("question"):
        view = recalls.recall(memory.store, request, memory.when(), memory.meaning(question))
    head = {
        "confident": "confident:",
        "weak": "weak, perhaps this is meant:",
        "nothing": "nothing is held that answers this",
    }[view.answer]
    waiting = f"; {len(view.waiting)} not yet consolidated, so nobody has judged them" if view.waiting else ""
    answer = bounded(
        [head + waiting],
        [partial(_recalled, one) for one in view.answers],
        room=memory.room,
        skip=skip,
        more=lambda at: call_of("recall", asked | {"skip": at}),
        extra={"answer": view.answer, "waiting": len(view.waiting)},
    )
    return replace(answer, question=question, verdict=view.answer)


def _recalled(one: RecalledView, letters: int) -> Item:
    belief = one.belief
    state_word = "current" if one.is_current else f"not current, {one.state}" if one.state != "current" else "gone"
    sure = f", {percent(belief.confidence)}" if belief.confidence is not None and one.is_current else ""
    until = f" {one.until}" if one.until else ""
    by = f" by {as_author(belief.by)}" if belief.by else ""
    statement = cut(belief.statement, letters)
    of = as_name(belief.urn)
    line = f"- {quoted(statement)} ({state_word}{sure}) {belief.since_text}{until}{by} of {of} [{belief.ref}]"
    data: dict[str, Json] = {
        "ref": belief.ref,
        "urn": belief.urn,
        "aspect": belief.aspect,
        "key": belief.key,
        "statement": statement,
        "state": state_word,
        "since": told(belief.since),
        "confidence": round(belief.confidence, 4) if belief.confidence is not None else None,
    }
    return Item(line=line, data=data, urn=belief.urn, version=f"{belief.id}:{belief.version}", score=one.score)


def changes(memory: Memory, caller: Caller, given: Arguments) -> Answer:
    """What changed: was, now, since, by; what breaks first."""
    asked: dict[str, Json] = {
        "since": given.text("since") or "7d",
        "entity": given.text("entity"),
        "aspect": _aspect(given),
        "impact": given.choice("impact", IMPACTS, default="minor"),
    }
    skip = given.number("skip", default=0, most=_MOST_SKIPPED)
    entity = entity_of(memory, str(asked["entity"])).urn if asked["entity"] else None
    request = change_queries.ChangesRequest(
        since=str(asked["since"]),
        entity=entity,
        aspect=str(asked["aspect"]) or None,
        impact=Impact[str(asked["impact"]).upper()],
    )
    with about("since", "write 2026-01-31, 2026-01-31T08:00:00Z, 7d, 24h or last (the newest reading)"):
        view = change_queries.changes(memory.store, request, memory.when())
    if view.changes:
        head = f"{say.count_of(len(view.changes), 'change')} in {say.count_of(view.readings, 'reading')}"
    elif view.readings:
        head = f"nothing changed in {say.count_of(view.readings, 'reading')}"
    else:
        head = "nothing was read in that time"
    hidden = f"; {view.quiet} quiet ones are not shown" if view.quiet else ""
    waiting = f"; {view.pending} not yet consolidated" if view.pending else ""
    answer = bounded(
        [head + hidden + waiting],
        [partial(_change, one) for one in view.changes],
        room=memory.room,
        skip=skip,
        more=lambda at: call_of("changes", asked | {"skip": at}),
        extra={"since": told(view.since), "pending": view.pending},
    )
    return answer if entity else _about_nothing(answer)


def _about_nothing(answer: Answer) -> Answer:
    """An answer whose entities were not asked for: its reader does not work with them for that."""
    return replace(answer, urns=())


def _change(one: ChangeView, letters: int) -> Item:
    line = cut(one.line, 2 * letters)
    data: dict[str, Json] = {
        "ref": one.ref,
        "urn": one.urn,
        "aspect": one.aspect,
        "key": one.key,
        "impact": one.impact,
        "said": cut(one.said, 2 * letters),
        "since": told(one.since),
        "by": one.by,
        "downstream": one.downstream,
    }
    return Item(line=f"- {quoted(line)} ({one.impact}) [{one.ref}]", data=data, urn=one.urn, version=one.belief)


def history(memory: Memory, caller: Caller, given: Arguments) -> Answer:
    """Every version of what is held of an entity, the newest of each belief first."""
    asked: dict[str, Json] = {
        "entity": given.text("entity", needed=True),
        "aspect": _aspect(given),
        "key": given.text("key"),
    }
    skip = given.number("skip", default=0, most=_MOST_SKIPPED)
    entity = entity_of(memory, str(asked["entity"]))
    aspect, key = str(asked["aspect"]) or None, str(asked["key"]) or None
    with about("key" if key else "aspect"):
        view = histories.history(memory.store, entity.urn, aspect, key, memory.when())
    shapes = [partial(_version, belief, one) for belief in view.beliefs for one in belief.versions]
    versions, beliefs = say.count_of(len(shapes), "version"), say.count_of(len(view.beliefs), "belief")
    answer = bounded(
        [f"{entity.kind} {as_name(entity.urn)}: {versions} of {beliefs}"],
        shapes,
        room=memory.room,
        skip=skip,
        more=lambda at: call_of("history", asked | {"entity": entity.urn, "skip": at}),
        extra={"urn": entity.urn},
    )
    return replace(answer, urns=(entity.urn,))


def _version(belief: BeliefHistory, one: VersionView, letters: int) -> Item:
    statement = cut(one.statement, letters)
    state_word = _state(one)
    until = f" until {shown(one.until)}" if one.until is not None else ""
    by = f" by {as_author(one.evidence.by)}" if one.evidence.by else ""
    reason = cut(one.ended_reason or one.reason, letters)
    said = plain(reason) if one.judge == _RULES else quoted(reason)  # a model words its reasons by what it read
    line = (
        f"- {as_name(belief.what)} version {one.number} ({state_word}): {quoted(statement)} "
        f"{one.since_text}{until}{by}; {said} [{belief.ref}]"
    )
    data: dict[str, Json] = {
        "ref": belief.ref,
        "aspect": belief.aspect,
        "key": belief.key,
        "source": belief.source,
        "version": one.number,
        "state": state_word,
        "statement": statement,
        "since": told(one.since),
        "until": told(one.until),
        "by": one.evidence.by,
        "reason": reason,
    }
    return Item(line=line, data=data, urn=belief.urn, version=f"{belief.id}:{one.number}")


def _state(one: VersionView) -> str:
    return "current" if one.current else one.state if one.state != "current" else "not current"


def why(memory: Memory, caller: Caller, given: Arguments) -> Answer:
    """What a belief rests on: its versions, each with its evidence, who judged it, and why."""
    text = given.text("belief", needed=True)
    skip = given.number("skip", default=0, most=_MOST_SKIPPED)
    with about("belief", "give the 12 digits that stand in brackets, as brief, recall and history tell them"):
        view = histories.why(memory.store, text.strip().strip("[]"), memory.when())
    belief = view.belief
    sure = f", {percent(belief.confidence)} sure" if belief.confidence is not None else ""
    gone = "" if view.exists else "; the entity is gone, nothing of it is current"
    return bounded(
        [
            f"{as_name(belief.what)} of {as_name(belief.urn)}: {say.count_of(len(belief.versions), 'version')}{sure}, "
            f"by {as_name(belief.source)}{gone} [{belief.ref}]"
        ],
        [partial(_reason, belief, one) for one in belief.versions],
        room=memory.room,
        skip=skip,
        more=lambda at: call_of("why", {"belief": belief.ref, "skip": at}),
        extra={
            "ref": belief.ref,
            "urn": belief.urn,
            "confidence": round(belief.confidence, 4) if belief.confidence is not None else None,
        },
    )


def _reason(belief: BeliefHistory, one: VersionView, letters: int) -> Item:
    item = _version(belief, one, 4 * letters if one.current else letters)
    seen = one.evidence
    found = f"founded by episode {seen.episode} ({seen.kind}) of {as_name(seen.source)}, read {shown(seen.observed)}"
    judged = f"judged by {as_name(one.judge)} at {shown(one.recorded)}"
    evidence: dict[str, Json] = {
        "episode": seen.episode,
        "kind": seen.kind,
        "source": seen.source,
        "observed": told(seen.observed),
        "run": seen.run,
        "judge": one.judge,
    }
    return Item(
        line=f"{item.line}; {found}; {judged}", data=dict(item.data) | evidence, urn=item.urn, version=item.version
    )


def entities(memory: Memory, caller: Caller, given: Arguments) -> Answer:
    """The entities that are remembered, by name."""
    asked = {name: given.text(name) for name in ("search", "platform", "kind", "owner", "tag")}
    limit = given.number("limit", default=50, least=1, most=MOST_LISTED)
    now = memory.when().now
    wanted = listing.Wanted(
        search=asked["search"],
        platform=asked["platform"],
        kind=asked["kind"],
        owner=asked["owner"],
        tag=asked["tag"],
        after=given.text("after"),
    )
    while True:
        with about("after", "leave it out to begin at the first"):
            view = listing.listing(memory.store, replace(wanted, page=limit), now)
        answer = _listed(view, asked, memory.room)
        if not answer.data["left_out"]:
            return answer
        limit -= int(str(answer.data["left_out"]))  # a page tells where the next one begins, so it is to fit


def _listed(view: ListingPage, asked: Mapping[str, str], room: int) -> Answer:
    more = call_of("entities", {**asked, "after": view.next}) if view.next else ""
    head = say.count_of(len(view.entities), "entity", "entities") + (", and more" if more else "")
    if not view.entities:
        head += "".join(_used(word, some) for word, some in (("platforms", view.platforms), ("kinds", view.kinds)))
    answer = bounded(
        [head], [partial(_entity, one) for one in view.entities], room=room - tokens_of(more), more=lambda at: ""
    )
    text = f"{answer.text}\nmore: {more}" if more else answer.text
    return replace(answer, text=text, data={**answer.data, "more": more}, urns=())


def _used(word: str, some: Sequence[UsedView]) -> str:
    return f"; {word}: {', '.join(as_name(one.value) for one in some[:20])}" if some else ""


def _entity(one: ListedEntity, letters: int) -> Item:
    changed = f", changed {shown(one.changed)}" if one.changed is not None else ""
    of = f" of {as_name(one.platform)}" if one.platform else ""
    gone = ", gone" if one.gone else ""
    line = f"- {quoted(cut(one.name, letters))} ({as_name(one.kind)}{of}{gone}{changed}) {as_name(one.urn)}"
    data: dict[str, Json] = {
        "urn": one.urn,
        "name": cut(one.name, letters),
        "kind": one.kind,
        "platform": one.platform,
        "gone": one.gone,
        "changed": told(one.changed),
        "revisions": one.revisions,
    }
    return Item(line=line, data=data, urn=one.urn)


def status(memory: Memory, caller: Caller, given: Arguments) -> Answer:
    """How much is remembered, what waits, and when each source was last read."""
    view = state.status(memory.store)
    rows = {name: count for name, count in view.rows.items() if name in {"entity", "episode", "version"}}
    counted = ", ".join(
        [
            say.count_of(rows.get("entity", 0), "entity", "entities"),
            say.count_of(rows.get("version", 0), "version"),
            say.count_of(rows.get("episode", 0), "episode"),
        ]
    )
    lines = [counted, f"{say.count_of(view.pending, 'episode')} not yet consolidated"]
    lines += [f"source {as_name(one.name)}: last read {shown(one.read)}" for one in view.sources[:50]]
    sources: list[Json] = [{"name": one.name, "kind": one.kind, "read": told(one.read)} for one in view.sources[:50]]
    data: dict[str, Json] = {
        "entities": rows.get("entity", 0),
        "versions": rows.get("version", 0),
        "episodes": rows.get("episode", 0),
        "pending": view.pending,
        "sources": sources,
    }
    return Answer(text="\n".join(lines), data=data)


def _aspect(given: Arguments) -> str:
    return given.choice("aspect", sorted(ASPECTS))
