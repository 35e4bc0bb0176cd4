"""Bad input, bad stores and bad disks: one line, a hint, the right exit code, no traceback, nothing half-written."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.building import dataset, mcp, owners, status
from tests.robustness import catalogs
from tests.robustness.command import Done, palimpsest, small_disk

ORDERS = dataset("orders")
RECORDS = [mcp(ORDERS, "status", status()), mcp(ORDERS, "ownership", owners("jonas"))]
WHOLE = json.dumps(RECORDS)
SNAPSHOT = {
    "proposedSnapshot": {
        "com.linkedin.pegasus2avro.metadata.snapshot.DatasetSnapshot": {
            "urn": ORDERS,
            "aspects": [{"com.linkedin.pegasus2avro.common.Status": {"removed": False}}],
        }
    }
}
NOT_METADATA = "hint: a JSON array of MCE or MCP records is expected"
NONE_READ = "hint: MCE and MCP records are expected, as DataHub's file sink writes them"
AGAIN = "hint: export it again; nothing was written"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one good file and a store that has read it."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "good.json").write_text(WHOLE)
    done = palimpsest("scan", "file:good.json", "--at", "2026-03-02", store=folder / "memory.db", folder=folder)
    assert done.said == (0, [])
    return folder


def rows(store: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table but `run`."""
    db = sqlite3.connect(store)
    names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'run'")]
    found = {name: db.execute(f"SELECT * FROM {name}").fetchall() for name in names}
    db.close()
    return found


BAD_FILES: dict[str, tuple[str, bytes, int, list[str]]] = {
    "not JSON": ("a.json", b"this is no JSON", 3, ["a.json is not DataHub metadata: it starts with 't'", NOT_METADATA]),
    "cut in the middle": (
        "a.json",
        WHOLE[:200].encode(),
        3,
        ["a.json is not whole JSON: it ends in the middle of a record: truncated? (character 200)", AGAIN],
    ),
    "cut between records": (
        "a.json",
        WHOLE.rpartition(", {")[0].encode() + b",",
        3,
        ["a.json is not whole JSON: it ends where a record was expected: truncated? ", AGAIN],
    ),
    "a comma too many": (
        "a.json",
        WHOLE[:-1].encode() + b",]",
        3,
        ["a.json is not whole JSON: a record was expected", AGAIN],
    ),
    "two documents": (
        "a.json",
        WHOLE.encode() * 2,
        3,
        ["a.json is not whole JSON: something follows after the end", AGAIN],
    ),
    "an object that is no record": (
        "a.json",
        b'{"a": 1}',
        3,
        ["a.json is not DataHub metadata: none of its 1 records could be read", NONE_READ],
    ),
    "numbers": (
        "a.json",
        b"[1, 2]",
        3,
        ["a.json is not DataHub metadata: none of its 2 records could be read", NONE_READ],
    ),
    "a number": ("a.json", b"42", 3, ["a.json is not DataHub metadata: it starts with '4'", NOT_METADATA]),
    "a string": ("a.json", b'"text"', 3, ["a.json is not DataHub metadata: it starts with '\"'", NOT_METADATA]),
    "an empty file": ("a.json", b"", 3, ["a.json is empty", AGAIN]),
    "blanks": ("a.json", b" \n ", 3, ["a.json is empty", AGAIN]),
    "an empty gzip": ("a.json.gz", b"", 3, ["a.json.gz is empty", AGAIN]),
    "a gzip of nothing": ("a.json.gz", gzip.compress(b""), 3, ["a.json.gz is empty", AGAIN]),
    "a corrupt gzip": ("a.json.gz", b"\x1f\x8b\x08\x00garbage0123", 3, ["a.json.gz is not whole: ", AGAIN]),
    "a cut gzip": ("a.json.gz", gzip.compress(WHOLE.encode())[:80], 3, ["a.json.gz is not whole: ", AGAIN]),
    "no gzip by that name": ("a.json.gz", WHOLE.encode(), 3, ["a.json.gz is not whole: ", AGAIN]),
    "a binary": (
        "a.json",
        b"\x00\x01\xff\xfe" * 200,
        3,
        ["a.json is not text: byte ", "hint: is it a DataHub metadata file?"],
    ),
    "nested too deeply": ("a.json", b"[" * 200_000, 3, ["a.json is not whole JSON: it is nested too deeply", AGAIN]),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_one_error_and_writes_nothing(place: Path, case: str) -> None:
    name, content, code, lines = BAD_FILES[case]
    file = place / name
    file.write_bytes(content)
    before = rows(place / "memory.db")
    done = palimpsest("scan", f"file:{name}", store=place / "memory.db", folder=place)
    file.unlink()
    assert_said(done, code, lines)
    assert rows(place / "memory.db") == before


SCAN = ["scan", "file:good.json"]
BAD_REQUESTS: dict[str, tuple[list[str], int, list[str]]] = {
    "a missing path": (
        ["scan", "file:missing.json"],
        2,
        ["no such file: missing.json", "hint: name a DataHub metadata file or a folder of them"],
    ),
    "an empty folder": (
        ["scan", "file:empty"],
        2,
        ["no .json or .json.gz file in empty", "hint: name a file, or another folder"],
    ),
    "a path without file:": (["scan", "good.json"], 2, ["'good.json' names no source", "hint: write file:good.json"]),
    "an unknown source": (["scan", "magic:x"], 2, ["'magic:x' names no source", "hint: write file:PATH"]),
    "an older --at": (
        [*SCAN, "--at", "2026-03-01"],
        2,
        ["--at 2026-03-01 00:00 is older than the last reading of file (2026-03-02 00:00)", "hint: "],
    ),
    "a future --at": ([*SCAN, "--at", "2126-01-01"], 2, ["--at 2126-01-01 00:00 is in the future", "hint: "]),
    "no time at all": ([*SCAN, "--at", "soon"], 2, ["'soon' is not a date or time", "hint: write 2026-01-31"]),
    "an unknown option": ([*SCAN, "--nope"], 2, ["no such option: --nope", "hint: see palimpsest scan --help"]),
    "an unknown gate": (
        [*SCAN, "--fail-on", "other"],
        2,
        ["--fail-on 'other' is no gate", "hint: write --fail-on change or --fail-on breaking"],
    ),
    "an unknown stopped run": (
        [*SCAN, "--accept-mass-change", "abc"],
        2,
        ["no stopped run 'abc' of file", "hint: take the run's id from the message, or from: palimpsest runs"],
    ),
    "an ignore rule about nothing": (
        [*SCAN, "--ignore", "colour"],
        2,
        ["scan.ignore: 'colour' is no aspect", "hint: one of: "],
    ),
    "a limit of none": (
        [*SCAN, "--limit", "0"],
        2,
        ["invalid value for '--limit'", "hint: see palimpsest scan --help"],
    ),
    "no source": (["run"], 2, ["run.source is not set", "hint: set it in palimpsest.toml, or name it"]),
    "no proposals file": (["publish"], 2, ["publish.to is not set", "hint: name the proposals file"]),
    "no public address": (
        ["publish", "--to", "links.json"],
        2,
        ["console.public_url is not set", "hint: set it in palimpsest.toml"],
    ),
}


@pytest.mark.parametrize("case", BAD_REQUESTS)
def test_a_request_that_cannot_be_met_is_one_error_and_writes_nothing(place: Path, case: str) -> None:
    arguments, code, lines = BAD_REQUESTS[case]
    (place / "empty").mkdir(exist_ok=True)
    before = rows(place / "memory.db")
    done = palimpsest(*arguments, store=place / "memory.db", folder=place)
    assert_said(done, code, lines)
    assert rows(place / "memory.db") == before
    assert not (place / "links.json").exists()


BAD_STORES: dict[str, tuple[str, int, list[str]]] = {
    "in memory": ("sqlite://", 4, ["an in-memory store forgets at once", "hint: name a file: sqlite:///memory.db"]),
    "a database that a memory cannot live in": (
        "mysql://host/base",
        4,
        ["a memory cannot live in mysql", "hint: use sqlite:///PATH"],
    ),
    "a dialect that does not exist": ("nosuch://x", 4, ["a memory cannot live in nosuch", "hint: use sqlite:///PATH"]),
    "no address": ("memory", 2, ["store (from flag): not an SQLAlchemy URL", "hint: "]),
    "a folder": ("sqlite:///{0}/empty", 4, ["the store cannot be opened: ", "hint: does its folder exist"]),
    "a text file": ("sqlite:///{0}/good.json", 4, ["the store is not a SQLite database: ", "hint: name another file"]),
    "a folder that cannot be": ("sqlite:////proc/no/m.db", 4, ["cannot make the folder of the store: ", "hint: name"]),
    "another program's database": (
        "sqlite:///{0}/other.db",
        4,
        ["sqlite:///{0}/other.db is the database of something else", "hint: name another"],
    ),
    "another program's migrated database": (
        "sqlite:///{0}/migrated.db",
        4,
        ["sqlite:///{0}/migrated.db is the database of something else", "hint: name"],
    ),
    "a newer version's": (
        "sqlite:///{0}/newer.db",
        4,
        ["the store is at revision 9999, which this version does not know", "hint: upgrade palimpsest"],
    ),
    "a damaged one": ("sqlite:///{0}/damaged.db", 4, ["the store is damaged: ", "hint: restore it from a backup"]),
}


def bad_stores(folder: Path) -> None:
    """The files that BAD_STORES names."""
    (folder / "empty").mkdir(exist_ok=True)
    for name, statements in (
        ("other.db", ["CREATE TABLE IF NOT EXISTS song (a)"]),
        ("migrated.db", ["CREATE TABLE IF NOT EXISTS alembic_version (version_num)"]),
        ("newer.db", ["UPDATE alembic_version SET version_num = '9999'"]),
    ):
        if name == "newer.db":
            shutil.copyfile(folder / "memory.db", folder / name)
        db = sqlite3.connect(folder / name)
        for statement in statements:
            db.execute(statement)
        if name == "migrated.db":
            db.execute("INSERT INTO alembic_version VALUES ('f00')")
        db.commit()
        db.close()
    content = bytearray((folder / "memory.db").read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    (folder / "damaged.db").write_bytes(bytes(content))


@pytest.mark.parametrize("command", [SCAN, ["verify"]], ids=["scan", "verify"])
@pytest.mark.parametrize("case", BAD_STORES)
def test_a_store_that_is_none_is_one_error_and_stays_as_it_is(place: Path, case: str, command: list[str]) -> None:
    url, code, lines = BAD_STORES[case]
    if case == "a folder that cannot be" and command == ["verify"]:
        lines = ["the store is empty: ", "hint: run: palimpsest scan"]
    bad_stores(place)
    before = {file.name: file.read_bytes() for file in place.glob("*.db")}
    done = palimpsest(*command, store=url.format(place), folder=place)
    assert_said(done, code, [line.format(place) for line in lines])
    assert {file.name: file.read_bytes() for file in place.glob("*.db")} == before


@pytest.mark.parametrize("command", [["verify"], ["db", "status"], ["consolidate", "--dry-run"]], ids=" ".join)
def test_a_command_that_reads_makes_no_store(place: Path, command: list[str]) -> None:
    done = palimpsest(*command, store=place / "sub" / "none.db", folder=place)
    if command == ["db", "status"]:
        assert (done.code, done.err) == (1, "")
    else:
        assert_said(done, 4, ["the store is empty: ", "hint: run: palimpsest scan"])
    assert not (place / "sub").exists()


def test_a_single_record_without_an_array_is_read(place: Path) -> None:
    (place / "one.json").write_text(json.dumps(SNAPSHOT))
    done = palimpsest("scan", "file:one.json", store=place / "one.db", folder=place)
    assert done.said == (0, [])
    assert "1 written" in done.out


def test_a_name_that_stands_for_another_origin_is_refused(place: Path) -> None:
    store = place / "origin.db"
    shutil.copyfile(place / "memory.db", store)
    db = sqlite3.connect(store)
    db.execute("UPDATE source SET kind = 'datahub-graphql', origin = 'https://datahub.example.org'")
    db.commit()
    db.close()
    before = rows(store)
    done = palimpsest(*SCAN, store=store, folder=place)
    lines = [
        "the source 'file' stands for datahub-graphql https://datahub.example.org, not for file",
        "hint: give this",
    ]
    assert_said(done, 2, lines)
    assert rows(store) == before
    assert palimpsest(*SCAN, "--source", "export", store=store, folder=place).code == 0


@pytest.fixture
def locked_away(place: Path) -> Iterator[Path]:
    """A file and a folder that only their owner may read, in a folder where everyone may write."""
    spare = place / "spare"
    spare.mkdir()
    spare.chmod(0o777)
    shutil.copyfile(place / "good.json", spare / "secret.json")
    (spare / "secret.json").chmod(0)
    (spare / "closed").mkdir()
    (spare / "closed").chmod(0)
    yield spare
    (spare / "closed").chmod(0o700)
    shutil.rmtree(spare)


@pytest.mark.parametrize("name", ["secret.json", "closed", "closed/inner.json"])
def test_a_file_that_may_not_be_read_is_one_error(locked_away: Path, name: str) -> None:
    done = palimpsest("scan", f"file:{name}", store=locked_away / "m.db", folder=locked_away, lowered=True)
    assert_said(done, 3, [f"{name} cannot be read: Permission denied", "hint: check the path and its permissions"])


def test_a_store_that_may_not_be_reached_is_one_error(locked_away: Path) -> None:
    for command in (["scan", "file:../good.json"], ["verify"]):
        done = palimpsest(*command, store=locked_away / "closed" / "m.db", folder=locked_away, lowered=True)
        assert_said(done, 4, ["the store cannot be opened: ", "hint: does its folder exist, and may you read it?"])


def test_a_store_that_may_only_be_read_answers_and_takes_nothing(place: Path) -> None:
    folder = place / "readonly"
    folder.mkdir()
    store = folder / "memory.db"
    shutil.copyfile(place / "memory.db", store)
    store.chmod(0o444)
    folder.chmod(0o555)
    content = store.read_bytes()
    try:
        for command in (["verify"], ["db", "status"], ["consolidate", "--dry-run"], [*SCAN, "--dry-run"]):
            assert palimpsest(*command, store=store, folder=place, lowered=True).said == (0, [])
        for command in (SCAN, ["consolidate"], ["db", "upgrade"], ["run", "file:good.json"]):
            done = palimpsest(*command, store=store, folder=place, lowered=True)
            assert done.code == 4, done
            assert done.err.splitlines()[0].startswith(("error: the store is read-only", "error: the store cannot be"))
            assert len(done.err.splitlines()) == 2
    finally:
        folder.chmod(0o755)
    assert [file.name for file in folder.iterdir()] == ["memory.db"]
    assert store.read_bytes() == content


def test_a_disk_that_fills_up_stops_the_scan_and_breaks_nothing(place: Path, tmp_path: Path) -> None:
    """A small file system where one may be mounted; else a limit on the size of files."""
    file = catalogs.write(place, "big.json", catalogs.first(150))
    with small_disk(tmp_path / "disk", 500) as made:
        store = (tmp_path / "disk" if made else tmp_path) / "memory.db"
        what = "the disk of the store is full" if made else "the disk of the store failed"
        scan = fill(file, store, place, what, None if made else 300_000)
        if made:
            assert_verified(store, place)
    assert scan.code == 4


@pytest.mark.parametrize("kilobytes", [50, 500])
def test_a_file_that_may_not_grow_stops_the_scan_and_the_next_one_completes_it(place: Path, kilobytes: int) -> None:
    file = catalogs.write(place, "big.json", catalogs.first(150))
    store = place / f"limited-{kilobytes}.db"
    fill(file, store, place, "the disk of the store failed", kilobytes * 1_000)
    if kilobytes > 50:
        assert_verified(store, place)
    assert palimpsest("scan", f"file:{file}", "--at", "2026-03-05", store=store, folder=place).said == (0, [])
    assert palimpsest("consolidate", store=store, folder=place).said == (0, [])
    assert_verified(store, place)


def fill(file: Path, store: Path, folder: Path, what: str, most_bytes: int | None) -> Done:
    """Scan until the disk gives out."""
    at = ("--at", "2026-03-05")
    done = palimpsest("scan", f"file:{file}", *at, store=store, folder=folder, most_bytes=most_bytes)
    assert_said(done, 4, [f"{what}: ", "hint: "])
    return done


def assert_verified(store: Path, folder: Path) -> None:
    """verify passes."""
    done = palimpsest("verify", store=store, folder=folder)
    assert done.said == (0, []), done.out


def assert_said(done: Done, code: int, lines: list[str]) -> None:
    """One error and one hint, as expected, and nothing else."""
    said = done.err.splitlines()
    assert (done.code, len(said), done.out) == (code, 2, ""), done
    assert said[0].startswith(f"error: {lines[0]}"), said
    assert said[1].startswith(lines[1] or "hint: "), said
