"""brief --session: what changed since an agent's last session in the entities that it works with.

It works with those that were delivered to it and those that it noted on. What it was told of each, and when, is in the
log of deliveries: each entity is compared with what was known when the agent was last handed it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from palimpsest.core import say
from palimpsest.core.brief import Section, Unit, pack, plain, quoted, tokens_of
from palimpsest.core.entity import short_name
from palimpsest.core.ids import EntityId
from palimpsest.core.moment import Moment, spoken
from palimpsest.core.moment import text as written
from palimpsest.queries import entities
from palimpsest.queries.brief import StatementView, Told, statement, told
from palimpsest.queries.held import When, moment_view
from palimpsest.store import answers, deliveries
from palimpsest.store.answers import Named
from palimpsest.store.engine import Connection, Store

MOST_ENTITIES = 50
CHANGES = "palimpsest changes --since {since}"  # the command that fetches what did not fit


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequest:
    """Whose sessions are compared: the agent (`agent:codex`), and the session that it is in, empty if it has no name.

    `texts` name the entities, where they are not to be those that it works with.
    """

    agent: str
    session: str = ""
    texts: tuple[str, ...] = ()
    most: int = MOST_ENTITIES


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsView:
    """A statement of a session's brief, and the entity that it is about."""

    urn: str
    statement: StatementView


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """A session's brief: the text as the agent is handed it, since when, and in how many entities something changed.

    `since` is None where there was no session before. `command` fetches what was left out.
    """

    text: str
    tokens: int
    budget: int
    agent: str
    since: datetime | None
    looked_at: int
    changed: int
    news: tuple[NewsView, ...]
    left_out: int
    command: str

    @property
    def urns(self) -> tuple[str, ...]:
        """The entities of which it tells something."""
        return tuple(dict.fromkeys(one.urn for one in self.news))

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that it tells, as `id:number`."""
        return tuple(version for one in self.news for version in one.statement.versions)


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """All that changed, before it is packed."""

    agent: str
    since: Moment | None
    looked_at: int
    changed: int
    nudge: str
    units: tuple[Unit, ...]


def session_brief(
    store: Store, request: SessionRequest, budget: int, when: When, *, more: str = CHANGES
) -> SessionView:
    """What changed since the agent's last session; `more` is how the rest is asked for. Raises UsageError."""
    return packed(news(store, request, when), budget, more=more)


def news(store: Store, request: SessionRequest, when: When) -> News:
    """All that changed since the agent's last session. Raises UsageError."""
    ids = store.ids

    def work(connection: Connection) -> News:
        last, seen = _seen(connection, request)
        if last is None:
            name = plain(request.agent.partition(":")[2])
            nudge = f"no earlier session of {name} is remembered: nothing to compare with"
            return News(agent=request.agent, since=None, looked_at=0, changed=0, nudge=nudge, units=())
        named = _entities(connection, request, seen)
        since = {one.id: seen.get(one.id, last) for one in named}
        everything = told(connection, ids, named, when, since)
        return _news(request.agent, last, everything, when)

    return store.read(work)


def packed(found: News, budget: int, *, more: str = CHANGES) -> SessionView:
    """What fits into a budget of tokens."""
    command = more.replace("{since}", written(found.since)) if found.since is not None else ""
    if found.units:
        head = f"{found.changed} of {say.count_of(found.looked_at, 'entity', 'entities')} that you work with"
        fitted = pack([Section(nudge=found.nudge, head=head, units=found.units, command=command)], budget)
        text, taken, left_out = fitted.text, fitted.taken[0], fitted.left_out[0]
    else:
        fitted = pack([Section(nudge=found.nudge, head="", units=(), command="")], budget)
        text, taken, left_out = fitted.text.partition("\n")[0], (), 0
    return SessionView(
        text=text,
        tokens=tokens_of(text),
        budget=budget,
        agent=found.agent,
        since=moment_view(found.since),
        looked_at=found.looked_at,
        changed=found.changed,
        news=tuple(NewsView(urn=unit.about, statement=statement(unit)) for unit in taken),
        left_out=left_out,
        command=command,
    )


def _seen(connection: Connection, request: SessionRequest) -> tuple[Moment | None, dict[EntityId, Moment]]:
    """When the agent's last session ended, and when each entity was last handed to it or noted on, newest first."""
    earlier = [
        one
        for one in deliveries.of_agent(connection, request.agent)
        if not request.session or one.session != request.session
    ]
    if not earlier:
        return None, {}
    seen: dict[EntityId, Moment] = {}
    for one in earlier:
        for entity in one.entities:
            seen.setdefault(entity, one.at)
    last = earlier[0].at
    for entity, at in deliveries.noted_on(connection, request.agent, request.most):
        seen[entity] = max(seen.get(entity, at), min(at, last))
    return last, dict(sorted(seen.items(), key=lambda one: (-one[1], one[0])))


def _entities(connection: Connection, request: SessionRequest, seen: Mapping[EntityId, Moment]) -> list[Named]:
    if request.texts:
        return list(dict.fromkeys(entities.resolve(connection, text) for text in request.texts))
    known = answers.entities_by_id(connection, list(seen)[: request.most])
    return [known[one] for one in seen if one in known]


def _news(agent: str, last: Moment, everything: Sequence[Told], when: When) -> News:
    """What changed, the weightiest first, then the newest, each with the entity that it is about."""
    alike = [short_name(one.entity.urn) for one in everything]
    found = []
    for one in everything:
        name = short_name(one.entity.urn)
        shown = quoted(name if alike.count(name) == 1 else one.entity.urn)
        for ranked in one.ranked:
            if ranked.news is not None:
                text = f"- {shown}: {ranked.unit.text.removeprefix('- ')}"
                unit = Unit(
                    text=text,
                    refs=ranked.unit.refs,
                    confidence=ranked.unit.confidence,
                    versions=ranked.unit.versions,
                    about=one.entity.urn,
                )
                found.append(((-int(ranked.news), *ranked.order[1:], one.entity.urn), unit))
    found.sort(key=lambda pair: pair[0])
    changed = [one for one in everything if any(ranked.news is not None for ranked in one.ranked)]
    ago = f"your last session ended {say.ago(last, when.moment)}, {spoken(last)}"
    if changed:
        nudge = f"{'; '.join(one.nudge for one in changed[:3])}; {ago}"
    else:
        nudge = f"nothing changed in {say.count_of(len(everything), 'entity', 'entities')} that you work with; {ago}"
    return News(
        agent=agent,
        since=last,
        looked_at=len(everything),
        changed=len(changed),
        nudge=nudge,
        units=tuple(unit for _, unit in found),
    )
