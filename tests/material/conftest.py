"""Memories built from the shared material by the real jobs, and what a test may look up in them.

`memory` is a new one in a folder of its own; `new_memory` makes several, and lives as long as the session. Both come
once for each kind of database in DATABASES; in a long proof for all but SQLite.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from palimpsest.adapters.datahub.file import FileReader
from palimpsest.core.episode import credible
from palimpsest.core.moment import Moment, parse
from palimpsest.core.noise import Scope
from palimpsest.jobs.consolidate import ConsolidateReport, consolidate
from palimpsest.jobs.scan import ScanReport, ScanRequest, scan
from palimpsest.jobs.verify import verify
from palimpsest.store import migrate
from palimpsest.store.engine import open_store
from palimpsest.store.schema import cell, entity, episode, evidence, metadata, version
from palimpsest.testing import FixedClock, NoProgress
from tests import servers

Value = Any
Place = Callable[[Path], str]
DATABASES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.long))


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenEpisode:
    """An episode with everything that tells what it is about; `before` is the value of the one before it."""

    urn: str
    part: str
    aspect: str
    key: str
    number: int
    kind: str
    impact: int
    baseline: bool
    value: Value
    before: Value
    ground: str | None
    actor: str | None
    verdict: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenVersion:
    """A version of a belief with everything that tells what it is about."""

    urn: str
    aspect: str
    key: str
    number: int
    state: str
    valid_from: int
    valid_after: int | None
    valid_to: int | None
    value: Value
    reason: str
    successor: int | None
    ended_reason: str | None
    reverts_to: int | None


class Memory:
    """A store, a folder for what it reads, and the jobs on it. Its clock stands far after every reading."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.store = open_store(url)
        self.clock = FixedClock(parse("2030-01-01"), step=1)
        self.holder = "a test"
        self._files = 0
        migrate.upgrade(self.store, now=servers.SET_UP_AT, secret=servers.SECRET)

    def scan(
        self,
        material: Path | list[Value],
        at: str | Moment | None = None,
        *,
        source: str = "file",
        complete: bool = False,
        ignore: tuple[str, ...] | None = None,
        exclude_defaults: bool = True,
        limit: int | None = None,
    ) -> ScanReport:
        """Scan a file, or records that become one."""
        if isinstance(material, list):
            self._files += 1
            path = self.folder / f"reading-{self._files}.json"
            path.write_text(json.dumps(material), encoding="utf-8")
        else:
            path = material
        scope = Scope(exclude_defaults=exclude_defaults)
        if ignore is not None:
            scope = Scope(ignore=ignore, exclude_defaults=exclude_defaults)
        moment = parse(at) if isinstance(at, str) else at
        return scan(
            self.store,
            FileReader(path, complete=complete),
            ScanRequest(source=source, at=moment, scope=scope, limit=limit),
            clock=self.clock,
            progress=NoProgress(),
            holder=self.holder,
        )

    def consolidate(self) -> ConsolidateReport:
        """Consolidate what is pending."""
        return consolidate(self.store, clock=self.clock, progress=NoProgress(), holder=self.holder)

    def remember(self, material: Path | list[Value], at: str | Moment | None = None, **asked: Any) -> ScanReport:
        """Scan and consolidate."""
        report = self.scan(material, at, **asked)
        self.consolidate()
        return report

    def broken(self) -> list[str]:
        """What `verify` finds broken."""
        report = verify(self.store, clock=self.clock, progress=NoProgress())
        return [f"{rule.rule}: {rule.broken}" for rule in report.rules if rule.broken]

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of every table but `run`."""
        with self.store.engine.connect() as connection:
            return {
                table.name: sorted((tuple(row) for row in connection.execute(sa.select(table))), key=repr)
                for table in metadata.sorted_tables
                if table.name != "run"
            }

    def count(self, table: str) -> int:
        """How many rows a table has."""
        with self.store.engine.connect() as connection:
            return int(connection.scalar(sa.select(sa.func.count()).select_from(metadata.tables[table])) or 0)

    def episodes(self, run: str | None = None) -> list[SeenEpisode]:
        """The episodes of a run, or all."""
        last = episode.alias()
        statement = (
            sa.select(
                entity.c.urn,
                cell.c.part,
                cell.c.aspect,
                cell.c.key,
                episode.c.number,
                episode.c.kind,
                episode.c.impact,
                episode.c.baseline,
                episode.c.value,
                last.c.value,
                episode.c.ground,
                episode.c.actor,
                episode.c.verdict,
            )
            .select_from(episode)
            .join(cell, cell.c.id == episode.c.cell_id)
            .join(entity, entity.c.id == cell.c.entity_id)
            .outerjoin(last, sa.and_(last.c.cell_id == episode.c.cell_id, last.c.number == episode.c.number - 1))
            .order_by(entity.c.urn, cell.c.aspect, cell.c.key, episode.c.number)
        )
        if run is not None:
            statement = statement.where(episode.c.run_id == bytes.fromhex(run))
        with self.store.engine.connect() as connection:
            return [
                SeenEpisode(
                    urn=row[0],
                    part=row[1],
                    aspect=row[2],
                    key=row[3],
                    number=row[4],
                    kind=row[5],
                    impact=row[6],
                    baseline=row[7],
                    value=_parsed(row[8]),
                    before=_parsed(row[9]),
                    ground=row[10],
                    actor=row[11],
                    verdict=row[12],
                )
                for row in connection.execute(statement)
            ]

    def changes(self, run: str | None = None) -> list[SeenEpisode]:
        """Of those, what counts as a change: no first reading, not quiet."""
        return [one for one in self.episodes(run) if not one.baseline and one.impact > 0]

    def versions(self) -> list[SeenVersion]:
        """Every version of every belief."""
        statement = (
            sa.select(
                entity.c.urn,
                cell.c.aspect,
                cell.c.key,
                version.c.number,
                version.c.state,
                version.c.valid_from,
                version.c.valid_after,
                version.c.valid_to,
                episode.c.value,
                version.c.reason,
                version.c.successor,
                version.c.ended_reason,
                version.c.reverts_to,
            )
            .select_from(version)
            .join(cell, cell.c.id == version.c.cell_id)
            .join(entity, entity.c.id == cell.c.entity_id)
            .join(episode, sa.and_(episode.c.cell_id == version.c.cell_id, episode.c.number == version.c.episode))
            .order_by(entity.c.urn, cell.c.aspect, cell.c.key, version.c.number)
        )
        with self.store.engine.connect() as connection:
            return [
                SeenVersion(
                    urn=row[0],
                    aspect=row[1],
                    key=row[2],
                    number=row[3],
                    state=row[4],
                    valid_from=row[5],
                    valid_after=row[6],
                    valid_to=row[7],
                    value=_parsed(row[8]),
                    reason=row[9],
                    successor=row[10],
                    ended_reason=row[11],
                    reverts_to=row[12],
                )
                for row in connection.execute(statement)
            ]

    def worded(self) -> list[SeenVersion]:
        """The versions, each once for every wording that it had: from when it was worded so until the next one."""
        statement = (
            sa.select(
                entity.c.urn, cell.c.aspect, cell.c.key, evidence.c.number, episode.c.value, episode.c.observed_at,
                episode.c.after_at, episode.c.stamped_at,
            )
            .select_from(evidence)
            .join(cell, cell.c.id == evidence.c.cell_id)
            .join(entity, entity.c.id == cell.c.entity_id)
            .join(episode, sa.and_(episode.c.cell_id == evidence.c.cell_id, episode.c.number == evidence.c.episode))
            .where(evidence.c.role == "bears_out")
            .order_by(episode.c.observed_at, episode.c.number)
        )  # fmt: skip
        wordings: dict[tuple[str, str, str, int], list[tuple[int, Value]]] = defaultdict(list)
        with self.store.engine.connect() as connection:
            for *named, value, observed, after, stamped in connection.execute(statement):
                at = credible(stamped, after, observed) or observed
                wordings[tuple(named)].append((at, _parsed(value)))
        found = []
        for one in self.versions():
            spans = [(one.valid_from, one.value), *wordings[one.urn, one.aspect, one.key, one.number]]
            ends = [*(start for start, _ in spans[1:]), one.valid_to]
            found += [
                replace(one, valid_from=max(one.valid_from, start), valid_to=end, value=value)
                for (start, value), end in zip(spans, ends, strict=True)
            ]
        return found

    def current(self) -> dict[tuple[str, str, str], Value]:
        """(URN, aspect, key) → what is held in its newest words, whether or not the entity exists."""
        return {(one.urn, one.aspect, one.key): one.value for one in self.worded() if one.state == "current"}


def _parsed(text: str | None) -> Value:
    return json.loads(text) if text is not None else None


@contextmanager
def _places(database: str) -> Iterator[Place]:
    """Says where the memory of a folder lives: a file in it, or a database that is there while the block runs."""
    if database == "sqlite":
        yield lambda folder: f"sqlite:///{folder / 'memory.db'}"
        return
    try:
        servers.kind(database)
    except servers.MissingServer as error:
        pytest.skip(str(error))
    with servers.places(database) as place:
        yield lambda folder: place(folder, "memory.db")


@pytest.fixture(scope="session", params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    """The kind of database in which the memories of a test live."""
    kind: str = request.param
    return kind


@pytest.fixture
def memory(database: str, tmp_path: Path) -> Iterator[Memory]:
    """A new, empty memory."""
    with _places(database) as place:
        made = Memory(tmp_path, place(tmp_path))
        yield made
        made.store.dispose()


@pytest.fixture(scope="session")
def new_memory(database: str, new_memory_in: Callable[[str], Memory]) -> Callable[[], Memory]:
    """Makes new, empty memories."""
    return lambda: new_memory_in(database)


@pytest.fixture(scope="session")
def new_memory_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Memory]]:
    """Makes new, empty memories in a kind of database."""
    made: list[Memory] = []
    with ExitStack() as stack:
        places: dict[str, Place] = {}

        def make(database: str) -> Memory:
            if database not in places:
                places[database] = stack.enter_context(_places(database))
            folder = tmp_path_factory.mktemp("memory")
            made.append(Memory(folder, places[database](folder)))
            return made[-1]

        yield make
        for one in made:
            one.store.dispose()


@pytest.fixture(scope="session")
def lines() -> Callable[[Path], list[Value]]:
    """Reads a gzipped file of JSON lines."""

    def read(path: Path) -> list[Value]:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    return read


@pytest.fixture(scope="session")
def document() -> Callable[[Path], Value]:
    """Reads a JSON file, gzipped or plain."""

    def read(path: Path) -> Value:
        if path.name.endswith(".gz"):
            return json.loads(gzip.decompress(path.read_bytes()))
        return json.loads(path.read_bytes())

    return read
