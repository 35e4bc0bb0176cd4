"""Hooks are put into a client's settings and taken out again; nothing else of the file changes, not a byte."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from palimpsest.surfaces.cli.app import main
from palimpsest.surfaces.hooks.clients import CLIENTS
from palimpsest.surfaces.hooks.event import Event
from palimpsest.surfaces.hooks.installing import installed, settings_file
from tests.surfaces.hooks.test_editing import ODD

EDITABLE = [name for name, client in CLIENTS.items() if client.file]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, with a project in it as the current one."""
    for variable in [name for name in os.environ if name.startswith(("PALIMPSEST_", "XDG_", "CODEX_", "CLAUDE_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def settings(client: str, text: str | None = None) -> Path:
    """The user's settings file of a client, with a text if one is given."""
    file = settings_file(CLIENTS[client], project=None)
    if text is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return file


def install(*arguments: str) -> int:
    return main(["hooks", "install", *arguments])


def beside(file: Path) -> list[str]:
    return sorted(one.name for one in file.parent.iterdir())


@pytest.mark.parametrize("client", EDITABLE)
@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_after_install_and_install_again_and_remove_the_file_is_as_before(client: str, text: str) -> None:
    file = settings(client, text)
    flags = ["--prompt"] if Event.PROMPT in CLIENTS[client].events else ["--stop"]
    assert install(client, *flags) == 0
    once = file.read_bytes()
    assert once != text.encode()
    assert install(client, *flags) == 0
    assert file.read_bytes() == once
    assert install(client) == 0
    assert list(installed(CLIENTS[client], file)) == [Event.SESSION_START]
    assert install(client, "--remove") == 0
    assert (file.read_bytes(), beside(file)) == (text.encode(), [file.name])


@pytest.mark.parametrize("client", EDITABLE)
def test_a_file_that_was_not_there_is_made_and_goes_again(client: str) -> None:
    file = settings(client)
    assert install(client) == 0
    assert list(installed(CLIENTS[client], file)) == [Event.SESSION_START]
    assert install(client, "--remove") == 0
    assert not file.exists()
    assert install(client, "--remove") == 0
    assert not file.exists()


def test_what_claude_code_is_told_to_run(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert install("claude-code", "--scope", "project", "--prompt", "--stop") == 0
    held = json.loads((home / "project/.claude/settings.json").read_text())["hooks"]
    command = "palimpsest hook {} --client claude-code 2>/dev/null || true"
    assert held == {
        name: [{"hooks": [{"type": "command", "command": command.format(event), "timeout": seconds}]}]
        for name, event, seconds in (
            ("Stop", "stop", 5),
            ("UserPromptSubmit", "prompt", 5),
            ("SessionStart", "session-start", 10),
        )
    }


def test_what_cursor_is_told_to_run(home: Path) -> None:
    assert install("cursor", "--scope", "project") == 0
    held = json.loads((home / "project/.cursor/hooks.json").read_text())
    command = "palimpsest hook session-start --client cursor 2>/dev/null || true"
    assert held == {"version": 1, "hooks": {"sessionStart": [{"command": command, "timeout": 10}]}}


def test_the_difference_is_shown_and_a_dry_run_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    file = settings("codex", '{\n  "hooks": {\n    "Stop": []\n  }\n}\n')
    before = file.read_bytes()
    assert install("codex", "--dry-run") == 0
    out, err = capsys.readouterr()
    assert (file.read_bytes(), beside(file), err) == (before, ["hooks.json"], "nothing was changed\n")
    assert out.splitlines()[:2] == [f"--- {file}", f"+++ {file}"]
    changed = [line for line in out.splitlines()[3:] if not line.startswith(" ")]
    assert changed
    assert all(line.startswith("+") for line in changed)


def test_the_hooks_of_others_stay_and_the_old_file_is_kept_while_ours_are_in(home: Path) -> None:
    text = ODD["others' hooks"]
    file = settings("claude-code", text)
    file.chmod(0o600)
    assert install("claude-code") == 0
    listed = json.loads(file.read_text())["hooks"]["SessionStart"]
    assert [one["hooks"][0]["command"] for one in listed][1:] == ["ls"]
    assert file.with_name("settings.json.before-palimpsest").read_text() == text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_was_installed_by_another_path_is_replaced() -> None:
    old = {"hooks": [{"type": "command", "command": "/old/bin/palimpsest hook session-start --client codex"}]}
    file = settings("codex", json.dumps({"hooks": {"SessionStart": [old]}}, indent=2))
    assert install("codex") == 0
    listed = json.loads(file.read_text())["hooks"]["SessionStart"]
    assert len(listed) == 1
    assert "/old/bin" not in listed[0]["hooks"][0]["command"]


def test_a_link_stays_a_link(home: Path) -> None:
    (home / "dotfiles.json").write_text("{}\n")
    file = settings("codex")
    file.parent.mkdir()
    file.symlink_to(home / "dotfiles.json")
    assert install("codex") == 0
    assert file.is_symlink()
    assert "SessionStart" in (home / "dotfiles.json").read_text()
    assert install("codex", "--remove") == 0
    assert (home / "dotfiles.json").read_text() == "{}\n"


@pytest.mark.parametrize("text", ["", "nonsense", "[]", '{"hooks": []}', '{"hooks": {"SessionStart": {}}}'])
def test_a_file_that_cannot_be_edited_in_place_is_left_and_the_snippet_shown(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = settings("claude-code", text)
    assert install("claude-code") == 2
    out, err = capsys.readouterr()
    assert (file.read_text(), beside(file), out) == (text, ["settings.json"], "")
    assert "nothing was changed" in err
    assert '"SessionStart"' in err


def test_a_file_that_is_no_text_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    file = settings("claude-code", "{}")
    file.write_bytes(b'{"a": "\xff"}')
    assert install("claude-code") == 2
    assert file.read_bytes() == b'{"a": "\xff"}'


def test_for_any_other_client_the_commands_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert install("generic", "--scope", "project", "--prompt") == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == ["session-start", "prompt"]
    assert told["prompt"].startswith("palimpsest hook prompt --client generic")


def test_a_client_that_takes_no_answer_to_a_prompt_is_not_asked_for_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert install("cursor", "--prompt") == 2
    assert capsys.readouterr().err == "error: cursor takes no answer to a prompt\nhint: leave out --prompt\n"


def test_the_folder_that_a_variable_names_is_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "elsewhere"))
    assert install("claude-code") == 0
    assert (home / "elsewhere" / "settings.json").exists()
    assert not (home / ".claude").exists()
