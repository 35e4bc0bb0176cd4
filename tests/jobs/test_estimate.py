"""What a scan is estimated to take: the model agrees with what the readers do to a stand-in for DataHub."""

from __future__ import annotations

import gzip
import json
import math
import os
from pathlib import Path

import pytest

from palimpsest.adapters.datahub.credentials import Credentials
from palimpsest.adapters.datahub.file_size import size_of
from palimpsest.adapters.datahub.graphql import GraphqlReader
from palimpsest.core.errors import UsageError
from palimpsest.core.moment import parse
from palimpsest.jobs import estimate
from palimpsest.surfaces.cli.app import main
from palimpsest.testing import FixedClock
from palimpsest.testing.gms import GmsDouble
from tests.building import Record, dataset, mcp, owners, schema
from tests.robustness.catalogs import write
from tests.testing.second import datahub_environment

NOW = parse("2026-03-02T08:00:00Z")


def tables(count: int) -> list[Record]:
    """So many small datasets."""
    urns = [dataset(f"shop.t{number:05d}") for number in range(count)]
    records = []
    for urn in urns:
        key = {"platform": "urn:li:dataPlatform:postgres", "name": urn.split(",")[1], "origin": "PROD"}
        records.append(mcp(urn, "datasetKey", key))
        records.append(mcp(urn, "status", {"removed": False}))
        records.append(mcp(urn, "ownership", owners("jonas")))
        records.append(mcp(urn, "schemaMetadata", schema(("id", "bigint"))))
    return records


@pytest.mark.parametrize("count", [120, 1_000])
def test_the_requests_of_graphql_are_those_of_the_model(tmp_path: Path, count: int) -> None:
    path = write(tmp_path, "catalog.json", tables(count))
    with GmsDouble.serving(load=[path]) as gms, GraphqlReader(gms.url, gms.token) as reader:
        for _ in reader.records():
            pass
        sent = len(gms.requests)
    assert abs(estimate.COSTS["datahub-graphql"].requests(count) - sent) <= 1
    assert sent / count * 1_000 <= 60 or count < 1_000


def test_the_requests_of_mcp_are_those_of_the_model(tmp_path: Path) -> None:
    from palimpsest.adapters.datahub.mcp_source import McpReader

    command = [str(datahub_environment() / "bin" / "mcp-server-datahub")]
    path = write(tmp_path, "catalog.json", tables(40))
    with GmsDouble.serving(load=[path]) as gms:
        named = Credentials(url=gms.url, token=gms.token)
        with McpReader(named, command=command, environ=dict(os.environ)) as reader:
            for _ in reader.records():
                pass
            sent = len(gms.requests)
    assert abs(estimate.COSTS["datahub-mcp"].requests(40) - sent) <= 2


def test_the_costs_are_those_of_the_benchmark_that_was_kept() -> None:
    lines = (Path(__file__).resolve().parents[2] / "benchmarks" / "datahub.md").read_text().splitlines()
    measured = {cells[1].strip("` "): cells[2:] for line in lines if (cells := line.split("|"))[1].startswith(" `")}
    assert set(measured) == set(estimate.COSTS)
    for source, cost in estimate.COSTS.items():
        read, store, seconds = (float(cell.replace(",", "")) for cell in measured[source][2:5])
        assert (read, store) == (cost.read_mb_per_1000, cost.store_mb_per_1000)
        assert abs(seconds - cost.busy_seconds_per_1000) < 0.5


@pytest.mark.parametrize("source", sorted(estimate.COSTS))
def test_more_entities_take_more_of_everything(source: str) -> None:
    small, large = (estimate.of_catalog(source, entities, concurrency=4) for entities in (500, 50_000))
    assert small.requests is not None
    assert large.requests is not None
    assert small.requests < large.requests
    assert small.minutes < large.minutes
    assert small.read_mb < large.read_mb
    assert small.store_mb < large.store_mb


def test_a_live_source_is_asked_for_a_count_and_nothing_else(tmp_path: Path) -> None:
    path = write(tmp_path, "catalog.json", tables(30))
    with GmsDouble.serving(load=[path]) as gms, GraphqlReader(gms.url, gms.token) as reader:
        found = estimate.of_live(reader, concurrency=4, clock=FixedClock(NOW))
        operations = {request.operation for request in gms.requests}
    assert (found.source, found.entities) == ("datahub-graphql", 30)
    assert found.answer_seconds == estimate.ANSWER_SECONDS
    assert operations == {"", "palimpsestScroll"}


def test_a_slow_answer_makes_longer_minutes() -> None:
    quick = estimate.of_catalog("datahub-mcp", 1_000, concurrency=4)
    slow = estimate.of_catalog("datahub-mcp", 1_000, concurrency=4, answer_seconds=2.0)
    assert slow.minutes > quick.minutes * 5


def test_graphql_is_recommended_and_mcp_named_where_it_is_quick_enough() -> None:
    assert "quick enough" in estimate.recommended(1_000, concurrency=4)[1]
    source, why = estimate.recommended(50_000, concurrency=4)
    assert (source, "quick enough" in why, "50,000 entities" in why) == ("datahub-graphql", False, True)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
@pytest.mark.parametrize("count", [3, 5_000])
def test_the_size_of_a_file(tmp_path: Path, count: int, packed: bool) -> None:
    text = json.dumps(tables(count)).encode()
    path = tmp_path / ("catalog.json.gz" if packed else "catalog.json")
    path.write_bytes(gzip.compress(text) if packed else text)
    records, size = size_of(tmp_path)
    assert math.isclose(records, 4 * count, rel_tol=0.15)
    assert math.isclose(size, len(text), rel_tol=0.15)


def test_no_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        size_of(tmp_path / "none.json")


def test_the_command_tells_it_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    store = tmp_path / "memory.db"
    path = write(tmp_path, "catalog.json", tables(30))
    with GmsDouble.serving(load=[path]) as gms:
        monkeypatch.setenv("DATAHUB_GMS_URL", gms.url)
        monkeypatch.setenv("DATAHUB_GMS_TOKEN", gms.token)
        assert main(["--store", f"sqlite:///{store}", "scan", "datahub-graphql", "--estimate"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines] == ["entities", "requests", "minutes", "MB"]
        assert lines[0].split()[1] == "30"
        gms.faults.fail(401)
        assert main(["--store", f"sqlite:///{store}", "scan", "datahub-graphql", "--estimate"]) == 3
        capsys.readouterr()
    assert main(["--store", f"sqlite:///{store}", "scan", f"file:{path}", "--estimate", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["data"]["records"], document["data"]["requests"]) == ("estimate", 120, None)
    assert main(["--store", f"sqlite:///{store}", "scan", "nothing", "--estimate"]) == 2
    assert not store.exists()
