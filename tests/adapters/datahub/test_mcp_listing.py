"""The listing through a search that gives 50 a page and reaches no further than its window."""

from __future__ import annotations

import re

import pytest

from palimpsest.adapters.datahub.mcp import ToolFailed
from palimpsest.adapters.datahub.mcp_listing import Listing


class Catalog:
    """A search over rows of (type, platform, env, subtype, domain), as DataHub answers: 50 a page, within a window."""

    def __init__(self, rows, *, window=100, broken=(), short=()):
        self.rows = sorted(rows, key=lambda row: row["urn"])
        self.window, self.broken, self.short = window, frozenset(broken), set(short)
        self.calls = 0

    def __call__(self, where, *, offset, count, ascending):
        self.calls += 1
        found = [row for row in self.rows if self._matches(row, where)]
        if not ascending:
            found.reverse()
        if offset + count > self.window:
            raise ToolFailed("result window is too large")
        page = found[offset : offset + min(count, 50)]
        if any(row["urn"] in self.broken for row in page):
            raise ToolFailed("one of them is broken")
        if (ascending, offset) in self.short:
            page = page[:-1]
        answer = {"total": len(found), "facets": self._facets(found)}
        return {**answer, "searchResults": [{"entity": {"urn": row["urn"]}} for row in page]} if page else answer

    def _matches(self, row, where):
        for clause in where.split(" AND "):
            negated, field, values = re.fullmatch(r"(NOT )?(\w+) (?:=|IN) \(?(.+?)\)?", clause).groups()
            wanted = {value.strip(' "') for value in values.split(",")}
            if ((row.get(field) in wanted) if not negated else (row.get(field) not in wanted)) is False:
                return False
        return True

    def _facets(self, found):
        names = {"platform": "platform", "env": "origin", "domain": "domains"}
        return [
            {
                "field": facet,
                "aggregations": [
                    {"value": value, "count": 1} for value in sorted({row[name] for row in found if row.get(name)})[:3]
                ],
            }
            for name, facet in names.items()
        ]


def rows(count, **fields):
    head = "".join(str(value) for value in fields.values())
    return [{"urn": f"urn:{head}:{place:04}", "entity_type": "DATASET", **fields} for place in range(count)]


def listed(catalog, types=("DATASET", "CHART")):
    listing = Listing(catalog, types, window=catalog.window)
    return listing.urns(), listing


@pytest.mark.parametrize("count", [0, 1, 49, 50, 51, 100])
def test_a_small_catalog_is_paged_to_its_end(count):
    catalog = Catalog(rows(count))
    urns, listing = listed(catalog)
    assert (sorted(urns), listing.is_whole) == ([row["urn"] for row in catalog.rows], True)


@pytest.mark.parametrize(
    "parts",
    [
        [rows(80), rows(90, entity_type="CHART")],
        [rows(80, platform="a"), rows(90, platform="b"), rows(30)],
        [rows(60, platform=name) for name in "abcdef"],
        [rows(90, platform="a", env="PROD"), rows(90, platform="a", env="DEV"), rows(90, platform="a")],
        [rows(190, platform="a")],
    ],
    ids=["by type", "by platform", "more platforms than the facet names", "by environment too", "from both ends"],
)
def test_a_large_catalog_is_listed_in_parts(parts):
    catalog = Catalog([row for part in parts for row in part])
    urns, listing = listed(catalog)
    assert (sorted(urns), listing.is_whole) == ([row["urn"] for row in catalog.rows], True)


def test_what_cannot_be_reached_makes_the_listing_incomplete():
    urns, listing = listed(Catalog(rows(250, platform="a")))
    assert (len(urns), listing.is_whole) == (200, False)


def test_a_page_that_comes_short_is_made_up_for_from_the_other_end():
    catalog = Catalog(rows(90), short=[(True, 50)])
    urns, listing = listed(catalog)
    assert (len(urns), listing.is_whole) == (90, True)


def test_an_entity_that_breaks_its_page_costs_that_entity():
    catalog = Catalog(rows(90), broken=["urn::0042"])
    urns, listing = listed(catalog)
    assert len(urns) == 89
    assert not listing.is_whole
    assert "place 42" in listing.failures[0].where
