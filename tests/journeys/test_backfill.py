"""Backfill: what DataHub kept becomes history, as if every version had been scanned when it was written."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import stamina

from palimpsest.adapters.datahub.graphql import GraphqlReader
from palimpsest.adapters.datahub.history_source import DatahubHistory
from palimpsest.core.errors import CatalogError
from palimpsest.core.moment import Moment, parse
from palimpsest.jobs.backfill import BackfillReport, BackfillRequest, backfill
from palimpsest.jobs.consolidate import consolidate
from palimpsest.jobs.erase import erase
from palimpsest.jobs.scan import ScanReport, ScanRequest, scan
from palimpsest.jobs.verify import verify
from palimpsest.queries.changes import ChangesRequest, changes
from palimpsest.queries.held import When
from palimpsest.queries.history import history
from palimpsest.queries.show import show
from palimpsest.store import migrate
from palimpsest.store.engine import Store, open_store
from palimpsest.testing import FixedClock, NoProgress
from palimpsest.testing.gms import GmsDouble
from tests.building import dataset, owners, schema
from tests.robustness.command import palimpsest

DAY, HOUR = 86_400_000, 3_600_000
START = parse("2026-01-01T08:00:00Z")
ORDERS, CUSTOMERS = dataset("shop.orders"), dataset("shop.customers")


@dataclass
class Catalog:
    """A double whose clock is set by hand, and stores that learn from it."""

    gms: GmsDouble
    clock: FixedClock
    folder: Path
    exits: ExitStack
    jobs: int = 0

    def at(self, day: int) -> None:
        """Let it be so many days after the start."""
        self.clock.at = Moment(START + day * DAY)

    def put(self, urn: str, aspect: str, body: dict[str, Any]) -> None:
        """Write an aspect, now."""
        self.gms.store.put(urn, aspect, body, at=self.clock.now())
        self.gms.refresh()

    def store(self, name: str) -> Store:
        """An empty store."""
        store = open_store(f"sqlite:///{self.folder / name}.db")
        self.exits.callback(store.dispose)
        migrate.upgrade(store, now=START, secret=b"0123456789abcdef")
        return store

    def later(self) -> FixedClock:
        """A clock an hour later, and no two the same."""
        self.jobs += 1
        return FixedClock(Moment(self.clock.now() + HOUR + self.jobs * 1_000), step=1)

    def scan(self, store: Store) -> ScanReport:
        """Scan through GraphQL, an hour later, and consolidate."""
        clock = self.later()
        with GraphqlReader(self.gms.url, self.gms.token) as reader:
            asked = ScanRequest(source=reader.kind)
            report = scan(store, reader, asked, clock=clock, progress=NoProgress(), holder="test")
        judge(store, clock)
        return report

    def backfill(self, store: Store, *, judged: bool = True, dry_run: bool = False) -> BackfillReport:
        """Fill in, and consolidate."""
        clock = self.later()
        with DatahubHistory(self.gms.url, self.gms.token) as reader:
            asked = BackfillRequest(source=reader.kind, dry_run=dry_run)
            report = backfill(store, reader, asked, clock=clock, progress=NoProgress(), holder="test")
        if judged and not dry_run:
            judge(store, clock)
        return report


def judge(store: Store, clock: FixedClock) -> None:
    """Consolidate; every rule holds afterwards."""
    consolidate(store, clock=clock, progress=NoProgress(), holder="test")
    assert [rule for rule in verify(store, clock=clock, progress=NoProgress()).rules if rule.broken] == []


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """An empty double at the start of time."""
    clock = FixedClock(START)
    with GmsDouble.serving(clock=clock) as gms, stamina.set_testing(True, attempts=2), ExitStack() as exits:
        yield Catalog(gms, clock, tmp_path, exits)


def told(store: Store) -> list[tuple[Any, ...]]:
    """Every version of every belief by slot: its order, what it says, whether it is current, how it ended."""
    statement = sa.text(
        "SELECT entity.urn, cell.aspect, cell.key, episode.value, version.state, episode.kind, version.reverts_to "
        "FROM version JOIN episode ON episode.cell_id = version.cell_id AND episode.number = version.episode "
        "JOIN cell ON cell.id = version.cell_id JOIN entity ON entity.id = cell.entity_id "
        "ORDER BY entity.urn, cell.aspect, cell.key, version.number"
    )
    return [tuple(row) for row in store.read(lambda connection: connection.execute(statement).all())]


def since(store: Store) -> list[tuple[Moment, Moment | None]]:
    """(from, to) of every version, in the same order."""
    statement = sa.text(
        "SELECT version.valid_from, version.valid_to FROM version JOIN cell ON cell.id = version.cell_id "
        "JOIN entity ON entity.id = cell.entity_id ORDER BY entity.urn, cell.aspect, cell.key, version.number"
    )
    return [(row[0], row[1]) for row in store.read(lambda connection: connection.execute(statement).all())]


def a_life(catalog: Catalog, days: int, seed: int, each_day: Any) -> None:
    """So many days on which the aspects of two datasets change: owners, columns, properties, tags, lineage, status."""
    chosen = random.Random(seed)
    names = ["id", "total", "currency", "placed_at", "customer_id", "note"]
    for day in range(days):
        catalog.at(day)
        for urn in (ORDERS, CUSTOMERS):
            listed = sorted(chosen.sample(names, chosen.randint(1, len(names))))
            people = chosen.sample(["ana", "bo", "cem", "dia"], chosen.randint(0, 2))
            catalog.put(urn, "ownership", owners(*people) | {"note": str(day)})
            catalog.put(urn, "schemaMetadata", schema(*[(name, f"VARCHAR({day % 7 + 1})") for name in listed]))
            properties = {f"p{number}": str(day // (number + 1)) for number in range(chosen.randint(0, 4))}
            catalog.put(urn, "datasetProperties", {"description": f"day {day}", "customProperties": properties})
            tags = [{"tag": f"urn:li:tag:t{number}"} for number in range(day % 3)]
            catalog.put(urn, "globalTags", {"tags": tags})
            above = {"dataset": CUSTOMERS if urn == ORDERS else ORDERS, "type": "TRANSFORMED"}
            catalog.put(urn, "upstreamLineage", {"upstreams": [above] if day % 2 else []})
            catalog.put(urn, "status", {"removed": day % 5 == 3})
        each_day()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_backfill_and_a_scan_equal_having_scanned_each_version_live(catalog: Catalog, seed: int) -> None:
    live = catalog.store("live")
    a_life(catalog, 21, seed, lambda: catalog.scan(live))
    assert len(catalog.gms.store.versions(ORDERS, "schemaMetadata")) == 21  # the current one and twenty before it

    late = catalog.store("late")
    filled = catalog.backfill(late)
    assert (filled.failed, filled.gaps) == (0, {})
    after = catalog.scan(late)

    assert (after.written, after.changes) == (0, {})
    assert told(late) == told(live)
    for (begun, ended), (begun_live, ended_live) in zip(since(late), since(live), strict=True):
        assert 0 <= begun_live - begun < 2 * HOUR  # the scan came an hour after the writing
        assert (ended is None) == (ended_live is None)
        assert ended is None or ended_live is None or 0 <= ended_live - ended < 2 * HOUR
    assert catalog.backfill(late).written == 0


@pytest.mark.parametrize("judged_between", [True, False])
def test_a_backfill_after_the_first_scan_adds_what_was_before_and_alters_nothing(
    catalog: Catalog, judged_between: bool
) -> None:
    a_life(catalog, 12, 3, lambda: None)
    straight = catalog.store("straight")
    catalog.backfill(straight)

    store = catalog.store("scanned")
    catalog.scan(store)
    held = "SELECT belief_id, number, cell_id, episode, valid_from, valid_after, recorded_at, reason FROM version"
    before = store.read(lambda connection: connection.execute(sa.text(f"{held} ORDER BY 1, 2")).all())
    report = catalog.backfill(store, judged=judged_between)
    if not judged_between:
        catalog.scan(store)

    now = store.read(lambda connection: connection.execute(sa.text(f"{held} WHERE number > 0 ORDER BY 1, 2")).all())
    assert {tuple(row) for row in before} <= {tuple(row) for row in now}
    assert report.written > 0
    assert catalog.backfill(store).written == 0
    for moment in (START + 2 * DAY + 1, START + 5 * DAY + 1, START + 10 * DAY + 1):
        when = When(now=Moment(START + 30 * DAY), as_of=Moment(moment))
        for urn in (ORDERS, CUSTOMERS):
            shown, expected = show(store, urn, when), show(straight, urn, when)
            assert [(one.aspect, one.key, one.value) for one in shown.beliefs] == [
                (one.aspect, one.key, one.value) for one in expected.beliefs
            ]
            assert [(one.key, one.type) for one in shown.columns] == [(one.key, one.type) for one in expected.columns]
            assert shown.exists == expected.exists


def test_what_goes_on_unchanged_is_shown_since_it_was_written_and_as_known_before_the_backfill_is_unchanged(
    catalog: Catalog,
) -> None:
    catalog.put(ORDERS, "ownership", owners("ana"))
    catalog.at(3)
    catalog.put(ORDERS, "ownership", owners("bo"))
    catalog.at(10)
    store = catalog.store("memory")
    scanned = catalog.scan(store).read_at
    catalog.at(20)
    catalog.backfill(store)

    now = When(now=Moment(START + 30 * DAY))
    (owner,) = [one for one in show(store, ORDERS, now).beliefs if one.aspect == "ownership"]
    assert (int(owner.since.timestamp() * 1000), owner.revised) == (START + 3 * DAY, 1)
    known = When(now=now.now, known_at=Moment(scanned + HOUR))
    (owner,) = [one for one in show(store, ORDERS, known).beliefs if one.aspect == "ownership"]
    assert (int(owner.since.timestamp() * 1000), owner.revised) == (scanned, 0)
    assert len(changes(store, ChangesRequest(since="2026-01-01", until="2026-01-08"), now).lines) == 1
    (belief,) = history(store, ORDERS, "ownership", None, now).beliefs
    assert [(one.number, one.state) for one in belief.versions] == [
        (1, "current"),
        (0, "superseded"),
        (-1, "superseded"),
    ]


def test_versions_that_are_no_longer_kept_are_named(catalog: Catalog) -> None:
    for day in range(25):
        catalog.at(day)
        catalog.put(ORDERS, "ownership", owners(f"person{day}"))
    report = catalog.backfill(catalog.store("memory"))

    assert report.gaps == {"ownership": 1}
    assert report.gaps_named == ["orders: ownership: versions 1 to 4"]
    assert report.oldest == START  # that the entity exists is told by its key; its owners only by what is kept


def test_a_column_that_went_before_the_first_scan_has_ended(catalog: Catalog) -> None:
    catalog.put(ORDERS, "schemaMetadata", schema(("id", "INT"), ("old", "TEXT")))
    catalog.at(1)
    catalog.put(ORDERS, "schemaMetadata", schema(("id", "INT")))
    catalog.at(2)
    store = catalog.store("memory")
    catalog.scan(store)
    catalog.backfill(store)

    now = Moment(START + 30 * DAY)
    assert [one.key for one in show(store, ORDERS, When(now=now)).columns] == ["id"]
    then = When(now=now, as_of=Moment(START + 1))
    assert [one.key for one in show(store, ORDERS, then).columns] == ["id", "old"]


def test_a_dry_run_writes_nothing(catalog: Catalog) -> None:
    catalog.put(ORDERS, "ownership", owners("ana"))
    catalog.at(1)
    catalog.put(ORDERS, "ownership", owners("bo"))
    store = catalog.store("memory")
    report = catalog.backfill(store, dry_run=True)

    assert report.written == 3
    assert report.planned == ["orders: owner was ana, now bo"]
    assert store.read(lambda connection: connection.scalar(sa.text("SELECT count(*) FROM run"))) == 0


def test_one_entity_that_cannot_be_read_costs_that_entity(catalog: Catalog) -> None:
    for urn in (ORDERS, CUSTOMERS):
        catalog.put(urn, "ownership", owners("ana"))
    catalog.gms.faults.fail(500, match="shop.customers")
    store = catalog.store("memory")
    report = catalog.backfill(store)

    assert (report.failed, len(report.failures)) == (1, 1)
    assert CUSTOMERS in report.failures[0]
    assert show(store, ORDERS, When(now=Moment(START + DAY))).exists


def test_a_backfill_that_broke_is_completed_by_the_next_one(catalog: Catalog) -> None:
    names = [dataset(f"shop.t{number}") for number in range(60)]
    for day in range(3):
        catalog.at(day)
        for name in names:
            catalog.put(name, "ownership", owners(f"person{day}"))
    whole = catalog.store("whole")
    catalog.backfill(whole)

    store = catalog.store("broken")
    catalog.gms.faults.fail(401, match="batchGet", after=5)
    with pytest.raises(CatalogError, match="refuses the token"):
        catalog.backfill(store)
    judge(store, catalog.later())
    catalog.gms.faults.clear()
    catalog.backfill(store)

    assert told(store) == told(whole)
    assert catalog.backfill(store).written == 0


def test_the_command_fills_in_and_says_what_datahub_no_longer_keeps(catalog: Catalog) -> None:
    for day in range(23):
        catalog.at(day)
        catalog.put(ORDERS, "ownership", owners(f"person{day}"))
    gms = {"DATAHUB_GMS_URL": catalog.gms.url, "DATAHUB_GMS_TOKEN": catalog.gms.token}
    store = catalog.folder / "memory.db"

    done = palimpsest("backfill", store=store, folder=catalog.folder, **gms)
    assert (done.code, done.err) == (0, "")
    said = done.out.splitlines()
    assert said[:2] == [
        "datahub-graphql: 21 stored versions of 1 entities",
        "22 episodes written, the oldest of 2026-01-01 08:00",
    ]
    assert "DataHub no longer keeps older versions: ownership of 1" in said
    assert "  orders: ownership: versions 1 to 2" in said
    again = palimpsest("backfill", store=store, folder=catalog.folder, **gms)
    assert "0 episodes written" in again.out
    assert palimpsest("consolidate", store=store, folder=catalog.folder).code == 0
    then = palimpsest("show", "orders", "--as-of", "2026-01-05", store=store, folder=catalog.folder)
    assert "person4" in then.out
    refused = palimpsest("backfill", "datahub-mcp", store=store, folder=catalog.folder, **gms)
    assert refused.code == 2
    assert "tells nothing of earlier versions" in refused.err


def test_what_a_catalog_kept_of_a_person_who_was_erased_comes_in_under_the_pseudonym(catalog: Catalog) -> None:
    for day, names in enumerate([("alice",), ("alice", "bob"), ("bob",)]):
        catalog.at(day)
        catalog.put(ORDERS, "ownership", owners(*names, at=f"2026-01-0{day + 1}T08:00:00Z", by="alice"))
    store = catalog.store("erased")
    catalog.scan(store)
    asked = {"clock": catalog.later(), "progress": NoProgress(), "holder": "test", "salt": lambda: "7f3a"}
    erase(store, "urn:li:corpuser:alice", **asked)
    assert catalog.backfill(store).written > 0
    said = [(row[3] or "") for row in told(store) if row[1] == "ownership"]
    assert [text.count("corpuser:erased-7f3a") for text in said] == [1, 1, 0]
    dumped = sa.text("SELECT count(*) FROM episode WHERE value LIKE '%alice%' OR actor LIKE '%alice%'")
    assert store.read(lambda connection: connection.execute(dumped).scalar_one()) == 0
    assert (catalog.backfill(store).written, catalog.scan(store).written) == (0, 0)
