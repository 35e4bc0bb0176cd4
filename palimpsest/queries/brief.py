"""brief: what an agent should know of entities before it touches them, inside a budget of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from palimpsest.core import say
from palimpsest.core.aspects import ASPECTS, existence
from palimpsest.core.aspects.aspect import Impact, Json
from palimpsest.core.brief import Packed, Section, Unit, pack, plain, quoted
from palimpsest.core.entity import short_name
from palimpsest.core.ids import BeliefId, Ids, short_ref
from palimpsest.core.jsontext import dumps, loads
from palimpsest.core.moment import Moment, spoken
from palimpsest.queries import entities, held, lineage
from palimpsest.queries.edits import Edit, edits_of
from palimpsest.queries.held import EXISTENCE, Presence, When
from palimpsest.store import answers
from palimpsest.store.answers import Named, Remembered, Seen
from palimpsest.store.engine import Connection, Store

# What ended longer ago than this is told last: it is history, and no warning.
_STALE_AFTER = 90 * 86_400_000
_MOST_NUDGES = 3
_MOST_READERS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementView:
    """One line of a brief, with the beliefs that it rests on."""

    text: str
    refs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityBrief:
    """The part of a brief that is about one entity. `command` fetches what was left out."""

    urn: str
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


class _Ranked(NamedTuple):
    """A unit and where it comes: what changed first, newest first; then by rank."""

    order: tuple[int, int, int, str, str]
    unit: Unit


def brief(store: Store, texts: Sequence[str], budget: int, when: When) -> BriefView:
    """The brief about the entities that `texts` name. Raises UsageError."""
    ids = store.ids
    return store.read(lambda connection: _brief(connection, ids, texts, budget, when))


def _brief(connection: Connection, ids: Ids, texts: Sequence[str], budget: int, when: When) -> BriefView:
    named = list(dict.fromkeys(entities.resolve(connection, text) for text in texts))
    versions = answers.versions_of(connection, [entity.id for entity in named])
    presence = Presence(versions, when)
    retracted = [one.belief for one in versions if when.ended(one) is not None and one.successor is None]
    endings = answers.endings_of(connection, retracted) if retracted else {}
    by_entity: dict[bytes, list[Remembered]] = {}
    for version in versions:
        by_entity.setdefault(version.entity, []).append(version)
    readers = _readers(connection, ids, named, when)
    sections = tuple(
        _section(entity, by_entity.get(entity.id, []), presence, endings, readers.get(entity.id, ()), when)
        for entity in named
    )
    packed = pack(sections, budget)
    return BriefView(text=packed.text, tokens=packed.tokens, budget=budget, entities=_parts(named, sections, packed))


def _parts(named: Sequence[Named], sections: Sequence[Section], packed: Packed) -> tuple[EntityBrief, ...]:
    return tuple(
        EntityBrief(
            urn=entity.urn,
            nudge=section.nudge,
            statements=tuple(StatementView(text=unit.text, refs=unit.refs) for unit in taken),
            left_out=left_out,
            command=section.command,
        )
        for entity, section, taken, left_out in zip(named, sections, packed.taken, packed.left_out, strict=True)
    )


def _section(
    entity: Named,
    versions: Sequence[Remembered],
    presence: Presence,
    endings: Mapping[tuple[BeliefId, int], Seen],
    readers: Sequence[Unit],
    when: When,
) -> Section:
    """All that could be told of one entity."""
    chains = held.by_belief(versions)
    now = held.current(versions, when, presence)
    edits = {belief: edits_of(chain, when) for belief, chain in chains.items()}
    sources = {one.source for one in versions if when.knows(one)}
    ranked = [*_current_units(now, edits, chains, many=len(sources) > 1)]
    if presence.exists_for_any(entity.id, sources):
        ranked += _gone_units(chains, edits, endings, when)
        ranked += [_Ranked((1, 0, 26, "", ""), unit) for unit in readers]
    else:
        ranked += _last_units(versions, when)
    ranked.sort(key=lambda one: one.order)
    return Section(
        nudge=_nudge(entity, versions, edits, presence, when),
        head=f"{entity.kind} {plain(entity.urn)}",
        units=tuple(one.unit for one in ranked),
        command=f"palimpsest show '{plain(entity.urn)}'",
    )


# --- units ------------------------------------------------------------------------------------------------------


def _current_units(
    now: Sequence[Remembered],
    edits: Mapping[BeliefId, Sequence[Edit]],
    chains: Mapping[BeliefId, Sequence[Remembered]],
    *,
    many: bool,
) -> list[_Ranked]:
    """One unit for each slot: sources that differ about it stand in one unit, those that agree share a statement."""
    slots: dict[tuple[str, str], dict[bytes, list[Remembered]]] = {}
    for one in sorted(now, key=lambda version: version.source):
        if one.aspect == EXISTENCE and existence.exists(loads(one.value)) and len(chains[one.belief]) == 1:
            continue  # that it is there goes without saying
        form = dumps(ASPECTS[one.aspect].canonical(loads(one.value))) if many else b""
        slots.setdefault((one.aspect, one.key), {}).setdefault(form, []).append(one)
    found = []
    for (aspect, key), said in slots.items():
        parts, refs, newest = [], [], 0
        for same in said.values():
            edit = _last_edit(edits[same[0].belief], same[0])
            newest = max(newest, edit.at if edit is not None else 0)
            names = f" ({', '.join(one.source for one in same)})" if many else ""
            parts.append(_said(same[0], edit, chains[same[0].belief]) + names + "".join(_ref(one) for one in same))
            refs += [short_ref(one.belief) for one in same]
        text = "- sources differ: " + " | ".join(parts) if len(parts) > 1 else "- " + parts[0]
        order = (0 if newest else 1, -newest, ASPECTS[aspect].rank, aspect, key)
        found.append(_Ranked(order, Unit(text=text, refs=tuple(refs))))
    return found


def _last_edit(edits: Sequence[Edit], version: Remembered) -> Edit | None:
    """The last edit that is not quiet and led to a current version."""
    for edit in reversed(edits):
        if edit.after is not None and edit.after.number <= version.number and edit.impact > Impact.QUIET:
            return edit
    return None


def _said(version: Remembered, edit: Edit | None, chain: Sequence[Remembered]) -> str:
    """What is held, since when; and where it superseded something, what was, by whom it was changed, and why."""
    now = quoted(_statement(version))
    if edit is None or edit.after is None:
        return f"{now} {held.since_text(chain[0] if chain[0].successor else version)}"
    by = f" by {plain(edit.by)}" if edit.by else ""
    since = f"{held.since_text(edit.after)}{by}"
    if edit.before is None:
        return f"{now} {since}; {plain(edit.after.reason)}"
    why = plain(edit.before.ended_reason or edit.after.reason)
    return f"now {now}, was {quoted(_statement(edit.before))}; {since}; {why}"


def _gone_units(
    chains: Mapping[BeliefId, Sequence[Remembered]],
    edits: Mapping[BeliefId, Sequence[Edit]],
    endings: Mapping[tuple[BeliefId, int], Seen],
    when: When,
) -> list[_Ranked]:
    """One unit for each belief that has ended."""
    found = []
    for belief, chain in chains.items():
        last = edits[belief][-1] if edits[belief] else None
        if last is None or last.after is not None or last.before is None or last.impact is Impact.QUIET:
            continue
        seen = endings.get((belief, last.before.number))
        after = seen.after_at if seen is not None and seen.observed_at == last.at else None
        who = held.author(seen) if seen is not None else ""
        since = say.since(last.at, after) + (f" by {plain(who)}" if who else "")
        text = f"- gone: {quoted(_statement(last.before))}; {since}; {plain(last.before.ended_reason)}{_ref(chain[0])}"
        stale = when.moment - last.at > _STALE_AFTER
        order = (2 if stale else 0, -last.at, ASPECTS[chain[0].aspect].rank, chain[0].aspect, chain[0].key)
        found.append(_Ranked(order, Unit(text=text, refs=(short_ref(belief),))))
    return found


def _last_units(versions: Sequence[Remembered], when: When) -> list[_Ranked]:
    """What was held when the entity went away."""
    found = []
    for one in versions:
        if one.aspect != EXISTENCE and when.knows(one) and when.holds(one):
            text = f"- not current, last held: {quoted(_statement(one))} {held.since_text(one)}{_ref(one)}"
            order = (1, 0, ASPECTS[one.aspect].rank, one.aspect, one.key)
            found.append(_Ranked(order, Unit(text=text, refs=(short_ref(one.belief),))))
    return found


def _readers(connection: Connection, ids: Ids, named: Sequence[Named], when: When) -> dict[bytes, list[Unit]]:
    """One unit for each entity that others are made from, with the beliefs that say so."""
    below: dict[bytes, dict[bytes, BeliefId]] = {}
    for edge in lineage.edges_below(connection, ids, named, when):
        if edge.downstream != edge.upstream:
            below.setdefault(edge.upstream, {}).setdefault(edge.downstream, edge.belief)
    around = [one for readers in below.values() for one in readers]
    here = lineage.existing(connection, ids, around, when)  # type: ignore[arg-type]
    names = answers.entities_by_id(connection, sorted(here))
    found = {}
    for upstream, readers in below.items():
        known = sorted((names[one].urn, belief) for one, belief in readers.items() if one in names)  # type: ignore[index]
        if known:
            shown = known[:_MOST_READERS]
            more = f" and {len(known) - len(shown)} more" if len(known) > len(shown) else ""
            said = ", ".join(quoted(short_name(urn)) for urn, _ in shown)
            refs = tuple(short_ref(belief) for _, belief in shown)
            text = f"- read by {len(known)}: {said}{more}" + "".join(f" [{ref}]" for ref in refs)
            found[upstream] = [Unit(text=text, refs=refs)]
    return found


def _statement(version: Remembered) -> str:
    value: Json = loads(version.value)
    return say.statement(version.aspect, version.key, value)


def _ref(version: Remembered) -> str:
    return f" [{short_ref(version.belief)}]"


# --- the first line ---------------------------------------------------------------------------------------------


def _nudge(
    entity: Named,
    versions: Sequence[Remembered],
    edits: Mapping[BeliefId, Sequence[Edit]],
    presence: Presence,
    when: When,
) -> str:
    """The first line: what changed last, and how long ago."""
    name = plain(short_name(entity.urn))
    known = [one for one in versions if when.knows(one)]
    if not known:
        return f"{name}: nothing is held of it"
    if not presence.exists_for_any(entity.id, {one.source for one in known}):
        words = [said for one in known if (said := presence.said(entity.id, one.source))]
        gone = max(words, key=lambda said: said.valid_from)
        return f"{name}: gone, {held.since_text(gone)}; nothing below is current"
    latest = [edit for chain in edits.values() for edit in chain if edit.impact > Impact.QUIET]
    latest.sort(key=lambda edit: (-edit.at, -edit.impact, ASPECTS[edit.version.aspect].rank, edit.version.key))
    if not latest:
        first = min(one.founded.observed_at for one in known)
        return f"{name}: no change since it was first read on {spoken(Moment(first))}"
    lines = [f"{_edited(edit)} {say.ago(edit.at, when.moment)}" for edit in latest]
    return plain(f"{name}: {'; '.join(lines[:_MOST_NUDGES])}" + _more(len(lines)))


def _edited(edit: Edit) -> str:
    version = edit.version
    was, now = edit.before is not None, edit.after is not None
    if version.aspect == EXISTENCE:
        now = existence.exists(loads(version.value))
    return say.edited(version.aspect, version.key, was=was, now=now)


def _more(count: int) -> str:
    return f"; {count - _MOST_NUDGES} earlier changes" if count > _MOST_NUDGES else ""
