"""How long recall takes: `python -m benchmarks.recall.speed FOLDER [--passages 100000] [--questions 200] [--url URL]`.

Makes a memory of invented beliefs about so many passages, if it is not there yet, renews its passages by the real pass,
and asks it questions of nine kinds. Prints one JSON object: processor milliseconds by kind (median, 95th percentile,
worst), the pass in passages a second, and the size of the database.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import sqlalchemy as sa

from palimpsest.adapters.clock import SystemClock
from palimpsest.core.ids import EntityId, Ids
from palimpsest.jobs.index import index
from palimpsest.ports import NoProgress
from palimpsest.queries.held import When
from palimpsest.queries.recall import RecallRequest, recall
from palimpsest.store import migrate
from palimpsest.store.bulk import Row, execute_many
from palimpsest.store.engine import Connection, Store, open_store
from palimpsest.store.schema import cell, entity, episode, passage, run, version

PASSAGES_OF_ENTITY = 10
ENTITIES_AT_ONCE = 1_000
_AT = 1_772_438_400_000  # 2026-03-02T08:00:00Z


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_NOUNS = _split(
    "order customer account invoice payment product shipment refund basket session visit campaign coupon supplier "
    "parcel ticket review address device contract price category employee region tax bundle event lead stock return"
)
_SYLLABLES = _split("ba ke lo mi nu ra se ti vo za pri con ter mal den fos gur hel jin kup")
_OFTEN = _split("the a of for each per with after before from and first last total amount number date value daily")
_COLUMNS = _split("id status amount created_at updated_at type code total rate owner channel currency note hash score")


def vocabulary(random_words: random.Random, size: int = 20_000) -> list[str]:
    """Invented words, the first ones used most."""
    return ["".join(random_words.choices(_SYLLABLES, k=random_words.randint(2, 4))) for _ in range(size)]


class Invented:
    """Entities with their beliefs, the same for the same seed."""

    def __init__(self, seed: int = 1) -> None:
        self.chance = random.Random(seed)
        self.words = vocabulary(self.chance)

    def word(self) -> str:
        """A word of a description: a few are in most texts, most in few."""
        if self.chance.random() < 0.35:
            return self.chance.choice(_OFTEN)
        return self.words[min(len(self.words) - 1, int(self.chance.paretovariate(0.7) * 20))]

    def name(self, number: int) -> str:
        """The name of an entity."""
        first, second = self.chance.sample(_NOUNS, 2)
        schema = f"{self.chance.choice(('shop', 'crm', 'web', 'erp'))}.{self.chance.choice(_NOUNS)}"
        return f"{schema}.{first}_{second}_{number}"

    def beliefs(self, name: str) -> Iterator[tuple[str, str, object]]:
        """(aspect, key, value) of what is held about an entity."""
        text = " ".join(self.word() for _ in range(self.chance.randint(8, 30)))
        yield "existence", "", {"exists": True}
        yield "name", "source", name.rsplit(".", 1)[-1]
        yield "description", "source", text.capitalize()
        yield "ownership", "", [[f"urn:li:corpuser:person{self.chance.randint(1, 3_000)}", "TECHNICAL_OWNER"]]
        yield "tags", "", [[f"urn:li:tag:{self.chance.choice(_NOUNS)}"]]
        yield "domain", "", [[f"urn:li:domain:{self.chance.choice(_NOUNS)}"]]
        yield "upstreams", "", [[f"urn:li:dataset:(urn:li:dataPlatform:postgres,{self.name(1)},PROD)"]]
        yield "sub_type", "", "Table"
        for column in self.chance.sample(_COLUMNS, 3):
            value = {"path": column, "native_type": "VARCHAR(255)", "type": "String"}
            yield "column", column, value | {"description": " ".join(self.word() for _ in range(6))}
        yield "property", "retention", str(self.chance.randint(1, 999))


def fill(store: Store, passages: int) -> None:
    """Invent entities with about so many passages, each belief with its cell, its episode and its one version."""
    ids, invented = store.ids, Invented()
    run_id = ids.run("scan", "speed", _AT, "benchmark")

    def begin(connection: Connection) -> None:
        row = {"id": run_id, "job": "scan", "source": "speed", "state": "done", "holder": "", "beat_at": _AT}
        connection.execute(sa.insert(run), row | {"started_at": _AT, "read_at": _AT, "rules": "1", "complete": True})

    store.write(begin)
    numbers = iter(range(passages // PASSAGES_OF_ENTITY))
    while some := list(islice(numbers, ENTITIES_AT_ONCE)):
        rows = _rows(ids, invented, run_id, some)
        store.write(lambda connection, rows=rows: _insert(connection, rows))


def _rows(ids: Ids, invented: Invented, run_id: bytes, numbers: list[int]) -> list[list[Row]]:
    entities: list[Row] = []
    cells: list[Row] = []
    episodes: list[Row] = []
    versions: list[Row] = []
    for number in numbers:
        name = invented.name(number)
        urn = f"urn:li:dataset:(urn:li:dataPlatform:postgres,{name},PROD)"
        about: EntityId = ids.entity(urn)
        entities.append((about, urn, "dataset", "postgres", name))
        for aspect, key, value in invented.beliefs(name):
            one, belief = ids.cell(about, "speed", "", aspect, key), ids.belief(about, "speed", aspect, key)
            cells.append((one, about, "speed", "", aspect, key, aspect, belief, b"\1" * 8, 1))
            text = json.dumps(value, ensure_ascii=False)
            episodes.append((one, 1, run_id, _AT, "first", 1, True, text, "open"))
            versions.append((belief, 1, "current", one, 1, _AT, _AT, run_id, "rules", "first seen"))
    return [entities, cells, episodes, versions]


_INSERTED = (
    (entity, ("id", "urn", "kind", "platform", "name")),
    (cell, ("id", "entity_id", "source", "observer", "aspect", "key", "part", "belief_id", "digest", "last")),
    (
        episode,
        ("cell_id", "number", "run_id", "observed_at", "kind", "impact", "baseline", "value", "verdict"),
    ),
    (
        version,
        (
            "belief_id",
            "number",
            "state",
            "cell_id",
            "episode",
            "valid_from",
            "recorded_at",
            "run_id",
            "judge",
            "reason",
        ),
    ),
)


def _insert(connection: Connection, rows: list[list[Row]]) -> None:
    for (table, names), given in zip(_INSERTED, rows, strict=True):
        execute_many(connection, sa.insert(table), names, given)


def questions(store: Store, count: int) -> dict[str, list[str]]:
    """Questions by kind, from what the memory holds."""
    chance = random.Random(7)

    def some(connection: Connection) -> list[str]:
        return list(connection.scalars(sa.select(entity.c.name).order_by(entity.c.id).limit(5_000)))

    names = chance.sample(store.read(some), k=count)
    shorts = [name.rsplit(".", 1)[-1] for name in names]
    words = Invented().words
    return {
        "exact name": [f"who owns {name}?" for name in names],
        "short name": [f"what is {short}" for short in shorts],
        "two common words": [f"{' '.join(chance.sample(_NOUNS, 2))} table" for _ in names],
        "three common words": [f"{' '.join(chance.sample(_NOUNS, 3))}" for _ in names],
        "one common word": [chance.choice(_NOUNS) for _ in names],
        "owner of common": [f"who owns the {chance.choice(_NOUNS)} {chance.choice(_NOUNS)} pipeline" for _ in names],
        "rare words": [" ".join(chance.choices(words[200:], k=3)) for _ in names],
        "misspelt name": [_misspelt(chance, short) for short in shorts],
        "nothing": [f"{chance.choice(['flux', 'quantum', 'warp'])} capacitor xylophone{at}" for at in range(count)],
    }


def _misspelt(chance: random.Random, short: str) -> str:
    word = short.split("_", maxsplit=1)[0]
    at = chance.randrange(1, len(word) - 1)
    return short.replace(word, word[:at] + word[at + 1 :] if len(word) > 5 else word[:at] + "q" + word[at:], 1)


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of processor time of one call, which other work on the machine disturbs least."""
    before = time.process_time()
    work()
    return (time.process_time() - before) * 1000


def measure(store: Store, count: int) -> dict[str, object]:
    """Milliseconds by kind of question, warm: each kind is asked once before."""
    now = SystemClock().now()
    found: dict[str, object] = {}
    every: list[float] = []
    for kind, asked in questions(store, count).items():
        requests = [RecallRequest(question=text) for text in asked]
        for request in requests[:3]:
            recall(store, request, When(now=now))
        took = [timed(lambda request=request: recall(store, request, When(now=now))) for request in requests]
        every += took
        found[kind] = _spread(took)
    return found | {"all": _spread(every)}


def _spread(took: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(took, n=20)
    return {"median": round(statistics.median(took), 1), "p95": round(cuts[18], 1), "worst": round(max(took), 1)}


def main() -> None:
    """Make, renew, ask, print."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.recall.speed", description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--passages", type=int, default=100_000)
    options.add_argument("--questions", type=int, default=50)
    options.add_argument("--url", help="a database server, in place of a SQLite file in the folder")
    asked = options.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    path = asked.folder / f"speed-{asked.passages}.db"
    is_new = asked.url is not None or not path.exists()
    store = open_store(asked.url or f"sqlite:///{path}")
    migrate.upgrade(store, now=SystemClock().now())
    if is_new:
        fill(store, asked.passages)
    seconds = time.process_time()
    report = index(store, clock=SystemClock(), progress=NoProgress())
    seconds = time.process_time() - seconds
    count = store.read(lambda connection: connection.scalar(sa.select(sa.func.count()).select_from(passage)))
    found = {
        "passages": count,
        "written_a_second": round(report.written / seconds) if report.written else None,
        "megabytes": round(path.stat().st_size / 1e6) if path.exists() else None,
        "milliseconds": measure(store, asked.questions),
    }
    store.dispose()
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
