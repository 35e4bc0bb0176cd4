"""health: whether the store at hand can do its work, check by check. What of it is shown is the doctor's business."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from palimpsest.core.moment import Moment, spoken
from palimpsest.store import answers_state, migrate, vector_types
from palimpsest.store.engine import Store

_OLDEST_SQLITE = (3, 40, 0)
_LITTLE_SPACE = 200_000_000
_STALE_AFTER = 7 * 86_400_000
_CLOCK_SLACK = 60_000


class Health(StrEnum):
    """How a check came out."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check: what was looked at, how it came out, what was found, and what to do if anything."""

    name: str
    health: Health
    found: str
    do: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatahubFacts:
    """What a look at a DataHub found. Texts are empty and numbers None where there is nothing to tell.

    `problem`: it cannot be reached; `refused`: it does not take the token; `uncounted`: why `entities` is None.
    `asks_links`: links are to be written there; `may_link`: whether they may be, None where DataHub does not tell;
    `links_refused`: it does not take the token to write with.
    """

    missing: tuple[str, ...] = ()
    url: str = ""
    has_token: bool = False
    version: str = ""
    actor: str = ""
    problem: str = ""
    refused: str = ""
    hint: str = ""
    mcp_url: str = ""
    mcp_command: str = ""
    mcp_place: str = ""
    mcp_version: str = ""
    entities: int | None = None
    uncounted: str = ""
    asks_links: bool = False
    may_link: bool | None = None
    links_refused: str = ""


def check_datahub(facts: DatahubFacts, *, needs_mcp: bool) -> list[Check]:
    """Everything about the DataHub that is named. `needs_mcp`: the settings read it by its MCP server."""
    if facts.missing:
        do = "pip install 'datahub-palimpsest[datahub]'"
        return [Check(name="DataHub", health=Health.FAIL, found=f"needs {', '.join(facts.missing)}", do=do)]
    found = [Check(name="extra datahub", health=Health.OK, found="installed")]
    if facts.problem:
        found.append(Check(name="DataHub", health=Health.FAIL, found=facts.problem, do=facts.hint))
    elif facts.url:
        version = f", version {facts.version}" if facts.version else ""
        found.append(Check(name="DataHub", health=Health.OK, found=f"{facts.url}{version}"))
        found.append(_token(facts))
        found += _links(facts)
    if facts.mcp_command:
        found.append(_mcp_command(facts, needs_mcp))
    elif facts.mcp_url and not facts.uncounted:
        found.append(Check(name="MCP server", health=Health.OK, found=facts.mcp_url))
    if facts.uncounted:
        found.append(Check(name="entities", health=Health.FAIL, found=facts.uncounted, do=facts.hint))
    elif facts.entities is not None:
        found.append(Check(name="entities", health=Health.OK, found=f"{facts.entities:,}"))
    return found


def _token(facts: DatahubFacts) -> Check:
    if facts.refused:
        do = facts.hint or "set DATAHUB_GMS_TOKEN to a valid token that may read the catalog"
        return Check(name="token", health=Health.FAIL, found=facts.refused, do=do)
    whose = f"of {facts.actor}" if facts.actor else "accepted"
    if not facts.has_token:
        return Check(name="token", health=Health.OK, found="none, and none is asked for")
    return Check(name="token", health=Health.OK, found=whose)


def _links(facts: DatahubFacts) -> list[Check]:
    """Whether links may be written, if they are to be and the catalog can be read at all."""
    if not facts.asks_links or facts.refused:
        return []
    name = "links"
    if facts.links_refused:
        do = "set publish.token to a valid token of somebody who may edit links"
        return [Check(name=name, health=Health.FAIL, found=facts.links_refused, do=do)]
    if facts.may_link is None:
        do = "publish says so for each dataset that it may not change, and writes nothing else"
        return [Check(name=name, health=Health.WARN, found="cannot be told without writing", do=do)]
    if not facts.may_link:
        do = (
            "in DataHub under Settings, Permissions, give the bearer of publish.token (else of the token to read with)"
            " the privilege Edit Links on datasets"
        )
        return [Check(name=name, health=Health.FAIL, found="the token may not edit them", do=do)]
    return [Check(name=name, health=Health.OK, found="may be edited")]


def _mcp_command(facts: DatahubFacts, needed: bool) -> Check:
    if not facts.mcp_place:
        do = "only scan datahub-mcp needs it: install uv, or name another command in datahub.mcp_command"
        health = Health.FAIL if needed else Health.WARN
        return Check(name="MCP server", health=health, found=f"no command {facts.mcp_command}", do=do)
    version = f", mcp-server-datahub {facts.mcp_version}" if facts.mcp_version else ""
    return Check(name="MCP server", health=Health.OK, found=f"{facts.mcp_place}{version}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What a look at a model of the settings found: its name, or the problem and what to do.

    `name` is empty where there is to be none.
    """

    name: str = ""
    problem: str = ""
    hint: str = ""


def check_embedder(facts: ModelFacts) -> Check:
    """Whether the embedder of the settings makes vectors. Without it everything is found by text."""
    if facts.problem:
        return Check(name="embedder", health=Health.FAIL, found=facts.problem, do=facts.hint)
    return Check(name="embedder", health=Health.OK, found=facts.name or "none: searching by text only")


def check_language_model(facts: ModelFacts) -> Check:
    """Whether the language model of the settings can be asked. Without one the rules judge alone."""
    if facts.problem:
        return Check(name="model", health=Health.FAIL, found=facts.problem, do=facts.hint)
    return Check(name="model", health=Health.OK, found=facts.name or "none: the rules judge alone")


def check_library() -> Check:
    """The SQLite library of this Python."""
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        return Check(
            name="SQLite", health=Health.WARN, found=f"{version}, older than 3.40", do="use a newer Python or SQLite"
        )
    return Check(name="SQLite", health=Health.OK, found=version)


def check_store(store: Store, now: Moment) -> list[Check]:
    """Everything about the store. Raises StoreError when it cannot be reached."""
    found = [_migrated(store)]
    facts = answers_state.engine_facts(store)
    if facts.journal_mode is not None:
        found.append(_journal(facts.journal_mode))
        found.append(_full_text(bool(facts.full_text)))
        found.append(_writable(store))
        found += _space(answers_state.file_of(store))
    else:
        found.append(Check(name="database", health=Health.OK, found=facts.version))
    if found[0].health is Health.OK:
        found.append(_size(store))
        found.append(_vectors(store))
        found.append(_readings(store, now))
    return found


def _migrated(store: Store) -> Check:
    status = migrate.status(store)
    if status.is_current:
        return Check(name="schema", health=Health.OK, found=f"revision {status.at}")
    behind = "empty" if status.at is None else f"revision {status.at}, {len(status.pending)} behind"
    do = (
        "run: palimpsest scan file:PATH, or palimpsest db upgrade"
        if status.at is None
        else "run: palimpsest db upgrade"
    )
    return Check(name="schema", health=Health.WARN if status.at is None else Health.FAIL, found=behind, do=do)


def _journal(mode: str) -> Check:
    if mode == "wal":
        return Check(name="journal", health=Health.OK, found="write-ahead log")
    do = "readers and writers wait for each other; put the store on a local disk that can be written"
    return Check(name="journal", health=Health.WARN, found=mode, do=do)


def _full_text(present: bool) -> Check:
    if present:
        return Check(name="full text", health=Health.OK, found="FTS5")
    return Check(name="full text", health=Health.WARN, found="no FTS5", do="searching by text needs it: another Python")


def _writable(store: Store) -> Check:
    if answers_state.may_write(store):
        return Check(name="writable", health=Health.OK, found="yes")
    return Check(
        name="writable", health=Health.WARN, found="no", do="it can be asked; to scan, make file and folder writable"
    )


def _space(path: Path | None) -> list[Check]:
    if path is None:
        return []
    free = shutil.disk_usage(path.parent).free
    found = f"{free / 1e9:.1f} GB free"
    if free < _LITTLE_SPACE:
        return [Check(name="disk", health=Health.FAIL, found=found, do=f"free some space on the disk of {path.parent}")]
    return [Check(name="disk", health=Health.OK, found=found)]


def _size(store: Store) -> Check:
    size = answers_state.bytes_on_disk(store)
    rows = store.read(answers_state.rows_by_table)
    told = f"{size / 1e6:.1f} MB, " if size is not None else ""
    return Check(name="size", health=Health.OK, found=f"{told}{rows['entity']} entities, {rows['episode']} episodes")


def _vectors(store: Store) -> Check:
    """How vectors are kept, and what is better where it can be had."""
    kept = vector_types.kept(store)
    if kept.is_embedded:
        return Check(name="vectors", health=Health.OK, found="bytes, their signs searched in memory")
    if not kept.form.native:
        do = "for many readers: an administrator runs CREATE EXTENSION vector before the first palimpsest db upgrade"
        return Check(name="vectors", health=Health.WARN, found="bytes: the database had no type for them", do=do)
    if not kept.indexed:
        do = f"every search compares all: create the index {vector_types.INDEX}, as the migration would"
        return Check(name="vectors", health=Health.WARN, found="no index", do=do)
    version = ".".join(map(str, kept.form.pgvector))
    return Check(name="vectors", health=Health.OK, found=f"pgvector {version}, indexed" if version else "indexed")


def _readings(store: Store, now: Moment) -> Check:
    read = [one.read_at for one in store.read(answers_state.sources) if one.read_at is not None]
    if not read:
        return Check(name="last reading", health=Health.WARN, found="none yet", do="run: palimpsest scan file:PATH")
    newest = max(read)
    if newest > now + _CLOCK_SLACK:
        do = "set the clock of this machine; until then a scan takes the time of the last reading"
        return Check(name="last reading", health=Health.WARN, found=f"{spoken(newest)}, in the future", do=do)
    if now - newest > _STALE_AFTER:
        days = (now - newest) // 86_400_000
        return Check(
            name="last reading", health=Health.WARN, found=f"{spoken(newest)}, {days} days ago", do="scan more often"
        )
    return Check(name="last reading", health=Health.OK, found=spoken(newest))
