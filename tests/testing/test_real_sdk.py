"""DataHub's own emitter, graph client and SDK, run from the second environment, work on the double."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from palimpsest.adapters.datahub.cells import READERS
from palimpsest.testing.gms import GmsDouble
from palimpsest.testing.gms.kinds import KINDS, class_of
from tests.testing.asking import MONDAY, ORDERS
from tests.testing.second import datahub_environment, server_environment

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("real-server")]

_CLASSES = """
import json, sys
from datahub.metadata.schema_classes import ASPECT_CLASSES
print(json.dumps({c.ASPECT_NAME: c.RECORD_SCHEMA.fullname.replace(".pegasus2avro", "") for c in ASPECT_CLASSES}))
"""


def run(home: Path, gms: GmsDouble, *arguments: str) -> str:
    result = subprocess.run(
        [datahub_environment() / "bin" / "python", *arguments],
        env=server_environment(home, gms.url, gms.token),
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_emitter_graph_client_and_sdk(tmp_path: Path) -> None:
    datahub_environment()
    with GmsDouble.serving(load=[MONDAY]) as gms:
        before = gms.store.version_of(ORDERS, "institutionalMemory")
        alive = [urn for urn in gms.store.urns("dataset") if not gms.store.is_removed(urn)]
        script = Path(__file__).with_name("real_sdk.py")
        found = json.loads(run(tmp_path, gms, str(script), gms.url, gms.token))

        first = max(before, 0) + 1
        assert found["restli_upsert"] == [["https://a.example/1"], str(first)]
        assert found["openapi_upsert"] == [["https://a.example/1", "https://a.example/2"], str(first + 1)]
        assert found["conditional"] == "written"
        assert found["conflict"].endswith(f"Expected version {first + 1}, actual version {first + 2}")
        assert found["after_conflict"] == [["https://a.example/1", "https://a.example/3"], str(first + 2)]
        patched = ["https://a.example/1", "https://a.example/3", "https://a.example/patched?x=1~/é"]
        assert found["openapi_patch"] == [patched, str(first + 3)]
        assert found["restli_patch"] == [patched, str(first + 4)], "the patch replaced the element of its own URL"
        assert found["unicode"] == [["https://p.example/é😀"], "1"]
        assert found["exists"] == [True, False]
        assert found["columns"]
        assert found["owners"]
        assert set(found["semityped"]) <= {*gms.store.aspects(ORDERS)}
        assert found["urns"] == sorted([*alive, "urn:li:dataset:(urn:li:dataPlatform:s3,bücket/ünï-😀,PROD)"])
        assert found["graphql"] == {"dataset": {"exists": True}}
        assert found["sdk"] == [[*patched, "https://sdk.example"], str(first + 5)]
        assert found["after_hard_delete"] is False
        statuses = sorted(request.status for request in gms.requests if request.status not in (200, 204))
        assert set(statuses) == {404, 412}
        # The SDK's update writes every aspect of the dataset, not the one that changed: what our publisher must not do.
        rewritten = {write.aspect for write in gms.writes if write.way == "restli ingestProposalBatch"}
        assert {"schemaMetadata", "ownership", "datasetProperties", "institutionalMemory"} <= rewritten


def test_every_aspect_is_named_by_datahubs_class(tmp_path: Path) -> None:
    datahub_environment()
    with GmsDouble.serving() as gms:
        classes = json.loads(run(tmp_path, gms, "-c", _CLASSES))
    asked = {kind.key for kind in KINDS.values()} | {kind.properties for kind in KINDS.values()}
    asked |= {kind.edited for kind in KINDS.values()} | set(READERS)
    known = {name for name in asked if name in classes}
    assert {name: class_of(name) for name in known} == {name: classes[name] for name in known}
    assert sorted(asked - known - {""}) == []
