"""Measures each memory in an environment and a process of its own, and prints the figures as ratios of this one run.

`python -m benchmarks.peers.run FOLDER [--facts 10000 --facts 50000] [--only NAME] [--seconds 800]`. Environments and
raw figures are kept in the folder; a figure that is there already is not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SYSTEMS = ("palimpsest", "memvara", "memvara:batch", "memvara:own", "mem0")
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def python_of(system: str, folder: Path) -> Path:
    """The interpreter of a system's environment, which is made if it is not there; of Palimpsest this very one."""
    name = system.partition(":")[0]
    if name == "palimpsest":
        return Path(sys.executable)
    at = folder / "environments" / name
    python = at / "bin" / "python"
    if not (at / "ready").exists():
        sys.stderr.write(f"installing {name}\n")
        venv.create(at, clear=True, with_pip=True)
        wanted = ["-r", str(HERE / f"{name}.txt")]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True, stdout=sys.stderr)
        (at / "ready").touch()
    return python


def measured(system: str, facts: int, folder: Path, seconds: float) -> dict[str, Any] | None:
    """The figures of a system with so many facts; None where it failed, which is told."""
    kept = folder / "results" / f"{system.replace(':', '-')}-{facts}.json"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        python = python_of(system, folder)
        sys.stderr.write(f"measuring {system}, {facts:,} facts\n")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PALIMPSEST_")}
        at = tempfile.mkdtemp(dir=folder)
        done = subprocess.run(
            [python, "-m", "benchmarks.peers.measure", system, at, str(facts), str(seconds)],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            cwd=ROOT,
            env=environment | _ONE_THREAD | {"PYTHONPATH": str(ROOT)},
        )
        shutil.rmtree(at)
        if done.returncode:
            sys.stderr.write(f"{system} failed with {done.returncode}\n")
            return None
        kept.write_text(done.stdout, encoding="utf-8")
    found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    return found


def table(facts: int, found: dict[str, dict[str, Any]]) -> Iterator[str]:
    """The figures as Markdown, each system's beside what ours is to it."""
    ours = found.get("palimpsest")
    named = (
        "inserts a CPU second",
        "ours",
        "CPU a search, mean (p95)",
        "ours",
        "right first, among ten",
        "disk",
        "memory",
    )
    yield " | ".join((f"| {facts:,} facts", *named)) + " |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for system, one in found.items():
        asked = one["search"]
        part = "" if one["facts"] == facts else f" (ended at {one['facts']:,})"
        few = "" if asked["questions"] == 200 else f", {asked['questions']} questions"
        quicker = slower = "-"
        if ours and one is not ours:
            quicker = f"{ours['inserts_a_second'] / one['inserts_a_second']:.1f} ×"
            slower = f"{asked['mean_ms'] / ours['search']['mean_ms']:.1f} ×"
        right = f"{asked['right_first']}, {asked['right_among_ten']} of {asked['right_of']}"
        yield (
            f"| {system} | {one['inserts_a_second']:,.0f}{part} | {quicker} | {asked['mean_ms']:,.1f} ms "
            f"({asked['p95_ms']:,.1f}){few} | {slower} | {right} | {one['disk_mb']:.0f} MB "
            f"| {one['peak_mb']:.0f} MB |"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for, and print."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.peers.run", description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--facts", type=int, action="append", help="how many, again for several; 10,000 and 50,000")
    options.add_argument("--only", choices=SYSTEMS, action="append", help="this system, again for several")
    options.add_argument("--seconds", type=float, default=800, help="of inserting; a quarter of it of searching")
    asked = options.parse_args(arguments)
    folder = asked.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    for facts in asked.facts or (10_000, 50_000):
        every = {system: measured(system, facts, folder, asked.seconds) for system in asked.only or SYSTEMS}
        found = {system: one for system, one in every.items() if one is not None}
        sys.stdout.write("\n".join(table(facts, found)) + "\n\n")


if __name__ == "__main__":
    main()
