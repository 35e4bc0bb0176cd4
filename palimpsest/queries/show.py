"""show: everything that is held about one entity, for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from palimpsest.core import link, say
from palimpsest.core.aspects import ASPECTS, existence
from palimpsest.core.aspects.aspect import Impact, Json
from palimpsest.core.aspects.records import fields_of
from palimpsest.core.aspects.sets import members_of
from palimpsest.core.aspects.words import label_of
from palimpsest.core.belief import State
from palimpsest.core.entity import name_of, platform_of, short_name
from palimpsest.core.ids import BeliefId, EntityId, Ids, short_ref
from palimpsest.core.jsontext import dumps, loads
from palimpsest.core.moment import to_datetime
from palimpsest.core.stale import Reader
from palimpsest.queries import entities, held, lineage, stale_facts
from palimpsest.queries.edits import edits_of
from palimpsest.queries.held import EXISTENCE, BeliefView, EntityView, Sure, When
from palimpsest.queries.held_entity import HeldEntity, held_entity
from palimpsest.queries.stale_facts import FindingView
from palimpsest.store import answers
from palimpsest.store.answers import Named, Remembered
from palimpsest.store.engine import Connection, Store

_COLUMNS = frozenset({"column", "column_edit"})
_APART = _COLUMNS | {EXISTENCE, "column_upstreams"}
_MOST_CHANGES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PresenceView:
    """What one source says of the entity's existence."""

    source: str
    exists: bool
    statement: str
    since: datetime
    since_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnView:
    """One column: what people wrote over what ingestion says; `source_text` shows through under an edit.

    `confidence` and `confirmed` are those of the least sure of what is held of it.
    """

    key: str
    type: str
    nullable: bool
    part_of_key: bool
    text: str
    source_text: str
    labels: tuple[str, ...]
    made_from: tuple[str, ...]
    source: str
    since_text: str
    revised: int
    refs: tuple[str, ...]
    confidence: float | None = None
    confirmed: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourView:
    """An entity that this one is made from, or that is made from this one."""

    urn: str
    name: str
    platform: str
    exists: bool
    known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DisagreementView:
    """One slot about which sources say different things, each said beside the other."""

    aspect: str
    key: str
    said: tuple[BeliefView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeLineView:
    """One of the last changes of the entity."""

    at: datetime
    impact: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityPage:
    """All that is shown of one entity. `last_held` is what was current when it went away, and is not current.

    `label` is what our link in the catalog says of it; empty for one that is gone. `beside` is what is contested or
    proposed: it stands beside what is current, and is not. `stale` is what its own beliefs tell to be so.
    """

    entity: EntityView
    exists: bool
    presence: tuple[PresenceView, ...]
    beliefs: tuple[BeliefView, ...]
    columns: tuple[ColumnView, ...]
    upstreams: tuple[NeighbourView, ...]
    downstreams: tuple[NeighbourView, ...]
    disagreements: tuple[DisagreementView, ...]
    changes: tuple[ChangeLineView, ...]
    last_held: tuple[BeliefView, ...]
    label: str
    beside: tuple[BeliefView, ...] = ()
    stale: tuple[FindingView, ...] = ()


def show(store: Store, text: str, when: When) -> EntityPage:
    """The page of the entity that `text` names. Raises UsageError."""
    ids = store.ids

    def work(connection: Connection) -> EntityPage:
        return page_of(connection, ids, held_entity(connection, entities.resolve(connection, text), when), when)

    return store.read(work)


def page_of(connection: Connection, ids: Ids, found: HeldEntity, when: When) -> EntityPage:
    """The page of an entity that was loaded."""
    entity, versions, chains, presence, now, sure = found

    def view(one: Remembered) -> BeliefView:
        return held.belief_view(one, entity.urn, chains[one.belief], when, sure.get(one.belief))

    known = sorted({one.source for one in versions if when.knows(one)})
    exists = presence.exists_for_any(entity.id, known)
    views = {one.belief: view(one) for one in now}
    listed = sorted((one for one in now if one.aspect not in _APART), key=_rank)
    upstreams, downstreams, readers = _neighbours(connection, ids, entity, now, when)
    count = answers.label_count(connection, entity.id) if exists else None
    return EntityPage(
        entity=entities.entity_view(entity),
        exists=exists,
        presence=tuple(
            _presence(said, chains[said.belief], when)
            for said in (presence.said(entity.id, source) for source in known)
            if said is not None
        ),
        beliefs=tuple(views[one.belief] for one in listed),
        columns=_columns(now, chains, when, sure),
        upstreams=upstreams,
        downstreams=downstreams,
        disagreements=_disagreements(now, views),
        changes=_changes(chains, when),
        last_held=() if exists else _last_held(versions, when, view),
        label=link.label_of(count.beliefs, count.revisions, count.latest) if count is not None else "",
        beside=tuple(view(one) for one in sorted(held.beside(versions, when, presence), key=_rank)),
        stale=stale_facts.of_entity(
            stale_facts.OneEntity(
                entity=entity,
                now=now,
                edits={belief: edits_of(chain, when) for belief, chain in chains.items()},
                readers=readers,
                gone=None if exists else stale_facts.last_said(presence, entity.id, known),
            )
        ),
    )


def _rank(version: Remembered) -> tuple[int, str, str, str]:
    return ASPECTS[version.aspect].rank, version.aspect, version.key, version.source


def _presence(said: Remembered, chain: Sequence[Remembered], when: When) -> PresenceView:
    value = loads(said.value)
    since = held.began(said, chain, when)
    return PresenceView(
        source=said.source,
        exists=existence.exists(value),
        statement=say.statement(EXISTENCE, "", value),
        since=to_datetime(since.valid_from),
        since_text=held.since_text(since),
    )


def _columns(
    now: Sequence[Remembered],
    chains: Mapping[BeliefId, list[Remembered]],
    when: When,
    sure: Mapping[BeliefId, Sure],
) -> tuple[ColumnView, ...]:
    """One row for each column and source; sources that say the same share one."""
    slots: dict[tuple[str, str], dict[str, Remembered]] = {}
    for one in now:
        if one.aspect in _COLUMNS or one.aspect == "column_upstreams":
            slots.setdefault((one.key, one.source), {})[one.aspect] = one
    rows: dict[ColumnView, list[ColumnView]] = {}
    for (key, source), said in sorted(slots.items()):
        if "column" in said or "column_edit" in said:
            least = min((sure[one.belief] for one in said.values()), key=lambda one: one.confidence)
            row = replace(
                _column(key, source, said, chains, when), confidence=least.confidence, confirmed=least.confirmed
            )
            alike = replace(row, source="", refs=(), since_text="", revised=0, confidence=0, confirmed=None)
            rows.setdefault(alike, []).append(row)
    return tuple(
        replace(
            max(same, key=lambda row: row.confidence or 0),
            source=", ".join(row.source for row in same),
            refs=tuple(ref for row in same for ref in row.refs),
        )
        for same in rows.values()
    )


def _column(
    key: str, source: str, said: Mapping[str, Remembered], chains: Mapping[BeliefId, list[Remembered]], when: When
) -> ColumnView:
    fields = _fields(said.get("column"))
    edit = _fields(said.get("column_edit"))
    below, over = str(fields.get("description") or ""), str(edit.get("description") or "")
    labels: dict[str, None] = {}
    for record in (fields, edit):
        for name in ("tags", "terms"):
            listed = record.get(name)
            labels.update(dict.fromkeys(label_of(one) for one in listed) if isinstance(listed, list) else {})
    sources = said.get("column_upstreams")
    members = sorted(members_of(loads(sources.value))) if sources is not None else []
    newest = max((held.began(one, chains[one.belief], when) for one in said.values()), key=lambda one: one.valid_from)
    shown = [one for name, one in said.items() if name in _COLUMNS]
    return ColumnView(
        key=key,
        type=str(fields.get("native_type") or fields.get("type") or ""),
        nullable=bool(fields.get("nullable")),
        part_of_key=bool(fields.get("part_of_key")),
        text=over or below,
        source_text=below if over and over != below else "",
        labels=tuple(labels),
        made_from=tuple(".".join([short_name(member[0]), *member[1:2]]) for member in members),
        source=source,
        since_text=held.since_text(newest),
        revised=sum(held.revisions(chains[one.belief], one.number, when) for one in shown),
        refs=tuple(short_ref(one.belief) for one in shown),
    )


def _fields(version: Remembered | None) -> dict[str, Json]:
    return fields_of(loads(version.value)) if version is not None else {}


def _neighbours(
    connection: Connection, ids: Ids, entity: Named, now: Sequence[Remembered], when: When
) -> tuple[tuple[NeighbourView, ...], tuple[NeighbourView, ...], tuple[Reader, ...]]:
    """What the entity is made from, whether it exists or not; what exists and is made from it, and by which beliefs."""
    above: dict[EntityId, str] = {}
    for one in now:
        if one.aspect == "upstreams":
            above.update((ids.entity(member[0]), member[0]) for member in members_of(loads(one.value)))
    edges = lineage.edges_below(connection, ids, [entity], when)
    below = [edge.downstream for edge in edges if edge.downstream != entity.id]
    around = list(dict.fromkeys([*above, *below]))
    here = lineage.existing(connection, ids, around, when)
    named = answers.entities_by_id(connection, around)
    upstreams = [
        NeighbourView(urn=urn, name=name_of(urn), platform=platform_of(urn), exists=one in here, known=one in named)
        for one, urn in above.items()
    ]
    downstreams = [
        NeighbourView(urn=named[one].urn, name=named[one].name, platform=named[one].platform, exists=True, known=True)
        for one in dict.fromkeys(below)
        if one in here and one in named
    ]
    readers = [
        Reader(short_name(named[edge.downstream].urn), edge.belief)
        for edge in edges
        if edge.downstream in here and edge.downstream in named and edge.downstream != entity.id
    ]
    return tuple(sorted(upstreams, key=_by_name)), tuple(sorted(downstreams, key=_by_name)), tuple(readers)


def _by_name(neighbour: NeighbourView) -> tuple[str, str]:
    return neighbour.name, neighbour.urn


def _disagreements(now: Sequence[Remembered], views: Mapping[BeliefId, BeliefView]) -> tuple[DisagreementView, ...]:
    """The slots about which sources differ, by their canonical forms."""
    slots: dict[tuple[int, str, str], list[Remembered]] = {}
    for one in sorted(now, key=_rank):
        slots.setdefault((ASPECTS[one.aspect].rank, one.aspect, one.key), []).append(one)
    found = []
    for (_, aspect, key), said in sorted(slots.items()):
        if len(said) > 1 and len({dumps(ASPECTS[aspect].canonical(loads(one.value))) for one in said}) > 1:
            found.append(DisagreementView(aspect=aspect, key=key, said=tuple(views[one.belief] for one in said)))
    return tuple(found)


def _changes(chains: Mapping[BeliefId, list[Remembered]], when: When) -> tuple[ChangeLineView, ...]:
    """The last changes that are not quiet, newest first."""
    found = [edit for chain in chains.values() for edit in edits_of(chain, when) if edit.impact > Impact.QUIET]
    found.sort(key=lambda edit: (-edit.at, -edit.impact, edit.version.aspect, edit.version.key))
    return tuple(
        ChangeLineView(
            at=to_datetime(edit.at),
            impact=edit.impact.word,
            text=say.line(
                what=f"column {edit.version.key}" if ASPECTS[edit.version.aspect].paths else edit.version.aspect,
                said=edit.said.removeprefix("column ") if ASPECTS[edit.version.aspect].paths else edit.said,
                by=edit.by,
            ),
        )
        for edit in found[:_MOST_CHANGES]
    )


def _last_held(
    versions: Sequence[Remembered], when: When, view: Callable[[Remembered], BeliefView]
) -> tuple[BeliefView, ...]:
    """What was held when the entity went away: still the last word, and not current."""
    last = [
        one
        for one in versions
        if one.aspect not in _APART and when.knows(one) and when.holds(one) and held.state_then(one) is State.CURRENT
    ]
    return tuple(view(one) for one in sorted(last, key=_rank))
