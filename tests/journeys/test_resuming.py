"""A live reading that broke goes on where it was: nothing is asked twice, and nothing older ever comes back."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest.adapters.datahub.kept import KeptReading
from palimpsest.core.errors import CatalogError
from palimpsest.jobs.scan import ScanReport, ScanRequest, scan
from palimpsest.ports import CatalogReader
from palimpsest.testing import NoProgress
from palimpsest.testing.gms import GmsDouble
from tests.adapters.datahub.test_mcp import children, gone
from tests.building import dataset, owners
from tests.journeys.living import ORDERS, Live, new_store
from tests.robustness.command import ROOT
from tests.testing.second import mcp_command

SOURCES = ["datahub-graphql", pytest.param("datahub-mcp", marks=pytest.mark.long)]
ENTITIES = {"datahub-graphql": "palimpsestEntities", "datahub-mcp": "GetEntity"}
STRIKE = {"datahub-graphql": "palimpsestEntities", "datahub-mcp": '"operationName": "GetEntity"'}
Make = Callable[..., CatalogReader]


@pytest.fixture
def make(request: pytest.FixtureRequest, live: Live, tmp_path: Path) -> Callable[..., CatalogReader]:
    """Makes readers of either source that keep what they read, by the journey's clock."""

    def reader(source: str, **options: Any) -> CatalogReader:
        minutes = options.pop("minutes", 60)
        kept = KeptReading(tmp_path / "kept", store="memory", minutes=minutes, clock=live.clock)
        if source == "datahub-graphql":
            return live.graphql(page_size=4, concurrency=1, kept=kept)
        return request.getfixturevalue("mcp")(concurrency=1, kept=kept)  # type: ignore[no-any-return]

    return reader


def fill(gms: GmsDouble, count: int) -> None:
    """More datasets in the catalog."""
    for place in range(count):
        gms.store.put(dataset(f"more{place:03}"), "ownership", owners("mira"))
    gms.refresh()


def asked(gms: GmsDouble, source: str) -> Counter[str]:
    """How often each entity was asked about and answered."""
    found: Counter[str] = Counter()
    for request in gms.asked(ENTITIES[source]):
        told = request.body.get("variables") if isinstance(request.body, dict) and request.status == 200 else None
        if isinstance(told, dict):
            urns = told.get("urns") or [told.get("urn")]
            found.update(str(urn) for urn in urns)  # type: ignore[union-attr]
    return found


def break_at(live: Live, make: Make, source: str, after: int) -> None:
    """A scan that DataHub breaks with a 401 when so many entities, or batches of them, were asked about."""
    live.gms.faults.fail(401, match=STRIKE[source], after=after)
    with pytest.raises(CatalogError, match="token"):
        live.scan(make(source))
    live.gms.faults.clear()


@pytest.mark.parametrize(
    ("source", "after", "whole"),
    [("datahub-graphql", 6, 13), pytest.param("datahub-mcp", 25, 20, marks=pytest.mark.long)],
)
def test_what_was_read_before_the_break_is_not_asked_again(
    live: Live, make: Make, tmp_path: Path, source: str, after: int, whole: int
) -> None:
    fill(live.gms, 20)
    break_at(live, make, source, after)
    before = asked(live.gms, source)
    (file,) = (tmp_path / "kept").iterdir()
    assert (stat.S_IMODE(file.stat().st_mode), stat.S_IMODE(file.parent.stat().st_mode)) == (0o600, 0o700)
    live.gms.requests.clear()
    report = live.scan(make(source))
    again = asked(live.gms, source)
    assert (report.complete, report.records_failed, report.resumed) == (True, 0, whole)
    assert len(before - again) == report.resumed == report.entities - len(again)
    assert list((tmp_path / "kept").iterdir()) == []
    assert_as_undisturbed(live, make, tmp_path, source, report)


def assert_as_undisturbed(live: Live, make: Make, folder: Path, source: str, report: ScanReport) -> None:
    """What came of a broken reading and the next is what one that was left alone gives."""
    other = Live(new_store(folder / "other.db"), live.gms)
    alone = other.scan(make(source, minutes=0))
    assert (report.entities, report.observations, report.by_aspect) == (
        alone.entities,
        alone.observations,
        alone.by_aspect,
    )
    assert live.beliefs() == other.beliefs() != set()
    other.store.dispose()


@pytest.mark.parametrize("source", SOURCES)
def test_nothing_older_than_the_last_finished_reading_comes_back(live: Live, make: Make, source: str) -> None:
    fill(live.gms, 20)
    break_at(live, make, source, {"datahub-graphql": 8, "datahub-mcp": 35}[source])
    live.gms.store.put(ORDERS, "ownership", owners("lena"))
    assert live.scan(make(source, minutes=0)).resumed == 0  # as another machine would, which keeps its own
    assert live.scan(make(source)).resumed == 0
    held = [str(value) for urn, _, aspect, _, value in live.beliefs() if (urn, aspect) == (ORDERS, "ownership")]
    assert ["lena" in value for value in held] == [True]


def test_what_is_no_longer_listed_is_not_taken(live: Live, make: Make) -> None:
    fill(live.gms, 20)
    break_at(live, make, "datahub-graphql", 8)
    taken = dataset("more000")
    assert taken in asked(live.gms, "datahub-graphql")
    live.gms.store.delete(taken)
    live.scan(make("datahub-graphql"))
    assert taken not in {urn for urn, *_ in live.beliefs()}


def test_what_is_too_old_is_asked_again(live: Live, make: Make) -> None:
    fill(live.gms, 20)
    break_at(live, make, "datahub-graphql", 6)
    live.clock.at += 61 * 60_000  # type: ignore[assignment]
    assert live.scan(make("datahub-graphql")).resumed == 0


def test_another_source_another_store_and_a_setting_of_zero_take_nothing(
    live: Live, make: Make, tmp_path: Path
) -> None:
    fill(live.gms, 20)
    break_at(live, make, "datahub-graphql", 6)
    kept = KeptReading(tmp_path / "kept", store="another", clock=live.clock)
    other = Live(new_store(tmp_path / "other.db"), live.gms)
    assert other.scan(live.graphql(kept=kept)).resumed == 0
    request = ScanRequest(source="another")
    for reader, asks in ((make("datahub-graphql"), request), (make("datahub-graphql", minutes=0), None)):
        report = scan(
            live.store,
            reader,
            asks or ScanRequest(source="datahub-graphql"),
            clock=live.clock,
            progress=NoProgress(),
            holder="test",
        )
        reader.close()
        assert report.resumed == 0
    other.store.dispose()


def test_a_dry_run_neither_takes_nor_keeps(live: Live, make: Make, tmp_path: Path) -> None:
    fill(live.gms, 20)
    break_at(live, make, "datahub-graphql", 6)
    (file,) = (tmp_path / "kept").iterdir()
    before = file.read_bytes()
    request = ScanRequest(source="datahub-graphql", dry_run=True)
    reader = make("datahub-graphql")
    report = scan(live.store, reader, request, clock=live.clock, progress=NoProgress(), holder="test")
    reader.close()
    assert (report.resumed, file.read_bytes()) == (0, before)


def test_an_entity_that_failed_is_asked_again(live: Live, make: Make) -> None:
    live.gms.faults.broken.add(ORDERS)
    live.gms.faults.fail(401, match="palimpsestEntities", after=8)
    with pytest.raises(CatalogError):
        live.scan(make("datahub-graphql"))
    assert ORDERS in asked(live.gms, "datahub-graphql")
    live.gms.faults.clear()
    live.gms.requests.clear()
    report = live.scan(make("datahub-graphql"))
    assert (report.records_failed, report.resumed > 0) == (0, True)
    assert ORDERS in asked(live.gms, "datahub-graphql")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_is_ended_is_resumed_by_the_next(
    live: Live, tmp_path: Path, source: str, sent: signal.Signals
) -> None:
    gms, batch = live.gms, {"datahub-graphql": 40, "datahub-mcp": 10}[source]
    per_batch = {"datahub-graphql": 1, "datahub-mcp": 10}[source]
    fill(gms, batch * 10)
    store = tmp_path / "memory.db"
    # One batch is read and one waits: when the one after them is asked for, those before are kept.
    passed = (6 if source == "datahub-mcp" else 12) * per_batch
    gms.faults.delay(60, match=STRIKE[source], after=passed)
    process = start(gms, store, source)
    while len(gms.asked(ENTITIES[source])) <= passed and process.poll() is None:
        time.sleep(0.02)
    started = children(process.pid)
    assert len(started) == (source == "datahub-mcp")
    process.send_signal(sent)
    out, err = process.communicate(timeout=60)
    assert sent == signal.SIGKILL or gone(started)
    assert process.returncode == (130 if sent == signal.SIGINT else -sent), err
    assert out == ""
    gms.faults.clear()
    gms.requests.clear()
    out, _ = start(gms, store, source).communicate()
    report = json.loads(out)["data"]
    assert report["resumed"] >= 3 * batch
    assert len(asked(gms, source)) == report["entities"] - report["resumed"]
    assert not list((tmp_path / ".cache").rglob("*.reading"))
    again, _ = start(gms, store, source).communicate()
    assert (report["written"] > 0, json.loads(again)["data"]["written"]) == (True, 0)


def start(gms: GmsDouble, store: Path, source: str) -> subprocess.Popen[str]:
    """A scan of the double in a process of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PALIMPSEST_", "XDG_"))}
    server = mcp_command(store.parent) if source == "datahub-mcp" else ["none"]
    environment = kept | {
        "PYTHONPATH": str(ROOT),
        "HOME": str(store.parent),
        "DATAHUB_GMS_URL": gms.url,
        "DATAHUB_GMS_TOKEN": gms.token,
        "PALIMPSEST_DATAHUB__CONCURRENCY": "1",
        "PALIMPSEST_DATAHUB__MCP_COMMAND": json.dumps(server),
    }
    arguments = ["--store", f"sqlite:///{store}", "scan", source, "--json"]
    return subprocess.Popen(
        [sys.executable, "-m", "palimpsest.surfaces.cli.app", *arguments],
        cwd=store.parent,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
