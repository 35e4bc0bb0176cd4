"""A running DataHub in a journey: one store, one double, and what reads the one for the other."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from palimpsest.adapters.datahub.graphql import GraphqlReader
from palimpsest.jobs.consolidate import consolidate
from palimpsest.jobs.scan import ScanReport, ScanRequest, scan
from palimpsest.jobs.verify import verify
from palimpsest.ports import CatalogReader
from palimpsest.queries.changes import ChangesRequest, changes
from palimpsest.queries.held import When
from palimpsest.store import migrate
from palimpsest.store.engine import Store, open_store
from palimpsest.testing import FixedClock, NoProgress
from palimpsest.testing.gms import GmsDouble

SAMPLE = Path(__file__).resolve().parents[2] / "demo" / "catalog" / "2026-03-02-monday.json"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"


class Live:
    """One store, one double, and a clock that goes on."""

    def __init__(self, store: Store, gms: GmsDouble) -> None:
        self.store, self.gms = store, gms
        self.clock = FixedClock(1_772_500_000_000, step=1_000)  # type: ignore[arg-type]

    def graphql(self, token: str = "", **options: object) -> GraphqlReader:
        """A reader over GraphQL."""
        options.setdefault("timeout", 5)
        return GraphqlReader(self.gms.url, token or self.gms.token, **options)  # type: ignore[arg-type]

    def scan(self, reader: CatalogReader) -> ScanReport:
        """Scan and consolidate; every rule holds afterwards."""
        try:
            report = scan(
                self.store,
                reader,
                ScanRequest(source=reader.kind),
                clock=self.clock,
                progress=NoProgress(),
                holder="test",
            )
        finally:
            reader.close()
            consolidate(self.store, clock=self.clock, progress=NoProgress(), holder="test")
            assert verify(self.store, clock=self.clock, progress=NoProgress()).broken == 0
        return report

    def changes(self) -> list[str]:
        """The lines of everything that changed so far."""
        view = changes(self.store, ChangesRequest(since="2020-01-01"), When(now=self.clock.now()))
        return [line.partition(", ")[0] for line in view.lines]

    def beliefs(self) -> set[tuple[object, ...]]:
        """Everything that is held now: (URN, source, aspect, key, value)."""
        return beliefs(Path(str(self.store.engine.url.database)))


def beliefs(file: Path) -> set[tuple[object, ...]]:
    """Everything that a store holds now: (URN, source, aspect, key, value)."""
    db = sqlite3.connect(file)
    rows = db.execute(
        """SELECT e.urn, c.source, c.aspect, c.key, p.value FROM version v JOIN cell c ON c.id = v.cell_id
           JOIN entity e ON e.id = c.entity_id JOIN episode p ON p.cell_id = v.cell_id AND p.number = v.episode
           WHERE v.state = 'current'"""
    ).fetchall()
    db.close()
    return set(rows)


def new_store(file: Path) -> Store:
    """An empty store."""
    store = open_store(f"sqlite:///{file}")
    migrate.upgrade(store, now=1)  # type: ignore[arg-type]
    return store
