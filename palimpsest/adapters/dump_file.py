"""Dumps as files: written whole or not at all, for their owner's eyes only, plain or gzip; and read line by line."""

from __future__ import annotations

import gzip
import io
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, cast

from palimpsest.core.dump import MAGIC
from palimpsest.core.errors import PalimpsestError, UsageError

_GZIP = b"\x1f\x8b"
_LONGEST_LINE = 256 * 1024 * 1024


class DumpFile:
    """A dump that is written beside its place and moved there when the block ends well. Raises UsageError.

    It holds the store's secret: mode 0600. A file in its place is replaced if it is a dump, and left alone if not.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.expanduser().resolve()
        self._zips = path.name.endswith(".gz")
        self._file: BinaryIO | None = None
        self._zip: gzip.GzipFile | None = None
        self._beside: Path | None = None

    def __enter__(self) -> DumpFile:
        try:
            if self._path.exists() and not self._path.is_file():
                raise UsageError(f"{self._path} is no file", "name a file, or - for standard output")
            if self._path.exists() and self._path.stat().st_size and not _is_dump(self._path):
                raise UsageError(f"{self._path} is there and is no dump", "name another file")
            handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.", suffix=".part")
        except OSError as error:
            what = f"cannot write the dump: {error.strerror}: {self._path}"
            raise UsageError(what, "name a file in a folder that can be written") from error
        self._beside, self._file = Path(name), os.fdopen(handle, "wb")
        return self

    def start(self) -> None:
        """Begin with an empty file."""
        assert self._file is not None
        self._drop_zip()
        self._file.seek(0)
        self._file.truncate()
        if self._zips:  # no name and no time in it: equal dumps are equal files
            self._zip = gzip.GzipFile(filename="", mode="wb", fileobj=self._file, mtime=0, compresslevel=6)

    def write(self, data: bytes) -> None:
        """Write some lines."""
        assert self._file is not None
        try:
            (self._zip or self._file).write(data)
        except OSError as error:
            raise self._failed(error) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._file is not None
        assert self._beside is not None
        try:
            if kind is None:
                if self._zip is not None:
                    self._zip.close()  # writes what ends it
                self._file.flush()
                os.fsync(self._file.fileno())
                self._file.close()
                self._beside.replace(self._path)
        except OSError as failure:
            raise self._failed(failure) from failure
        finally:
            self._drop_zip()
            with suppress(OSError):
                self._file.close()
            with suppress(OSError):
                self._beside.unlink(missing_ok=True)

    def _drop_zip(self) -> None:
        """Let a gzip stream go that is not wanted: what it still writes is thrown away."""
        with suppress(OSError, ValueError):
            if self._zip is not None:
                self._zip.close()
        self._zip = None

    def _failed(self, error: OSError) -> PalimpsestError:
        return PalimpsestError(
            f"the dump could not be written: {error.strerror}: {self._path}", "nothing of it is left"
        )


def _is_dump(path: Path) -> bool:
    try:
        return next(lines_of(path), b"").startswith(MAGIC)
    except UsageError:
        return False


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a dump, plain or gzip, each with its end. Raises UsageError when the file cannot be read."""
    try:
        file = path.expanduser().open("rb")
    except OSError as error:
        raise UsageError(f"cannot read the dump: {error.strerror}: {path}", "name a file that is there") from error
    with file:
        yield from lines_in(file, str(path))


def lines_in(file: BinaryIO, name: str) -> Iterator[bytes]:
    """The lines of an open dump, plain or gzip, each with its end. Raises UsageError when it cannot be read."""
    buffered = file if isinstance(file, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, file))
    try:
        if buffered.peek(2)[:2] == _GZIP:
            buffered = io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=buffered, mode="rb")), 1 << 17)
        while line := buffered.readline(_LONGEST_LINE):
            yield line
    except EOFError as error:
        raise UsageError(f"{name}: the dump was cut short", "dump again, or take another copy of the file") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise UsageError(
            f"{name}: the dump is damaged: {error}", "dump again, or take another copy of the file"
        ) from error
    except OSError as error:
        raise UsageError(f"cannot read the dump: {error.strerror}: {name}", "check the disk, and try again") from error
