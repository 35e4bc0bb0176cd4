"""`palimpsest dump` and `palimpsest load`: files, pipes, reports, exit codes; and what a half-loaded store says."""

from __future__ import annotations

import gzip
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from palimpsest.store.dumping import DUMPED
from palimpsest.surfaces.cli.app import main
from tests.building import Memory, dataset, mcp, owners, place
from tests.jobs.dumps import dumped, history
from tests.robustness.command import ROOT, palimpsest


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, memory.db."""
    folder = tmp_path_factory.mktemp("dumped")
    history(folder).store.dispose()
    return folder


def run(file: Path, *command: str | Path, before: tuple[str, ...] = ()) -> int:
    """Run a command on a store."""
    return main(["--store", f"sqlite:///{file}", *before, *map(str, command)])


def content(text: str) -> str:
    """The digits that a report names."""
    return text.rpartition("content ")[2].split()[0]


@pytest.mark.parametrize("name", ["dump.jsonl", "dump.jsonl.gz"])
def test_a_memory_moves_by_a_file(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    dump = tmp_path / name
    assert run(folder / "memory.db", "dump", dump) == 0
    out, err = capsys.readouterr()
    said = content(out)
    assert (out, err) == (f"{dump}: {rows(dump)} rows of {len(DUMPED)} tables, content {said}\n", "")
    assert stat.S_IMODE(dump.stat().st_mode) == 0o600
    assert run(tmp_path / "new.db", "load", dump) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{rows(dump)} rows loaded of the dump of ")
    assert content(lines[0]) == said
    assert lines[1:2] == ["1 edges of lineage made anew"]
    assert lines[2].startswith("verify: ")
    assert lines[2].endswith(" checks, 0 broken")
    assert run(tmp_path / "new.db", "dump", tmp_path / f"again-{name}") == 0
    assert content(capsys.readouterr().out) == said


def rows(dump: Path) -> int:
    """How many rows a dump has."""
    data = dump.read_bytes()
    return len((gzip.decompress(data) if dump.suffix == ".gz" else data).splitlines()) - 2


def test_a_memory_moves_by_a_pipe(folder: Path, tmp_path: Path) -> None:
    program = [sys.executable, "-m", "palimpsest.surfaces.cli.app", "--store"]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    dump = subprocess.run(
        [*program, f"sqlite:///{folder}/memory.db", "dump", "-"], env=env, capture_output=True, check=True
    )
    assert dump.stderr.startswith(b"stdout: ")
    load = subprocess.run(
        [*program, f"sqlite:///{tmp_path}/new.db", "load", "-"],
        env=env,
        capture_output=True,
        check=True,
        input=dump.stdout,
    )
    assert (load.stderr, load.stdout.splitlines()[0].split()[1:3]) == (b"", [b"rows", b"loaded"])
    again = subprocess.run(
        [*program, f"sqlite:///{tmp_path}/new.db", "-q", "dump", "-"], env=env, capture_output=True, check=True
    )
    assert again.stderr == b""
    assert again.stdout.splitlines()[1:-1] == dump.stdout.splitlines()[1:-1]


def test_a_pipe_with_a_name_is_read_once(folder: Path, tmp_path: Path) -> None:
    assert run(folder / "memory.db", "dump", tmp_path / "dump.jsonl.gz", before=("-q",)) == 0
    program = f"{sys.executable} -m palimpsest.surfaces.cli.app --store sqlite:///{tmp_path}/new.db"
    done = subprocess.run(
        ["bash", "-c", f"{program} load <(zcat {tmp_path}/dump.jsonl.gz)"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_reader_that_goes_away_is_a_failure(folder: Path) -> None:
    """A backup that nobody took is none."""
    command = f"{sys.executable} -m palimpsest.surfaces.cli.app --store sqlite:///{folder}/memory.db dump -"
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", f"{command} | true; exit ${{PIPESTATUS[0]}}"],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "error: standard output cannot be written: Broken pipe\n")


def test_json_and_quiet(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = tmp_path / "dump.jsonl"
    assert run(folder / "memory.db", "dump", dump, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["kind"] == "dump"
    assert run(tmp_path / "a.db", "load", dump, "--json") == 0
    loaded = json.loads(capsys.readouterr().out)
    assert loaded["kind"] == "load"
    assert (loaded["data"]["tables"], loaded["data"]["content"]) == (said["data"]["tables"], said["data"]["content"])
    assert run(folder / "memory.db", "dump", dump, before=("-q",)) == 0
    assert run(tmp_path / "b.db", "load", dump, before=("-q",)) == 0
    assert capsys.readouterr() == ("", "")
    assert run(folder / "memory.db", "dump", "-", "--json") == 2
    assert capsys.readouterr().err.startswith("error: --json and the dump cannot both go to stdout\n")


def test_what_is_wrong_with_the_file_exits_2_and_makes_no_store(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump, new = tmp_path / "dump.jsonl", tmp_path / "new.db"
    assert run(folder / "memory.db", "dump", dump, before=("-q",)) == 0
    whole = dump.read_bytes()
    for damaged, said in (
        (whole[: len(whole) // 2], "cut short"),
        (whole.replace(b"jonas", b"Jonas"), "says other checksums"),
        (b"[]\n", "is no dump of palimpsest"),
    ):
        dump.write_bytes(damaged)
        assert run(new, "load", dump) == 2
        err = capsys.readouterr().err.splitlines()
        assert err[0].startswith(f"error: {dump}")
        assert said in err[0] or said == "cut short"
        assert err[1].startswith("hint: ")
        assert not new.exists()
    assert run(new, "load", tmp_path / "none.jsonl") == 2
    assert capsys.readouterr().err.startswith("error: cannot read the dump: No such file or directory: ")


def test_a_store_that_is_not_empty_or_not_there_exits_4(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "dump.jsonl"
    assert run(folder / "memory.db", "dump", dump, before=("-q",)) == 0
    for again in ((), ("--again",)):
        assert run(folder / "memory.db", "load", dump, *again) == 4
        assert capsys.readouterr().err.startswith("error: the store is not empty, it has rows in source: sqlite:///")
    assert run(tmp_path / "none.db", "dump", tmp_path / "none.jsonl") == 4
    assert not (tmp_path / "none.jsonl").exists()


def test_the_store_itself_is_not_overwritten_by_its_dump(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "memory.db").read_bytes()
    assert run(folder / "memory.db", "dump", folder / "memory.db") == 2
    assert capsys.readouterr().err.splitlines()[0].endswith("memory.db is there and is no dump")
    assert (folder / "memory.db").read_bytes() == before


@pytest.mark.parametrize("command", [["status"], ["verify"], ["show", "orders"], ["consolidate"], ["db", "upgrade"]])
def test_a_store_that_is_half_loaded_refuses_every_command(folder: Path, tmp_path: Path, command: list[str]) -> None:
    dump = tmp_path / "dump.jsonl"
    assert run(folder / "memory.db", "dump", dump, before=("-q",)) == 0
    half = dump.read_bytes()
    program = [sys.executable, "-m", "palimpsest.surfaces.cli.app", "--store", f"sqlite:///{tmp_path}/new.db"]
    broken = subprocess.run(
        [*program, "load", "-"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        input=half[: half.rindex(b'{"end"')],
        capture_output=True,
        check=False,
    )
    assert broken.returncode == 2
    done = palimpsest(*command, store=tmp_path / "new.db", folder=tmp_path)
    assert done.code == 4
    assert done.err.splitlines()[0].startswith("error: a load into the store is at work, or did not end: sqlite:///")
    assert done.err.splitlines()[1].endswith("starts again with: palimpsest load --again FILE")
    assert palimpsest("load", dump, store=tmp_path / "new.db", folder=tmp_path).code == 4
    assert palimpsest("load", "--again", dump, store=tmp_path / "new.db", folder=tmp_path).code == 0
    assert palimpsest("verify", store=tmp_path / "new.db", folder=tmp_path).code == 0


def test_a_disk_that_is_full_leaves_no_dump(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.remember([mcp(dataset(f"t{n}"), "ownership", owners("jonas")) for n in range(200)], at="2026-03-02")
    memory.store.dispose()
    room = 40_000  # for what SQLite keeps beside its file, and not for the dump
    done = palimpsest("dump", tmp_path / "dump.jsonl", store=tmp_path / "memory.db", folder=tmp_path, most_bytes=room)
    assert done.said == (
        1,
        [f"error: the dump could not be written: File too large: {tmp_path}/dump.jsonl", "hint: nothing of it is left"],
    )
    assert [name for name in os.listdir(tmp_path) if "dump" in name] == []


def test_a_store_that_can_only_be_read_can_be_dumped(folder: Path, tmp_path: Path) -> None:
    (folder / "memory.db").chmod(0o400)
    try:
        done = palimpsest("dump", tmp_path / "d.jsonl", store=folder / "memory.db", folder=tmp_path, lowered=True)
    finally:
        (folder / "memory.db").chmod(0o600)
    assert done.code == 0, done.err


@pytest.mark.usefixtures("dialect")
def test_a_server_is_dumped_and_loaded_by_its_address(tmp_path: Path) -> None:
    memory = history(tmp_path)
    dump = tmp_path / "dump.jsonl"
    assert main(["--store", memory.url, "-q", "dump", str(dump)]) == 0
    assert main(["--store", place(tmp_path, "other.db"), "-q", "load", str(dump)]) == 0
    assert main(["--store", place(tmp_path, "other.db"), "-q", "dump", str(tmp_path / "again.jsonl")]) == 0
    ours, theirs = ((tmp_path / name).read_bytes().splitlines()[1:-1] for name in ("dump.jsonl", "again.jsonl"))
    assert ours == theirs == [line.rstrip(b"\n") for line in dumped(memory.store)[1:-1]]
