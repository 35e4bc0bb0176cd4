"""estimate: what a first scan will take, without reading the catalog. Of a live source it asks one count.

The costs are measured by `python -m benchmarks.datahub`; a test holds them against the readers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from palimpsest.ports import Clock

ANSWER_SECONDS = 0.2
"""How long DataHub is taken to need for one request, where nothing slower was measured."""
FILE_MB_PER_SECOND = 6.0
STORE_MB_OF_FILE_MB = 2.2
_SOON_MINUTES = 10.0


class Counting(Protocol):
    """A source that can tell how much there is to read."""

    @property
    def kind(self) -> str:
        """The kind of source."""

    def count(self) -> int:
        """How many entities the catalog lists. Raises CatalogError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one kind of source takes for datasets of 40 columns.

    `requests` counts those that reach DataHub: so many `fixed` and `each`, and pages of so many listed or told at once
    (0: none such). `busy_seconds` is the time with a DataHub that answers at once, its MCP server's own included.
    """

    fixed_requests: int
    listed_at_once: int
    told_at_once: int
    requests_each: float
    busy_seconds_per_1000: float
    read_mb_per_1000: float
    store_mb_per_1000: float

    def requests(self, entities: int) -> int:
        """How many requests a first reading sends to DataHub."""
        listing = math.ceil(entities / self.listed_at_once)
        told = math.ceil(entities / self.told_at_once) if self.told_at_once else 0
        return self.fixed_requests + listing + told + math.ceil(entities * self.requests_each)


COSTS: Mapping[str, Cost] = {
    # One look at /config, the last empty page of the listing; 500 listed at once, 40 told at once.
    "datahub-graphql": Cost(
        fixed_requests=2,
        listed_at_once=500,
        told_at_once=40,
        requests_each=0,
        busy_seconds_per_1000=2.3,
        read_mb_per_1000=10.7,
        store_mb_per_1000=23.9,
    ),
    # Two looks at /config and one count; 50 listed at once; each entity looked up, read, its documents, its lineage.
    "datahub-mcp": Cost(
        fixed_requests=3,
        listed_at_once=50,
        told_at_once=0,
        requests_each=4,
        busy_seconds_per_1000=160.0,
        read_mb_per_1000=9.1,
        store_mb_per_1000=19.7,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a first scan will take. None where the source does not tell it without being read.

    `minutes` holds as far as DataHub needs `answer_seconds` for an answer.
    """

    source: str
    entities: int | None
    records: int | None
    requests: int | None
    answer_seconds: float | None
    minutes: float
    read_mb: float
    store_mb: float


def of_catalog(source: str, entities: int, *, concurrency: int, answer_seconds: float = ANSWER_SECONDS) -> Estimate:
    """What reading so many entities takes, each taken for a dataset."""
    cost = COSTS[source]
    requests = cost.requests(entities)
    thousands = entities / 1_000
    seconds = requests * answer_seconds / concurrency + cost.busy_seconds_per_1000 * thousands
    return Estimate(
        source=source,
        entities=entities,
        records=None,
        requests=requests,
        answer_seconds=answer_seconds,
        minutes=seconds / 60,
        read_mb=cost.read_mb_per_1000 * thousands,
        store_mb=cost.store_mb_per_1000 * thousands,
    )


def of_live(source: Counting, *, concurrency: int, clock: Clock) -> Estimate:
    """What a live source takes: one count, asked twice, tells how many and how fast. Raises CatalogError."""
    source.count()  # starts what has to be started
    before = clock.now()
    entities = source.count()
    measured = (clock.now() - before) / 1_000
    return of_catalog(source.kind, entities, concurrency=concurrency, answer_seconds=max(ANSWER_SECONDS, measured))


def of_file(records: int, size: float) -> Estimate:
    """What files of so many records and uncompressed bytes take."""
    megabytes = size / 1e6
    return Estimate(
        source="file",
        entities=None,
        records=records,
        requests=None,
        answer_seconds=None,
        minutes=megabytes / FILE_MB_PER_SECOND / 60,
        read_mb=megabytes,
        store_mb=megabytes * STORE_MB_OF_FILE_MB,
    )


def recommended(entities: int, *, concurrency: int) -> tuple[str, str]:
    """(the source to read so many entities with, why)."""
    graphql = of_catalog("datahub-graphql", entities, concurrency=concurrency)
    mcp = of_catalog("datahub-mcp", entities, concurrency=concurrency)
    told = f"{graphql.requests:,} requests for {entities:,} entities, where datahub-mcp sends {mcp.requests:,}"
    if mcp.minutes <= _SOON_MINUTES:
        return graphql.source, f"{told}; datahub-mcp is quick enough here, to remember what agents are shown"
    return graphql.source, told
