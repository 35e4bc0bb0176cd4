"""How much a change of a native type matters: synonyms are quiet, widening is minor, narrowing is breaking."""

from __future__ import annotations

import pytest

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.aspects.column import type_impact


@pytest.mark.parametrize(
    ("before", "after", "impact"),
    [
        ("VARCHAR", "TEXT", Impact.QUIET),
        ("varchar(20)", "VARCHAR ( 20 )", Impact.QUIET),
        ("character varying", "varchar", Impact.QUIET),
        ("INT", "INTEGER", Impact.QUIET),
        ("INT64", "INTEGER", Impact.QUIET),  # BigQuery's SQL and its API
        ("FLOAT", "FLOAT64", Impact.QUIET),
        ("RECORD", "STRUCT", Impact.QUIET),
        ("varchar(20)", "varchar(40)", Impact.MINOR),
        ("varchar(20)", "text", Impact.MINOR),
        ("int", "bigint", Impact.MINOR),
        ("numeric(10,2)", "numeric(12,2)", Impact.MINOR),
        ("array<struct<a:int>>", "array<struct<a:int,b:string>>", Impact.MINOR),
        ("date", "timestamp", Impact.MINOR),
        ("varchar(40)", "varchar(20)", Impact.BREAKING),
        ("text", "varchar(20)", Impact.BREAKING),
        ("bigint", "int", Impact.BREAKING),
        ("numeric(12,2)", "numeric(10,2)", Impact.BREAKING),
        ("timestamp", "date", Impact.BREAKING),
        ("struct<a:int,b:string>", "struct<a:int>", Impact.BREAKING),
        ("struct<a:int>", "struct<a:string>", Impact.BREAKING),
        ("int", "varchar", Impact.BREAKING),
    ],
)
def test_a_change_of_type_matters(before, after, impact):
    assert type_impact(before, after, logical_changed=False) is impact
