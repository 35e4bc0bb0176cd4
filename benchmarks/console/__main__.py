"""`python -m benchmarks.console FOLDER [--datasets 10000]`: each page under four parallel clients, and the export.

The store is made in FOLDER once. Milliseconds are by the clock of the clients; the load of the machine is beside them.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa

from benchmarks.console.filling import fill, sizes
from palimpsest.store.engine import Store
from palimpsest.store.schema import entity, version

CLIENTS = 4
REQUESTS = 160  # of each kind, by all clients together
GOALS = {"entity": 100, "changes": 100}
_PALIMPSEST = [sys.executable, "-m", "palimpsest.surfaces.cli.app"]
_QUESTIONS = (
    "who owns order",
    "invoice amount type",
    "deprecated",
    "payment status nullable",
    "customer email",
    "orders",
)


def pages(store: Store) -> dict[str, list[str]]:
    """Kind → paths, drawn by chance but always the same."""
    chance = random.Random(1)
    entities = store.read(
        lambda c: [row[0][:8].hex() for row in c.execute(sa.select(entity.c.id).where(entity.c.kind == "dataset"))]
    )
    revised = store.read(
        lambda c: [
            row[0].hex() for row in c.execute(sa.select(version.c.belief_id).where(version.c.number == 3).limit(5_000))
        ]
    )
    some = [f"/entity/{one}" for one in chance.sample(entities, min(REQUESTS, len(entities)))]
    return {
        "entity": some,
        "entity, as of": [f"{path}?as_of=2026-03-04" for path in some],
        "entity, JSON": [f"{path}.json" for path in some],
        "belief": [f"/belief/{one}" for one in chance.sample(revised, min(REQUESTS, len(revised)))],
        "changes": ["/changes"],
        "changes, breaking": ["/changes?impact=breaking"],
        "changes of an aspect": ["/changes?aspect=ownership"],
        "overview": ["/"],
        "entities": ["/entities", "/entities?sort=revisions", "/entities?sort=changed", "/entities?platform=kafka"],
        "entities, by a word": ["/entities?q=order", "/entities?q=customer+invoice"],
        "search": [f"/search?q={quote(one)}" for one in _QUESTIONS],
        "runs": ["/runs"],
        "inbox": ["/inbox"],
    }


@contextmanager
def served(url: str, home: Path) -> Iterator[tuple[str, int, int]]:
    """A console on that store: host, port and process."""
    env = {**os.environ, "HOME": str(home), "PALIMPSEST_EMBED__PROVIDER": "none"}
    command = [*_PALIMPSEST, "--store", url, "console", "serve", "--port", "0"]
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = process.stderr.readline()
    host, _, port = said.split()[4].removeprefix("http://").rstrip("/").partition(":")
    try:
        yield host, int(port), process.pid
    finally:
        process.terminate()
        process.communicate()


def asked(host: str, port: int, paths: list[str]) -> list[float]:
    """Milliseconds of each request, by four clients, each page on a connection of its own: a reader who takes longer
    than the five seconds that the console keeps one open has that.
    """

    def client(own: list[str]) -> list[float]:
        found = []
        for path in own:
            began = time.perf_counter()
            connection = http.client.HTTPConnection(host, port, timeout=120)
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            found.append((time.perf_counter() - began) * 1_000)
            connection.close()
            assert answer.status == 200, (path, answer.status)
        return found

    every = [paths[place % len(paths)] for place in range(REQUESTS)]
    with ThreadPoolExecutor(CLIENTS) as clients:
        return [
            one for found in clients.map(client, [every[place::CLIENTS] for place in range(CLIENTS)]) for one in found
        ]


def measured(store: Store) -> dict[str, dict[str, float]]:
    """Kind → p50, p95, worst, and the load meanwhile."""
    found = {}
    with tempfile.TemporaryDirectory() as home, served(store.url.render_as_string(), Path(home)) as (host, port, pid):
        for name, paths in pages(store).items():
            asked(host, port, paths[:8])
            before = _seconds(pid)
            times = sorted(asked(host, port, paths))
            found[name] = {
                "p50": times[len(times) // 2],
                "p95": times[int(len(times) * 0.95)],
                "worst": times[-1],
                "cpu": (_seconds(pid) - before) * 1_000 / len(times),
                "load": os.getloadavg()[0],
            }
            sys.stderr.write(f"{name}: {found[name]}\n")
    return found


def _seconds(pid: int) -> float:
    """Processor seconds of a process and of those that it began."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    stats = [Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split() for one in (pid, *children)]
    return sum(int(fields[11]) + int(fields[12]) for fields in stats) / os.sysconf("SC_CLK_TCK")


def exported(store: Store, folder: Path) -> dict[str, float]:
    """The export of the whole store: its report, and the largest memory that it took."""
    command = [*_PALIMPSEST, "--store", store.url.render_as_string(), "console", "export", str(folder), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    report: dict[str, float] = json.loads(process.stdout.read())["data"]
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    return {**report, "peak_mb": used.ru_maxrss / 1_000}


def table(counted: dict[str, int], times: dict[str, dict[str, float]], site: dict[str, float]) -> str:
    """What was measured, as Markdown."""
    size = f"{counted['entity']:,} entities, {counted['episode']:,} episodes, {counted['version']:,} versions"
    lines = [f"SQLite, {size}; {CLIENTS} clients, {REQUESTS} requests of each kind; milliseconds.", ""]
    lines += ["| page | goal p95 | p50 | p95 | worst | processor, each | load |", "|---|---:|---:|---:|---:|---:|---:|"]
    for name, one in times.items():
        goal = f"{GOALS[name]}" if name in GOALS else "-"
        numbers = " | ".join(f"{one[what]:.0f}" for what in ("p50", "p95", "worst", "cpu"))
        lines.append(f"| {name} | {goal} | {numbers} | {one['load']:.1f} |")
    if site:
        speed = site["pages"] / site["seconds"]
        lines += ["", f"Export: {site['pages']:,} pages, {site['bytes'] / 1e6:,.0f} MB in {site['seconds']:,.0f} s, "
                  f"{speed:,.0f} pages a second; at most {site['peak_mb']:,.0f} MB of memory."]  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--datasets", type=int, default=10_000)
    parser.add_argument("--without-export", action="store_true")
    given = parser.parse_args()
    store = fill(given.folder, given.datasets)
    counted = sizes(store)
    times = measured(store)
    site = {} if given.without_export else exported(store, given.folder / "site")
    store.dispose()
    print(table(counted, times, site))


if __name__ == "__main__":
    main()
