"""dump: write everything that the store holds as true into one stream, in one order, from one moment. Reads only."""

from __future__ import annotations

from dataclasses import dataclass, replace

from palimpsest import __version__
from palimpsest.core.dump import Header, Sums, end_line, header_line
from palimpsest.core.moment import Moment, text
from palimpsest.ports import Clock, DumpWriter, Progress
from palimpsest.store import dumping, dumps_made, migrate
from palimpsest.store.dumps_made import Made
from palimpsest.store.engine import Connection, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpReport:
    """What was dumped. `content` is equal for equal stores; `lost` are runs at work, dumped as if they were killed."""

    revision: str
    tables: dict[str, int]
    lost: int
    content: str
    milliseconds: int

    @property
    def rows(self) -> int:
        """How many rows were dumped."""
        return sum(self.tables.values())


def dump(store: Store, writer: DumpWriter, *, clock: Clock, progress: Progress) -> DumpReport:
    """Dump the store as it is at one moment. On a conflict all of it is written again, where the writer can."""
    started = clock.now()
    report = store.read(lambda connection: _dump(connection, writer, started, progress))
    progress.done()
    return replace(report, milliseconds=clock.now() - started)


def record(store: Store, file: str, *, clock: Clock, holder: str) -> None:
    """Write down that the store was dumped into a file, for whoever erases a person later. Raises StoreError."""
    ids, made = store.ids, Made(file, clock.now())
    store.write(lambda connection: dumps_made.record(connection, ids, made, holder=holder))


def _dump(connection: Connection, writer: DumpWriter, now: Moment, progress: Progress) -> DumpReport:
    writer.start()
    heads = dumping.heads(connection)
    header = Header(palimpsest=__version__, revision=migrate.revisions()[-1], dumped_at=text(now), tables=heads)
    progress.start("dumping", header.rows)
    sums = Sums()
    line = header_line(header)
    sums.add_header(line)
    writer.write(line)
    for table in dumping.DUMPED:
        for lines in dumping.lines(connection, table):
            data = b"".join(lines)
            sums.add_rows(data, len(lines))
            writer.write(data)
            progress.advance(len(lines))
    end = sums.end()
    writer.write(end_line(end))
    return DumpReport(
        revision=header.revision,
        tables={head.name: head.rows for head in heads},
        lost=dumping.count_running(connection),
        content=end.content,
        milliseconds=0,
    )
