"""stdout: one versioned JSON document, or text that no catalog can use against a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from enum import StrEnum
from pathlib import Path

import pytest

from palimpsest.surfaces.cli import output


class Grade(StrEnum):
    QUIET = "quiet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    id: bytes
    grade: Grade
    seen: datetime
    keys: tuple[str, ...]


def test_json_is_one_versioned_document_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    cell = Cell(id=b"\x01\xff", grade=Grade.QUIET, seen=datetime(2026, 8, 5, 7, 30, tzinfo=UTC), keys=("a", "b"))
    output.emit_json("cells", [cell])
    assert capsys.readouterr().out == (
        '{"palimpsest":1,"kind":"cells","data":'
        '[{"id":"01ff","grade":"quiet","seen":"2026-08-05T07:30:00Z","keys":["a","b"]}]}\n'
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (datetime(2026, 8, 5, 9, 30, 0, 5000, tzinfo=timezone(timedelta(hours=2))), "2026-08-05T07:30:00.005000Z"),
        (date(2026, 8, 5), "2026-08-05"),
        (frozenset({"b", "a"}), ["a", "b"]),
        (Path("a/b"), "a/b"),
        ({"tab\t\x1b": "naïve ✓ שלום"}, {"tab\t\x1b": "naïve ✓ שלום"}),
    ],
)
def test_json_values(value: object, expected: object, capsys: pytest.CaptureFixture[str]) -> None:
    output.emit_json("x", value)
    assert json.loads(capsys.readouterr().out)["data"] == expected


@pytest.mark.parametrize("value", [datetime(2026, 8, 5), object()])  # noqa: DTZ001  that is the point
def test_json_refuses_what_it_cannot_say_exactly(value: object) -> None:
    with pytest.raises(TypeError):
        output.emit_json("x", value)


HOSTILE = "a\x1b[31mb\x07\x08\r\x00\x7f\x9b1m\u202ec\u2066\u200f\u2028\x85"


def test_json_reaches_a_terminal_without_control_characters_and_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit_json("x", HOSTILE)
    out = capsys.readouterr().out
    assert json.loads(out)["data"] == HOSTILE
    assert out.removesuffix("\n").isprintable()


def test_text_shows_control_characters_instead_of_obeying_them(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit_text([HOSTILE, "left\tשלום 日本 👩‍🚀"])
    assert capsys.readouterr().out == (
        "a\\x1b[31mb\\x07\\x08\\r\\x00\\x7f\\x9b1m\\u202ec\\u2066\\u200f\\u2028\\x85\nleft\tשלום 日本 👩‍🚀\n"
    )


def test_text_may_be_lines_or_one_string_or_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit_text(["a", "", "b"])
    output.emit_text("c\n")
    output.emit_text([])
    assert capsys.readouterr().out == "a\n\nb\nc\n"


def test_a_table_aligns_its_columns_and_leaves_no_trailing_spaces() -> None:
    rows = [("orders", "12", "alice"), ("客户", "7", ""), ("cafe\u0301", "1000", "two\nlines")]
    assert output.table(rows, header=("NAME", "ROWS", "OWNER"), right={1}) == [
        "NAME    ROWS  OWNER",
        "orders    12  alice",
        "客户       7",
        "cafe\u0301    1000  two\\nlines",
    ]


def test_a_table_without_rows_is_its_header_or_nothing() -> None:
    assert output.table([], header=("NAME", "ROWS")) == ["NAME  ROWS"]
    assert output.table([]) == []


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("🚀", 2), ("ﾊﾝ", 2), ("שלום", 4), ("", 0)]
)
def test_width_is_counted_in_columns(text: str, columns: int) -> None:
    assert output.width(text) == columns


def run(script: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.update(options.pop("environment", {}))  # type: ignore[arg-type]
    return subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        stderr=subprocess.PIPE,
        check=False,
        **options,  # type: ignore[call-overload]
    )


def test_a_reader_that_went_away_is_no_failure() -> None:
    read, write = os.pipe()
    os.close(read)
    script = "from palimpsest.surfaces.cli.output import emit_text\nfor _ in range(3): emit_text(['x' * 100_000])"
    done = run(script, stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_encoding_that_lacks_a_character_shows_its_escape() -> None:
    script = "from palimpsest.surfaces.cli.output import emit_text\nemit_text(['caf\\u00e9 \\u2192'])"
    done = run(script, stdout=subprocess.PIPE, environment={"PYTHONIOENCODING": "latin-1"})
    assert (done.returncode, done.stdout) == (0, b"caf\xe9 \\u2192\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_a_one_line_error() -> None:
    script = "import sys\nfrom palimpsest.surfaces.cli.app import main\nsys.exit(main(['config', 'show']))"
    with Path("/dev/full").open("w") as full:
        done = run(script, stdout=full)
    assert (done.returncode, done.stderr) == (1, b"error: standard output cannot be written: No space left on device\n")
