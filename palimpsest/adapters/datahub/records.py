"""Streaming the records out of DataHub metadata files: one JSON array (or a single object), plain or gzipped.

Flat memory: one record at a time is parsed out of a growing window of text. The window starts small, and doubles for a
record that does not fit. Nothing here knows what a record means.
"""

from __future__ import annotations

import codecs
import gzip
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.errors import CatalogError, UsageError

_WINDOW = 1 << 16
_BLANK = " \t\r\n"
_NUMBER_TAIL = re.compile(r"[0-9.eE+-]*")


def files_of(path: Path) -> list[Path]:
    """The metadata files at a path: itself, or the .json and .json.gz files of a folder, by name.

    Raises UsageError when there is none.
    """
    try:
        if not path.is_dir():
            path.stat()
            return [path]
        found = sorted(file for file in path.iterdir() if file.name.endswith((".json", ".json.gz")) and file.is_file())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(f"no such file: {path}", "name a DataHub metadata file or a folder of them") from error
    except OSError as error:
        raise CatalogError(f"{path} cannot be read: {error.strerror}", "check the path and its permissions") from error
    if not found:
        raise UsageError(f"no .json or .json.gz file in {path}", "name a file, or another folder")
    return found


def stream(path: Path, *, window: int = _WINDOW) -> Iterator[Json]:
    """Every record of one file, in order. Raises CatalogError when it is unreadable, truncated, or no metadata."""
    try:
        with _open(path) as file:
            yield from _records(_Window(file, path, window), path)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise CatalogError(f"{path} is not whole: {error}", "export it again; nothing was written") from error
    except UnicodeDecodeError as error:
        raise CatalogError(
            f"{path} is not text: byte {error.start} is not UTF-8", "is it a DataHub metadata file?"
        ) from error
    except OSError as error:
        raise CatalogError(
            f"{path} cannot be read: {error.strerror or error}", "check the path and its permissions"
        ) from error


def _open(path: Path) -> IO[bytes] | gzip.GzipFile:
    with path.open("rb") as probe:
        head = probe.read(2)
    if head == b"\x1f\x8b" or path.name.endswith(".gz"):
        if not head:
            raise CatalogError(f"{path} is empty", "export it again; nothing was written")
        return gzip.open(path, "rb")
    return path.open("rb")


def _records(window: _Window, path: Path) -> Iterator[Json]:
    opening = window.next_char()
    if opening == "":
        raise CatalogError(f"{path} is empty", "export it again; nothing was written")
    if opening == "{":
        yield window.value()
        window.expect_end()
        return
    if opening != "[":
        raise CatalogError(
            f"{path} is not DataHub metadata: it starts with {opening!r}",
            "a JSON array of MCE or MCP records is expected",
        )
    window.skip()
    if window.next_char() == "]":
        window.skip()
        window.expect_end()
        return
    while True:
        yield window.value()
        mark = window.next_char()
        window.skip()
        if mark == "]":
            window.expect_end()
            return
        if mark != ",":
            window.broken("a comma or the end of the array was expected")
        if window.next_char() == "]":
            window.broken("a record was expected after the comma")


def _number(digits: str) -> Json:
    try:
        return int(digits)
    except ValueError:
        return digits


class _Window:
    """The text at hand, and how much of it is used."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile, path: Path, size: int) -> None:
        self._file = file
        self._path = path
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._scan = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._before = 0
        self._ended = False
        self._size = size

    def next_char(self) -> str:
        """The next character that is not blank, left where it is; empty at the end."""
        while True:
            text, at = self._text, self._at
            while at < len(text) and text[at] in _BLANK:
                at += 1
            self._at = at
            if at < len(text):
                return text[at]
            if not self._more(self._size):
                return ""

    def skip(self) -> None:
        """Past the next character."""
        self._at += 1

    def value(self) -> Json:
        """The next JSON value."""
        if self.next_char() == "":
            self.broken("it ends where a record was expected: truncated?")
        size = self._size
        while True:
            try:
                value, end = self._scan(self._text, self._at)
            except json.JSONDecodeError as error:
                inside = error.pos < len(self._text) - 16 and not error.msg.startswith("Unterminated string")
                if inside or not self._more(size):
                    what = error.msg if inside else "it ends in the middle of a record: truncated?"
                    self._at = min(error.pos, len(self._text))
                    self.broken(what)
                size *= 2
                continue
            except RecursionError:
                self.broken("it is nested too deeply")
            except ValueError:  # a number of thousands of digits: python refuses to convert it, so it stays text
                self._scan = json.JSONDecoder(parse_int=_number).raw_decode
                continue
            if isinstance(value, int | float) and self._ends_open(end) and self._more(size):
                continue  # a number may go on in the next window
            self._at = end
            return value  # type: ignore[no-any-return]

    def _ends_open(self, end: int) -> bool:
        """Whether all that follows in the window may belong to the number before it."""
        tail = _NUMBER_TAIL.match(self._text, end)
        return tail is not None and tail.end() == len(self._text)

    def expect_end(self) -> None:
        """Nothing but blanks may follow."""
        if self.next_char() != "":
            self.broken("something follows after the end")

    def broken(self, what: str) -> None:
        """Raise the error that says where the file stops making sense."""
        where = self._before + self._at
        raise CatalogError(
            f"{self._path} is not whole JSON: {what} (character {where})", "export it again; nothing was written"
        )

    def _more(self, size: int) -> bool:
        """Append at least one more character; False at the end of the file."""
        if self._ended:
            return False
        data = self._file.read(max(size, self._size))
        self._ended = not data
        added = self._decoder.decode(data, final=not data)
        if self._at:
            self._before += self._at
            self._text = self._text[self._at :]
            self._at = 0
        self._text += added
        return bool(added) or not self._ended
