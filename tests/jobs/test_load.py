"""A load is whole or refused: damage is named with its line, and a store that is half loaded lets nobody work on it."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa

from palimpsest.core.errors import StoreError, UsageError
from palimpsest.jobs.load import abandon_unfinished, check
from palimpsest.store import migrate
from palimpsest.store.engine import Store, open_store
from palimpsest.store.schema import source
from palimpsest.testing import NoProgress
from tests.building import Memory, place
from tests.jobs.dumps import NOW, changed, dumped, empty, first_of, history, loaded, resealed
from tests.robustness.command import ROOT

Lines = list[bytes]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """The lines of a sound dump."""
    return dumped(history(tmp_path_factory.mktemp("sound")).store)


@dataclass(frozen=True, kw_only=True)
class Damage:
    """What is done to the lines; the line that is named then, counted from 1; and what is said of it."""

    do: Callable[[Lines], Lines]
    line: Callable[[Lines], int]
    said: str


def _with(lines: Lines, at: int, *put: bytes) -> Lines:
    return [*lines[:at], *put, *lines[at + 1 :]]


def _header(lines: Lines, **other: object) -> Lines:
    said = json.loads(lines[0])
    said.update({name.replace("__", "-"): value for name, value in other.items()})
    return resealed(_with(lines, 0, json.dumps(said, separators=(",", ":")).encode() + b"\n"))


def _head(lines: Lines, table: str, **other: object) -> Lines:
    tables = [one | (other if one["name"] == table else {}) for one in json.loads(lines[0])["tables"]]
    return _header(lines, tables=tables)


def _row(table: str, position: int, value: object) -> Callable[[Lines], Lines]:
    def do(lines: Lines) -> Lines:
        at = first_of(lines, table)
        return resealed(_with(lines, at, changed(lines[at], position, value)))

    return do


def _at(table: str, more: int = 0) -> Callable[[Lines], int]:
    return lambda lines: first_of(lines, table) + 1 + more


def _twice(lines: Lines) -> Lines:
    at = first_of(lines, "cell")
    return resealed(_with(lines, at, lines[at], lines[at]))


def _swapped(lines: Lines) -> Lines:
    at = first_of(lines, "cell")
    return resealed([*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]])


def _moved(lines: Lines) -> Lines:
    at = first_of(lines, "source")
    return resealed([*lines[:at], *lines[at + 1 : -1], lines[at], lines[-1]])


DAMAGES = {
    "a bit of a row flipped": Damage(
        do=lambda lines: _with(lines, 3, lines[3].replace(b"[", b"{", 1)), line=lambda lines: 4, said="is damaged JSON"
    ),
    "a row is damaged JSON": Damage(
        do=lambda lines: _with(lines, 3, lines[3].replace(b'",', b'"', 1)), line=lambda _: 4, said="is damaged JSON"
    ),
    "a row is empty": Damage(do=lambda lines: _with(lines, 3, b"\n"), line=lambda _: 4, said="is damaged JSON"),
    "a row is an empty list": Damage(do=lambda lines: _with(lines, 3, b"[]\n"), line=lambda _: 4, said="is neither"),
    "a row is a number": Damage(do=lambda lines: _with(lines, 3, b"7\n"), line=lambda _: 4, said="is neither a row"),
    "a value changed": Damage(
        do=lambda lines: _with(lines, 2, lines[2].replace(b"file", b"fire")), line=len, said="says other checksums"
    ),
    "a row taken out": Damage(
        do=lambda lines: _with(lines, len(lines) - 2), line=lambda lines: len(lines) - 1, said="says other"
    ),
    "a row taken out, and sealed": Damage(
        do=lambda lines: resealed(_with(lines, len(lines) - 2)), line=lambda lines: len(lines) - 1, said="there were"
    ),
    "the header changed": Damage(
        do=lambda lines: _with(lines, 0, lines[0].replace(b"2026-04-01", b"2026-04-02")), line=len, said="says other"
    ),
    "the end taken away": Damage(
        do=lambda lines: lines[:-1],
        line=lambda lines: len(lines) - 1,
        said="is not the end of a dump: it was cut short",
    ),
    "cut in a row": Damage(do=lambda lines: [*lines[:9], lines[9][:-9]], line=lambda _: 10, said="is damaged JSON"),
    "cut before the end of a line": Damage(
        do=lambda lines: [*lines[:9], lines[9][:-1]], line=lambda _: 10, said="it was cut short"
    ),
    "cut in the end": Damage(do=lambda lines: [*lines[:-1], lines[-1][:-9]], line=len, said="is damaged JSON"),
    "cut before the last newline": Damage(
        do=lambda lines: [*lines[:-1], lines[-1][:-1]], line=len, said="the end, was cut short"
    ),
    "the end is of another kind": Damage(
        do=lambda lines: [*lines[:-1], b'{"end":"soon"}\n'], line=len, said="is neither a row nor the end"
    ),
    "a line after the end": Damage(
        do=lambda lines: [*lines, lines[3]], line=lambda lines: len(lines) + 1, said="comes after the end"
    ),
    "a dump twice": Damage(
        do=lambda lines: [*lines, *lines], line=lambda lines: len(lines) + 1, said="comes after the end"
    ),
    "an unknown table in a row": Damage(
        do=_row("source", 0, "sauce"),
        line=_at("source"),
        said="a row of a table that the header does not name: 'sauce'",
    ),
    "no table in a row": Damage(do=_row("source", 0, 7), line=_at("source"), said="that the header does not name: 7"),
    "a value too many": Damage(
        do=lambda lines: resealed(_with(lines, 2, b'["source","a","b","c","d"]\n')),
        line=lambda _: 3,
        said="has 4 values of source, not 3",
    ),
    "a row twice": Damage(do=_twice, line=_at("cell", 1), said="is a second row with the same key: cell"),
    "rows swapped": Damage(do=_swapped, line=_at("cell", 1), said="is out of order: cell"),
    "a table that comes again": Damage(do=_moved, line=lambda lines: len(lines) - 1, said="is out of order: source"),
    "an id that is too short": Damage(
        do=_row("entity", 1, "00ff"), line=_at("entity"), said='entity.id is not an id of 32 hexadecimal digits: "00ff"'
    ),
    "an id that is no hexadecimal": Damage(
        do=_row("entity", 1, "g" * 32), line=_at("entity"), said="entity.id is not an id of 32 hexadecimal digits"
    ),
    "a digest that is no hexadecimal": Damage(
        do=_row("part", 4, "xyz"), line=_at("part"), said='part.digest is not bytes in hexadecimal: "xyz"'
    ),
    "a number that is text": Damage(
        do=_row("part", 5, "1"), line=_at("part"), said='part.ordinal is not a whole number: "1"'
    ),
    "a number that is true": Damage(
        do=_row("part", 5, True), line=_at("part"), said="part.ordinal is not a whole number: true"
    ),
    "a number that is too large": Damage(
        do=_row("run", 7, 2**63), line=_at("run"), said="run.started_at is too large: 9223372036854775808"
    ),
    "a text that is missing": Damage(
        do=_row("source", 2, None), line=_at("source"), said="source.kind is not text: null"
    ),
    "a truth that is a number": Damage(
        do=_row("run", 10, 1), line=_at("run"), said="run.complete is not true or false: 1"
    ),
    "a row that refers to nothing": Damage(
        do=_row("part", 1, "00" * 16), line=_at("part"), said="is refused by the database: "
    ),
    "a word that no column takes": Damage(
        do=_row("episode", 6, "guessed"), line=_at("episode"), said="is refused by the database: "
    ),
    "a newer format": Damage(
        do=lambda lines: _header(lines, palimpsest__dump=2),
        line=lambda _: 1,
        said="is of format 2, this version reads up",
    ),
    "a newer schema": Damage(
        do=lambda lines: _header(lines, revision="9999"), line=lambda _: 1, said="is of schema 9999, which this version"
    ),
    "an unknown table": Damage(
        do=lambda lines: _head(lines, "source", name="sauce"),
        line=lambda _: 1,
        said="a table 'sauce' that this version",
    ),
    "an unknown column": Damage(
        do=lambda lines: _head(lines, "source", columns=["name", "kind", "taste"]),
        line=lambda _: 1,
        said="holds a column source.taste that this version does not know",
    ),
    "a column twice": Damage(
        do=lambda lines: _head(lines, "source", columns=["name", "kind", "kind", "origin"]),
        line=lambda _: 1,
        said="names a column of source twice",
    ),
    "an earlier schema that lacks what is needed": Damage(
        do=lambda lines: _head(lines, "source", columns=["name", "kind"]),
        line=lambda _: 1,
        said="is of an earlier schema ",
    ),
    "no secret": Damage(
        do=lambda lines: _head(lines, "store", rows=0), line=lambda _: 1, said="does not hold the secret of a store"
    ),
    "a header without tables": Damage(
        do=lambda lines: _header(lines, tables=None), line=lambda _: 1, said="the header lacks"
    ),
    "a header that is cut": Damage(do=lambda lines: [lines[0][:50]], line=lambda _: 1, said="is damaged JSON"),
}
REFUSED_BY_THE_DATABASE = {"a row that refers to nothing", "a word that no column takes"}


def problem(lines: Sequence[bytes]) -> str:
    """What checking says."""
    with pytest.raises(UsageError) as caught:
        check("the dump", iter(lines), progress=NoProgress())
    return caught.value.message


@pytest.mark.parametrize("case", sorted(set(DAMAGES) - REFUSED_BY_THE_DATABASE))
def test_damage_is_named_with_its_line_before_anything_is_written(lines: Lines, case: str) -> None:
    damage = DAMAGES[case]
    said = problem(damage.do(lines))
    assert said.startswith(f"the dump: line {damage.line(lines)} ")
    assert damage.said in said


@pytest.mark.parametrize("case", DAMAGES)
def test_what_is_damaged_never_becomes_a_store_that_can_be_used(tmp_path: Path, lines: Lines, case: str) -> None:
    """As it comes by a pipe: what was before the damage is in the store, which then refuses work."""
    store, damage = empty(tmp_path), DAMAGES[case]
    with pytest.raises(UsageError) as caught:
        loaded(store, damage.do(lines))
    assert caught.value.message.startswith(f"the dump: line {damage.line(lines)} ")
    assert damage.said in caught.value.message
    if damage.line(lines) > 1:
        with pytest.raises(StoreError, match="a load into the store is at work, or did not end"):
            migrate.ready(store, now=NOW, may_write=True)
        assert abandon_unfinished(store)
    assert not abandon_unfinished(store)
    loaded(store, lines)
    assert dumped(store) == lines


@pytest.mark.parametrize(
    "foreign",
    [b"", b"\n", b"{}\n", b"[1,2]\n", b"SQLite format 3\0", b'{"palimpsest":1,"kind":"status"}\n', b"\xff\xfe"],
)
def test_a_file_of_something_else_is_no_dump(foreign: bytes) -> None:
    assert problem(foreign.splitlines(keepends=True)) == "the dump is no dump of palimpsest"


def test_a_newer_dump_names_the_version_that_made_it(lines: Lines) -> None:
    for newer in (
        _header(lines, palimpsest__dump=2, palimpsest="7.0.0"),
        _header(lines, revision="9999", palimpsest="7.0.0"),
    ):
        with pytest.raises(UsageError) as caught:
            check("the dump", iter(newer), progress=NoProgress())
        assert caught.value.hint == "upgrade palimpsest: the dump was made by 7.0.0"


def test_a_dump_of_an_earlier_schema_gets_what_was_added_since(tmp_path: Path, lines: Lines) -> None:
    """A table that was not there yet is empty; a column gets its default, or nothing."""
    left_out = {"founded", "counts"}
    head = next(one for one in json.loads(lines[0])["tables"] if one["name"] == "run")
    kept = [at for at, name in enumerate(head["columns"], 1) if name not in left_out]
    earlier = [
        json.dumps([row[0], *[row[at] for at in kept]], separators=(",", ":")).encode() + b"\n"
        if (row := json.loads(line)) and isinstance(row, list) and row[0] == "run"
        else line
        for line in lines
    ]
    tables = [
        one | ({"columns": [head["columns"][at - 1] for at in kept]} if one["name"] == "run" else {})
        for one in json.loads(lines[0])["tables"]
        if one["name"] not in ("recall_log", "strength")
    ]
    store = empty(tmp_path)
    loaded(store, _header(earlier, tables=tables, revision=migrate.revisions()[0]))
    rows = [json.loads(line) for line in dumped(store) if line.startswith(b'["run"')]
    assert len(rows) == head["rows"]
    assert {(row[-2], row[-1]) for row in rows} == {(0, None)}


@pytest.mark.usefixtures("dialect")
def test_a_row_that_the_database_refuses_is_found_among_many(tmp_path: Path, lines: Lines) -> None:
    at = first_of(lines, "cell") + 3
    store = empty(tmp_path)
    with pytest.raises(UsageError) as caught:
        loaded(store, resealed(_with(lines, at, changed(lines[at], 2, "ff" * 16))))
    assert caught.value.message.startswith(f"the dump: line {at + 1} is refused by the database: ")


@pytest.mark.usefixtures("dialect")
def test_a_store_that_is_not_empty_is_left_alone(tmp_path: Path, lines: Lines) -> None:
    memory = history(tmp_path)
    before = dumped(memory.store)
    with pytest.raises(StoreError, match="the store is not empty, it has rows in source") as caught:
        loaded(memory.store, lines)
    assert caught.value.hint == "a dump goes into an empty one: name another with --store"
    assert not abandon_unfinished(memory.store)
    assert dumped(memory.store) == before


@pytest.mark.usefixtures("dialect")
def test_a_load_that_breaks_off_can_be_begun_again(tmp_path: Path, lines: Lines) -> None:
    class Lost(Exception):
        pass

    def breaking() -> Iterator[bytes]:
        yield from lines[:-3]
        raise Lost

    store = empty(tmp_path)
    with pytest.raises(Lost):
        loaded(store, breaking())
    for may_write in (True, False):
        with pytest.raises(StoreError, match="did not end") as caught:
            migrate.ready(store, now=NOW, may_write=may_write)
        assert "palimpsest load --again FILE" in caught.value.hint
    with pytest.raises(StoreError):
        migrate.upgrade(store, now=NOW)
    with pytest.raises(StoreError):
        loaded(store, lines)
    assert abandon_unfinished(store)
    migrate.ready(store, now=NOW, may_write=False)
    loaded(store, lines)
    assert dumped(store) == lines


@pytest.mark.usefixtures("dialect")
def test_a_load_that_another_one_took_the_place_of_ends(tmp_path: Path, lines: Lines) -> None:
    store, second = empty(tmp_path), open_store(place(tmp_path, "loaded.db"))

    def overtaken() -> Iterator[bytes]:
        yield from lines[:-3]
        assert abandon_unfinished(second)
        loaded(second, lines)
        yield from lines[-3:]

    with pytest.raises(StoreError, match="the load was taken over by another one"):
        loaded(store, overtaken())
    assert dumped(second) == lines
    second.dispose()


def test_what_somebody_else_writes_meanwhile_is_noticed(tmp_path: Path, lines: Lines) -> None:
    """A scan that had opened the store before it was marked."""
    store = empty(tmp_path)

    def meanwhile() -> Iterator[bytes]:
        yield from lines[:-1]
        row = {"name": "zz", "kind": "file", "origin": "file"}
        store.write(lambda connection: connection.execute(sa.insert(source), row))
        yield lines[-1]

    with pytest.raises(StoreError, match="somebody else wrote into the store while it was loaded: 6 rows in source"):
        loaded(store, meanwhile())
    with pytest.raises(StoreError, match="did not end"):
        migrate.status(store)


KILLER = """
import json, shutil, sys
from pathlib import Path
from tests.jobs.dumps import loaded
from tests.robustness.killing import Steps, in_child
from palimpsest.jobs import dump_reading
from palimpsest.store.engine import open_store

folder = Path(sys.argv[1])
lines = (folder / 'dump.jsonl').read_bytes().splitlines(keepends=True)
dump_reading._LINES_AT_ONCE = 40

def work(step):
    steps = Steps(step)
    loaded(open_store(f"sqlite:///{folder / f'killed-{step}.db'}"), lines)
    (folder / 'steps').write_text(str(steps.count))

def ended(step):
    shutil.copyfile(folder / 'empty.db', folder / f'killed-{step}.db')
    return in_child(lambda: work(step))

assert ended(0) == 0
count = int((folder / 'steps').read_text())
chosen = [1, 2, 4, 6, *range(7, count, max(1, count // 12)), count - 30, count]
print(json.dumps({step: ended(step) for step in chosen}))
"""


def test_a_load_that_is_killed_anywhere_leaves_an_empty_store_a_refused_one_or_a_whole_one(
    tmp_path: Path, lines: Lines
) -> None:
    (tmp_path / "dump.jsonl").write_bytes(b"".join(lines))
    empty(tmp_path, "empty.db").dispose()
    command = [sys.executable, "-c", KILLER, str(tmp_path)]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(ROOT)}, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    ends = json.loads(done.stdout)
    assert len(ends) > 12
    found = set()
    for step, status in ends.items():
        assert os.WIFSIGNALED(status), step
        assert os.WTERMSIG(status) == signal.SIGKILL, step
        store = open_store(f"sqlite:///{tmp_path / f'killed-{step}.db'}")
        found.add(_state(store, lines))
        if abandon_unfinished(store) or _state(store, lines) == "empty":
            loaded(store, lines)
        assert dumped(store) == lines, step
        store.dispose()
    assert found == {"empty", "refused", "whole"}


def _state(store: Store, lines: Lines) -> str:
    try:
        migrate.ready(store, now=NOW, may_write=False)
    except StoreError:
        return "refused"
    rows = dumped(store)
    if rows == lines:
        return "whole"
    assert len(rows) == 3, "half a memory that looks whole"
    return "empty"


def test_a_load_of_an_embedded_store_is_seen_as_unfinished_by_its_revision(tmp_path: Path, lines: Lines) -> None:
    """What stands there is no revision of any version: an older program refuses the store too."""
    store = empty(tmp_path)
    with pytest.raises(UsageError):
        loaded(store, lines[:-1])
    store.dispose()
    with sqlite3.connect(tmp_path / "loaded.db") as db:
        (mark,) = db.execute("SELECT version_num FROM alembic_version").fetchone()
    db.close()
    assert mark.startswith(f"loading:{migrate.revisions()[-1]}:")
    assert len(mark) <= 32  # what Alembic's column takes


def test_a_memory_goes_on_after_a_load(tmp_path: Path, lines: Lines) -> None:
    memory = Memory(tmp_path, name="loaded.db")
    loaded(memory.store, lines)
    memory.clock.at = NOW
    report = memory.consolidate(at="2026-04-02T00:00:00Z")
    assert report.episodes == 1
