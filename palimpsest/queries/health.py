"""health: whether the store at hand can do its work, check by check. What of it is shown is the doctor's business."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from palimpsest.core.moment import Moment, spoken
from palimpsest.store import answers_state, migrate
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
