"""A driver, run as a process of its own: the real history of replay/, each scan and consolidation of it killed once.

`python -m tests.robustness.replay_kills FOLDER CHECKPOINTS SEED DATABASE` prints one JSON object. Beside the killed
store an undisturbed one reads the same files; in the end both must hold the same rows.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from pathlib import Path

import palimpsest.jobs.consolidate as consolidate_job
import palimpsest.jobs.scan as scan_job
from palimpsest.adapters.datahub.file import FileReader
from palimpsest.core.moment import Moment, parse
from palimpsest.jobs.scan import ScanRequest
from palimpsest.store import migrate
from palimpsest.store.engine import open_store
from palimpsest.store.runs import this_process
from palimpsest.testing import FixedClock, NoProgress
from tests import servers
from tests.robustness.killing import BATCH, SECRET, Steps, in_child, was_killed
from tests.robustness.stores import broken, differing, runs_left, stores_of, tables


def work(job: str, file: Path, url: str, at: Moment, started: Moment) -> None:
    """Scan one checkpoint at its own time, or consolidate."""
    scan_job._EPISODES_AT_ONCE = consolidate_job._EPISODES_AT_ONCE = BATCH
    store = open_store(url)
    clock, holder = FixedClock(started, step=1), this_process()
    if job == "scan":
        request = ScanRequest(source="file", at=at)
        scan_job.scan(store, FileReader(file), request, clock=clock, progress=NoProgress(), holder=holder)
    else:
        consolidate_job.consolidate(store, clock=clock, progress=NoProgress(), holder=holder)
    store.dispose()


def main(folder: Path, checkpoints: Path, seed: int, database: str) -> None:
    """Read every checkpoint into both stores, and compare them."""
    chooser, complaints, kills = random.Random(seed), list[str](), 0
    stores, log = stores_of(database, folder), folder / "steps.json"
    calm, killed = stores.url("calm"), stores.url("killed")
    for url in (calm, killed):
        store = open_store(url)
        migrate.upgrade(store, now=parse("2020-01-01"), secret=SECRET)
        store.dispose()
    listed = json.loads(gzip.decompress((checkpoints / "CHECKPOINTS.json.gz").read_bytes()))
    for number, checkpoint in enumerate(listed):
        file, at = checkpoints / f"{checkpoint['file']}.gz", parse(checkpoint["time"])
        for job in ("scan", "consolidate"):
            started = Moment(parse("2026-11-01") + number * 3_600_000)

            def undisturbed(job: str = job, file: Path = file, at: Moment = at, started: Moment = started) -> None:
                steps = Steps()
                work(job, file, calm, at, started)
                log.write_text(json.dumps(steps.count))

            def disturbed(
                step: int, job: str = job, file: Path = file, at: Moment = at, started: Moment = started
            ) -> None:
                Steps(step)
                work(job, file, killed, at, started)

            assert in_child(undisturbed) == 0, f"{job} of {file.name} fails undisturbed"
            step = chooser.randint(1, json.loads(log.read_text()))
            ended = in_child(lambda step=step: disturbed(step))  # type: ignore[misc]
            where = f"{job} of {file.name} at step {step}"
            stores.settle("killed")
            if was_killed(ended):
                kills += 1
            else:
                complaints.append(f"{where}: not killed, status {ended}")
            complaints += [f"{where}: verify after the kill: {rule}" for rule in broken(killed)]
            again = Moment(started + 60_000)
            if in_child(lambda again=again, j=job, f=file, a=at: work(j, f, killed, a, again)) != 0:  # type: ignore[misc]
                complaints.append(f"{where}: the next run fails")
        complaints += [f"{file.name}: {difference}" for difference in differing(tables(killed), tables(calm))]
    complaints += [f"at the end: {said}" for said in (*broken(killed), *runs_left(killed))]
    sys.stdout.write(json.dumps({"seed": seed, "kills": kills, "complaints": complaints[:10]}) + "\n")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    finally:
        servers.end_all()
