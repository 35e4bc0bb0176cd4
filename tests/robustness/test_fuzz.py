"""Mutated records never raise: each is counted as used, no memory, failed or out of scope; a second scan writes 0."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from palimpsest.adapters.datahub.file import FileReader
from palimpsest.core.errors import CatalogError, MassChangeError
from palimpsest.core.moment import Moment, parse
from palimpsest.core.observation import Failed, RawAspect, Skipped
from palimpsest.jobs.consolidate import consolidate
from palimpsest.jobs.scan import ScanReport, ScanRequest, scan
from palimpsest.jobs.verify import verify
from palimpsest.testing import FixedClock, NoProgress
from tests import servers
from tests.building import Memory, Record, dataset, lineage, mcp, owners, placed, schema, siblings, status, tags, text
from tests.jobs.dumps import dumped

ORDERS, USERS = dataset("shop.orders"), dataset("shop.users")
STAMP = {"time": 1_772_438_400_000, "actor": "urn:li:corpuser:etl"}
SEEN = {"lastObserved": 1_772_438_400_000, "runId": "run-1"}

SNAPSHOT: Record = {
    "auditHeader": None,
    "proposedSnapshot": {
        "com.linkedin.pegasus2avro.metadata.snapshot.DatasetSnapshot": {
            "urn": ORDERS,
            "aspects": [
                {"com.linkedin.pegasus2avro.common.Status": {"removed": False}},
                {
                    "com.linkedin.pegasus2avro.dataset.DatasetProperties": {
                        "customProperties": {"map": {"team": "a"}},
                        "description": {"string": "Orders"},
                        "tags": [],
                    }
                },
                {
                    "com.linkedin.pegasus2avro.common.Ownership": {
                        "owners": [{"owner": "urn:li:corpuser:jonas", "type": "DATAOWNER", "source": None}],
                        "lastModified": STAMP,
                    }
                },
                {"com.linkedin.pegasus2avro.schema.SchemaMetadata": schema(("id", "INT"), ("note", "TEXT", "A note"))},
            ],
        }
    },
    "systemMetadata": SEEN,
}
PATCHES = [
    {"op": "add", "path": "/tags/urn:li:tag:pii", "value": {"tag": "urn:li:tag:pii"}},
    {"op": "remove", "path": "/tags/urn:li:tag:old"},
]
EDITS = {"editableSchemaFieldInfo": [{"fieldPath": "id", "description": "The key", "globalTags": tags("key")}]}
LINK = {"url": "https://wiki.example.org", "description": "Wiki", "createStamp": STAMP}
BASES: list[Record] = [
    SNAPSHOT,
    mcp(ORDERS, "schemaMetadata", schema(("id", "INT"), ("note", "TEXT", "A note"), at="2026-03-01", by="etl")),
    mcp(ORDERS, "ownership", owners("jonas", "ana", at="2026-03-01", by="boss")),
    mcp(ORDERS, "globalTags", tags("pii", "gold")),
    mcp(ORDERS, "globalTags", PATCHES, "PATCH"),
    mcp(ORDERS, "datasetProperties", text("Orders") | {"customProperties": {"team": "a"}, "created": STAMP}),
    mcp(ORDERS, "datasetProperties", [{"op": "add", "path": "/customProperties/a", "value": "b"}], "PATCH"),
    mcp(ORDERS, "editableDatasetProperties", {"description": "Edited", "lastModified": STAMP}),
    mcp(ORDERS, "editableSchemaMetadata", EDITS),
    mcp(ORDERS, "upstreamLineage", lineage([USERS], [(USERS, "id", "id")], ORDERS)),
    mcp(
        ORDERS, "upstreamLineage", [{"op": "add", "path": f"/upstreams/{USERS}", "value": {"dataset": USERS}}], "PATCH"
    ),
    mcp(ORDERS, "institutionalMemory", {"elements": [LINK]}),
    mcp(ORDERS, "domains", {"domains": ["urn:li:domain:sales"]}),
    mcp(ORDERS, "siblings", siblings(USERS, primary=True)),
    mcp(
        ORDERS, "deprecation", {"deprecated": True, "note": "old", "decommissionTime": 1_772_438_400_000, "actor": "a"}
    ),
    mcp(ORDERS, "glossaryTerms", {"terms": [{"urn": "urn:li:glossaryTerm:a"}], "auditStamp": STAMP}),
    mcp(ORDERS, "container", {"container": "urn:li:container:1"}),
    mcp(ORDERS, "subTypes", {"typeNames": ["Table"]}),
    mcp(ORDERS, "viewProperties", {"materialized": False, "viewLogic": "SELECT 1", "viewLanguage": "SQL"}),
    mcp(ORDERS, "dataPlatformInstance", {"platform": "urn:li:dataPlatform:postgres", "instance": "urn:li:x:1"}),
    mcp(
        ORDERS,
        "structuredProperties",
        {"properties": [{"propertyUrn": "urn:li:structuredProperty:a", "values": [{"string": "x"}, {"double": 1.5}]}]},
    ),
    mcp(
        "urn:li:dashboard:(looker,1)",
        "dashboardInfo",
        {"title": "Sales", "description": "d", "charts": [], "lastModified": {}},
    ),
    mcp("urn:li:chart:(looker,1)", "chartInfo", {"title": "c", "description": "", "inputs": [{"string": ORDERS}]}),
    mcp(
        "urn:li:dataJob:(urn:li:dataFlow:(airflow,f,PROD),t)",
        "dataJobInputOutput",
        {"inputDatasets": [USERS], "outputDatasets": [ORDERS], "inputDatajobs": []},
    ),
    mcp("urn:li:glossaryTerm:a", "glossaryTermInfo", {"name": "A", "definition": "d", "termSource": "INTERNAL"}),
    mcp("urn:li:domain:sales", "domainProperties", {"name": "Sales", "description": "d"}),
    mcp("urn:li:mlModel:(urn:li:dataPlatform:mlflow,m,PROD)", "mlModelProperties", {"description": "d", "tags": []}),
    mcp(ORDERS, "status", status()) | {"systemMetadata": SEEN},
    {**mcp(ORDERS, "status", {}), "aspect": {"value": '{"removed": true}', "contentType": "application/json"}},
    mcp(ORDERS, "datasetProfile", {"rowCount": 3, "timestampMillis": 1}),
    mcp(ORDERS, "browsePathsV2", {"path": []}),
]


# What no value in this test can stand for itself is spelled out when the file is written.
SPELLED = {
    '"<huge>"': "1" + "0" * 5_000,
    '"<deep>"': "[" * 300 + "]" * 300,
    '"<deeper>"': '{"a":' * 990 + "1" + "}" * 990,
    '"<twice>"': '{"a": 1, "a": {"b": 2}, "urn": "x", "urn": 3}',
}


ODD_TEXTS = [
    "",
    " ",
    "\x00",
    "a\x00b",
    "\ud800",
    "x\udfff",
    "é",
    "e\u0301",
    "🎉",
    "\u202egnp",
    "a\nb",
    "x" * 70_000,
    "~1/~0",
    "urn:li:",
    "urn:li:dataset:(",
    ORDERS,
    "%s{}",
    "(a,b",
    "[version=2.0].[type=x]",
    "com.linkedin.x",
    "string",
    "null",
    "NaN",
]
ODD_NUMBERS = [0, -1, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**40, 1e308, float("nan"), float("inf"), -0.0]
ODD = st.one_of(
    st.sampled_from(ODD_TEXTS),
    st.sampled_from(ODD_NUMBERS),
    st.sampled_from(
        [
            None,
            True,
            False,
            [],
            {},
            [None],
            [[]],
            [{}],
            {"": ""},
            {"string": None},
            {"array": {}},
            {"map": []},
            {"com.linkedin.x": 1},
            {"json": {}},
            {"time": "x"},
            {"\ud800": "\ud800"},
            "<huge>",
            "<deep>",
            "<deeper>",
            "<twice>",
        ]
    ),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all nodes."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*path, index))


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """A record of a real form with up to three nodes replaced, dropped, doubled or renamed."""
    record: Any = copy.deepcopy(draw(st.sampled_from(BASES)))
    for _ in range(draw(st.integers(min_value=0, max_value=3))):
        path = draw(st.sampled_from(list(places(record))))
        how = draw(st.sampled_from(["replace", "replace", "replace", "drop", "double", "rename", "key"]))
        if not path:
            if how == "replace":
                return copy.deepcopy(draw(ODD))
            continue
        holder = record
        for step in path[:-1]:
            holder = holder[step]
        last = path[-1]
        if how == "replace":
            holder[last] = copy.deepcopy(draw(ODD))
        elif how == "drop":
            del holder[last]
        elif how == "double" and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]))
        elif how == "rename" and isinstance(holder, dict):
            holder[draw(st.sampled_from(ODD_TEXTS))] = holder.pop(last)
        elif isinstance(holder[last], dict):
            holder[last][draw(st.sampled_from(ODD_TEXTS))] = copy.deepcopy(draw(ODD))
    return record


def written(folder: Path, records: list[Any]) -> Path:
    """The records as a file."""
    content = json.dumps(records)
    for mark, spelled in SPELLED.items():
        content = content.replace(mark, spelled)
    file = folder / "fuzz.json"
    file.write_text(content)
    return file


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place for files."""
    return tmp_path_factory.mktemp("fuzz")


RECORDS = st.lists(mutated(), min_size=1, max_size=6)
SLOW = settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
THOROUGH = settings(max_examples=4_000, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
BRIEF = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
LENGTHY = settings(max_examples=1_500, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def read(folder: Path, records: list[Any]) -> None:
    """Every record becomes raw aspects, or is counted as something else; each raw aspect is read or refused."""
    reader = FileReader(written(folder, records))
    try:
        found = list(reader.records())
    except CatalogError as error:
        if "none of its" in error.message or "nested too deeply" in error.message:
            return
        raise
    for one in found:
        assert isinstance(one, RawAspect | Skipped | Failed)
        if isinstance(one, RawAspect):
            try:
                if one.is_patch:
                    reader.patches(one.urn, one.part, one.payload)
                else:
                    reader.observe(one.urn, one.part, one.payload)
            except ValueError:
                continue


@given(records=RECORDS)
@SLOW
def test_the_reader_raises_nothing_and_counts_everything(folder: Path, records: list[Any]) -> None:
    read(folder, records)


@pytest.mark.long
@given(records=RECORDS)
@THOROUGH
def test_the_reader_raises_nothing_at_length(folder: Path, records: list[Any]) -> None:
    read(folder, records)


class Stores:
    """A new empty store for each example, made from one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        Memory(folder, name="empty.db").store.dispose()

    def fresh(self) -> Memory:
        """Another empty one."""
        for suffix in ("", "-wal", "-shm"):
            (self.folder / f"memory.db{suffix}").unlink(missing_ok=True)
        (self.folder / "memory.db").write_bytes((self.folder / "empty.db").read_bytes())
        return Memory(self.folder)


@pytest.fixture(scope="module")
def stores(folder: Path) -> Stores:
    """Where empty stores come from."""
    return Stores(folder)


def scanned(memory: Memory, file: Path, at: Moment, *, complete: bool = False) -> ScanReport:
    """A scan of the file."""
    request, clock = ScanRequest(source="file", at=at), FixedClock(Moment(at + 1_000), step=1)
    reader = FileReader(file, complete=complete)
    return scan(memory.store, reader, request, clock=clock, progress=NoProgress(), holder="t:1:")


def remember(memory: Memory, folder: Path, first: list[Any], second: list[Any]) -> list[bytes]:
    """Scan two files, each twice, consolidate, verify: the second time writes nothing, and no rule is broken.

    Gives the dump of what is held then.
    """
    at = parse("2026-03-02")
    try:
        for records in (first, second):
            file = written(folder, [mcp(USERS, "status", status()), *records])
            at = Moment(at + 86_400_000)
            try:
                report = scanned(memory, file, at)
            except CatalogError as error:
                if "nested too deeply" in error.message:
                    continue
                raise
            sums = report.records_used + report.records_failed + report.records_out_of_scope
            assert report.records_read == sums + sum(report.skipped.values())
            assert report.records_used >= 1
            again = scanned(memory, file, Moment(at + 60_000))
            assert (again.written, again.changes) == (0, {})
            left = consolidate(
                memory.store, clock=FixedClock(Moment(at + 90_000), step=1), progress=NoProgress(), holder="t:1:"
            )
            assert left.left == 0
        found = verify(memory.store, clock=FixedClock(at), progress=NoProgress())
        assert [(rule.rule, rule.examples) for rule in found.rules if rule.broken] == []
        return dumped(memory.store)
    finally:
        memory.store.dispose()


@given(first=RECORDS, second=RECORDS)
@example(first=[mcp(ORDERS, "globalTags", tags("a"))], second=[mcp(ORDERS, "globalTags", PATCHES, "PATCH")])
@BRIEF
def test_a_scan_of_mutated_records_raises_nothing_and_a_second_one_writes_nothing(
    stores: Stores, folder: Path, first: list[Any], second: list[Any]
) -> None:
    remember(stores.fresh(), folder, first, second)


@pytest.mark.long
@given(first=RECORDS, second=RECORDS)
@LENGTHY
def test_scans_of_mutated_records_at_length(stores: Stores, folder: Path, first: list[Any], second: list[Any]) -> None:
    remember(stores.fresh(), folder, first, second)


@pytest.mark.long
@given(first=RECORDS, second=RECORDS)
@BRIEF
def test_mutated_records_leave_the_same_dump_on_postgresql(
    stores: Stores, folder: Path, first: list[Any], second: list[Any]
) -> None:
    """Texts and numbers that not every database can hold among them."""
    with servers.places("postgresql") as place, placed(place):
        there = remember(Memory(folder), folder, first, second)
    assert remember(stores.fresh(), folder, first, second) == there


def test_a_complete_listing_of_mutated_records_is_not_taken_for_whole(stores: Stores, folder: Path) -> None:
    memory = stores.fresh()
    scanned(memory, written(folder, [mcp(urn, "status", status()) for urn in (ORDERS, USERS)]), parse("2026-03-02"))
    file = written(folder, [mcp(USERS, "status", status()), {"entityUrn": 5}])
    try:
        report = scanned(memory, file, parse("2026-03-03"), complete=True)
    except MassChangeError:
        pytest.fail("nothing may end")
    finally:
        memory.store.dispose()
    assert (report.complete, report.written, report.records_failed) == (False, 0, 1)
