"""The spool: one reading in a local temporary SQLite file, keyed by entity and raw aspect, so that memory stays flat.

Records of one entity are not adjacent in real files; the last one wins. What equals the held digest keeps no payload.
"""

from __future__ import annotations

import pickle
import sqlite3
import tempfile
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import compress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from palimpsest.core.baseline import Difference
from palimpsest.core.errors import StoreError
from palimpsest.core.ids import EntityId

_SCHEMA = """
CREATE TABLE held (entity BLOB NOT NULL, part TEXT NOT NULL, digest BLOB NOT NULL, ordinal INTEGER NOT NULL,
    cells INTEGER NOT NULL,
    PRIMARY KEY (entity, part)) WITHOUT ROWID;
CREATE TABLE seen (entity BLOB PRIMARY KEY, urn TEXT NOT NULL, clash TEXT) WITHOUT ROWID;
CREATE TABLE reading (entity BLOB NOT NULL, part TEXT NOT NULL, digest BLOB, payload BLOB, catalog_run TEXT,
    patched INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (entity, part)) WITHOUT ROWID;
CREATE TABLE patch (entity BLOB NOT NULL, part TEXT NOT NULL, number INTEGER NOT NULL, payload BLOB NOT NULL,
    catalog_run TEXT, PRIMARY KEY (entity, part, number)) WITHOUT ROWID;
CREATE TABLE planned (entity BLOB NOT NULL, part TEXT NOT NULL, plan BLOB NOT NULL,
    PRIMARY KEY (entity, part)) WITHOUT ROWID;
"""
_ADD = "INSERT OR REPLACE INTO reading (entity, part, digest, payload, catalog_run) VALUES (?, ?, ?, ?, ?)"
_SEE = """
INSERT INTO seen (entity, urn) VALUES (?, ?)
ON CONFLICT (entity) DO UPDATE SET clash = excluded.urn WHERE excluded.urn <> urn
"""
STATUS = "status"
LISTED_PAYLOAD = b'{"removed":false}'


class SpooledPart(NamedTuple):
    """A raw aspect that is new or differs from what is held. `ordinal` is None for a new one."""

    entity: EntityId
    urn: str
    part: str
    digest: bytes | None
    payload: bytes | None
    catalog_run: str
    ordinal: int | None
    is_known: bool
    patches: tuple[tuple[bytes, str], ...]


class PlannedPart(NamedTuple):
    """The differences of one held raw aspect, waiting to be written. `covers`: its ordinal, if it was read whole."""

    entity: EntityId
    part: str
    digest: bytes | None
    differences: list[Difference]
    stamped_at: int | None
    actor: str
    catalog_run: str
    after_at: int | None
    covers: int | None = None


class _HeldDigests:
    """The digests that are held, in order, to look a raw aspect up in: 17 bytes each, and a mark for those seen again.

    A digest of a raw aspect is taken over its entity and name too, so that it stands for one raw aspect only.
    """

    def __init__(self, rows: Iterable[tuple[bytes, int, int, str]] = ()) -> None:
        self._digests, self._ordinals, self._cells = array("Q"), array("I"), array("I")
        self._names: dict[str, int] = {}
        self._parts = array("H")
        for digest, ordinal, cells, part in rows:
            self._digests.append(int.from_bytes(digest, "big"))
            self._ordinals.append(ordinal)
            self._cells.append(cells)
            self._parts.append(self._names.setdefault(part, len(self._names)))
        self._marks = bytearray(len(self._digests))

    def __len__(self) -> int:
        return len(self._digests)

    def find(self, digest: bytes) -> int | None:
        """The place of a digest, None when it is not held."""
        wanted = int.from_bytes(digest, "big")
        place = bisect_left(self._digests, wanted)
        return place if place < len(self._digests) and self._digests[place] == wanted else None

    def mark(self, place: int) -> None:
        """The raw aspect at this place is stated again, as it was."""
        self._marks[place] = 1

    def unmark(self, digest: bytes) -> None:
        """Take a mark away, if there is one."""
        place = self.find(digest)
        if place is not None:
            self._marks[place] = 0

    def is_marked(self, digest: bytes) -> bool:
        """Whether a digest is marked."""
        place = self.find(digest)
        return place is not None and bool(self._marks[place])

    def marked(self) -> Iterator[int]:
        """The ordinals of what is marked."""
        return compress(self._ordinals, self._marks)

    def marked_cells(self) -> int:
        """How many live cells are fed by what is marked."""
        return sum(compress(self._cells, self._marks))

    def cells_by_part(self, *, marked: bool) -> dict[str, int]:
        """How many live cells each raw aspect feeds: all of it, or what is marked."""
        found = [0] * len(self._names)
        feeding = zip(self._parts, self._cells, strict=True)
        for part, cells in compress(feeding, self._marks) if marked else feeding:
            found[part] += cells
        return {name: found[number] for name, number in self._names.items()}


class Spool:
    """A temporary database of one reading. Use as a context manager: the file goes away with it."""

    def __init__(self) -> None:
        try:
            self._folder = tempfile.TemporaryDirectory(prefix="palimpsest-", ignore_cleanup_errors=True)
        except OSError as error:
            raise StoreError(f"no temporary folder can be made: {error.strerror}", "set TMPDIR to one") from error
        self._db = sqlite3.connect(Path(self._folder.name) / "spool.db", isolation_level=None)
        self._patched: set[tuple[bytes, str]] = set()
        self._patches = 0
        self._adding: list[tuple[bytes, str, bytes, bytes | None, str | None]] = []
        self._held = _HeldDigests()
        self._has_changed = False
        self._seeing: list[tuple[bytes, str]] = []
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -8000"):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.executescript(_SCHEMA)
        self._db.execute("BEGIN")

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()
        self._folder.cleanup()
        if isinstance(error, sqlite3.OperationalError):
            raise StoreError(
                f"the temporary folder failed: {error}: {self._folder.name}", "free some space, or set TMPDIR"
            )

    # --- filling ------------------------------------------------------------------------------------------------

    def load_held(self, rows: Iterable[tuple[bytes, str, bytes, int, int]]) -> int:
        """The held raw aspects (entity, part, digest, ordinal, live cells) to compare with; how many."""
        self._db.executemany("INSERT INTO held VALUES (?, ?, ?, ?, ?)", rows)
        self._held = _HeldDigests(
            self._db.execute("SELECT digest, ordinal, cells, part FROM held WHERE length(digest) = 8 ORDER BY digest")
        )
        return len(self._held)

    def see(self, entity: bytes, urn: str) -> None:
        """The reading lists this entity."""
        self._seeing.append((entity, urn))

    def add(self, entity: bytes, part: str, digest: bytes, payload: bytes, catalog_run: str, *, keep: bool) -> None:
        """A raw aspect as a record states it whole. It replaces what came before. `keep` keeps an unchanged payload."""
        if (entity, part) in self._patched:
            self.flush()
            self._patched.discard((entity, part))
            for table in ("reading", "patch"):
                self._db.execute(f"DELETE FROM {table} WHERE entity = ? AND part = ?", (entity, part))
        place = self._held.find(digest)
        if place is None or keep:
            self._has_changed = True
            self._adding.append((entity, part, digest, payload, catalog_run))
        elif self._has_changed:
            self._adding.append((entity, part, digest, None, None))
        else:
            self._held.mark(place)
        if len(self._adding) >= 2_000:
            self.flush()

    def add_patch(self, entity: bytes, part: str, payload: bytes, catalog_run: str) -> None:
        """A PATCH of a raw aspect, on top of what came before."""
        self._patched.add((entity, part))
        self._patches += 1
        self._db.execute(
            "INSERT INTO reading (entity, part, patched) VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET patched = 1",
            (entity, part),
        )
        self._db.execute(
            "INSERT INTO patch VALUES (?, ?, ?, ?, ?)", (entity, part, self._patches, payload, catalog_run)
        )

    def flush(self) -> None:
        """Write what is buffered."""
        self._db.executemany(_SEE, self._seeing)
        self._db.executemany(_ADD, self._adding)
        self._seeing.clear()
        self._adding.clear()

    def list_entities(self, listed: bytes) -> None:
        """Give every seen entity without a status record, and without a held one, the status of being listed.

        `listed` is the digest of that. An entity that ended by a listing (empty held digest) is listed anew.
        """
        self.flush()
        self._db.execute(
            "INSERT INTO reading (entity, part, digest, payload, catalog_run) "
            "SELECT s.entity, ?1, ?2, CASE WHEN h.digest = ?2 THEN NULL ELSE ?3 END, '' FROM seen s "
            "LEFT JOIN held h ON h.entity = s.entity AND h.part = ?1 "
            "WHERE (h.entity IS NULL OR length(h.digest) = 0 OR h.digest = ?2) "
            "AND NOT EXISTS (SELECT 1 FROM reading r WHERE r.entity = s.entity AND r.part = ?1)",
            (STATUS, listed, LISTED_PAYLOAD),
        )

    def drop_entities(self, entities: Iterable[bytes]) -> None:
        """Take entities out of the reading: they lie outside the scope."""
        rows = [(entity,) for entity in entities]
        for row in rows:
            for (digest,) in self._db.execute("SELECT digest FROM held WHERE entity = ?", row):
                self._held.unmark(digest)
        for table in ("reading", "patch", "seen"):
            self._db.executemany(f"DELETE FROM {table} WHERE entity = ?", rows)

    # --- reading it back ----------------------------------------------------------------------------------------

    def clash(self) -> tuple[str, str] | None:
        """Two URNs that share one id, if any do."""
        row: tuple[str, str] | None = self._db.execute(
            "SELECT urn, clash FROM seen WHERE clash IS NOT NULL LIMIT 1"
        ).fetchone()
        return row

    def urn(self, entity: bytes) -> str | None:
        """The URN of an entity that the reading lists."""
        row = self._db.execute("SELECT urn FROM seen WHERE entity = ?", (entity,)).fetchone()
        return str(row[0]) if row is not None else None

    def entity_count(self) -> int:
        """How many entities the reading lists."""
        count: int = self._db.execute("SELECT count(*) FROM seen").fetchone()[0]
        return count

    def entities(self) -> Iterator[tuple[EntityId, str, bytes | None]]:
        """Every seen entity with its URN and, where kept, the payload of its `domains`."""
        rows = self._db.execute(
            "SELECT s.entity, s.urn, r.payload FROM seen s "
            "LEFT JOIN reading r ON r.entity = s.entity AND r.part = 'domains' ORDER BY s.entity"
        )
        for entity, urn, payload in rows:
            yield EntityId(entity), urn, payload

    def covered(self) -> Iterator[int]:
        """The ordinals of the held raw aspects that this reading states whole."""
        yield from self._held.marked()
        for (ordinal,) in self._db.execute(
            "SELECT h.ordinal FROM reading r JOIN held h USING (entity, part) WHERE r.digest IS NOT NULL"
        ):
            yield ordinal

    def unchanged_cells(self) -> int:
        """How many live cells the raw aspects feed whose digest is the held one."""
        count = self._held.marked_cells()
        rows = self._db.execute(
            "SELECT h.digest, h.cells, r.payload IS NULL AND NOT r.patched "
            "FROM reading r JOIN held h USING (entity, part)"
        )
        for digest, cells, is_unchanged in rows:
            is_marked = self._held.is_marked(digest)
            if is_unchanged and not is_marked:
                count += cells
            elif is_marked and not is_unchanged:
                count -= cells
        return count

    def shares_read(self) -> dict[str, float]:
        """Raw aspect → which share of the live cells that it feeds this reading states whole."""
        read = Counter(self._held.cells_by_part(marked=True))
        rows = self._db.execute(
            "SELECT h.part, h.digest, h.cells "
            "FROM reading r JOIN held h USING (entity, part) WHERE r.digest IS NOT NULL"
        )
        for part, digest, cells in rows:
            if not self._held.is_marked(digest):
                read[part] += cells
        held = self._held.cells_by_part(marked=False)
        return {part: min(1.0, read[part] / cells) for part, cells in held.items() if cells}

    def unstated(self) -> Iterator[tuple[str, str]]:
        """(URN, raw aspect) of what is held with live cells of a seen entity, and what this reading does not state."""
        rows = self._db.execute(
            "SELECT s.urn, h.part, h.digest FROM held h JOIN seen s USING (entity) "
            "WHERE h.cells > 0 AND h.part <> ? "
            "AND NOT EXISTS (SELECT 1 FROM reading r WHERE r.entity = h.entity AND r.part = h.part) "
            "ORDER BY h.entity, h.part",
            (STATUS,),
        )
        return ((urn, part) for urn, part, digest in rows.fetchall() if not self._held.is_marked(digest))

    def live_cells(self, entity: bytes) -> int:
        """How many live cells an entity holds."""
        count = self._db.execute("SELECT coalesce(sum(cells), 0) FROM held WHERE entity = ?", (entity,)).fetchone()[0]
        return int(count)

    def ordinal(self, entity: bytes, part: str) -> int:
        """The ordinal of a held raw aspect."""
        row = self._db.execute("SELECT ordinal FROM held WHERE entity = ? AND part = ?", (entity, part)).fetchone()
        return int(row[0])

    def ended_by_listing(self, entity: bytes) -> bool:
        """Whether an entity is held as gone only because a complete listing lacked it: its status has no digest."""
        row = self._db.execute("SELECT digest FROM held WHERE entity = ? AND part = ?", (entity, STATUS)).fetchone()
        return row is not None and not row[0]

    def unlisted(self) -> Iterator[EntityId]:
        """The entities that are held as listed and that the reading does not list."""
        rows = self._db.execute(
            "SELECT h.entity FROM held h WHERE h.part = ? AND length(h.digest) > 0 "
            "AND NOT EXISTS (SELECT 1 FROM seen s WHERE s.entity = h.entity) ORDER BY h.entity",
            (STATUS,),
        )
        return (EntityId(row[0]) for row in rows)

    def changed(self) -> Iterator[SpooledPart]:
        """The held raw aspects whose digest differs or that are patched, by entity."""
        return self._parts(new=False)

    def new(self) -> Iterator[SpooledPart]:
        """The raw aspects that were never held, by entity."""
        return self._parts(new=True)

    def _parts(self, *, new: bool) -> Iterator[SpooledPart]:
        held = "IS NULL" if new else "IS NOT NULL"
        rows = self._db.execute(
            f"""
            SELECT r.entity, s.urn, r.part, r.digest, r.payload, coalesce(r.catalog_run, ''), h.ordinal,
                EXISTS (SELECT 1 FROM held e WHERE e.entity = r.entity), h.digest
            FROM reading r CROSS JOIN seen s ON s.entity = r.entity
            LEFT JOIN held h ON h.entity = r.entity AND h.part = r.part
            WHERE (r.payload IS NOT NULL OR r.patched) AND h.entity {held}
            ORDER BY r.entity, r.part
            """
        )
        for entity, urn, part, read, payload, run, ordinal, is_known, known in rows:
            digest = known if read is None and known and self._held.is_marked(known) else read
            patches: tuple[tuple[bytes, str], ...] = ()
            if (entity, part) in self._patched:
                patches = tuple(
                    self._db.execute(
                        "SELECT payload, catalog_run FROM patch WHERE entity = ? AND part = ? ORDER BY number",
                        (entity, part),
                    )
                )
            yield SpooledPart(EntityId(entity), urn, part, digest, payload, run, ordinal, bool(is_known), patches)

    # --- the plan -----------------------------------------------------------------------------------------------

    def plan(self, part: PlannedPart) -> None:
        """Keep the differences of one held raw aspect until they are written."""
        self._db.execute(
            "INSERT INTO planned VALUES (?, ?, ?)", (part.entity, part.part, pickle.dumps(tuple(part), protocol=5))
        )

    def planned(self) -> Iterator[PlannedPart]:
        """What was planned, by entity."""
        for (plan,) in self._db.execute("SELECT plan FROM planned ORDER BY entity, part"):
            yield PlannedPart(*pickle.loads(plan))
