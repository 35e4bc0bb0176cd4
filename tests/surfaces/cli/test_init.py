"""`palimpsest init` writes every setting, and what it writes is the defaults."""

from __future__ import annotations

import os
import re
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


def test_the_file_is_written_and_what_to_do_next_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    assert capsys.readouterr() == ("", "wrote palimpsest.toml; next: palimpsest scan file:PATH\n")
    assert (folder / "palimpsest.toml").read_text().startswith("# Settings of palimpsest.")


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-q", "init"]) == 0
    assert capsys.readouterr() == ("", "")


def test_every_key_is_there_with_its_description(folder: Path) -> None:
    main(["-q", "init"])
    text = (folder / "palimpsest.toml").read_text()
    prose = " ".join(line.removeprefix("# ") for line in text.splitlines())
    section, names = "", []
    for line in text.splitlines():
        if heading := re.fullmatch(r"\[(\w+)\]", line):
            section = f"{heading[1]}."
        elif entry := re.match(r"#(\w+) = ", line):
            names.append(section + entry[1])
    assert names == [key.name for key in config.all_keys()]
    assert [key.name for key in config.all_keys() if key.description not in prose] == []


def test_loading_the_file_gives_exactly_the_defaults(folder: Path) -> None:
    main(["-q", "init"])
    assert config.load().settings == config.Settings()


def test_every_default_in_the_file_is_the_default_when_its_comment_sign_is_taken_away(folder: Path) -> None:
    main(["-q", "init"])
    path = folder / "palimpsest.toml"
    lines = path.read_text().splitlines()
    defaults = [
        line[1:] if re.match(r"#\w+ = ", line) and not before.startswith("# Not set") else line
        for before, line in zip(["", *lines], lines, strict=False)
    ]
    path.write_text("\n".join(defaults))
    loaded = config.load()
    assert loaded.settings == config.Settings()
    assert {name for name, origin in loaded.origins.items() if origin.kind is config.OriginKind.DEFAULT} == {
        key.name for key in config.all_keys() if key.default is None
    }


def test_every_line_of_the_file_is_valid_when_its_comment_sign_is_taken_away(folder: Path) -> None:
    main(["-q", "init"])
    path = folder / "palimpsest.toml"
    path.write_text(re.sub(r"(?m)^#(?=\w+ = )", "", path.read_text()))
    assert config.load().settings.run.source == "file:catalog.json.gz"


def test_every_example_is_a_valid_value() -> None:
    for key in config.all_keys():
        origin = config.load(overrides={key.name: key.example}).origins[key.name]
        assert str(origin) == ("flag" if key.example is not None else "default"), key.name


def test_a_file_that_is_there_is_kept_unless_forced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "palimpsest.toml"
    path.write_text("broken =")
    assert main(["init"]) == 2
    assert capsys.readouterr().err == "error: palimpsest.toml is already there\nhint: --force overwrites it\n"
    assert path.read_text() == "broken ="
    assert main(["init", "--force"]) == 0
    assert config.load().settings == config.Settings()


def test_it_writes_where_config_says(folder: Path) -> None:
    assert main(["-q", "--config", "other.toml", "init"]) == 0
    assert [path.name for path in folder.iterdir()] == ["other.toml"]


def test_a_folder_that_cannot_be_written_is_a_one_line_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", "missing/palimpsest.toml", "init"]) == 2
    assert capsys.readouterr().err == "error: missing/palimpsest.toml cannot be written: No such file or directory\n"
