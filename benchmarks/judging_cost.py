"""What a language model as judge costs: requests and tokens per 1,000 changed cells, counted and not timed.

    python -m benchmarks.judging_cost [--replay FOLDER] [--markdown FILE]

The model is one of the tests: it compares by rules, at once and free. What is counted is what it would be sent (the
material, the instructions, the schema) and what it answers, at three bytes a token, which is a third too much for
English. Catalogs: an invented one in which prose alone changes; the same with all kinds of changes alike; the history
of `replay/`, where FOLDER holds its checkpoints.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from benchmarks.generate import write_catalog
from palimpsest.adapters.clock import SetClock
from palimpsest.adapters.datahub.file import FileReader
from palimpsest.adapters.models.known import DEFAULT_MODELS, price_of
from palimpsest.core.language import Answer, Ask
from palimpsest.core.moment import Moment, parse
from palimpsest.jobs.consolidate import consolidate
from palimpsest.jobs.judging.fence import tokens_of
from palimpsest.jobs.judging.judging import Judging
from palimpsest.jobs.scan import ScanRequest, scan
from palimpsest.ports import NoProgress
from palimpsest.store import migrate
from palimpsest.store.engine import Store, open_store
from palimpsest.store.schema import episode
from palimpsest.testing.model import ScriptedModel, items_in
from tests.jobs.judging.matters import prompt

_PRICED = "anthropic"


class Counting(ScriptedModel):
    """A model of the tests that counts what it is asked about, reads and writes."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = self.texts = self.read = self.written = 0

    def answer(self, ask: Ask) -> Answer:
        """An answer, counted."""
        answer = super().answer(ask)
        self.asks.clear()
        self.calls += 1
        self.texts += len(items_in(ask))
        self.read += sum(map(tokens_of, (ask.material, ask.instructions, json.dumps(ask.schema))))
        self.written += tokens_of(answer.text)
        return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What the changes of one catalog cost; `cells` are the episodes that are changes and no first readings."""

    catalog: str
    cells: int
    texts: int
    calls: int
    read: int
    written: int

    def row(self) -> str:
        """A line of the table: everything per 1,000 changed cells."""
        each = 1_000 / self.cells
        price = price_of(_PRICED, DEFAULT_MODELS[_PRICED])
        assert price is not None
        dollars = (self.read * price.input + self.written * price.output) / 1_000_000 * each
        figures = [self.texts * each, self.calls * each, self.read * each, self.written * each]
        told = [f"{self.cells:,}", *(f"{one:,.0f}" if one >= 10 else f"{one:.1f}" for one in figures), f"{dollars:.4f}"]
        return f"| {self.catalog} | " + " | ".join(told) + " |"


HEAD = (
    f"| changes | changed cells | texts asked about | requests | tokens read | tokens written "
    f"| US$ at the price of {DEFAULT_MODELS[_PRICED]} |\n|---|---:|---:|---:|---:|---:|---:|"
)


def cost_of(catalog: str, folder: Path, readings: Iterator[tuple[Path, Moment]], *, each: bool) -> Cost:
    """Read a history, and let the model judge after each reading, or once at the end."""
    model = Counting()
    store = open_store(f"sqlite:///{folder / 'memory.db'}")
    clock = SetClock(parse("2020-01-01"), step=1)
    migrate.upgrade(store, now=clock.now(), secret=b"0123456789abcdef")
    for path, at in readings:
        clock.at = max(clock.at, at)
        request = ScanRequest(source="file", at=at)
        scan(store, FileReader(path), request, clock=clock, progress=NoProgress(), holder="cost:1:")
        if each:
            _judge(store, clock, model)
    _judge(store, clock, model)
    changed = sa.select(sa.func.count()).where(sa.not_(episode.c.baseline))
    cells = int(store.read(lambda connection: connection.scalar(changed)) or 0)
    store.dispose()
    return Cost(
        catalog=catalog, cells=cells, texts=model.texts, calls=model.calls, read=model.read, written=model.written
    )


def _judge(store: Store, clock: SetClock, model: Counting) -> None:
    judging = Judging(model, restated=prompt("restated"), sorting=prompt("sorted"))
    report = consolidate(store, clock=clock, progress=NoProgress(), holder="cost:1:", judging=judging)
    assert report.left == 0, report


def invented(folder: Path, *, prose_only: bool, datasets: int = 1_000) -> Iterator[tuple[Path, Moment]]:
    """A catalog on two days; on the second three facts a dataset have changed, of all kinds or of prose alone."""
    for day in (0, 1):
        path = folder / f"day-{day}.json"
        write_catalog(path, datasets=datasets, columns=20, seed=1, day=day, changes=3 * datasets * day)
        if prose_only and day:
            _keep_prose(folder / "day-0.json", path)
        yield path, Moment(parse("2026-03-02T08:00:00Z") + day * 86_400_000)


def _keep_prose(before: Path, after: Path) -> None:
    """Take back every change of a reading but those of descriptions, of tables and columns."""
    was = {(one["entityUrn"], one["aspectName"]): one["aspect"]["json"] for one in json.loads(before.read_text())}
    records = json.loads(after.read_text())
    for record in records:
        old = was.get((record["entityUrn"], record["aspectName"]))
        new = record["aspect"]["json"]
        if old is None:
            continue
        kept = json.loads(json.dumps(old))
        if "description" in new:
            kept["description"] = new["description"]
        for mine, theirs in zip(kept.get("fields", []), new.get("fields", []), strict=False):
            if "description" in theirs:
                mine["description"] = theirs["description"]
        record["aspect"]["json"] = kept
    after.write_text(json.dumps(records))


def replayed(checkpoints: Path) -> Iterator[tuple[Path, Moment]]:
    """The checkpoints of the replay, in their order."""
    for one in json.loads(gzip.decompress((checkpoints / "CHECKPOINTS.json.gz").read_bytes())):
        yield checkpoints / f"{one['file']}.gz", parse(one["time"])


def main(arguments: list[str] | None = None) -> None:
    """Count, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replay", type=Path, help="the folder mcp_checkpoints of the replay")
    parser.add_argument("--markdown", type=Path, help="write the table into this file too")
    given = parser.parse_args(arguments)
    rows = [HEAD]
    with tempfile.TemporaryDirectory() as temporary:

        def counted(name: str, readings: Iterator[tuple[Path, Moment]], folder: Path, *, each: bool = True) -> None:
            sys.stderr.write(f"{name}\n")
            rows.append(cost_of(name, folder, readings, each=each).row())

        def folder(name: str) -> Path:
            made = Path(temporary) / name
            made.mkdir()
            return made

        prose, mixed = folder("prose"), folder("mixed")
        counted("invented, prose alone", invented(prose, prose_only=True), prose)
        counted("invented, all kinds alike", invented(mixed, prose_only=False), mixed)
        if given.replay:
            counted("replay, judged after each of its readings", replayed(given.replay), folder("each"))
            counted("replay, judged once at the end", replayed(given.replay), folder("once"), each=False)
    table = "\n".join(rows)
    print(table)
    if given.markdown:
        given.markdown.write_text(table + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
