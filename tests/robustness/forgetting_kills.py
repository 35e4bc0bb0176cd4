"""A driver, run as a process of its own: kills `forget` and `erase` at chosen statements, repeats them, and compares.

`python -m tests.robustness.forgetting_kills FOLDER SEED POINTS DATABASE` prints one JSON line a job. Steps and kills
are those of tests.robustness.killing.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

from palimpsest.core.moment import Moment, parse
from palimpsest.jobs.erase import erase
from palimpsest.jobs.forget import ForgetRequest, forget
from palimpsest.jobs.note import note
from palimpsest.store import erasing, forgetting
from palimpsest.store.engine import open_store
from palimpsest.store.runs import this_process
from palimpsest.testing import FixedClock, NoProgress
from tests import building, servers
from tests.building import Memory, dataset, mcp, owners, status, text
from tests.robustness.killing import Steps, in_child, was_killed
from tests.robustness.stores import Stores, broken, differing, runs_left, stores_of, tables

DATASETS = 14
MARK = "zebrafish"
AT = {"forget": parse("2028-01-01"), "compact": parse("2028-01-02"), "erase": parse("2028-01-03")}
SAID = ("Rows of table {}", "Rows of table {}.", "Rows of table {}!", "Rows of table {}!!", "Only zebrafish {}")


def live(folder: Path, url: str) -> None:
    """A memory with restatements, closed versions, and somebody's name in every place."""
    with building.placed(lambda _folder, _name: url):
        memory = Memory(folder)
        for day, words in enumerate((*SAID, "Something else {}, says Alice"), start=1):
            records = []
            for number in range(DATASETS):
                urn, body = dataset(f"shop.t{number}"), text(words.format(number))
                body |= {"customProperties": {"alice": "keeper" if day < 3 else "nobody"}}
                records += [
                    mcp(urn, "status", status()),
                    mcp(urn, "ownership", owners("alice", f"o{number}", by="alice")),
                ]
                records.append(mcp(urn, "datasetProperties", body))
            memory.remember(records, at=f"2026-03-0{day}T08:00:00Z")
            memory.index()
        for number in range(0, DATASETS, 2):
            urn, said = dataset(f"shop.t{number}"), f"Alice says that table {number} runs late"
            note(memory.store, urn=urn, text=said, observer="person:alice", clock=memory._tick(), holder="test:1:")
        memory.consolidate()
        memory.index()
        memory.store.dispose()


def work(job: str, url: str, at: Moment) -> None:
    """Do a job on a store, as a process of its own would, in many small transactions."""
    forgetting.AT_ONCE = erasing.ENTITIES_AT_ONCE = 3
    store = open_store(url)
    given = {"clock": FixedClock(at, step=1), "progress": NoProgress(), "holder": this_process()}
    if job == "erase":
        erase(store, "urn:li:corpuser:alice", salt=lambda: "7f3a", **given)  # type: ignore[arg-type]
    else:
        before = parse("2027-01-01") if job == "compact" else None
        forget(store, ForgetRequest(superseded_before=before), **given)  # type: ignore[arg-type]
    store.dispose()


def prove(job: str, folder: Path, stores: Stores, chooser: random.Random, points: int) -> dict[str, object]:
    """Kill one job at many steps; the store `before` becomes what the undisturbed job leaves."""
    log = folder / "steps.json"
    stores.copy("before", "calm")
    calm = stores.url("calm")

    def undisturbed() -> None:
        steps = Steps()
        work(job, calm, AT[job])
        log.write_text(json.dumps([steps.count, steps.commits]))

    assert in_child(undisturbed) == 0, f"{job} fails undisturbed"
    count, commits = json.loads(log.read_text())
    wanted, complaints = tables(calm), []
    chosen = sorted(chooser.sample(range(1, count + 1), min(points, count)))
    for step in chosen:
        stores.copy("before", "killed")
        url = stores.url("killed")

        def disturbed(step: int = step, url: str = url) -> None:
            Steps(step)
            work(job, url, AT[job])

        if not was_killed(in_child(disturbed)):
            complaints.append(f"step {step}: not killed")
            continue
        stores.settle("killed")
        found = [f"verify after the kill: {rule}" for rule in broken(url)]
        if in_child(lambda url=url: work(job, url, Moment(AT[job] + 60_000))) != 0:  # type: ignore[misc]
            found.append("the next run fails")
        found += [f"verify at the end: {rule}" for rule in broken(url)]
        found += differing(tables(url), wanted) + [f"{left} is still running" for left in runs_left(url)]
        found += left_in_bytes(folder, job)
        complaints += [f"step {step}: {said}" for said in found]
    stores.copy("calm", "before")
    return {
        "job": job, "steps": count, "commits": len(commits), "points": len(chosen), "complaints": complaints[:10],
    }  # fmt: skip


def left_in_bytes(folder: Path, job: str) -> list[str]:
    """What is gone and stands in the bytes of a SQLite file all the same."""
    word = {"compact": MARK, "erase": "alice"}.get(job)
    files = folder.glob("killed.db*") if word else ()
    return [f"{word} is in {file.name}" for file in files if word and word.encode() in file.read_bytes().lower()]


def main(folder: Path, seed: int, points: int, database: str) -> None:
    """Prove every job in turn, each on the state that the undisturbed ones before it left."""
    chooser = random.Random(seed)
    stores = stores_of(database, folder)
    begin: Callable[[], None] = lambda: live(folder, stores.url("before"))  # noqa: E731
    stores.url("before")
    assert in_child(begin) == 0
    for job in AT:
        sys.stdout.write(json.dumps(prove(job, folder, stores, chooser, points) | {"seed": seed}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    finally:
        servers.end_all()
