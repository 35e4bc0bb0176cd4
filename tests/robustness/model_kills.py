"""A driver, run as a process of its own: a consolidator with a model, killed at statements and while the model thinks.

`python -m tests.robustness.model_kills FOLDER SEED POINTS DATABASE` prints two JSON objects: of so many kills, each on
a store as it was before, and of so many on one store, one after the other, until all is consolidated.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import palimpsest.jobs.consolidate as consolidate_job
import palimpsest.jobs.scan as scan_job
from palimpsest.adapters.datahub.file import FileReader
from palimpsest.core.language import Answer, Ask
from palimpsest.core.moment import Moment, parse
from palimpsest.jobs.note import note
from palimpsest.jobs.scan import ScanRequest
from palimpsest.store import migrate
from palimpsest.store.engine import open_store
from palimpsest.store.runs import this_process
from palimpsest.testing import FixedClock, NoProgress
from palimpsest.testing.model import ScriptedModel
from tests import servers
from tests.building import dataset
from tests.jobs.judging.catalogs import reading
from tests.jobs.judging.matters import judging
from tests.robustness.catalogs import write
from tests.robustness.killing import SECRET, Steps, completed, in_child, was_killed
from tests.robustness.stores import Stores, broken, runs_left, stores_of, tables

DATASETS = 24
AT_ONCE = 6
SECONDS = 0.005  # how long the model takes for an answer
NOTES = (
    "Half of the amounts are missing before May.",
    "half of the amounts are missing before May",
    "All of the amounts are there before May.",
    "Is the key ever used twice?",
)
LATER = parse("2026-03-05T09:00:00Z")


class Thinking(ScriptedModel):
    """A slow model that always answers the same; its thinking has steps as a store's work has."""

    def __init__(self, steps: Steps | None) -> None:
        super().__init__(seconds=SECONDS)
        self._steps = steps

    def answer(self, ask: Ask) -> Answer:
        """An answer, between two steps."""
        if self._steps is not None:
            self._steps.step()
        answer = super().answer(ask)
        if self._steps is not None:
            self._steps.step()
        return answer


def prepare(folder: Path, url: str) -> None:
    """A store with two readings, the second of them and some notes not consolidated."""
    store = open_store(url)
    migrate.upgrade(store, now=parse("2026-03-01"), secret=SECRET)
    holder = this_process()
    for day in (1, 2):
        at = parse(f"2026-03-0{day + 1}T08:00:00Z")
        name, clock = f"day-{day}.json", FixedClock(at, step=1)
        write(folder, name, reading(day, DATASETS))
        request = ScanRequest(source="file", at=at)
        scan_job.scan(store, FileReader(folder / name), request, clock=clock, progress=NoProgress(), holder=holder)
        if day == 1:
            consolidate_job.consolidate(store, clock=clock, progress=NoProgress(), holder=holder)
    for number, said in enumerate(NOTES * 2):
        clock = FixedClock(Moment(parse("2026-03-04") + number * 1000), step=0)
        urn, observer = dataset(f"shop.t{number % 2}"), "person:mira" if number % 3 else "agent:scout"
        note(store, urn=urn, text=said, observer=observer, clock=clock, holder=holder)
    store.dispose()


def consolidate(url: str, at: Moment, steps: Steps | None = None) -> None:
    """Consolidate with the model, a few entities at a time."""
    consolidate_job._EPISODES_AT_ONCE = consolidate_job.ITEMS_AT_ONCE = AT_ONCE
    store = open_store(url)
    clock, holder = FixedClock(at, step=1), this_process()
    work = judging(Thinking(steps), items_at_once=4)
    report = consolidate_job.consolidate(store, clock=clock, progress=NoProgress(), holder=holder, judging=work)
    assert report.left == 0, report
    store.dispose()


def killed_at(step: int, url: str, at: Moment) -> int:
    """Consolidate in a child that is killed at a step, or ends before it; how it ended."""

    def disturbed() -> None:
        consolidate(url, at, Steps(step))

    return in_child(disturbed)


def each_on_its_own(stores: Stores, steps: int, chooser: random.Random, points: int) -> dict[str, Any]:
    """Kill at so many steps, each time the store as it was before; verify, complete, compare."""
    wanted, complaints = tables(stores.url("calm")), []
    for step in sorted(chooser.sample(range(1, steps + 1), points)):
        stores.copy("before", "killed")
        url = stores.url("killed")
        ended = killed_at(step, url, LATER)
        stores.settle("killed")
        found = [] if was_killed(ended) else [f"not killed, status {ended}"]
        found += [f"verify after the kill: {rule}" for rule in broken(url)]
        found += completed(lambda url: consolidate(url, Moment(LATER + 60_000)), url, wanted)
        complaints += [f"step {step}: {said}" for said in found]
    return {"kills": points, "steps": steps, "complaints": complaints[:10]}


def one_after_the_other(stores: Stores, steps: int, chooser: random.Random, points: int) -> dict[str, Any]:
    """Kill consolidators of one store, most of them early, until it is done and there were so many kills."""
    stores.copy("before", "killed")
    url, kills, complaints, number = stores.url("killed"), 0, [], 0
    while kills < points:
        number += 1
        step = chooser.randint(1, steps // 16)
        ended = killed_at(step, url, Moment(LATER + number * 60_000))
        stores.settle("killed")
        if not was_killed(ended):
            complaints += [f"run {number}: status {ended}"] if ended else []
            break
        kills += 1
        complaints += [f"run {number}, step {step}: verify after the kill: {rule}" for rule in broken(url)]
    last = Moment(LATER + (number + 1) * 60_000)
    complaints += completed(lambda url: consolidate(url, last), url, tables(stores.url("calm")))
    return {"kills": kills, "complaints": complaints[:10]}


def main(folder: Path, seed: int, points: int, database: str) -> None:
    """Make the store, the undisturbed one beside it, and kill."""
    chooser, stores, log = random.Random(seed), stores_of(database, folder), folder / "steps.json"
    before = stores.url("before")
    assert in_child(lambda: prepare(folder, before)) == 0
    stores.copy("before", "calm")
    calm = stores.url("calm")

    def undisturbed() -> None:
        steps = Steps()
        consolidate(calm, LATER, steps)
        log.write_text(json.dumps(steps.count))

    assert in_child(undisturbed) == 0, "fails undisturbed"
    assert (broken(calm), runs_left(calm)) == ([], [])
    steps: int = json.loads(log.read_text())
    ways: tuple[Callable[[Stores, int, random.Random, int], dict[str, Any]], ...] = (
        each_on_its_own,
        one_after_the_other,
    )
    for way in ways:
        begun = time.monotonic()
        told = way(stores, steps, chooser, points)
        sys.stdout.write(json.dumps(told | {"seed": seed, "seconds": round(time.monotonic() - begun, 1)}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    finally:
        servers.end_all()
