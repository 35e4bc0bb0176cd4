"""brief: what an agent should know of entities before it touches them, inside a budget of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from palimpsest.core import say
from palimpsest.core.aspects import ASPECTS, existence
from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.brief import Packed, Section, Unit, as_name, pack, plain, quoted
from palimpsest.core.entity import short_name
from palimpsest.core.ids import BeliefId, EntityId, Ids
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import Moment, spoken
from palimpsest.core.observer import NOTES
from palimpsest.queries import entities, held
from palimpsest.queries.brief_stale import stale_units
from palimpsest.queries.brief_units import (
    Ranked,
    Sureness,
    beside_units,
    current_units,
    gone_units,
    last_units,
    news_of,
    readers_of,
)
from palimpsest.queries.confidence import confidences
from palimpsest.queries.edits import Edit, edits_of
from palimpsest.queries.held import EXISTENCE, Presence, When
from palimpsest.store import answers
from palimpsest.store.answers import Named, Remembered, Seen
from palimpsest.store.engine import Connection, Store

_MOST_NUDGES = 3
_KEY = "\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementView:
    """One line of a brief, with the beliefs that it rests on; how probable it is that what is current still is true."""

    text: str
    refs: tuple[str, ...]
    confidence: float | None = None
    versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityBrief:
    """The part of a brief that is about one entity. `command` fetches what was left out.

    `confirmed`: when a reading last bore out most of what is current.
    """

    urn: str
    confirmed: datetime | None
    nudge: str
    statements: tuple[StatementView, ...]
    left_out: int
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefView:
    """A brief: the text as an agent is handed it, what it counts, and its parts."""

    text: str
    tokens: int
    budget: int
    entities: tuple[EntityBrief, ...]

    @property
    def urns(self) -> tuple[str, ...]:
        """The entities that it is about."""
        return tuple(one.urn for one in self.entities)

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that it tells, as `id:number`."""
        return tuple(version for one in self.entities for said in one.statements for version in said.versions)


class Told(NamedTuple):
    """All that could be told of one entity, before it is packed."""

    entity: Named
    nudge: str
    head: str
    ranked: tuple[Ranked, ...]
    confirmed: datetime | None


SHOW = "palimpsest show '{urn}'"  # the command that fetches what a brief left out


def brief(store: Store, texts: Sequence[str], budget: int, when: When, *, more: str = SHOW) -> BriefView:
    """The brief about the entities that `texts` name; `more` is how the rest is asked for. Raises UsageError."""
    return packed(gathered(store, texts, when), budget, more=more)


def gathered(store: Store, texts: Sequence[str], when: When) -> tuple[Told, ...]:
    """All that could be told of the entities that `texts` name. Raises UsageError."""
    ids = store.ids

    def work(connection: Connection) -> tuple[Told, ...]:
        named = list(dict.fromkeys(entities.resolve(connection, text) for text in texts))
        return told(connection, ids, named, when)

    return store.read(work)


def packed(everything: Sequence[Told], budget: int, *, more: str = SHOW) -> BriefView:
    """What fits into a budget of tokens."""
    sections = [
        Section(
            nudge=one.nudge,
            head=one.head,
            units=tuple(ranked.unit for ranked in one.ranked),
            command=more.replace("{urn}", plain(one.entity.urn)),
        )
        for one in everything
    ]
    fitted = pack(sections, budget)
    return BriefView(
        text=fitted.text, tokens=fitted.tokens, budget=budget, entities=_parts(everything, sections, fitted)
    )


def told(
    connection: Connection,
    ids: Ids,
    named: Sequence[Named],
    when: When,
    since: Mapping[EntityId, Moment] | None = None,
) -> tuple[Told, ...]:
    """All that could be told of entities. With `since`: what became known after that is told as one edit, as news."""
    versions = answers.versions_of(connection, [entity.id for entity in named])
    presence = Presence(versions, when)
    retracted = [one.belief for one in versions if when.ended(one) is not None and one.successor is None]
    endings = answers.endings_of(connection, retracted) if retracted else {}
    by_entity: dict[bytes, list[Remembered]] = {}
    for version in versions:
        by_entity.setdefault(version.entity, []).append(version)
    readers = readers_of(connection, ids, named, when)
    now = held.current(versions, when, presence)
    sure = confidences(connection, now, held.by_belief(versions), when)
    sureness = [Sureness(sure, [one for one in now if one.entity == entity.id], when) for entity in named]
    return tuple(
        _told(
            entity,
            by_entity.get(entity.id, []),
            presence,
            endings,
            readers.get(entity.id, ()),
            when,
            one,
            None if since is None else since[entity.id],
        )
        for entity, one in zip(named, sureness, strict=True)
    )


def _parts(everything: Sequence[Told], sections: Sequence[Section], fitted: Packed) -> tuple[EntityBrief, ...]:
    return tuple(
        EntityBrief(
            urn=one.entity.urn,
            confirmed=one.confirmed,
            nudge=section.nudge,
            statements=tuple(statement(unit) for unit in taken),
            left_out=left_out,
            command=section.command,
        )
        for one, section, taken, left_out in zip(everything, sections, fitted.taken, fitted.left_out, strict=True)
    )


def statement(unit: Unit) -> StatementView:
    """A unit as it is shown."""
    return StatementView(text=unit.text, refs=unit.refs, confidence=unit.confidence, versions=unit.versions)


def _told(
    entity: Named,
    versions: Sequence[Remembered],
    presence: Presence,
    endings: Mapping[tuple[BeliefId, int], Seen],
    readers: Sequence[Unit],
    when: When,
    sure: Sureness,
    since: Moment | None,
) -> Told:
    chains = held.by_belief(versions)
    now = sure.now
    edits = {belief: edits_of(chain, when) for belief, chain in chains.items()}
    if since is not None:
        edits = {belief: news_of(found, since) for belief, found in edits.items()}
    sources = {one.source for one in versions if when.knows(one)}
    beside = held.beside(versions, when, presence)
    many = len(sources - {NOTES}) > 1
    said = [*beside, *(one for one in now if one.source == NOTES)]
    fresh = {(one.belief, one.number) for one in said if since is not None and one.recorded_at > since}
    ranked = [*current_units(now, edits, chains, sure, beside, fresh, many=many)]
    ranked += beside_units(beside, fresh, {(one.aspect, one.key, one.source) for one in now})
    if presence.exists_for_any(entity.id, sources):
        ranked += gone_units(chains, edits, endings, when)
        ranked += stale_units(entity, now, edits)
        ranked += [Ranked((1, 0, 26, "", ""), unit) for unit in readers]
    else:
        ranked += last_units(versions, when)
    ranked.sort(key=lambda one: one.order)
    return Told(
        entity=entity,
        nudge=_nudge(entity, versions, edits, presence, when, None if since is None else len(fresh)),
        head=f"{plain(entity.kind)} {as_name(entity.urn)}{sure.head()}",
        ranked=tuple(ranked),
        confirmed=sure.confirmed,
    )


def _nudge(
    entity: Named,
    versions: Sequence[Remembered],
    edits: Mapping[BeliefId, Sequence[Edit]],
    presence: Presence,
    when: When,
    fresh: int | None,
) -> str:
    """The first line: what changed last, and how long ago. `fresh`: how many notes are news, None for a whole brief."""
    name = as_name(short_name(entity.urn))
    known = [one for one in versions if when.knows(one)]
    if not known:
        return f"{name}: nothing is held of it"
    if not presence.exists_for_any(entity.id, {one.source for one in known}):
        words = [said for one in known if (said := presence.said(entity.id, one.source))]
        gone = max(words, key=lambda said: said.valid_from)
        below = "; nothing below is current" if fresh is None else ""
        return f"{name}: gone, {held.since_text(gone)}{below}"
    latest = [edit for chain in edits.values() for edit in chain if edit.impact > Impact.QUIET]
    latest.sort(key=lambda edit: (-edit.at, -edit.impact, ASPECTS[edit.version.aspect].rank, edit.version.key))
    if not latest and fresh:
        return f"{name}: {say.count_of(fresh, 'note')} more"
    if not latest:
        first = min(one.founded.observed_at for one in known)
        return f"{name}: no change since it was first read on {spoken(Moment(first))}"
    lines = [f"{_edited(edit)} {say.ago(edit.at, when.moment)}" for edit in latest]
    return f"{name}: {'; '.join(lines[:_MOST_NUDGES])}" + _more(len(lines))


def _edited(edit: Edit) -> str:
    version = edit.version
    was, now = edit.before is not None, edit.after is not None
    if version.aspect == EXISTENCE:
        now = existence.exists(loads(version.value))
    if len(version.key.split()) < 2:
        return plain(say.edited(version.aspect, version.key, was=was, now=now))
    return say.edited(version.aspect, _KEY, was=was, now=now).replace(_KEY, quoted(version.key))


def _more(count: int) -> str:
    return f"; {count - _MOST_NUDGES} earlier changes" if count > _MOST_NUDGES else ""
