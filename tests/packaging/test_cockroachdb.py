"""The compose file and the workflow for CockroachDB: neither can be run here, so that they are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import yaml

from palimpsest.store.dialects.refusals import OLDEST
from palimpsest.store.dialects.server import settings_of
from tests.servers import DIALECTS

ROOT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "cockroachdb.yml").read_text())


def version_of(image: str) -> tuple[int, int]:
    """The version that an image names."""
    found = re.search(r"v(\d+)\.(\d+)", image)
    assert found is not None
    return int(found[1]), int(found[2])


def test_the_demo_waits_for_the_tables_and_they_for_the_server() -> None:
    services = COMPOSE["services"]
    assert set(services) == {"cockroachdb", "migrate", "demo"}
    assert services["migrate"]["command"] == ["palimpsest", "db", "upgrade"]
    assert services["migrate"]["depends_on"] == {"cockroachdb": {"condition": "service_healthy"}}
    assert services["demo"]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    assert set(COMPOSE["volumes"]) == {"memory"}


def test_the_store_that_is_named_is_the_server_that_is_started() -> None:
    services = COMPOSE["services"]
    for name in ("migrate", "demo"):
        url, _ = settings_of(sa.make_url(services[name]["environment"]["PALIMPSEST_STORE"]))
        assert (url.drivername, url.host, url.port) == ("cockroachdb+psycopg", "cockroachdb", 26257)
        assert url.database == services["cockroachdb"]["environment"]["COCKROACH_DATABASE"]
    assert version_of(services["cockroachdb"]["image"]) >= OLDEST["cockroachdb"]
    assert services["cockroachdb"]["ports"] == ["127.0.0.1:26257:26257"]


def test_the_demo_reads_files_that_are_there() -> None:
    script = COMPOSE["services"]["demo"]["command"][-1]
    read = re.findall(r"file:(\S+)", script)
    assert [(ROOT / "demo" / "catalog" / name).is_file() for name in read] == [True] * 3


def test_the_workflow_runs_the_suite_on_the_oldest_version_and_a_newer_one() -> None:
    (job,) = WORKFLOW["jobs"].values()
    versions = [version_of(version) for version in job["strategy"]["matrix"]["version"]]
    assert versions[0] == OLDEST["cockroachdb"]
    assert versions[1] > versions[0]
    (suite,) = (step for step in job["steps"] if "pytest" in step.get("run", ""))
    assert set(suite["env"]) == {"PALIMPSEST_TEST_COCKROACH_URL"}
    assert "-k cockroachdb-real" in suite["run"]
    assert "postgresql" in DIALECTS
