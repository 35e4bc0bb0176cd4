"""Questions that nobody thought of: no failure of ours, and every answer keeps to the description."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import Case
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.schemas import BaseSchema

from palimpsest.surfaces.console.app import create_app
from palimpsest.surfaces.console.pages import PAGES, Desk

load_all_checks()
_CHECKS = [
    CHECKS.get_one(name)
    for name in (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
        "response_headers_conformance",
    )
]


@pytest.fixture(scope="module")
def described(desk: Desk) -> BaseSchema:
    """The description of the twins, as the console serves it."""
    return schemathesis.openapi.from_asgi("/openapi.json", create_app(desk), headers={"Host": "localhost"})


@pytest.mark.parametrize("path", [page.json_path for page in PAGES])
def test_every_twin_answers_anything_as_described(described: BaseSchema, path: str) -> None:
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
    @given(described[path]["GET"].as_strategy())
    def answered(case: Case) -> None:
        case.call_and_validate(checks=_CHECKS, headers={"Host": "localhost"})

    answered()
