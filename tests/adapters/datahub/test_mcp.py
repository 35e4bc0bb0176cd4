"""The MCP source through the real server: what it shows, what it strips, what faults cost, and no orphan process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import pytest

from palimpsest.adapters.datahub.credentials import Credentials
from palimpsest.adapters.datahub.mcp import server_environment
from palimpsest.adapters.datahub.mcp_source import McpReader
from palimpsest.core.errors import CatalogError
from palimpsest.core.jsontext import loads
from palimpsest.core.observation import Failed, RawAspect
from palimpsest.testing.gms import GmsDouble
from tests.adapters.datahub.test_graphql import ODD_NAMES, fill
from tests.building import dataset, lineage, owners, schema, tags, text

REFUSED_NAMES = {"a,b", "a(b)"}  # the server takes their comma or parenthesis for the URN's own


@pytest.fixture
def gms():
    with GmsDouble.serving() as double:
        yield double


def read(reader):
    """URN → raw aspect → value, and what failed."""
    found, failures = {}, []
    for each in reader.records():
        if isinstance(each, RawAspect):
            found.setdefault(each.urn, {})[each.part] = loads(each.payload)
        elif isinstance(each, Failed):
            failures.append(each)
    return found, failures


def paths(aspects):
    return sorted(field["fieldPath"] for field in aspects["schemaMetadata"]["fields"])


# --- what it shows ------------------------------------------------------------------------------------------------


def test_odd_names_come_as_they_are_or_fail_with_the_name(gms, mcp):
    urns = {name: dataset(name) for name in ODD_NAMES}
    gms.store.put(dataset("source"), "ownership", owners("mira"))
    for urn in urns.values():
        gms.store.put(urn, "ownership", owners("mira"))
        gms.store.put(urn, "upstreamLineage", lineage([dataset("source")]))
    found, failures = read(mcp(gms))
    assert {failed.where for failed in failures} == {urns[name] for name in REFUSED_NAMES}
    for name in set(ODD_NAMES) - REFUSED_NAMES:
        assert found[urns[name]]["ownership"]["owners"][0]["owner"] == "urn:li:corpuser:mira"
        assert found[urns[name]]["upstreamLineage"] == {"upstreams": [{"dataset": dataset("source")}]}


def test_wide_tables_and_long_texts_come_whole(gms, mcp):
    columns = [(f"[version=2.0].[type=struct].a.[type=string].c{place}", "text", "d" * 300) for place in range(5_000)]
    (urn,) = fill(gms, 1, schemaMetadata=schema(*columns), datasetProperties=text("x" * 9_000))
    found, failures = read(mcp(gms))
    assert failures == []
    assert paths(found[urn]) == sorted(path for path, *_ in columns)
    assert {field["description"] for field in found[urn]["schemaMetadata"]["fields"]} == {"d" * 300}
    assert found[urn]["datasetProperties"]["description"] == "x" * 9_000


@pytest.mark.parametrize(
    "count", [12, pytest.param(130, marks=pytest.mark.long), pytest.param(400, marks=pytest.mark.long)]
)
def test_wide_lineage_comes_whole_in_both_directions(gms, mcp, count):
    sink, hub = dataset("sink"), dataset("hub")
    between = [dataset(f"t{place:03}") for place in range(count)]
    gms.store.put(hub, "ownership", owners("mira"))
    for urn in between:
        gms.store.put(urn, "upstreamLineage", lineage([hub]))
    gms.store.put(sink, "upstreamLineage", lineage(between))
    found, failures = read(mcp(gms))
    assert failures == []
    assert [entry["dataset"] for entry in found[sink]["upstreamLineage"]["upstreams"]] == between
    assert all(found[urn]["upstreamLineage"]["upstreams"] == [{"dataset": hub}] for urn in between)


def test_a_catalog_larger_than_the_window_is_listed_in_parts(gms, mcp):
    urns = {dataset(f"t{place:03}", platform) for platform in ("hive", "kafka", "s3") for place in range(15)}
    for urn in urns:
        gms.store.put(urn, "datasetProperties", text("d"))
    reader = mcp(gms, window=20)
    found, failures = read(reader)
    assert (set(found), failures, reader.is_complete) == (urns, [], True)


def test_edits_of_columns_come_with_the_urns_of_their_tags(gms, mcp):
    (urn,) = fill(gms, 1, schemaMetadata=schema(("id", "int")))
    edit = {"editableSchemaFieldInfo": [{"fieldPath": "id", "description": "key", "globalTags": tags("PII")}]}
    gms.store.put(urn, "editableSchemaMetadata", edit)
    found, _ = read(mcp(gms))
    assert found[urn]["editableSchemaMetadata"]["editableSchemaFieldInfo"] == edit["editableSchemaFieldInfo"]


def test_what_is_stripped_is_silence_and_is_confirmed_by_history(gms, mcp):
    urn, other = fill(gms, 2, ownership=owners("mira"), globalTags=tags("PII"))
    gms.store.put(urn, "ownership", owners())
    gms.store.drop(urn, "globalTags")
    gone = dataset("gone")
    reader = mcp(gms)
    found, _ = read(reader)
    assert found[urn] == {"status": {"removed": False}}
    wanted = [(urn, "ownership"), (urn, "globalTags"), (urn, "siblings"), (other, "globalTags"), (gone, "ownership")]
    confirmed = {(raw.urn, raw.part): reader.observe(*raw[:3]).observations for raw in reader.confirm(wanted)}
    assert {place: [cell.value for cell in cells] for place, cells in confirmed.items()} == {
        (urn, "ownership"): [[]],
        (urn, "globalTags"): [[]],
        (other, "globalTags"): [[["urn:li:tag:PII"]]],
    }


def test_more_is_confirmed_than_one_call_takes(gms, mcp):
    urns = fill(gms, 45)
    wanted = [(urn, part) for urn in urns for part in ("ownership", "globalTags", "status")]
    assert {(raw.urn, raw.part) for raw in mcp(gms).confirm(wanted)} == set(wanted)


@pytest.mark.parametrize("version", ["v1.4.0", "v1.2.0"])
def test_an_entity_that_a_listing_lacks_is_told_from_one_that_is_gone(mcp, version):
    gms = GmsDouble(version=version)
    gms.start()
    try:
        kept, removed = fill(gms, 2)
        gms.store.remove(removed)
        gone = dataset("gone")
        reader = mcp(gms)
        found, _ = read(reader)
        assert set(found) == {kept}
        told = {raw.urn: loads(raw.payload)["removed"] for raw in reader.confirm_gone([kept, removed, gone])}
        has_history = "editableSchemaMetadata" in reader.sees()
    finally:
        gms.stop()
    assert has_history == (version == "v1.4.0")
    assert told == {removed: True, gone: True} | ({kept: False} if has_history else {})


def test_lineage_from_an_empty_cache_is_no_loss(gms, mcp):
    source, urn = fill(gms, 2)
    reader = mcp(gms)
    gms.faults.stale_lineage = True
    read(reader)
    gms.store.put(urn, "upstreamLineage", lineage([source]))
    found, _ = read(reader)
    assert "upstreamLineage" not in found[urn]
    assert list(reader.confirm([(urn, "upstreamLineage")])) == []


# --- faults -------------------------------------------------------------------------------------------------------


def test_an_error_in_one_entity_costs_that_entity(gms, mcp):
    urns = fill(gms, 25)
    gms.faults.broken.add(urns[7])
    found, failures = read(mcp(gms))
    assert set(found) == set(urns) - {urns[7]}
    assert urns[7] in {failed.where for failed in failures} or any("place 7" in failed.where for failed in failures)


def test_an_error_that_passes_costs_nothing(gms, mcp):
    urns = fill(gms, 5)
    gms.faults.error("boom", match="GetEntity", times=1)
    found, failures = read(mcp(gms))
    assert (set(found), failures) == (set(urns), [])


@pytest.mark.parametrize(
    "strike", ["500", *(pytest.param(one, marks=pytest.mark.long) for one in ("429", "cut", "cut within"))]
)
def test_what_breaks_gives_the_right_value_or_a_failure_with_the_name(gms, mcp, strike):
    urns = fill(gms, 5)
    reader = mcp(gms)
    reader.count()
    if strike.isdigit():
        gms.faults.fail(int(strike), match="GetEntity", times=2, retry_after="0")
    else:
        gms.faults.cut(match="GetEntity", times=2, within="within" in strike)
    found, failures = read(reader)
    assert set(found) | {failed.where for failed in failures} == set(urns)
    assert all(aspects["ownership"]["owners"][0]["owner"] == "urn:li:corpuser:mira" for aspects in found.values())


def test_an_entity_that_the_index_still_lists_is_not_stated(gms, mcp):
    kept, gone = fill(gms, 2)
    gms.faults.search_lags = True
    gms.store.delete(gone)
    found, failures = read(mcp(gms))
    assert (set(found), failures) == ({kept}, [])


def test_a_hang_is_cut_off_and_costs_what_hangs(gms, mcp):
    urns = fill(gms, 5)
    reader = mcp(gms, timeout=2.0)
    reader.count()
    gms.faults.delay(30, match=f'"{urns[1]}"'[1:-1])
    began = time.monotonic()
    found, failures = read(reader)
    assert set(found) == set(urns) - {urns[1]}
    assert [failed.where for failed in failures] == [urns[1]]
    assert time.monotonic() - began < 25


def test_a_page_that_comes_short_is_made_up_for_or_makes_the_listing_incomplete(gms, mcp):
    urns = fill(gms, 20)
    reader = mcp(gms)
    gms.faults.shorten(after=2, times=1)
    found, failures = read(reader)
    assert failures == []
    assert (set(found) == set(urns)) or not reader.is_complete


def test_a_wrong_token_ends_the_reading_and_is_not_shown(gms, mcp):
    fill(gms, 2)
    with pytest.raises(CatalogError) as refused:
        read(mcp(gms, token="not-the-token"))
    assert "not-the-token" not in f"{refused.value} {refused.value.hint}"
    assert "token" in refused.value.hint


def test_a_server_that_does_not_start_is_an_error_that_says_why(gms):
    for command, what in (
        (["/nowhere/mcp-server-datahub"], "No such file"),
        ([sys.executable, "-c", "raise SystemExit('no DataHub here')"], "no DataHub here"),
    ):
        reader = McpReader(Credentials(url=gms.url, token="secret"), command=command, environ=dict(os.environ))
        with reader, pytest.raises(CatalogError, match=what):
            read(reader)


def test_a_server_that_never_answers_is_given_up(gms):
    others = children()  # servers of other tests, and what Python itself keeps beside a pool of processes
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    reader = McpReader(Credentials(url=gms.url), command=command, environ=dict(os.environ), start_timeout=0.5)
    with reader, pytest.raises(CatalogError, match="no answer in time"):
        read(reader)
    assert children() <= others


def test_a_server_that_dies_ends_the_reading(gms, mcp):
    others = children()
    fill(gms, 60)
    records = mcp(gms, concurrency=1).records()
    list(islice(records, 3))
    (pid,) = children() - others
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(CatalogError, match="is gone"):
        list(records)


# --- the process --------------------------------------------------------------------------------------------------


def children(parent=None):
    """The processes that this one, or another, has started and that live."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            if int(fields[1]) == (parent or os.getpid()) and fields[0] != "Z":
                found.add(int(entry.name))
    return found


def gone(pids, within=15.0):
    end = time.monotonic() + within
    while time.monotonic() < end:
        if not any(Path(f"/proc/{pid}").exists() and _lives(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def _lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_closing_ends_the_process_and_leaves_no_file(gms, mcp, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    others = children()
    fill(gms, 3)
    reader = mcp(gms)
    read(reader)
    started = children() - others
    assert started
    assert next(path.name for path in tmp_path.iterdir()).startswith("palimpsest-mcp-")
    reader.close()
    reader.close()
    assert gone(started)
    assert list(tmp_path.iterdir()) == []


SCRIPT = """
import os, sys, time
from palimpsest.adapters.datahub.credentials import Credentials
from palimpsest.adapters.datahub.mcp_source import McpReader
with McpReader(Credentials(url=sys.argv[1], token=sys.argv[2]), command=[sys.argv[3]], environ=dict(os.environ)) as r:
    r.count()
    print("ready", flush=True)
    for _ in r.records():
        time.sleep(0.05)
"""


@pytest.mark.parametrize("with_signal", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left_when_ours_is_ended(gms, datahub_bin, with_signal):
    fill(gms, 200)
    gms.faults.delay(0.05, match="GetEntity")
    command = [sys.executable, "-c", SCRIPT, gms.url, gms.token, str(datahub_bin / "mcp-server-datahub")]
    ours = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert ours.stdout is not None
    with ours, ours.stdout:
        assert ours.stdout.readline() == "ready\n"
        started = children(ours.pid)
        assert started
        time.sleep(0.3)
        ours.send_signal(with_signal)
        ours.wait(20)
    assert gone(started)


def test_no_process_is_left_when_ours_is_interrupted_while_the_server_starts(gms):
    script = SCRIPT.replace("[sys.argv[3]]", "[sys.executable, '-c', 'import time; time.sleep(60)']")
    with subprocess.Popen([sys.executable, "-c", script, gms.url, "t"], stderr=subprocess.DEVNULL) as ours:
        end = time.monotonic() + 20
        while not (started := children(ours.pid)) and time.monotonic() < end:
            time.sleep(0.05)
        assert started
        ours.send_signal(signal.SIGINT)
        ours.wait(20)
    assert gone(started)


def test_the_process_has_an_environment_of_its_own(tmp_path):
    ours = {
        "HOME": "/home/x",
        "PATH": "/bin",
        "HTTPS_PROXY": "http://p",
        "UV_INDEX": "i",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "DATAHUB_GMS_TOKEN": "another",
        "TOOLS_IS_MUTATION_ENABLED": "true",
    }
    made = server_environment(ours, home=tmp_path, gms_url="http://gms", token="t")
    assert made["HOME"] == str(tmp_path)
    assert made["UV_CACHE_DIR"] == "/home/x/.cache/uv"
    assert (made["DATAHUB_GMS_URL"], made["DATAHUB_GMS_TOKEN"]) == ("http://gms", "t")
    assert made["TOOLS_IS_MUTATION_ENABLED"] == made["DATAHUB_TELEMETRY_ENABLED"] == "false"
    assert (made["HTTPS_PROXY"], made["UV_INDEX"], made["LOGURU_LEVEL"]) == ("http://p", "i", "WARNING")
    assert "AWS_SECRET_ACCESS_KEY" not in made


# --- over HTTP ----------------------------------------------------------------------------------------------------


@pytest.fixture
def http_server(gms, datahub_bin, tmp_path):
    """The real server over streamable HTTP, with its own limits."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environ = server_environment(dict(os.environ), home=tmp_path, gms_url=gms.url, token="")
    environ = {name: value for name, value in environ.items() if not name.endswith(("_LIMIT", "_BUDGET"))}
    environ |= {"FASTMCP_PORT": str(port), "FASTMCP_HOST": "127.0.0.1"}
    with (tmp_path / "log.txt").open("w") as log:
        process = subprocess.Popen([datahub_bin / "mcp-server-datahub-http"], env=environ, stdout=log, stderr=log)
        try:
            _wait_for(port, process)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()
            process.wait(20)


def _wait_for(port, process):
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server did not start")


def test_over_http_a_wide_table_is_read_page_by_page(gms, http_server):
    columns = [(f"column_{place:04}", "text") for place in range(1_500)]
    (urn,) = fill(gms, 1, schemaMetadata=schema(*columns), ownership=owners("mira"))
    with McpReader(url=http_server, token=gms.token, environ={}) as reader:
        found, failures = read(reader)
        assert (failures, reader.is_complete, reader.origin) == ([], True, http_server)
    assert paths(found[urn]) == [path for path, _ in columns]
    assert len(gms.asked("GetEntity")) > 2
    with (
        McpReader(url=http_server, token="not-the-token", environ={}) as reader,
        pytest.raises(CatalogError) as refused,
    ):
        read(reader)
    assert "not-the-token" not in f"{refused.value} {refused.value.hint}"


def test_what_a_reading_costs(gms, mcp):
    count = 40
    urns = fill(gms, count)
    reader = mcp(gms)
    found, _ = read(reader)
    assert set(found) == set(urns)
    assert reader.requests == 1 + count // 40 + count // 10 + count  # the total, pages of 50, tens of entities, lineage
    asked = [request for request in gms.requests if request.path != "/config"]
    assert len(asked) == 2 + 3 * count + count
