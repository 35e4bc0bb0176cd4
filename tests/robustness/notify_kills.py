"""A driver, run as a process of its own: kills `notify` at chosen steps, does it again, and compares what was taken.

`python -m tests.robustness.notify_kills FOLDER SEED POINTS DATABASE` prints one JSON line. A step is a statement about
to be sent or just sent, a commit about to be made, a message about to be sent or just accepted. Kills are those of
tests.robustness.killing.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.moment import Moment, parse
from palimpsest.core.notice import Message, News, Rule
from palimpsest.core.patience import Failure
from palimpsest.jobs.notify import NotifyRequest, notify
from palimpsest.queries.notices import news_since
from palimpsest.store.engine import open_store
from palimpsest.store.runs import this_process
from palimpsest.testing import FixedClock, NoProgress
from tests import building, servers
from tests.building import Memory, dataset, mcp, owners, schema
from tests.robustness.killing import Steps, in_child, was_killed
from tests.robustness.stores import Stores, broken, runs_left, stores_of

TABLES = 6
RULES = (
    Rule(
        name="owners", to="mail", recipient="owners", impact=Impact.MINOR,
        addresses={"ann": "ann@example.org", "bob": "bob@example.org"},
    ),
    Rule(name="team", to="mail", recipient="team@example.org", impact=Impact.BREAKING),
)  # fmt: skip
AT = parse("2026-04-01")


class Postbox:
    """Takes messages by writing them into a file, as a receiver that is another process has them then."""

    def __init__(self, path: Path, steps: Steps) -> None:
        self.path, self.steps = path, steps

    def send(self, message: Message, address: str) -> Failure | None:
        """Take one."""
        self.steps.step()
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([address, message.key, [line.text for line in message.lines]]) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.steps.step()
        return None

    def close(self) -> None:
        """Nothing is open."""


def live(folder: Path, url: str) -> None:
    """A memory whose rules have begun, and in which something changed since then for everybody."""
    with building.placed(lambda _folder, _name: url):
        memory = Memory(folder)
        names = [f"shop.t{number}" for number in range(TABLES)]
        columns = [("id", "int"), ("total", "int")]
        first = [mcp(dataset(name), "ownership", owners("ann" if name < "shop.t3" else "bob")) for name in names]
        first += [mcp(dataset(name), "schemaMetadata", schema(*columns)) for name in names]
        memory.remember(first, at="2026-03-01T08:00:00Z")
        run(memory.url, memory.clock.at, Postbox(folder / "none", Steps()))
        memory.remember(
            [mcp(dataset(name), "schemaMetadata", schema(*columns[:1])) for name in names], at="2026-03-02T08:00:00Z"
        )
        memory.store.dispose()


def run(url: str, at: Moment, postbox: Postbox) -> None:
    """Notify, as a process of its own would."""
    store = open_store(url)

    def read(since: Moment) -> Sequence[News]:
        return news_since(store, since, at)

    notify(
        store, NotifyRequest(rules=RULES), read, {"mail": postbox}, clock=FixedClock(at, step=1),
        progress=NoProgress(), holder=this_process(),
    )  # fmt: skip
    store.dispose()


def taken(path: Path) -> list[tuple[str, str, tuple[str, ...]]]:
    """What came into a postbox."""
    if not path.exists():
        return []
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(address, key, tuple(lines)) for address, key, lines in found]


def prove(folder: Path, stores: Stores, chooser: random.Random, points: int) -> dict[str, object]:
    """Kill the job at many steps, or at each of them where there are no more than `points`."""
    log, calm = folder / "steps.json", folder / "calm.jsonl"
    stores.copy("before", "calm")

    def undisturbed() -> None:
        steps = Steps()
        run(stores.url("calm"), AT, Postbox(calm, steps))
        log.write_text(json.dumps(steps.count))

    assert in_child(undisturbed) == 0
    wanted, steps = taken(calm), int(json.loads(log.read_text()))
    complaints: list[str] = []
    repeated = 0
    for number in sorted(chooser.sample(range(1, steps + 1), min(points, steps))):
        stores.copy("before", "work")
        box, url = folder / f"{number}.jsonl", stores.url("work")
        status = in_child(lambda number=number, box=box, url=url: run(url, AT, Postbox(box, Steps(number))))  # type: ignore[misc]
        if not was_killed(status):
            complaints.append(f"step {number}: was not killed")
        stores.settle("work")
        for later in (1_000, 2_000):
            at = Moment(AT + later)
            if in_child(lambda box=box, url=url, at=at: run(url, at, Postbox(box, Steps()))):  # type: ignore[misc]
                complaints.append(f"step {number}: doing it again failed")
        counted = Counter(taken(box))
        extra = sum((counted - Counter(wanted)).values())
        repeated += extra
        complaints += [f"step {number}: lost {one}" for one in wanted if one not in counted]
        complaints += [f"step {number}: never to be sent: {one}" for one in counted if one not in wanted]
        complaints += [f"step {number}: {extra} repeated"] if extra > 1 else []
        complaints += [f"step {number}: {one}" for one in (*broken(url), *runs_left(url))]
    return {"steps": steps, "messages": len(wanted), "repeated": repeated, "complaints": complaints}


def main(folder: Path, seed: int, points: int, database: str) -> None:
    """Make a store, kill the job on copies of it, and tell."""
    stores = stores_of(database, folder)
    url = stores.url("before")
    assert in_child(lambda: live(folder, url)) == 0
    sys.stdout.write(json.dumps(prove(folder, stores, random.Random(seed), points) | {"seed": seed}) + "\n")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    finally:
        servers.end_all()
