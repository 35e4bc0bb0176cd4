"""Runs every measurement, each in its own process, and prints the goals beside what was reached, as ratios of one run.

`python -m benchmarks [--datasets 10000] [--json FILE]`. 10,000 datasets are some 500,000 cells.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def measure(name: str, folder: Path, size: int) -> dict[str, Any]:
    """One measurement in a process of its own."""
    sys.stderr.write(f"measuring {name} {size or ''}\n")
    command = [sys.executable, "-m", "benchmarks.measure", name, str(folder), str(size)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(folder: Path, size: int) -> dict[str, dict[str, Any]]:
    """Every measurement, in an order in which each finds what it needs."""
    tenth = max(1, size // 10)
    found = {"parse": measure("parse", folder, size), "bare": measure("bare", folder, 0)}
    for label, name, of in (
        ("scan at a tenth", "scan", tenth),
        ("rescan at a tenth", "rescan", tenth),
        ("scan", "scan", size),
        ("rescan", "rescan", size),
        ("consolidate", "consolidate", size),
        ("rescan, new stamps", "rescan-restamped", size),
        ("rescan, 100 changes", "rescan-changed", size),
    ):
        found[label] = measure(name, folder, of)
    measure("consolidate", folder, tenth)
    for name in ("dump", "load"):
        found[f"{name} at a tenth"] = measure(name, folder, tenth)
        found[name] = measure(name, folder, size)
    found["scan at twice"] = measure("scan", folder, size * 2)
    found["consolidate at twice"] = measure("consolidate", folder, size * 2)
    found["brief"] = measure("brief", folder, size * 2)
    found["start"] = measure("start", folder, 0)
    return found


def table(found: dict[str, dict[str, Any]]) -> list[tuple[str, str, str]]:
    """(what, goal, reached), ratios within this run."""
    parse, bare = found["parse"]["seconds"], found["bare"]["seconds"]

    def times(label: str, base: float) -> str:
        return f"{found[label]['seconds'] / base:.2f} ×"

    def memory(label: str) -> str:
        big, small = found[label]["peak_mb"], found[f"{label} at a tenth"]["peak_mb"]
        return f"{big:.0f} MB, at a tenth {small:.0f} MB ({big / small:.2f} ×)"

    def a_row(label: str) -> float:
        took = found[label]
        return (took["seconds"] + took.get("check_seconds", 0)) / took["rows"] / (bare / found["bare"]["rows"])

    start = found["start"]["milliseconds"]
    slowest = max(value for name, value in start.items() if name != "import typer")
    return [
        ("parse: our reader, no consumer", "-", f"{parse:.2f} s for {found['parse']['megabytes']:.0f} MB"),
        ("json.load of the same file", "-", times_of(found["parse"]["json_load_seconds"], parse) + " parse"),
        ("bare: executemany of 500,000 rows", "-", f"{bare:.2f} s"),
        ("scan, unchanged", "≤ 2 × parse, 0 rows", f"{times('rescan', parse)}, {found['rescan']['written']} rows"),
        ("scan, unchanged, new stamps and order", "-", f"{times('rescan, new stamps', parse)}, "
         f"{found['rescan, new stamps']['written']} rows"),
        ("scan, 100 changes", "-", f"{times('rescan, 100 changes', parse)}, "
         f"{found['rescan, 100 changes']['written']} rows"),
        ("first scan", "≤ 3.5 × (parse + bare)", times("scan", parse + bare)),
        ("peak memory of a first scan", "≤ 1.2 × + 20 MB", memory("scan")),
        ("peak memory of a rescan", "≤ 1.2 × + 20 MB", memory("rescan")),
        ("consolidate by rules", "≤ 4 × bare", times("consolidate", bare)),
        ("dump, a row", "-", f"{a_row('dump'):.2f} × bare"),
        ("load, a row, check and verify included", "-", f"{a_row('load'):.2f} × bare"),
        ("peak memory of a dump", "≤ 1.2 × + 20 MB", memory("dump")),
        ("peak memory of a load", "≤ 1.2 × + 20 MB", memory("load")),
        ("brief, in process", "p95 ≤ 10 ms", f"p95 {found['brief']['p95_ms']:.1f} ms, p50 "
         f"{found['brief']['p50_ms']:.1f} ms at {found['brief']['episodes']:,} episodes"),
        ("a command that does no work", "≤ 1.5 × import typer", times_of(slowest, start["import typer"])),
    ]  # fmt: skip


def times_of(value: float, base: float) -> str:
    """A ratio as text."""
    return f"{value / base:.2f} ×"


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    options.add_argument("--datasets", type=int, default=10_000)
    options.add_argument("--json", type=Path, default=None, help="keep the raw figures in this file")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as folder:
        found = run(Path(folder), asked.datasets)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    rows = [("what", "goal", "reached"), ("---", "---", "---"), *table(found)]
    sys.stdout.write("\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n")


if __name__ == "__main__":
    main()
