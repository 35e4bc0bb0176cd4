"""`palimpsest config show` says what is set and where each value came from, and shows no secret."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from palimpsest import config
from palimpsest.surfaces.cli.app import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder as the current one, and no variable of ours."""
    for variable in [name for name in os.environ if name.startswith(("PALIMPSEST_", "XDG_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_value_is_shown_with_its_origin(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "palimpsest.toml").write_text("[scan]\nplatforms = ['dbt']\n")
    monkeypatch.setenv("PALIMPSEST_RUN__PUBLISH", "true")
    assert main(["--store", "postgresql://alice:hunter2@host/memory", "config", "show"]) == 0
    out, err = capsys.readouterr()
    lines = {line.split()[0]: line.split()[1:] for line in out.splitlines()}
    assert (err, "hunter2" in out) == ("", False)
    assert list(lines) == ["KEY", *(key.name for key in config.all_keys())]
    assert lines["store"] == ["postgresql://alice:***@host/memory", "flag"]
    assert lines["scan.platforms"] == ['["dbt"]', str(folder / "palimpsest.toml")]
    assert lines["run.publish"] == ["true", "PALIMPSEST_RUN__PUBLISH"]
    assert lines["run.fail_on"] == ['""', "default"]
    assert lines["run.source"] == ["-", "default"]


def test_json_has_the_same(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", "postgresql://alice:hunter2@host/memory")
    assert main(["config", "show", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["palimpsest"], document["kind"]) == (1, "config")
    assert [row["key"] for row in document["data"]] == [key.name for key in config.all_keys()]
    assert document["data"][0] == {
        "key": "store",
        "value": "postgresql://alice:***@host/memory",
        "from": "environment",
        "name": "PALIMPSEST_STORE",
    }


def test_a_wrong_setting_is_a_one_line_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "palimpsest.toml").write_text("stoer = 'x'\n")
    assert main(["config", "show"]) == 2
    assert capsys.readouterr() == (
        "",
        f"error: {folder / 'palimpsest.toml'}: unknown key: stoer\nhint: the nearest valid key is store\n",
    )
