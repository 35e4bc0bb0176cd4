"""The same catalog through a file, GraphQL and the real MCP server gives the same cells, but for docs/sources.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.adapters.datahub.cells import READERS
from palimpsest.adapters.datahub.file import FileReader
from palimpsest.adapters.datahub.graphql_words import KINDS as GRAPHQL_KINDS
from palimpsest.adapters.datahub.graphql_words import PARTS
from palimpsest.adapters.datahub.mcp_read import KINDS as MCP_KINDS
from palimpsest.adapters.datahub.mcp_read import shown_parts
from palimpsest.core import entity
from palimpsest.testing.gms import GmsDouble
from tests.adapters.datahub.seeing import differences, kinds, read, rules

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "demo" / "catalog" / "2026-03-06-friday.json"
MATERIAL = [
    "datahub__mi__examples__mce_files__bootstrap_mce.json",
    "datahub-project__datapacks__showcase-ecommerce__01-definitions.json",
    "datahub-project__datapacks__showcase-ecommerce__02-data.json",
    "datahub-project__datapacks__showcase-ecommerce__03-context.json",
    "datahub__mi__tests__unit__sagemaker__sagemaker_mces_golden.json",
    "datahub__mi__ti__tableau__tableau_mces_golden.json",
    "datahub__mi__ti__snowflake__snowflake_golden.json",
    "datahub__mi__ti__lookml__lookml_mces_offline.json",
    "datahub__smoke-test__tests__cypress__data.json",
]


def test_the_table_names_every_raw_aspect_and_every_kind():
    named = {part for part, _ in rules("file")}
    assert named == {part for part in READERS if not part.endswith("Key")}
    assert set(kinds("file")) == entity.KINDS


@pytest.mark.parametrize(
    ("source", "parts", "seen_kinds"),
    [
        ("datahub-graphql", frozenset(PARTS), frozenset(GRAPHQL_KINDS)),
        ("datahub-mcp", shown_parts(history=True), frozenset(MCP_KINDS)),
    ],
)
def test_the_table_and_the_source_agree_on_what_it_sees(source, parts, seen_kinds):
    assert {part for (part, _), rule in rules(source).items() if rule != "no"} == parts
    assert {kind for kind, rule in kinds(source).items() if rule != "no"} == seen_kinds


def test_the_sample_catalog_through_graphql(graphql):
    file = read(FileReader(SAMPLE))
    with GmsDouble.serving(load=[SAMPLE]) as gms:
        live = read(graphql(gms))
    assert (live.failures, live.complete) == ([], True)
    assert differences("datahub-graphql", file, live) == []


def test_the_sample_catalog_through_the_mcp_server(mcp):
    file = read(FileReader(SAMPLE))
    with GmsDouble.serving(load=[SAMPLE]) as gms:
        live = read(mcp(gms))
    assert (live.failures, live.complete) == ([], True)
    assert differences("datahub-mcp", file, live) == []


@pytest.mark.parametrize("name", MATERIAL)
def test_catalogs_of_the_field_through_graphql(shared, graphql, name):
    path = shared / "data" / "mce" / name
    file = read(FileReader(path))
    with GmsDouble.serving(load=[path]) as gms:
        live = read(graphql(gms))
    assert (live.failures, live.complete) == ([], True)
    assert differences("datahub-graphql", file, live) == []


@pytest.mark.long
@pytest.mark.parametrize("name", MATERIAL)
def test_catalogs_of_the_field_through_the_mcp_server(shared, mcp, name):
    path = shared / "data" / "mce" / name
    file = read(FileReader(path))
    with GmsDouble.serving(load=[path]) as gms:
        live = read(mcp(gms))
    assert (live.failures, live.complete) == ([], True)
    assert differences("datahub-mcp", file, live) == []


@pytest.mark.parametrize("source", ["graphql", "mcp"])
def test_a_second_reading_of_the_same_catalog_has_the_same_digests(request, source):
    make = request.getfixturevalue(source)
    with GmsDouble.serving(load=[SAMPLE]) as gms:
        reader = make(gms)
        first, second = ({(raw.urn, raw.part): raw.digest_of for raw in reader.records()} for _ in range(2))
    assert first == second
