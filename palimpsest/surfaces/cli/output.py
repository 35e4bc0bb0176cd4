"""Owns stdout: the data a command answers with, as lines of text or as one JSON document.

Text of a catalog is hostile: no control character and no bidirectional override of it reaches a terminal.
Nothing here styles or wraps; talk (errors, notes, progress) is the business of diagnostics.py.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, date, datetime

from palimpsest.core.errors import PalimpsestError

DOCUMENT_VERSION = 1

_CONTROLS = r"\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
_UNSAFE_IN_TEXT = re.compile(rf"[\x00-\x08\x0b-\x1f\ud800-\udfff{_CONTROLS}]")
_UNSAFE_IN_LINE = re.compile(rf"[\x00-\x1f\ud800-\udfff{_CONTROLS}]")
_UNSAFE_IN_JSON = re.compile(rf"[{_CONTROLS}]")
_GAP = "  "


def emit_json(document_name: str, payload: object) -> None:
    """Print one JSON document, as `json_document` writes it."""
    _write(json_document(document_name, payload))


def json_document(document_name: str, payload: object) -> str:
    """One JSON document, {"palimpsest": 1, "kind": document_name, "data": payload}, on one line.

    Takes dataclasses, enums, tuples, sets (sorted), bytes (hex), paths and aware datetimes (ISO, Z).
    Raises TypeError for anything else, and for a datetime without a zone.
    """
    import orjson

    document = {"palimpsest": DOCUMENT_VERSION, "kind": document_name, "data": payload}
    options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_PASSTHROUGH_DATETIME
    text = orjson.dumps(document, default=_plain, option=options).decode()
    # Such characters occur only inside strings, where \uXXXX is the same value.
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def emit_text(lines: Iterable[str] | str) -> None:
    """Print lines of text (or one text), each ended, with unsafe characters made visible."""
    whole = lines if isinstance(lines, str) else "\n".join(lines)
    if whole:
        _write(neutral(whole) + ("" if whole.endswith("\n") else "\n"))


def emit_bytes(data: bytes) -> None:
    """Write bytes as they are: a document for a program. Raises PalimpsestError, also when its reader went away."""
    stream = sys.stdout
    if stream is None:  # closed by the caller
        raise PalimpsestError("standard output is closed")
    try:
        stream.buffer.write(data)
        stream.flush()
    except OSError as err:
        _drop_the_rest()
        raise PalimpsestError(f"standard output cannot be written: {err.strerror}") from err


def neutral(text: str) -> str:
    r"""The text with control characters (except newline and tab) and bidirectional overrides spelled out, as \x1b."""
    return _UNSAFE_IN_TEXT.sub(_spelled, text)


def neutral_line(text: str) -> str:
    r"""As `neutral`, with newlines and tabs spelled out too, as \n: what must stay one line."""
    return _UNSAFE_IN_LINE.sub(_spelled, text)


def table(rows: Sequence[Sequence[str]], *, header: Sequence[str] = (), right: Collection[int] = ()) -> list[str]:
    """Lines with the columns aligned, two spaces apart, without trailing spaces.

    `right` are the indexes of the columns that align right. Rows may differ in length.
    """
    cells = [[neutral_line(cell) for cell in row] for row in ([header, *rows] if header else rows)]
    widths = [max(width(row[i]) for row in cells if i < len(row)) for i in range(max(map(len, cells), default=0))]
    lines = []
    for row in cells:
        padded = []
        for i, cell in enumerate(row):
            padding = " " * (widths[i] - width(cell))
            padded.append(padding + cell if i in right else cell + padding)
        lines.append(_GAP.join(padded).rstrip(" "))
    return lines


def width(text: str) -> int:
    """How many terminal columns the text takes: wide characters (CJK, emoji) two, combining marks none."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _spelled(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape", "surrogatepass").decode("ascii")


def _plain(value: object) -> object:
    match value:
        case datetime():
            if value.tzinfo is None:
                raise TypeError(f"a datetime without a zone: {value}")
            return value.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"
        case date():
            return value.isoformat()
        case bytes():
            return value.hex()
        case set() | frozenset():
            return sorted(value)
        case os.PathLike():
            return os.fspath(value)
        case _:
            raise TypeError(f"not a value of a JSON document: {type(value).__name__}")


def _write(text: str) -> None:
    """Write and flush. A reader that went away is no failure: the rest is dropped."""
    stream = sys.stdout
    if stream is None:  # closed by the caller: python then has no stdout at all
        return
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        _drop_the_rest()
    except OSError as err:
        _drop_the_rest()
        raise PalimpsestError(f"standard output cannot be written: {err.strerror}") from err


def _drop_the_rest() -> None:
    """Point stdout at nothing, so that neither later writes nor the flush at exit fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
