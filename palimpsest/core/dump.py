"""The form of a dump: JSON Lines, a header, one line a row, and an end that tells whether all of it is there. Pure.

    {"palimpsest-dump":1,"palimpsest":"0.1.0","revision":"0020","dumped_at":"2026-…Z",
     "tables":[{"name":"source","columns":["name","kind","origin"],"rows":1},…]}    (on one line)
    ["source","file","file","file"]
    {"end":3,"content":"…","sha256":"…"}

`content` is the SHA-256 of the lines of rows alone: equal for equal stores. `sha256` is that of every line before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

FORMAT = 1
MAGIC = b'{"palimpsest-dump":'


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHead:
    """What the header says of one table: its columns, in the order of a row's values, and how many rows follow."""

    name: str
    columns: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line: by which version, at which revision of the schema, when, and what follows in which order."""

    palimpsest: str
    revision: str
    dumped_at: str
    tables: tuple[TableHead, ...]
    format: int = FORMAT

    @property
    def rows(self) -> int:
        """How many rows follow."""
        return sum(table.rows for table in self.tables)


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The last line: how many rows there were, and what the lines come to."""

    rows: int
    content: str
    sha256: str


class Sums:
    """The running checksums of a dump."""

    def __init__(self) -> None:
        self._content, self._all = sha256(), sha256()
        self._rows = 0

    def add_header(self, line: bytes) -> None:
        """Count the first line in."""
        self._all.update(line)

    def add_rows(self, lines: bytes, count: int) -> None:
        """Count so many lines of rows in."""
        self._content.update(lines)
        self._all.update(lines)
        self._rows += count

    def end(self) -> End:
        """What the end has to say."""
        return End(rows=self._rows, content=self._content.hexdigest(), sha256=self._all.hexdigest())


class RowError(ValueError):
    """A row that cannot be what it says: its place among the rows at hand, and what is wrong with it."""

    def __init__(self, index: int, what: str) -> None:
        super().__init__(what)
        self.index = index


def header_line(header: Header) -> bytes:
    """The header as it is written."""
    tables = [{"name": table.name, "columns": table.columns, "rows": table.rows} for table in header.tables]
    said = {
        "palimpsest-dump": header.format,
        "palimpsest": header.palimpsest,
        "revision": header.revision,
        "dumped_at": header.dumped_at,
        "tables": tables,
    }
    return orjson.dumps(said) + b"\n"


def end_line(end: End) -> bytes:
    """The end as it is written."""
    return orjson.dumps({"end": end.rows, "content": end.content, "sha256": end.sha256}) + b"\n"


def read_header(line: bytes) -> Header | None:
    """The header that a first line is; None where it is of no dump. Of a newer format only the versions are read.

    Raises ValueError when it is one that cannot be read.
    """
    if not line.startswith(MAGIC):
        return None
    said = _object(line)
    number, version = said.get("palimpsest-dump"), said.get("palimpsest")
    if not isinstance(number, int) or not isinstance(version, str):
        raise ValueError("the header does not tell its version")
    if number > FORMAT:
        return Header(palimpsest=version, revision="", dumped_at="", tables=(), format=number)
    try:
        tables = tuple(_table(one) for one in said["tables"])
        revision, dumped_at = said["revision"], said["dumped_at"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"the header lacks {error}") from error
    if not isinstance(revision, str) or not isinstance(dumped_at, str):
        raise ValueError("the header does not tell when it was made, and of which schema")
    return Header(palimpsest=version, revision=revision, dumped_at=dumped_at, tables=tables, format=number)


def _table(said: Any) -> TableHead:
    name, columns, rows = said["name"], tuple(said["columns"]), said["rows"]
    if not isinstance(name, str) or not isinstance(rows, int) or not all(isinstance(one, str) for one in columns):
        raise ValueError("the header does not tell its tables")
    return TableHead(name=name, columns=columns, rows=rows)


def read_end(line: bytes) -> End:
    """The end that a last line is. Raises ValueError when it is none."""
    said = _object(line)
    rows, content, whole = said.get("end"), said.get("content"), said.get("sha256")
    if not isinstance(rows, int) or not isinstance(content, str) or not isinstance(whole, str):
        raise ValueError("is neither a row nor the end")
    return End(rows=rows, content=content, sha256=whole)


def _object(line: bytes) -> dict[str, Any]:
    try:
        said = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"is damaged JSON: {error}") from error
    if not isinstance(said, dict):
        raise ValueError("is no JSON object")
    return said
