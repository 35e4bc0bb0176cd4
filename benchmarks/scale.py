"""How time grows with size: stores of 10,000 to 1,000,000 passages, filled by the real jobs and asked.

    python -m benchmarks.scale FOLDER --sqlite 10000,100000,1000000 --json a.json
    python -m benchmarks.scale FOLDER --postgresql 10000,100000,500000 --json b.json
    python -m benchmarks.scale FOLDER --read a.json --read b.json --markdown scale.md --plot growth.svg

Times are by the clock (wall) and of the processors (cpu), those of the database server included, which runs on the same
machine without fsync. What was measured is in the file of --json at once, whenever the run ends.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import sqlalchemy as sa

from benchmarks.growth import plot
from benchmarks.recall.speed import questions
from benchmarks.scale_store import Figures, Took, bare, fill, write_catalog
from benchmarks.scale_table import markdown
from palimpsest.adapters.clock import SystemClock
from palimpsest.adapters.dump_file import DumpFile
from palimpsest.adapters.embed.hashed import HashedEmbedder
from palimpsest.core.ranking import nearness_of
from palimpsest.jobs.dump import dump
from palimpsest.ports import NoProgress
from palimpsest.queries.brief import brief
from palimpsest.queries.held import When
from palimpsest.queries.recall import Meaning, RecallRequest, recall
from palimpsest.store import migrate
from palimpsest.store.engine import Store, open_store
from palimpsest.store.schema import entity
from tests import servers

_EPISODES_OF_PASSAGE = 1.3
_COLD = 5
_BUFFERS = "512MB"  # of the server; those of tests are too small for an index of vectors
_BRIEFS = 220
_TABLES, _END = "<!-- block: scale -->", "<!-- end -->"


class Kept:
    """The figures of a run, in a file as soon as they are known, each measure with the load of the machine."""

    def __init__(self, path: Path | None, figures: Figures | None = None) -> None:
        self.path, self.figures = path, {} if figures is None else figures

    def at(self, dialect: str, size: int) -> Callable[[str, object], None]:
        """Keeps the figures of one store."""
        here = self.figures.setdefault(f"{dialect} {size}", {"dialect": dialect, "size": size})

        def keep(name: str, value: object) -> None:
            if isinstance(value, dict):
                value["load"] = round(os.getloadavg()[0], 1)
            here[name] = value
            sys.stderr.write(f"{dialect} {size:,} {name} {value}\n")
            if self.path is not None:
                self.path.write_text(json.dumps(self.figures, indent=1) + "\n", encoding="utf-8")

        return keep


def spread(took: Sequence[Took]) -> Figures:
    """Milliseconds: the median, the 95th percentile and the worst, by the clock and of the processors."""
    found: Figures = {}
    for name, seconds in (("wall", [one.wall for one in took]), ("cpu", [one.cpu for one in took])):
        cuts = statistics.quantiles(seconds, n=20, method="inclusive")
        at = {"p50": statistics.median(seconds), "p95": cuts[18], "worst": max(seconds)}
        found |= {f"{name}_{what}_ms": round(value * 1e3, 2) for what, value in at.items()}
    return found


def recalled(store: Store, server: int | None, count: int) -> Figures:
    """Warm recall by text and vectors, of so many questions of each kind; each kind is asked thrice before."""
    when, every, kinds = When(now=SystemClock().now()), [], {}
    with closing(HashedEmbedder()) as embedder:
        nearness = nearness_of(embedder.name)

        def ask(question: str) -> None:
            vector = embedder.embed_question(question)
            view = recall(
                store,
                RecallRequest(question=question),
                when,
                Meaning(embedder=embedder.name, vector=vector, nearness=nearness),
            )
            if not view.by_meaning:
                raise SystemExit("vectors were not searched")

        for kind, asked in questions(store, count).items():
            for question in asked[:3]:
                ask(question)
            took = []
            for question in asked:
                with Took(server) as one:
                    ask(question)
                took.append(one)
            every += took
            kinds[kind] = spread(took)
    return spread(every) | {"questions": len(every), "kinds": kinds}


def cold(url: str, store: Store) -> Figures:
    """`palimpsest recall` in a new process: seconds of some runs, and processor seconds of the process alone."""
    asked = [text for some in questions(store, _COLD).values() for text in some[:1]][:_COLD]
    walls, cpus = [], []
    for question in asked:
        command = [sys.executable, "-m", "palimpsest.surfaces.cli.app", "--store", url, "recall", question, "--json"]
        started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        walls.append(time.perf_counter() - started)
        cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    median = statistics.median(walls)
    return {
        "wall_p50_s": median,
        "wall_worst_s": max(walls),
        "wall_min_s": min(walls),
        "cpu_p50_s": statistics.median(cpus),
    }


def briefed(store: Store, server: int | None) -> Figures:
    """One brief of one dataset in process, of 200 datasets in turn."""
    chosen = sa.select(entity.c.urn).where(entity.c.kind == "dataset").order_by(entity.c.id).limit(_BRIEFS)
    urns = store.read(lambda connection: list(connection.scalars(chosen)))
    when, took = When(now=SystemClock().now()), []
    for urn in urns:
        with Took(server) as one:
            brief(store, [urn], 2_000, when)
        took.append(one)
    return spread(took[20:])


def dumped(store: Store, server: int | None, folder: Path) -> Figures:
    """A dump of everything into a file."""
    path, reports = folder / "dump.jsonl", []
    with Took(server) as took, DumpFile(path) as writer:
        reports.append(dump(store, writer, clock=SystemClock(), progress=NoProgress()))
    size = path.stat().st_size
    path.unlink()
    return {"rows": reports[0].rows, "wall_s": took.wall, "cpu_s": took.cpu, "megabytes": size / 1e6}


def megabytes(store: Store, url: str) -> float:
    """What the database takes on disk."""
    if url.startswith("sqlite"):
        path = url.removeprefix("sqlite:///")
        return sum(Path(path + end).stat().st_size for end in ("", "-wal") if Path(path + end).exists()) / 1e6
    return float(store.read(lambda c: c.scalar(sa.text("SELECT pg_database_size(current_database())")))) / 1e6


def make(url: str, server: int | None, size: int, folder: Path, keep: Callable[[str, object], None]) -> None:
    """Fill one store."""
    catalog = folder / f"catalog-{size}.json"
    if not catalog.exists():
        write_catalog(catalog, size)
    with closing_store(url) as store:
        migrate.upgrade(store, now=SystemClock().now())
        rows = int(size * _EPISODES_OF_PASSAGE)
        keep("bare", min((bare(store, server, rows) for _ in range(2)), key=lambda one: one["cpu_s"]))
        fill(store, catalog, server, keep)
        keep("megabytes", megabytes(store, url))
    catalog.unlink()


def ask(url: str, server: int | None, size: int, folder: Path, keep: Callable[[str, object], None], count: int) -> None:
    """Everything that is asked of one store."""
    with closing_store(url) as store:
        keep("recall", recalled(store, server, count))
        keep("brief", briefed(store, server))
        keep("cold", cold(url, store))
        keep("dump", dumped(store, server, folder))


@contextmanager
def closing_store(url: str) -> Iterator[Store]:
    """A store that is closed at the end."""
    store = open_store(url)
    yield store
    store.dispose()


def measure(url: str, server: int | None, dialect: str, size: int, folder: Path, asked: argparse.Namespace) -> None:
    """Fill one store in one process, and ask it in another, which holds nothing of what went before."""
    given = [asked.json or folder / "figures.json", dialect, size, url, server or 0, folder, asked.questions]
    for step in ("make", "ask"):
        code = "import sys; from benchmarks.scale import step; step(*sys.argv[1:])"
        subprocess.run([sys.executable, "-c", code, step, *map(str, given)], check=True)


def step(name: str, path: str, dialect: str, size: str, url: str, server: str, folder: str, count: str) -> None:
    """One step, in a process of its own."""
    kept = Kept(Path(path), json.loads(Path(path).read_text()) if Path(path).exists() else {})
    keep, pid = kept.at(dialect, int(size)), int(server) or None
    if name == "make":
        make(url, pid, int(size), Path(folder), keep)
    else:
        ask(url, pid, int(size), Path(folder), keep, int(count))


def run(folder: Path, asked: argparse.Namespace) -> None:
    """Every store that was asked for, the small ones first; each is gone before the next is made."""
    for size in sizes(asked.sqlite):
        path = folder / f"scale-{size}.db"
        measure(f"sqlite:///{path}", None, "sqlite", size, folder, asked)
        for end in ("", "-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)
    servers.SETTINGS["shared_buffers"] = _BUFFERS
    for size in sizes(asked.postgresql):
        kind = servers.kind("postgresql")
        name = kind.make(migrated=False)
        process = kind.server.process.pid
        measure(kind.url(name), process, "postgresql", size, folder, asked)
        kind.drop(name)


def sizes(text: str) -> list[int]:
    """Numbers with commas between them."""
    return sorted(int(one) for one in text.split(",") if one)


def main() -> None:
    """Measure, read what was measured, write."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__.split("\n")[0])
    options.add_argument(
        "folder", type=Path, nargs="?", default=None, help="where stores are made; by default a new one"
    )
    options.add_argument("--sqlite", default="", metavar="SIZE,…")
    options.add_argument("--postgresql", default="", metavar="SIZE,…")
    options.add_argument("--questions", type=int, default=30, help="of each of the nine kinds")
    options.add_argument("--json", type=Path)
    options.add_argument("--read", type=Path, action="append", default=[], help="figures of earlier runs")
    options.add_argument("--markdown", type=Path, help="a file with a block for the tables")
    options.add_argument("--plot", type=Path)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="palimpsest-scale-") as own:
        folder = asked.folder or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            run(folder, asked)
        finally:
            servers.end_all()
        figures: Figures = {}
        for path in [*asked.read, asked.json or folder / "figures.json"]:
            figures |= json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    table = markdown(figures)
    if asked.markdown:
        before, _, rest = asked.markdown.read_text(encoding="utf-8").partition(_TABLES)
        after = rest.partition(_END)[2]
        asked.markdown.write_text(f"{before}{_TABLES}\n{table}{_END}{after}", encoding="utf-8")
    if asked.plot:
        asked.plot.write_text(plot(figures), encoding="utf-8")
    sys.stdout.write(table)


if __name__ == "__main__":
    main()
