"""Erasing a person as rows: the names that are not to be held, where one still stands, and what takes its place.

Stretch by stretch of entities, each in one transaction: values, and the digests that they are compared by; cells whose
key, observer or entity names the person under new ids, with all that rests on them. What is done is not found again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa

from palimpsest.core.aspects import ASPECTS
from palimpsest.core.ids import Digest, EntityId, Ids
from palimpsest.core.jsontext import dumps, loads
from palimpsest.core.moment import Moment
from palimpsest.core.pseudonym import Pseudonyms, folded
from palimpsest.store import working
from palimpsest.store.bulk import Row, execute_many
from palimpsest.store.readings import LAST_REST
from palimpsest.store.renaming import Renamed, RenamedEntity, rename
from palimpsest.store.schema import (
    cell,
    choice,
    delivery,
    entity,
    episode,
    erased,
    evidence,
    label,
    passage,
    recall_log,
    run,
    version,
)

ENTITIES_AT_ONCE = 500
_RUN_OF_LETTERS = re.compile(r"[a-z0-9]+")


def pseudonyms(connection: sa.Connection, ids: Ids) -> Pseudonyms:
    """What stands for everybody who was erased."""
    rows = connection.execute(sa.select(erased.c.digest, erased.c.pseudonym))
    return Pseudonyms({bytes(row[0]): row[1] for row in rows}, ids.person)


def stand_in(connection: sa.Connection, ids: Ids, name: str, pseudonym: str, now: Moment) -> str:
    """Let a pseudonym stand for a name from now on; the one that does so already, if there is one."""
    digest = ids.person(folded(name))
    there = connection.scalar(sa.select(erased.c.pseudonym).where(erased.c.digest == digest))
    if there is None:
        connection.execute(sa.insert(erased), {"digest": digest, "pseudonym": pseudonym, "erased_at": now})
    return there or pseudonym


def is_pseudonym(connection: sa.Connection, name: str) -> bool:
    """Whether a name stands for somebody who was erased."""
    return connection.scalar(sa.select(erased.c.erased_at).where(erased.c.pseudonym == name)) is not None


class Finder:
    """Narrows statements to rows that can have a name in them. `name` is as it was given."""

    def __init__(self, name: str) -> None:
        letters = max(_RUN_OF_LETTERS.findall(folded(name)), key=len, default="")
        self._letters = letters
        self._spellings = sorted({name, name.lower(), name.upper(), name.title(), folded(name)})

    def has(self, *columns: sa.ColumnElement[str | None]) -> sa.ColumnElement[bool]:
        """Whether one of the columns can have it. More than have it; none too few."""
        if self._letters:
            return sa.or_(*(sa.func.lower(one).contains(self._letters, autoescape=True) for one in columns))
        return sa.or_(*(one.contains(spelt, autoescape=True) for one in columns for spelt in self._spellings))


@dataclass(slots=True)
class Plan:
    """What is to be written about a stretch of entities. `counts`: by place, how often a name stands there."""

    counts: Counter[str] = field(default_factory=Counter)
    entities: set[EntityId] = field(default_factory=set)
    episodes: list[Row] = field(default_factory=list)
    digests: list[Row] = field(default_factory=list)
    versions: list[Row] = field(default_factory=list)
    evidence: list[Row] = field(default_factory=list)
    choices: list[Row] = field(default_factory=list)
    cells: list[Renamed] = field(default_factory=list)
    named: list[RenamedEntity] = field(default_factory=list)
    passages: list[int] = field(default_factory=list)


def stretch(connection: sa.Connection, after: EntityId) -> tuple[EntityId, bytes] | None:
    """The first entity after one, and the last id of anything of the ENTITIES_AT_ONCE that begin there."""
    some = sa.select(entity.c.id).where(entity.c.id > after).order_by(entity.c.id).limit(ENTITIES_AT_ONCE)
    found = list(connection.scalars(some))
    return (EntityId(found[0]), bytes(found[-1])[:8] + LAST_REST) if found else None


def plan(connection: sa.Connection, ids: Ids, names: Pseudonyms, finder: Finder, first: EntityId, last: bytes) -> Plan:
    """What of a stretch of entities names one of the persons, and what is to stand there."""
    made = Plan()
    _plan_episodes(connection, ids, names, finder, made, (first, last))
    _plan_judges(connection, names, finder, made, (first, last))
    _plan_cells(connection, names, finder, made, (first, last))
    rows = connection.execute(
        sa.select(passage.c.id, passage.c.entity_id, passage.c.text).where(
            passage.c.entity_id.between(first, last), finder.has(passage.c.text)
        )
    )
    for number, owner, text in rows:
        if names.text(text) != text:
            made.passages.append(number)
            made.entities.add(EntityId(owner))
    made.counts["passages"] = len(made.passages)
    return made


def _plan_episodes(
    connection: sa.Connection, ids: Ids, names: Pseudonyms, finder: Finder, made: Plan, within: tuple[EntityId, bytes]
) -> None:
    rows = connection.execute(
        sa.select(
            episode.c.cell_id, episode.c.number, episode.c.value, episode.c.actor, episode.c.catalog_run,
            cell.c.entity_id, cell.c.aspect, cell.c.last, cell.c.digest,
        )
        .join(cell, cell.c.id == episode.c.cell_id)
        .where(
            episode.c.cell_id.between(*within),
            finder.has(episode.c.value, episode.c.actor, episode.c.catalog_run),
        )
    )  # fmt: skip
    for row in rows:
        value = mapped_value(names, row.aspect, row.value)
        actor = names.whole(row.actor) if row.actor is not None else None
        catalog_run = names.text(row.catalog_run) if row.catalog_run is not None else None
        made.counts["values"] += value != row.value
        made.counts["actors"] += (actor, catalog_run) != (row.actor, row.catalog_run)
        if (value, actor, catalog_run) == (row.value, row.actor, row.catalog_run):
            continue
        made.entities.add(EntityId(row.entity_id))
        made.episodes.append((value, actor, catalog_run, row.cell_id, row.number))
        if row.number == row.last and value is not None and row.value is not None and value != row.value:
            digest = _digest_after(ids, row.aspect, row.value, value, Digest(bytes(row.digest)))
            made.digests.append((digest, row.cell_id))


def mapped_value(names: Pseudonyms, aspect: str, value: str | None) -> str | None:
    """The JSON text of a value, names in it replaced; the same text where there are none."""
    if value is None:
        return None
    read = loads(value)
    replaced = names.value(aspect, read)
    return value if replaced == read else dumps(replaced).decode()


def _digest_after(ids: Ids, aspect: str, before: str, after: str, digest: Digest) -> Digest:
    """The digest of a cell whose value was replaced, made as the one before: of the canonical form, or of the text."""
    if digest == ids.digest(before.encode()):
        return ids.digest(after.encode())
    canonical = ASPECTS[aspect].canonical
    if digest == ids.digest(dumps(canonical(loads(before)))):
        return ids.digest(dumps(canonical(loads(after))))
    return digest


def _plan_judges(
    connection: sa.Connection, names: Pseudonyms, finder: Finder, made: Plan, within: tuple[EntityId, bytes]
) -> None:
    texts = (version.c.reason, version.c.ended_reason, version.c.judge)
    rows = connection.execute(
        sa.select(version.c.belief_id, version.c.number, *texts).where(
            version.c.belief_id.between(*within), finder.has(*texts)
        )
    )
    for belief, number, reason, ended, judge in rows:
        new = (names.text(reason), names.text(ended) if ended is not None else None, names.observer(judge))
        if new != (reason, ended, judge):
            made.versions.append((*new, belief, number))
    for table, listed in ((evidence, made.evidence), (choice, made.choices)):
        found = connection.execute(
            sa.select(table.c.cell_id, table.c.episode, table.c.judge).where(
                table.c.cell_id.between(*within), finder.has(table.c.judge)
            )
        )
        for where, number, judge in found:
            if names.observer(judge) != judge:
                listed.append((names.observer(judge), where, number))
    made.counts["reasons and judges"] = len(made.versions) + len(made.evidence) + len(made.choices)


def _plan_cells(
    connection: sa.Connection, names: Pseudonyms, finder: Finder, made: Plan, within: tuple[EntityId, bytes]
) -> None:
    """The entities that are the person, and the cells that are to have other ids: with such an entity, all of its."""
    chosen = sa.select(entity).where(entity.c.id.between(*within), finder.has(entity.c.urn))
    for row in connection.execute(chosen).mappings():
        urn = names.urn(row["urn"])
        if urn != row["urn"]:
            made.named.append(RenamedEntity(dict(row), urn, names.whole(row["name"])))
    persons = {bytes(one.row["id"]) for one in made.named}
    rows = connection.execute(
        sa.select(cell).where(
            cell.c.id.between(*within),
            sa.or_(finder.has(cell.c.observer, cell.c.key), cell.c.entity_id.in_(sorted(persons))),
        )
    ).mappings()
    for row in rows:
        observer, key = names.observer(row["observer"]), names.key(row["aspect"], row["key"])
        owner = bytes(row["entity_id"])
        if owner in persons or (observer, key) != (row["observer"], row["key"]):
            made.cells.append(Renamed(dict(row), observer, key))
            made.entities.add(EntityId(owner))
            made.counts["observers"] += observer != row["observer"]
            made.counts["keys"] += key != row["key"]
    made.counts["entities"] = len(made.named)


# --- writing ----------------------------------------------------------------------------------------------------

_EPISODE = (
    sa.update(episode)
    .where(episode.c.cell_id == sa.bindparam("of_cell"), episode.c.number == sa.bindparam("of_number"))
    .values(
        value=sa.bindparam("new_value"), actor=sa.bindparam("new_actor"), catalog_run=sa.bindparam("new_catalog_run")
    )
)
_DIGEST = sa.update(cell).where(cell.c.id == sa.bindparam("of_cell")).values(digest=sa.bindparam("new_digest"))
_VERSION = (
    sa.update(version)
    .where(version.c.belief_id == sa.bindparam("of_belief"), version.c.number == sa.bindparam("of_number"))
    .values(reason=sa.bindparam("new_reason"), ended_reason=sa.bindparam("new_ended"), judge=sa.bindparam("new_judge"))
)


def write(connection: sa.Connection, ids: Ids, made: Plan) -> None:
    """Write a plan. What is searched of the entities is stale from then on."""
    execute_many(
        connection, _EPISODE, ("new_value", "new_actor", "new_catalog_run", "of_cell", "of_number"), made.episodes
    )
    execute_many(connection, _DIGEST, ("new_digest", "of_cell"), made.digests)
    execute_many(
        connection, _VERSION, ("new_reason", "new_ended", "new_judge", "of_belief", "of_number"), made.versions
    )
    for table, rows in ((evidence, made.evidence), (choice, made.choices)):
        chosen = (table.c.cell_id == sa.bindparam("of_cell")) & (table.c.episode == sa.bindparam("of_number"))
        judged = sa.update(table).where(chosen).values(judge=sa.bindparam("new_judge"))
        execute_many(connection, judged, ("new_judge", "of_cell", "of_number"), rows)
    entities = sorted(made.entities)
    for start in range(0, len(entities), ENTITIES_AT_ONCE):
        some = entities[start : start + ENTITIES_AT_ONCE]
        connection.execute(sa.update(entity).where(entity.c.id.in_(some)).values(indexed_at=None))
        connection.execute(sa.delete(label).where(label.c.entity_id.in_(some)))
    for start in range(0, len(made.passages), ENTITIES_AT_ONCE):
        gone = made.passages[start : start + ENTITIES_AT_ONCE]
        connection.execute(sa.delete(passage).where(passage.c.id.in_(gone)))
    rename(connection, ids, made.cells, made.named)


def held_by(connection: sa.Connection, entities: Iterable[EntityId], now: Moment) -> str | None:
    """Who is at work on one of the entities; None where nobody is."""
    listed = sorted(entities)
    return connection.scalar(
        sa.select(entity.c.holder)
        .where(entity.c.id.in_(listed), entity.c.holder.is_not(None), entity.c.held_until >= now)
        .limit(1)
    )


# --- what is of no entity ---------------------------------------------------------------------------------------


def elsewhere(connection: sa.Connection, names: Pseudonyms, finder: Finder, *, may_write: bool) -> Counter[str]:
    """Replace names in questions that were asked, in working memory, and in what runs tell; how often, by place."""
    counts: Counter[str] = Counter()
    counts["questions"] = _rewrite(
        connection, recall_log, (recall_log.c.question,), names.text, finder, may_write=may_write
    )
    counts["deliveries"] = _rewrite(
        connection, delivery, (delivery.c.agent,), names.observer, finder, may_write=may_write
    )
    counts["runs"] = _rewrite(connection, run, (run.c.scope, run.c.counts), names.text, finder, may_write=may_write)
    for row in working.every(connection):
        new = row._replace(
            task=names.text(row.task),
            key=names.text(row.key),
            value=names.text(row.value),
            observer=names.observer(row.observer),
        )
        if new != row:
            counts["tasks"] += 1
            if may_write:
                working.replace(connection, row, new)
    return counts


def _rewrite(
    connection: sa.Connection,
    table: sa.Table,
    columns: Sequence[sa.Column[str | None]],
    replaced: Callable[[str], str],
    finder: Finder,
    *,
    may_write: bool,
) -> int:
    changed: list[Row] = []
    for row in connection.execute(sa.select(table.c.id, *columns).where(finder.has(*columns))):
        new = tuple(replaced(text) if text is not None else None for text in row[1:])
        if new != tuple(row[1:]):
            changed.append((*new, row[0]))
    if may_write:
        bound: dict[str, object] = {column.name: sa.bindparam(f"new_{column.name}") for column in columns}
        statement = sa.update(table).where(table.c.id == sa.bindparam("of_id")).values(bound)
        execute_many(connection, statement, (*(f"new_{column.name}" for column in columns), "of_id"), changed)
    return len(changed)
