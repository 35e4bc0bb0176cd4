"""What a live reading has read whole so far, in a file beside the store, so that the next goes on where it broke.

The file is one source's, only its owner may read it, and it is gone when the reading is written down. Whatever is wrong
with it costs nothing but asking again. Not here: what is read.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path

from palimpsest import __version__
from palimpsest.core.moment import Moment
from palimpsest.core.observation import Failed, RawAspect
from palimpsest.ports import Clock

_FORM = 1
_SUFFIX = ".reading"
_MINUTE_MS = 60_000
_FORGOTTEN_AFTER_MS = 86_400_000
_IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_TAKEN_AT_ONCE = 200
_TABLES = """
CREATE TABLE about (reading TEXT NOT NULL);
CREATE TABLE entity (urn TEXT PRIMARY KEY, asked_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE raw (
  urn TEXT NOT NULL REFERENCES entity ON DELETE CASCADE,
  part TEXT NOT NULL, payload BLOB NOT NULL, digest_of BLOB NOT NULL, observed_at INTEGER, catalog_run TEXT NOT NULL
);
CREATE INDEX raw_urn ON raw (urn);
"""


class KeptReading:
    """The entities of one reading that were read without a failure. Without a folder, a clock or minutes it keeps none.

    `store` names the memory that is read for: what is kept for one is not taken for another. What was read longer than
    `minutes` ago is asked again. Used by one thread.
    """

    def __init__(
        self, folder: Path | None = None, *, store: str = "", minutes: float = 60.0, clock: Clock | None = None
    ) -> None:
        self.taken = 0
        self._folder = folder if minutes > 0 and clock is not None else None
        self._store = store
        self._longest = int(minutes * _MINUTE_MS)
        self._clock = clock
        self._path: Path | None = None
        self._file: sqlite3.Connection | None = None
        self._held: frozenset[str] = frozenset()

    def now(self) -> Moment:
        """The moment it is; the first of all where there is no clock, and so nothing kept."""
        return self._clock.now() if self._clock is not None else Moment(0)

    def begin(self, *, kind: str, origin: str, source: str, since: Moment | None) -> None:
        """Take up what a broken reading of this source left, but nothing that was read before `since`."""
        self.close()
        self.taken = 0
        if self._folder is None:
            return
        reading = json.dumps([_FORM, __version__, self._store, kind, origin, source])
        self._path = self._folder / f"{hashlib.blake2b(reading.encode(), digest_size=16).hexdigest()}{_SUFFIX}"
        with _harmless(self):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _sweep(self._folder, self.now())
            self._file = _opened(self._path, reading)
            if self._file is not None:
                self._held = _young(self._file, self.now(), self._longest, since)

    def take(self, urns: Iterable[str]) -> Iterator[tuple[str, list[RawAspect]]]:
        """The records of those entities that are held, entity by entity."""
        wanted = (urn for urn in urns if urn in self._held)
        while some := list(islice(wanted, _TAKEN_AT_ONCE)):
            found: list[tuple[str, list[RawAspect]]] = []
            with _harmless(self):
                found = [(urn, self._records(urn)) for urn in some]
            if not found:
                return
            self.taken += len(found)
            yield from found

    def keep(self, read: Mapping[str, list[RawAspect]], asked_at: Moment) -> None:
        """Keep what was said of entities that were asked about at a moment."""
        if self._file is None or not read:
            return
        with _harmless(self), self._file as file:
            file.executemany("DELETE FROM raw WHERE urn = ?", [(urn,) for urn in read])
            file.executemany("INSERT OR REPLACE INTO entity VALUES (?, ?)", [(urn, asked_at) for urn in read])
            file.executemany(
                "INSERT INTO raw VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (raw.urn, raw.part, raw.payload, raw.digest_of, raw.observed_at, raw.catalog_run)
                    for records in read.values()
                    for raw in records
                ],
            )

    def end(self) -> None:
        """Forget everything: it is written down."""
        held = self._file is not None
        self.close()
        if held and self._path is not None:
            _delete(self._path)

    def close(self) -> None:
        """Let go of the file; what is in it stays for the next reading."""
        file, self._file, self._held = self._file, None, frozenset()
        if file is not None:
            with suppress(sqlite3.Error):
                file.close()

    def _records(self, urn: str) -> list[RawAspect]:
        if self._file is None:
            raise sqlite3.OperationalError("the file is closed")
        rows = self._file.execute(
            "SELECT part, payload, digest_of, observed_at, catalog_run FROM raw WHERE urn = ? ORDER BY rowid", (urn,)
        )
        return [
            RawAspect(urn, part, bytes(payload), False, bytes(digest_of), observed_at, catalog_run)
            for part, payload, digest_of, observed_at, catalog_run in rows
        ]


def read_whole(found: Iterable[object]) -> dict[str, list[RawAspect]]:
    """URN → records of the entities of a batch about which nothing failed."""
    by_urn: dict[str, list[RawAspect]] = {}
    failed: list[str] = []
    for each in found:
        if isinstance(each, RawAspect):
            by_urn.setdefault(each.urn, []).append(each)
        elif isinstance(each, Failed):
            failed.append(each.where)
    return {
        urn: records
        for urn, records in by_urn.items()
        if not any(where == urn or where.startswith(f"{urn} ") for where in failed)
    }


@contextmanager
def _harmless(kept: KeptReading) -> Iterator[None]:
    """What goes wrong with the file is no matter: from there on nothing is kept."""
    try:
        yield
    except (OSError, sqlite3.Error, ValueError, TypeError):
        kept.close()


def _opened(path: Path, reading: str) -> sqlite3.Connection | None:
    """The file, made anew where it is another reading's or broken; None where it is not ours to touch."""
    for _ in range(2):
        if not _is_ours(path):
            return None
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        os.close(descriptor)
        file = sqlite3.connect(path, timeout=0.2)
        try:
            if _is_ready(file, reading):
                return file
        except sqlite3.Error as error:
            if error.sqlite_errorcode in _IN_USE:  # another process reads this source: it keeps, and we do not
                file.close()
                return None
        file.close()
        _delete(path)
    return None


def _is_ours(path: Path) -> bool:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return True
    owned = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    return owned and stat.S_ISREG(found.st_mode) and not found.st_mode & 0o077


def _is_ready(file: sqlite3.Connection, reading: str) -> bool:
    """Whether the file is this reading's and sound; an empty one is made so."""
    for pragma in ("locking_mode = EXCLUSIVE", "synchronous = OFF", "foreign_keys = ON", "trusted_schema = OFF"):
        file.execute(f"PRAGMA {pragma}")
    if file.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,):
        file.executescript(_TABLES)
        with file:
            file.execute("INSERT INTO about VALUES (?)", (reading,))
    tables = {name for (name,) in file.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    return (
        tables == {"about", "entity", "raw"}
        and file.execute("SELECT reading FROM about").fetchall() == [(reading,)]
        and file.execute("PRAGMA quick_check").fetchall() == [("ok",)]
    )


def _young(file: sqlite3.Connection, now: Moment, longest: int, since: Moment | None) -> frozenset[str]:
    """The URNs of what may be taken; the rest is thrown away."""
    oldest = now - longest if since is None else max(now - longest, since + 1)
    with file:
        file.execute("DELETE FROM entity WHERE asked_at NOT BETWEEN ? AND ?", (oldest, now))
    with closing(file.execute("SELECT urn FROM entity")) as rows:
        return frozenset(urn for (urn,) in rows)


def _sweep(folder: Path, now: Moment) -> None:
    """Delete what readings left here that nobody took up."""
    for path in folder.glob(f"*{_SUFFIX}"):
        with suppress(OSError):
            if now - path.lstat().st_mtime * 1000 > _FORGOTTEN_AFTER_MS and _is_ours(path):
                _delete(path)


def _delete(path: Path) -> None:
    for suffix in ("-journal", "-wal", "-shm", ""):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
