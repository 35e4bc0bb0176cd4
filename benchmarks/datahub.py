"""What reading a running DataHub costs: requests per 1,000 datasets of each live source, and DataHub's share of time.

`python -m benchmarks.datahub [--datasets 1000] [--columns 40] [--mcp-command COMMAND]` against the stand-in, which runs
in a process of its own and answers at once; a real DataHub takes longer, so its share is larger.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.generate import write_catalog
from palimpsest.testing.gms import GmsDouble

SOURCES = ("datahub-graphql", "datahub-mcp")
_HEADER = (
    "source",
    "calls",
    "requests",
    "MB read",
    "MB of store",
    "seconds",
    "of them DataHub's",
    "processor seconds of ours",
)


class Under:
    """The time in which at least one request was under way, and what came back."""

    def __init__(self) -> None:
        self.spans: list[tuple[float, float]] = []
        self.bytes = 0
        self._lock = threading.Lock()

    def timed(self, ask: Callable[..., Any], size: Callable[[Any], int]) -> Callable[..., Any]:
        """The same function, watched."""

        def watched(*arguments: Any, **named: Any) -> Any:
            before = time.perf_counter()
            answer = None
            try:
                answer = ask(*arguments, **named)
                return answer
            finally:
                with self._lock:
                    self.spans.append((before, time.perf_counter()))
                    self.bytes += size(answer) if answer is not None else 0

        return watched

    def seconds(self) -> float:
        """How long at least one was under way."""
        return covered(self.spans)


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """The length of the union of spans of time."""
    total, end = 0.0, float("-inf")
    for start, stop in sorted(spans):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total


def read(source: str, folder: Path) -> dict[str, Any]:
    """Scan once into a new store, in this process, and tell what it took. The settings name the server."""
    from palimpsest import config, wiring
    from palimpsest.adapters.datahub.graphql_client import GraphqlClient
    from palimpsest.adapters.datahub.mcp import Connection
    from palimpsest.jobs.scan import ScanRequest, scan
    from palimpsest.ports import NoProgress

    under = Under()
    GraphqlClient._send = under.timed(GraphqlClient._send, lambda answer: len(answer.content))  # type: ignore[method-assign]
    Connection.call = under.timed(Connection.call, lambda answer: len(json.dumps(answer)))  # type: ignore[method-assign]
    path = folder / f"{source}.db"
    settings = config.load(overrides={"store": f"sqlite:///{path}"}).settings
    store = wiring.store_for_writing(settings)
    reader: Any = wiring.reader(source, settings)
    if source == "datahub-mcp":
        reader.sees()  # the server's start is no part of reading
    before, used = time.perf_counter(), time.process_time()
    under.spans.clear()
    try:
        report = scan(
            store,
            reader,
            ScanRequest(source=source),
            clock=wiring.clock(),
            progress=NoProgress(),
            holder="benchmark",
        )
        took = time.perf_counter() - before
        calls = reader.requests
    finally:
        reader.close()
        store.dispose()
    return {
        "source": source,
        "entities": report.entities,
        "failed": report.records_failed,
        "calls": calls,
        "seconds": took,
        "datahub_seconds": under.seconds(),
        "own_seconds": time.process_time() - used,
        "read_mb": under.bytes / 1e6,
        "store_mb": path.stat().st_size / 1e6,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def measure(source: str, *, datasets: int, columns: int, mcp_command: str = "") -> dict[str, Any]:
    """One source over an invented catalog of so many datasets, read by a process of its own."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as name:
        folder = Path(name)
        catalog = folder / "catalog.json"
        write_catalog(catalog, datasets=datasets, columns=columns)
        with GmsDouble.serving(load=[catalog]) as gms:
            environ = {**os.environ, "DATAHUB_GMS_URL": gms.url, "DATAHUB_GMS_TOKEN": gms.token, "HOME": name}
            if mcp_command:
                environ["PALIMPSEST_DATAHUB__MCP_COMMAND"] = json.dumps(shlex.split(mcp_command))
            command = [sys.executable, "-m", "benchmarks.datahub", "--read", source, "--folder", name]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, env=environ)
            found: dict[str, Any] = json.loads(done.stdout)
            found["requests"] = len(gms.requests)
    return found


def table(found: list[dict[str, Any]], datasets: int) -> str:
    """The measurements for 1,000 datasets, as Markdown."""
    rows = [_HEADER, ("---",) + ("---:",) * (len(_HEADER) - 1)]
    for one in found:
        share = one["datahub_seconds"] / one["seconds"]
        each = 1_000 / datasets
        rows.append(
            (
                f"`{one['source']}`",
                f"{one['calls'] * each:,.0f}",
                f"{one['requests'] * each:,.0f}",
                f"{one['read_mb'] * each:.1f}",
                f"{one['store_mb'] * each:.1f}",
                f"{one['seconds'] * each:.0f}",
                f"{share:.0%}".replace("%", " %"),
                f"{one['own_seconds'] * each:.1f}",
            )
        )
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main() -> None:
    """Measure each source and print the table."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.datahub", description=__doc__)
    options.add_argument("--datasets", type=int, default=1_000)
    options.add_argument("--columns", type=int, default=40)
    options.add_argument("--source", choices=SOURCES, action="append", help="only this one; may be repeated")
    options.add_argument("--mcp-command", default="", help="what starts DataHub's MCP server")
    options.add_argument("--json", type=Path, default=None, help="keep the raw figures in this file")
    options.add_argument("--read", choices=SOURCES, help=argparse.SUPPRESS)
    options.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.read:
        sys.stdout.write(json.dumps(read(asked.read, asked.folder)) + "\n")
        return
    found = [
        measure(source, datasets=asked.datasets, columns=asked.columns, mcp_command=asked.mcp_command)
        for source in asked.source or SOURCES
    ]
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(table(found, asked.datasets) + "\n")


if __name__ == "__main__":
    main()
