"""`palimpsest db`: where the store's tables stand, and bringing them up to date."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from palimpsest.store import migrate
from palimpsest.surfaces.cli.app import main

NEWEST = migrate.revisions()[-1]
ALL = len(migrate.revisions())


def db(file: Path, *command: str, before: tuple[str, ...] = ()) -> int:
    """Run the command."""
    return main(["--store", f"sqlite:///{file}", *before, "db", *command])


def test_status_exits_1_until_the_store_is_up_to_date(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "m.db"
    assert db(file, "status") == 1
    assert capsys.readouterr() == (f"at empty, newest {NEWEST}, {ALL} to apply\n", "")
    assert not file.exists()
    assert db(file, "upgrade") == 0
    assert capsys.readouterr() == (f"{ALL} revisions applied, now at {NEWEST}\n", "")
    assert db(file, "status") == 0
    assert capsys.readouterr() == (f"at {NEWEST}, newest {NEWEST}, 0 to apply\n", "")
    assert db(file, "upgrade") == 0
    assert capsys.readouterr() == (f"up to date at {NEWEST}\n", "")


def test_quiet_says_it_by_the_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert db(tmp_path / "m.db", "status", before=("-q",)) == 1
    assert db(tmp_path / "m.db", "upgrade", before=("-q",)) == 0
    assert db(tmp_path / "m.db", "status", before=("-q",)) == 0
    assert capsys.readouterr() == ("", "")


def test_json_tells_what_is_to_come(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert db(tmp_path / "m.db", "status", "--json") == 1
    data = json.loads(capsys.readouterr().out)["data"]
    assert (data["at"], data["newest"], len(data["pending"])) == (None, NEWEST, ALL)


def test_a_newer_store_is_an_error_of_the_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "m.db"
    db(file, "upgrade", before=("-q",))
    connection = sqlite3.connect(file)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    for command in ("status", "upgrade"):
        assert db(file, command) == 4
        assert capsys.readouterr().err.startswith("error: the store is at revision 9999")
