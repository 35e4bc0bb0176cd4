"""How much metadata files hold, told from their size and the beginning of each: nothing is read whole."""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path

from palimpsest.adapters.datahub.records import files_of
from palimpsest.core.errors import CatalogError

_BEGINNING = 1_000_000
# What each record has once: an MCP its aspect's name, an MCE its snapshot.
_RECORD = re.compile(rb'"(?:aspectName|proposedSnapshot)"\s*:')


def size_of(path: Path) -> tuple[int, float]:
    """(records, uncompressed bytes) of a file or a folder, estimated. Raises CatalogError and UsageError."""
    records, size = 0.0, 0.0
    for file in files_of(path):
        try:
            on_disk = file.stat().st_size
            beginning, used = _beginning(file)
        except (OSError, EOFError, zlib.error) as error:
            raise CatalogError(f"{file} cannot be read: {error}", "is it a whole metadata file?") from error
        whole = len(beginning) * on_disk / used if used else 0.0
        size += whole
        records += len(_RECORD.findall(beginning)) * (whole / len(beginning) if beginning else 0.0)
    return round(records), size


def _beginning(file: Path) -> tuple[bytes, int]:
    """The first part of what the file says, and of how many bytes on the disk it was made."""
    with file.open("rb") as raw:
        head = raw.read(2)
        raw.seek(0)
        if head != b"\x1f\x8b":
            text = raw.read(_BEGINNING)
            return text, len(text)
        with gzip.GzipFile(fileobj=raw) as unpacked:
            text = unpacked.read(_BEGINNING)
            if len(text) < _BEGINNING:
                return text, file.stat().st_size
            # The reader is ahead of what it gave by some buffer: told better by packing the part again.
            return text, len(gzip.compress(text))
