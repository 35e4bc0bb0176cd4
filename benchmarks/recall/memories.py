"""Makes the memories that the labelled questions are asked of, by the commands that a person would type.

`python -m benchmarks.recall.memories FOLDER [--shared ../shared/data] [--only NAME]` writes FOLDER/NAME.db. `mce` and
`replay` are read from the shared material and left out where it is absent; a store that is there already stays.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"
NAMES = ("demo", "worlds", "mce", "replay")

_BOOTSTRAP = "datahub__mi__examples__mce_files__bootstrap_mce.json"
_SHOWCASE = "datahub-project__datapacks__showcase-ecommerce__*.json"
_READ_AT = "2026-07-01T00:00:00Z"
_COMMAND = "from palimpsest.surfaces.cli.app import main; main()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One file, or folder of files, as a source read at a time."""

    source: str
    path: Path
    at: str


def demo() -> Iterator[Reading]:
    """The sample catalog on its three days."""
    for path in sorted((ROOT / "demo" / "catalog").glob("*.json")):
        yield Reading(source="shop", path=path, at=f"{path.name[:10]}T08:00:00Z")


def worlds() -> Iterator[Reading]:
    """The small catalog of `worlds.json`: Chinese, Japanese, Korean and Russian."""
    yield Reading(source="worlds", path=Path(__file__).with_name("worlds.json"), at=_READ_AT)


def mce(shared: Path, work: Path) -> Iterator[Reading]:
    """DataHub's bootstrap file and its showcase data pack, each a source of its own."""
    yield Reading(source="bootstrap", path=shared / "mce" / _BOOTSTRAP, at=_READ_AT)
    showcase = work / "showcase"
    shutil.rmtree(showcase, ignore_errors=True)
    showcase.mkdir(parents=True)
    for path in sorted((shared / "mce").glob(_SHOWCASE)):
        shutil.copyfile(path, showcase / path.name.rsplit("__", 1)[-1])
    yield Reading(source="showcase", path=showcase, at=_READ_AT)


def replay(shared: Path) -> Iterator[Reading]:
    """Six years of one company's BigQuery datasets, checkpoint by checkpoint."""
    folder = shared / "replay" / "mcp_checkpoints"
    for entry in json.loads(gzip.decompress((folder / "CHECKPOINTS.json.gz").read_bytes())):
        yield Reading(source="warehouse", path=folder / f"{entry['file']}.gz", at=entry["time"])


def readings(name: str, shared: Path, work: Path) -> Iterator[Reading] | None:
    """What a memory is made from; none where the shared material is absent."""
    if name == "demo":
        return demo()
    if name == "worlds":
        return worlds()
    if not (shared / name).is_dir():
        return None
    return mce(shared, work) if name == "mce" else replay(shared)


def palimpsest(store: str, *arguments: str) -> str:
    """What one command prints, run away from any settings file and variable; raises when the command fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PALIMPSEST_")}
    environment["PALIMPSEST_RUN__VERIFY"] = "false"
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), environment.get("PYTHONPATH"))))
    command = [sys.executable, "-c", _COMMAND, "--store", store, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, env=environment, cwd="/")
    return done.stdout


def make(name: str, folder: Path, shared: Path = SHARED) -> Path | None:
    """The store of a memory, made if it is not there yet; none where the shared material is absent."""
    database = folder.absolute() / f"{name}.db"
    work = folder.absolute() / "work"
    if database.exists():
        return database
    found = readings(name, shared, work)
    if found is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    half = database.with_suffix(".half")
    half.unlink(missing_ok=True)
    for reading in found:
        what = ("run", f"file:{reading.path}", "--source", reading.source, "--at", reading.at)
        palimpsest(f"sqlite:///{half}", "-q", *what)
    half.rename(database)
    shutil.rmtree(work, ignore_errors=True)
    return database


def main() -> None:
    """Make them all, and say which."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.recall.memories", description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--shared", type=Path, default=SHARED)
    options.add_argument("--only", choices=NAMES, action="append")
    asked = options.parse_args()
    for name in asked.only or NAMES:
        made = make(name, asked.folder, asked.shared)
        sys.stdout.write(f"{name}: {made or 'left out, the shared material is absent'}\n")


if __name__ == "__main__":
    main()
