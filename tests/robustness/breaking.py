"""Every rule that verify counts, broken by hand: the statements that break it, and no other.

Where a constraint is in the way, the table is first rebuilt without any.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from palimpsest.store.schema import entity, metadata, publication
from tests import servers
from tests.building import Memory, dataset, lineage, mcp, owners, schema, status, tags

ORDERS, USERS, LOGS = dataset("orders"), dataset("users"), dataset("logs")


@dataclass(frozen=True, kw_only=True)
class Break:
    """The rule, the tables whose constraints are in the way, the statements, and how many rows are broken then."""

    rule: str
    unguarded: tuple[str, ...] = ()
    statements: tuple[str, ...]
    rows: int = 1


_SUPERSEDED = "(SELECT belief_id FROM version WHERE state = 'superseded' ORDER BY belief_id LIMIT 1)"
_OWNER = "(SELECT belief_id FROM cell WHERE aspect = 'ownership' AND source = 'file' ORDER BY id LIMIT 1)"
_ALONE = "(SELECT belief_id FROM cell WHERE aspect = 'tags')"
_COPY = """INSERT INTO version SELECT belief_id, 2, 'current', cell_id, episode, valid_from, valid_after, valid_to,
recorded_at, closed_at, run_id, judge, reason, reverts_to, successor, ended_reason FROM version"""
_OWNER_CELL = "(SELECT id FROM cell WHERE aspect = 'ownership' AND source = 'file')"
_OWNER_RUN = f"(SELECT run_id FROM episode WHERE cell_id = {_OWNER_CELL} AND number = 1)"
_PLACED = "(SELECT id FROM cell WHERE aspect = 'quality' AND observer = 'person:mira')"
_NEWEST = "(SELECT id FROM run WHERE source = 'file' ORDER BY started_at DESC LIMIT 1)"

BREAKS: dict[str, Break] = {
    "a run claims an episode more": Break(
        rule="R1", statements=(f"UPDATE run SET written = written + 1 WHERE id = {_NEWEST}",)
    ),
    "a run claims a version more": Break(
        rule="R1", statements=(f"UPDATE run SET founded = founded + 1 WHERE id = {_NEWEST}",)
    ),
    "evidence comes from another source": Break(
        rule="R2",
        statements=(
            f"""INSERT INTO evidence (belief_id, number, cell_id, episode, role)
                SELECT {_OWNER}, 1, e.cell_id, e.number, 'bears_out' FROM episode e
                JOIN cell c ON c.id = e.cell_id WHERE c.source = 'other' AND c.aspect = 'ownership'""",
            """UPDATE episode SET verdict = 'reinforce' WHERE cell_id =
               (SELECT id FROM cell WHERE source = 'other' AND aspect = 'ownership')""",
        ),
    ),
    "a cell was given another key": Break(
        rule="R3", statements=("UPDATE cell SET key = 'elsewhere' WHERE aspect = 'tags'",)
    ),
    "nobody chose where a note goes": Break(rule="R3", statements=(f"DELETE FROM choice WHERE cell_id = {_PLACED}",)),
    "a choice about what a catalog says": Break(
        rule="R3",
        statements=(
            f"""INSERT INTO choice SELECT cell_id, episode, run_id, 'rules', TRUE, 1 FROM version
                WHERE belief_id = {_ALONE}""",
        ),
    ),
    "a verdict was taken back": Break(
        rule="R4",
        statements=("UPDATE episode SET verdict = NULL WHERE cell_id = (SELECT id FROM cell WHERE aspect = 'tags')",),
    ),
    "a verdict without its version": Break(
        rule="R4",
        statements=(
            """UPDATE episode SET verdict = 'supersede' WHERE verdict = 'retract' AND cell_id =
               (SELECT cell_id FROM episode WHERE verdict = 'retract' LIMIT 1)""",
        ),
        rows=2,  # nor is it what its evidence says
    ),
    "evidence of a restatement on what was none": Break(
        rule="R4",
        statements=(
            f"""INSERT INTO evidence (belief_id, number, cell_id, episode, role)
                SELECT belief_id, number, cell_id, episode, 'bears_out' FROM version WHERE belief_id = {_ALONE}""",
        ),
    ),
    "a verdict without its evidence": Break(
        rule="R4",
        statements=(
            f"""UPDATE episode SET verdict = 'reinforce' WHERE cell_id =
                (SELECT cell_id FROM version WHERE belief_id = {_ALONE})""",
        ),
    ),
    "an episode founded two versions": Break(
        rule="R5",
        unguarded=("version",),
        statements=(
            f"{_COPY} WHERE belief_id = {_ALONE}",
            f"""UPDATE version SET state = 'superseded', successor = 2, closed_at = 1, valid_to = 1, ended_reason = 'x'
                WHERE belief_id = {_ALONE} AND number = 1""",
            f"""UPDATE run SET founded = founded + 1 WHERE id =
                (SELECT run_id FROM version WHERE belief_id = {_ALONE} LIMIT 1)""",
        ),
    ),
    "evidence rests on an episode that is gone": Break(
        rule="R6",
        unguarded=("evidence",),
        statements=(
            f"""INSERT INTO evidence (belief_id, number, cell_id, episode, role)
                SELECT belief_id, number, cell_id, 99, 'bears_out' FROM version WHERE belief_id = {_ALONE}""",
        ),
    ),
    "a belief is current twice": Break(
        rule="R7",
        unguarded=("version",),
        statements=(
            f"""UPDATE version SET state = 'current', valid_to = NULL, closed_at = NULL, successor = NULL
                WHERE belief_id = {_SUPERSEDED} AND number = 1""",
        ),
    ),
    "a number is missing": Break(
        rule="R7", unguarded=("version",), statements=(f"UPDATE version SET number = 2 WHERE belief_id = {_ALONE}",)
    ),
    "a superseded version names no successor": Break(
        rule="R7",
        unguarded=("version",),
        statements=(f"UPDATE version SET successor = NULL WHERE belief_id = {_SUPERSEDED} AND state = 'superseded'",),
    ),
    "a superseded version names no reason": Break(
        rule="R7",
        unguarded=("version",),
        statements=(
            f"UPDATE version SET ended_reason = NULL WHERE belief_id = {_SUPERSEDED} AND state = 'superseded'",
        ),
    ),
    "a version is its own successor": Break(
        rule="R7",
        unguarded=("version",),
        statements=(f"UPDATE version SET successor = number WHERE belief_id = {_SUPERSEDED} AND state = 'superseded'",),
    ),
    "an end names no ground": Break(rule="R8", statements=("UPDATE episode SET ground = NULL WHERE kind = 'removed'",)),
    "a decision that is no decision": Break(
        rule="R8",
        statements=(
            """INSERT INTO choice SELECT cell_id, number, run_id, 'rules', TRUE, 1 FROM episode
               WHERE ground = 'decision'""",
            "UPDATE episode SET ground = NULL WHERE ground = 'decision'",
        ),
    ),
    "an end by a run that did not read the raw aspect": Break(
        rule="R8", statements=(f"UPDATE run SET coverage = NULL WHERE id = {_NEWEST}",), rows=2
    ),
    "an entity ended by a listing that was not complete": Break(
        rule="R8", statements=(f"UPDATE run SET complete = FALSE WHERE id = {_NEWEST}",)
    ),
    "two episodes of a cell in one run": Break(
        rule="R9",
        unguarded=("episode",),
        statements=(
            f"UPDATE run SET written = written - 1 WHERE id = {_NEWEST}",
            f"UPDATE run SET written = written + 1 WHERE id = {_OWNER_RUN}",
            f"UPDATE episode SET run_id = {_OWNER_RUN} WHERE number = 2 AND cell_id = {_OWNER_CELL}",
        ),
    ),
    "a published link that is not ours": Break(
        rule="R11", statements=("UPDATE publication SET url = 'https://example.org/'",)
    ),
    "a published link to another entity's page": Break(
        rule="R11",
        statements=(
            "UPDATE publication SET url = replace(url, '/entity/', '/entity/00')",
            "UPDATE publication SET url = substr(url, 1, 40) || '?from=palimpsest-memory'",
        ),
    ),
    "a published link that was not found again": Break(
        rule="R11", statements=("UPDATE publication SET reread_at = NULL",)
    ),
    "what is current has ended": Break(
        rule="R12",
        unguarded=("version",),
        statements=(f"UPDATE version SET valid_to = valid_from + 1 WHERE belief_id = {_ALONE}",),
    ),
    "what was only proposed is current": Break(
        rule="R12", statements=("UPDATE version SET state = 'current' WHERE state = 'proposed'",)
    ),
    "lineage rests on nothing current": Break(
        rule="R12", statements=("UPDATE edge SET belief_id = NOBODY WHERE \"column\" = ''",)
    ),
    "a cell's last episode is another": Break(
        rule="R13", statements=("UPDATE cell SET last = last + 1 WHERE aspect = 'tags'",)
    ),
    "a raw aspect feeds another number of cells": Break(
        rule="R13", statements=("UPDATE part SET cells = cells + 1 WHERE part = 'globalTags'",)
    ),
    "a first reading counts as a change": Break(
        rule="R14",
        statements=("UPDATE episode SET baseline = FALSE WHERE cell_id = (SELECT id FROM cell WHERE aspect = 'tags')",),
    ),
}


def rich_memory(folder: Path) -> Memory:
    """A memory in which every rule has something to be checked on: ends of every kind, two sources, a publication."""
    memory = Memory(folder)
    first = [
        mcp(ORDERS, "status", status()),
        mcp(ORDERS, "schemaMetadata", schema(("id", "INT"), ("note", "TEXT"))),
        mcp(ORDERS, "ownership", owners("jonas")),
        mcp(ORDERS, "upstreamLineage", lineage([USERS])),
        mcp(ORDERS, "globalTags", tags("pii")),
        mcp(USERS, "status", status()),
        mcp(LOGS, "status", status()),
    ]
    memory.remember(first, at="2026-03-02T08:00:00Z", complete=True)
    memory.remember([mcp(ORDERS, "ownership", owners("lea"))], at="2026-03-02T08:00:00Z", source="other")
    second = [
        mcp(ORDERS, "status", status()),
        mcp(ORDERS, "schemaMetadata", schema(("id", "INT"))),
        mcp(ORDERS, "ownership", owners("ana")),
        mcp(ORDERS, "upstreamLineage", lineage([USERS])),
        mcp(ORDERS, "globalTags", tags("pii")),
        mcp(USERS, "status", status(removed=True)),
    ]
    memory.remember(second, at="2026-03-03T08:00:00Z", complete=True)
    _speak(memory)
    memory.store.write(_publish_orders)
    memory.store.dispose()
    return memory


def _speak(memory: Memory) -> None:
    """Something of every kind that notes can lead to, but for what is superseded; one waits for its place."""
    memory.note(ORDERS, "Refreshed daily at 6", by="person:mira", kind="quality", at="2026-03-04T08:00:00Z")
    memory.note(ORDERS, "We drop the backups in May", by="agent:bot", kind="decision")
    memory.note(ORDERS, "Finance owns the schema", by="agent:bot", kind="decision")
    memory.consolidate()
    memory.note(ORDERS, "refreshed daily at 6.", by="agent:bot", kind="quality")
    memory.note(ORDERS, "Not refreshed daily at 6", by="agent:bot", kind="quality")
    memory.decide(next(one.item for one in memory.inbox() if "backups" in one.text), "reject", by="person:mira")
    memory.consolidate()
    memory.note(ORDERS, "Who reads this?", by="agent:bot")


def _publish_orders(connection: sa.Connection) -> None:
    found = connection.execute(sa.select(entity.c.id).where(entity.c.name == "orders")).scalars()
    for entity_id in found:
        row = {
            "target": "file:links.json",
            "entity_id": entity_id,
            "url": f"https://memory.example.org/entity/{entity_id[:8].hex()}?from=palimpsest-memory",
            "label": "Agent memory",
            "revisions": 2,
            "published_at": 1,
            "reread_at": 1,
        }
        connection.execute(sa.insert(publication), row)


def do(case: str, file: Path) -> None:
    """Break a rule in a store that is a file."""
    how = BREAKS[case]
    db = sqlite3.connect(file)
    db.execute("PRAGMA foreign_keys = OFF")
    for name in how.unguarded:
        for statement in _unguarded(name):
            db.execute(statement)
    for statement in how.statements:
        db.execute(statement.replace("NOBODY", "zeroblob(16)"))
    db.commit()
    db.close()


def do_on(case: str, kind: servers.Kind, database: str) -> None:
    """Break a rule in a database of a server."""
    how = BREAKS[case]
    keys = [key for table in metadata.sorted_tables for key in table.foreign_key_constraints]
    kind.execute(
        database,
        *(f"ALTER TABLE {key.table.name} DROP CONSTRAINT {key.name}" for key in keys),
        *(statement for name in how.unguarded for statement in _unguarded(name)),
        *(one.replace("NOBODY", "CAST('00000000-0000-0000-0000-000000000000' AS uuid)") for one in how.statements),
    )


def _unguarded(name: str) -> tuple[str, ...]:
    return (
        f"CREATE TABLE rebuilt AS SELECT * FROM {name}",
        f"DROP TABLE {name}",
        f"ALTER TABLE rebuilt RENAME TO {name}",
    )
