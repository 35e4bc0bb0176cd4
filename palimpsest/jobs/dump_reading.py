"""Reading a dump line by line, in batches of bounded size, each line checked; what is wrong is named with its line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import NoReturn

import orjson

from palimpsest.core.dump import FORMAT, End, Header, RowError, Sums, read_end, read_header
from palimpsest.core.errors import UsageError
from palimpsest.store import dumping, migrate
from palimpsest.store.dumping import MissingColumnError, Rows, TableReader

_LINES_AT_ONCE = 10_000
_BYTES_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Rows of one table that follow each other. `first` is the number of the first one's line."""

    table: TableReader
    rows: Rows
    first: int


class DumpReader:
    """A dump being read. Raises UsageError for what is no dump, damaged, cut short, or newer than this version.

    `name` is what messages call it; `lines` are all its lines, each with its end.
    """

    def __init__(self, name: str, lines: Iterator[bytes]) -> None:
        self.name, self._lines = name, lines
        self._sums = Sums()
        self._read = 1  # lines so far
        self._counts: dict[str, int] = {}
        self.header = self._read_header()
        try:
            self._tables = dumping.reader_of(self.header.tables)
        except MissingColumnError as error:
            hint = (
                f"load it with palimpsest {self.header.palimpsest}, then run: palimpsest db upgrade, with this version"
            )
            self._fail(1, f"is of an earlier schema ({self.header.revision}), without {error}", hint)
        except ValueError as error:
            self._fail(1, str(error))
        self._order = list(self._tables)
        self.end: End | None = None

    def _read_header(self) -> Header:
        line = next(self._lines, b"")
        try:
            header = read_header(line)
        except ValueError as error:
            self._fail(1, str(error))
        if header is None:
            raise UsageError(f"{self.name} is no dump of palimpsest", "a dump is made by: palimpsest dump FILE")
        newer = f"upgrade palimpsest: the dump was made by {header.palimpsest}"
        if header.format > FORMAT:
            self._fail(1, f"is of format {header.format}, this version reads up to {FORMAT}", newer)
        if header.revision not in migrate.revisions():
            self._fail(1, f"is of schema {header.revision}, which this version does not know", newer)
        if [head.rows for head in header.tables if head.name == "store"] != [1]:
            self._fail(1, "does not hold the secret of a store")
        self._sums.add_header(line)
        return header

    def batches(self) -> Iterator[Batch]:
        """Every row; after the last one the end was checked."""
        lines: list[bytes] = []
        size = 0
        for line in self._lines:
            if line[:1] == b"{":
                yield from self._batches_of(lines)
                self._check_end(line)
                return
            lines.append(line)
            size += len(line)
            if size >= _BYTES_AT_ONCE or len(lines) >= _LINES_AT_ONCE:
                yield from self._batches_of(lines)
                lines, size = [], 0
        yield from self._batches_of(lines)
        self._fail(self._read, "the last line, is not the end of a dump: it was cut short")

    def _batches_of(self, lines: list[bytes]) -> Iterator[Batch]:
        rows = self._parsed(lines)
        self._sums.add_rows(b"".join(lines), len(lines))
        for name, found in groupby(rows, key=itemgetter(0)):
            of_table = list(found)
            first = self._read + 1
            if not isinstance(name, str) or name not in self._tables:
                self._fail(first, f"is a row of a table that the header does not name: {name!r}")
            if any(later in self._counts for later in self._order[self._order.index(name) + 1 :]):
                self._fail(first, f"is out of order: {name}")
            table = self._tables[name]
            try:
                read = table.read(of_table)
            except RowError as error:
                self.fail(first + error.index, error)
            self._counts[name] = self._counts.get(name, 0) + len(read)
            yield Batch(table=table, rows=read, first=first)
            self._read += len(read)

    def _parsed(self, lines: list[bytes]) -> list[list[object]]:
        """All lines in one go; when that does not work, the first one that is not a row is named."""
        try:
            rows = orjson.loads(b"[" + b",".join(lines) + b"]")
        except orjson.JSONDecodeError:
            rows = []
        if len(rows) == len(lines) and all(isinstance(row, list) and row for row in rows) and _ended(lines):
            return list(rows)
        for number, line in enumerate(lines, self._read + 1):
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                self._fail(number, f"is damaged JSON: {error}")
            if not isinstance(row, list) or not row:
                self._fail(number, "is neither a row nor the end")
            if not line.endswith(b"\n"):
                self._fail(number, "the last line, is not the end of a dump: it was cut short")
        raise AssertionError("lines that are rows one by one are rows together")

    def _check_end(self, line: bytes) -> None:
        number = self._read + 1
        try:
            end = read_end(line)
        except ValueError as error:
            self._fail(number, str(error))
        if not line.endswith(b"\n"):
            self._fail(number, "the end, was cut short")
        if end != self._sums.end():
            damaged = "the file was damaged or changed: take another copy, or dump again"
            self._fail(number, "the end, says other checksums than the lines before it have", damaged)
        for head in self.header.tables:
            if self._counts.get(head.name, 0) != head.rows:
                self._fail(number, f"there were {self._counts.get(head.name, 0)} rows of {head.name}, not {head.rows}")
        if next(self._lines, None) is not None:
            self._fail(number + 1, "comes after the end")
        self.end = end

    def fail(self, number: int, error: RowError) -> NoReturn:
        """Raise UsageError for a row that cannot be what it says."""
        self._fail(number, str(error))

    def _fail(self, number: int, what: str, hint: str = "dump again, or take another copy of the file") -> NoReturn:
        raise UsageError(f"{self.name}: line {number} {what}", hint)


def _ended(lines: list[bytes]) -> bool:
    return not lines or lines[-1].endswith(b"\n")
