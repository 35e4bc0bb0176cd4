"""Stores of a wanted size for benchmarks/scale.py, filled by the real jobs from an invented catalog; and their clocks.

A dataset of the catalog comes to some 13 episodes and 10 passages.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks.measure import BARE_ROWS, bare_into
from benchmarks.recall.speed import PASSAGES_OF_ENTITY, Invented
from palimpsest.adapters.clock import SystemClock
from palimpsest.adapters.datahub.file import FileReader
from palimpsest.adapters.embed.hashed import HashedEmbedder
from palimpsest.jobs.consolidate import consolidate
from palimpsest.jobs.embed import embed
from palimpsest.jobs.index import index
from palimpsest.jobs.scan import ScanRequest, scan
from palimpsest.ports import NoProgress
from palimpsest.store.engine import Store
from palimpsest.store.schema import episode, passage
from tests.building import lineage, mcp, owners, schema, tags

Figures = dict[str, Any]
_HOLDER = "benchmark"


class Took:
    """Seconds of a block: by the clock, and of the processors, those of a database server on this machine included."""

    def __init__(self, server: int | None = None) -> None:
        self.server = server
        self.wall = self.cpu = 0.0

    def __enter__(self) -> Took:
        self.wall, self.cpu = time.perf_counter(), self._cpu()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall, self.cpu = time.perf_counter() - self.wall, self._cpu() - self.cpu

    def _cpu(self) -> float:
        of_server = server_seconds(self.server) if self.server is not None else 0.0
        return time.process_time() + of_server


def server_seconds(server: int) -> float:
    """Processor seconds of the processes that a server has, and of those that it had, as Linux counts them."""
    ended = Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[13:15]
    seconds = sum(map(int, ended)) / os.sysconf("SC_CLK_TCK")
    for child in Path(f"/proc/{server}/task/{server}/children").read_text().split():
        try:
            seconds += int(Path(f"/proc/{child}/schedstat").read_text().split()[0]) / 1e9
        except OSError:  # it ended meanwhile
            continue
    return seconds


def write_catalog(path: Path, passages: int) -> None:
    """An invented catalog in DataHub's file format, from which come about so many passages."""
    invented = Invented()
    with path.open("w", encoding="utf-8") as file:
        separator = "[\n"
        for number in range(passages // PASSAGES_OF_ENTITY):
            for record in _records(invented, number):
                file.write(separator + json.dumps(record))
                separator = ",\n"
        file.write("\n]\n")


def _records(invented: Invented, number: int) -> Iterator[dict[str, Any]]:
    name = invented.name(number)
    urn = f"urn:li:dataset:(urn:li:dataPlatform:postgres,{name},PROD)"
    held = list(invented.beliefs(name))
    of: dict[str, Any] = {aspect: value for aspect, _, value in held}
    columns = [value for aspect, _, value in held if aspect == "column" and isinstance(value, dict)]
    described = {
        "name": of["name"],
        "description": of["description"],
        "customProperties": {"retention": of["property"]},
    }
    yield mcp(urn, "datasetProperties", described)
    yield mcp(urn, "ownership", owners(of["ownership"][0][0].rsplit(":", 1)[-1]))
    yield mcp(urn, "globalTags", tags(of["tags"][0][0].rsplit(":", 1)[-1]))
    yield mcp(urn, "domains", {"domains": [of["domain"][0][0]]})
    yield mcp(urn, "upstreamLineage", lineage([of["upstreams"][0][0]]))
    yield mcp(urn, "subTypes", {"typeNames": ["Table"]})
    yield mcp(
        urn, "schemaMetadata", schema(*[(one["path"], one["native_type"], one["description"]) for one in columns])
    )


def fill(store: Store, catalog: Path, server: int | None, keep: Callable[[str, object], None]) -> None:
    """Scan, consolidate, index, embed; what each took is kept as soon as it is known."""
    clock, progress = SystemClock(), NoProgress()
    asked = ScanRequest(source="file")
    jobs: dict[str, Callable[[], object]] = {
        "scan": lambda: scan(store, FileReader(catalog), asked, clock=clock, progress=progress, holder=_HOLDER),
        "consolidate": lambda: consolidate(store, clock=clock, progress=progress, holder=_HOLDER),
        "index": lambda: index(store, clock=clock, progress=progress),
        "embed": lambda: embed(store, HashedEmbedder(), clock=clock, progress=progress, holder=_HOLDER),
    }
    for name, job in jobs.items():
        with Took(server) as took:
            job()
        keep(name, {"wall_s": took.wall, "cpu_s": took.cpu})
    counts = [
        store.read(lambda c, t=t: c.scalar(sa.select(sa.func.count()).select_from(t))) for t in (episode, passage)
    ]
    keep("episodes", counts[0])
    keep("passages", counts[1])


def bare(store: Store, server: int | None, episodes: int) -> Figures:
    """One executemany into a table shaped like `episode`, in this database: of as many rows, up to BARE_ROWS."""
    rows = min(BARE_ROWS, episodes)
    took = Took(server)

    def timed(work: Callable[[], object]) -> None:
        with took:
            work()

    bare_into(store, rows, timed)
    return {"rows": rows, "wall_s": took.wall, "cpu_s": took.cpu}
