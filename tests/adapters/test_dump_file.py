"""A dump as a file is whole or absent, for its owner only, and never replaces what is no dump."""

from __future__ import annotations

import gzip
import io
import os
import stat
from pathlib import Path

import pytest

from palimpsest.adapters.dump_file import DumpFile, lines_in, lines_of
from palimpsest.core.errors import UsageError

LINES = [b'{"palimpsest-dump":1}\n', b'["source","a"]\n', b'{"end":1}\n']


class StoppedError(Exception):
    """Something else failed."""


def write(path: Path, lines: list[bytes] = LINES, *, fail: bool = False) -> None:
    """Write a dump."""
    with DumpFile(path) as file:
        file.start()
        for line in lines:
            file.write(line)
        if fail:
            raise StoppedError


@pytest.mark.parametrize("name", ["dump.jsonl", "dump.jsonl.gz"])
def test_what_is_written_is_read_again(tmp_path: Path, name: str) -> None:
    before = os.umask(0)
    try:
        write(tmp_path / name)
    finally:
        os.umask(before)
    assert list(lines_of(tmp_path / name)) == LINES
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == [name]


def test_equal_dumps_are_equal_files_also_when_zipped(tmp_path: Path) -> None:
    write(tmp_path / "a.gz")
    write(tmp_path / "b.gz")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


@pytest.mark.parametrize("name", ["dump.jsonl", "dump.jsonl.gz"])
def test_one_that_fails_leaves_what_was_there(tmp_path: Path, name: str) -> None:
    write(tmp_path / name)
    with pytest.raises(StoppedError):
        write(tmp_path / name, LINES * 2, fail=True)
    assert list(lines_of(tmp_path / name)) == LINES
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["dump.jsonl", "dump.jsonl.gz"])
def test_one_that_begins_anew_has_nothing_of_before(tmp_path: Path, name: str) -> None:
    with DumpFile(tmp_path / name) as file:
        file.start()
        file.write(b"thrown away\n" * 10_000)
        file.start()
        for line in LINES:
            file.write(line)
    assert list(lines_of(tmp_path / name)) == LINES


def test_another_dump_is_replaced_and_a_link_to_one_stays_a_link(tmp_path: Path) -> None:
    write(tmp_path / "monday.jsonl", LINES[:1])
    (tmp_path / "newest.jsonl").symlink_to("monday.jsonl")
    write(tmp_path / "newest.jsonl")
    assert (tmp_path / "newest.jsonl").is_symlink()
    assert list(lines_of(tmp_path / "monday.jsonl")) == LINES


def test_what_is_no_dump_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_bytes(b"SQLite format 3\0")
    with pytest.raises(UsageError, match="is there and is no dump"):
        write(tmp_path / "memory.db")
    assert (tmp_path / "memory.db").read_bytes() == b"SQLite format 3\0"
    for no_file in (tmp_path, Path("/dev/full")):
        with pytest.raises(UsageError, match="is no file"):
            write(no_file)


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot write the dump: No such file or directory: .*/no/dump\.jsonl"):
        write(tmp_path / "no" / "dump.jsonl")
    with pytest.raises(UsageError, match=r"cannot read the dump: No such file or directory: .*/no/dump\.jsonl"):
        next(lines_of(tmp_path / "no" / "dump.jsonl"))
    with pytest.raises(UsageError, match=r"cannot read the dump: Is a directory"):
        next(lines_of(tmp_path))


@pytest.mark.parametrize("kept", [5, 20, -9, -1])
def test_a_zipped_dump_that_is_cut_short_is_noticed(tmp_path: Path, kept: int) -> None:
    zipped = gzip.compress(b"".join(LINES))
    (tmp_path / "dump.gz").write_bytes(zipped[:kept])
    with pytest.raises(UsageError, match=r"dump\.gz: the dump was cut short"):
        list(lines_of(tmp_path / "dump.gz"))


def test_a_zipped_dump_that_is_damaged_is_noticed(tmp_path: Path) -> None:
    zipped = bytearray(gzip.compress(b"".join(LINES)))
    zipped[-6] ^= 1
    (tmp_path / "dump.gz").write_bytes(zipped)
    with pytest.raises(UsageError, match=r"dump\.gz: the dump is damaged: CRC check failed"):
        list(lines_of(tmp_path / "dump.gz"))


def test_a_stream_may_be_zipped_too() -> None:
    assert list(lines_in(io.BytesIO(b"".join(LINES)), "stdin")) == LINES
    assert list(lines_in(io.BytesIO(gzip.compress(b"".join(LINES))), "stdin")) == LINES
