"""Small memories for tests: metadata written in the test, scanned and consolidated by the real jobs at given times.

memory = Memory(tmp_path)
memory.scan([mcp(dataset("orders"), "ownership", owners("jonas"))], at="2026-03-02T08:00:00Z")
memory.consolidate()
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from palimpsest.adapters.datahub.file import FileReader
from palimpsest.core.moment import Moment, parse
from palimpsest.core.noise import Scope
from palimpsest.jobs.consolidate import ConsolidateReport, consolidate
from palimpsest.jobs.decide import Decided, DecideReport, decide
from palimpsest.jobs.index import IndexReport, index
from palimpsest.jobs.judging.judging import Judging
from palimpsest.jobs.note import NoteReport, note
from palimpsest.jobs.scan import ScanReport, ScanRequest, scan
from palimpsest.queries.held import When
from palimpsest.queries.inbox import ItemView, inbox
from palimpsest.store import migrate
from palimpsest.store.engine import Store, open_store
from palimpsest.testing import FixedClock, NoProgress

SECRET = b"0123456789abcdef"
Record = dict[str, Any]


def dataset(name: str, platform: str = "postgres") -> str:
    """The URN of a dataset."""
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


def column_of(urn: str, path: str) -> str:
    """The URN of a column."""
    return f"urn:li:schemaField:({urn},{path})"


def mcp(urn: str, aspect: str, body: object, change: str = "UPSERT") -> Record:
    """One MCP record, as DataHub's file sink writes it."""
    kind = urn.split(":")[2]
    return {
        "entityType": kind,
        "entityUrn": urn,
        "changeType": change,
        "aspectName": aspect,
        "aspect": {"json": body},
    }


def owners(*names: str, at: str = "", by: str = "", role: str = "TECHNICAL_OWNER") -> Record:
    """An `ownership` aspect: users by name, with the catalog's own stamp where `at` or `by` is given."""
    body: Record = {"owners": [{"owner": f"urn:li:corpuser:{name}", "type": role} for name in names]}
    return body | ({"lastModified": stamp(at, by)} if at or by else {})


def schema(*columns: tuple[str, str] | tuple[str, str, str], at: str = "", by: str = "") -> Record:
    """A `schemaMetadata` aspect: (path, native type) or (path, native type, description) of each column."""
    fields = [
        {
            "fieldPath": path,
            "nativeDataType": native,
            "nullable": True,
            "type": {"type": {"com.linkedin.schema.StringType": {}}},
            **({"description": text[0]} if text else {}),
        }
        for path, native, *text in columns
    ]
    body: Record = {
        "schemaName": "s",
        "platform": "urn:li:dataPlatform:postgres",
        "version": 0,
        "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": fields,
    }
    return body | ({"lastModified": stamp(at, by)} if at or by else {})


def lineage(upstreams: Sequence[str], columns: Sequence[tuple[str, str, str]] = (), downstream: str = "") -> Record:
    """An `upstreamLineage` aspect: upstream URNs, and (upstream URN, its column, column of `downstream`)."""
    body: Record = {"upstreams": [{"dataset": urn, "type": "TRANSFORMED"} for urn in upstreams]}
    if columns:
        body["fineGrainedLineages"] = [
            {
                "upstreamType": "FIELD_SET",
                "upstreams": [column_of(urn, path)],
                "downstreamType": "FIELD",
                "downstreams": [column_of(downstream, own)],
            }
            for urn, path, own in columns
        ]
    return body


def status(removed: bool = False) -> Record:
    """A `status` aspect."""
    return {"removed": removed}


def tags(*names: str) -> Record:
    """A `globalTags` aspect."""
    return {"tags": [{"tag": f"urn:li:tag:{name}"} for name in names]}


def text(description: str) -> Record:
    """A `datasetProperties` aspect with a description."""
    return {"description": description, "customProperties": {}}


def siblings(*urns: str, primary: bool = False) -> Record:
    """A `siblings` aspect."""
    return {"siblings": list(urns), "primary": primary}


def stamp(at: str, by: str) -> Record:
    """An audit stamp."""
    return {"time": int(parse(at)) if at else 0, "actor": f"urn:li:corpuser:{by or 'unknown'}"}


def place(folder: Path, name: str) -> str:
    """The address of the store of that name in a folder: a file, or a database while `placed` says so."""
    return _places[-1](folder, name) if _places else f"sqlite:///{folder / name}"


_places: list[Callable[[Path, str], str]] = []


@contextmanager
def placed(where: Callable[[Path, str], str]) -> Iterator[None]:
    """Memories that are made in the block live where this says."""
    _places.append(where)
    try:
        yield
    finally:
        _places.remove(where)


class Memory:
    """A store in a folder, and the jobs on it. Its clock stands at the last scan, a second later at each job.

    Where a test runs on every dialect, the store is a database of a server instead: see `place`.
    """

    def __init__(self, folder: Path, *, name: str = "memory.db") -> None:
        self.folder = folder
        self.url = place(folder, name)
        self.store: Store = open_store(self.url)
        self.clock = FixedClock(parse("2026-03-01T00:00:00Z"), step=0)
        migrate.upgrade(self.store, now=self.clock.now(), secret=SECRET)
        self._scans = 0
        self._jobs = 0

    def now(self, at: str) -> Moment:
        """Set the clock."""
        self.clock.at = parse(at)
        return self.clock.at

    def scan(
        self,
        records: Sequence[Record] | Path,
        *,
        at: str,
        source: str = "file",
        complete: bool = False,
        scope: Scope | None = None,
        **asked: Any,
    ) -> ScanReport:
        """Scan records (or a file) as a reading of that time."""
        if isinstance(records, Path):
            path = records
        else:
            self._scans += 1
            path = self.folder / f"reading-{self._scans}.json"
            path.write_text(json.dumps(list(records)))
        self.now(at)
        request = ScanRequest(source=source, at=parse(at), scope=scope or Scope(), **asked)
        reader = FileReader(path, complete=complete)
        return scan(self.store, reader, request, clock=self._tick(), progress=NoProgress(), holder="test:1:")

    def note(self, urn: str, text: str, *, by: str, at: str | None = None, kind: str = "") -> NoteReport:
        """Say something of an entity: `by` as observers are written, `person:mira`."""
        if at is not None:
            self.now(at)
        return note(self.store, urn=urn, text=text, observer=by, kind=kind, clock=self._tick(), holder="test:1:")

    def decide(self, item: str, what: str, *, by: str, text: str = "") -> DecideReport:
        """Decide about an item of the inbox."""
        decided = Decided(what)
        return decide(self.store, item, decided, observer=by, text=text, clock=self._tick(), holder="test:1:")

    def inbox(self) -> tuple[ItemView, ...]:
        """What waits for a decision now."""
        return inbox(self.store, When(now=self.clock.at)).items

    def consolidate(self, *, at: str | None = None, judging: Judging | None = None) -> ConsolidateReport:
        """Consolidate everything that is pending, a second after the last reading or at the given time."""
        if at is not None:
            self.now(at)
        return consolidate(self.store, clock=self._tick(), progress=NoProgress(), holder="test:1:", judging=judging)

    def index(self) -> IndexReport:
        """Bring what is searched up to date."""
        return index(self.store, clock=self._tick(), progress=NoProgress())

    def remember(self, records: Sequence[Record] | Path, *, at: str, **asked: Any) -> ScanReport:
        """Scan and consolidate."""
        report = self.scan(records, at=at, **asked)
        self.consolidate()
        return report

    def _tick(self) -> FixedClock:
        self._jobs += 1
        self.clock.at = Moment(self.clock.at + 1_000 + self._jobs)  # no two runs start in the same moment
        return self.clock
