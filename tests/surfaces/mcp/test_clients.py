"""Setting clients up: the snippet for each, and finding where they keep theirs. Nothing is written."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest.surfaces.cli.app import main
from palimpsest.surfaces.mcp.clients import CLIENTS, found

Said = Callable[..., tuple[int, str, str]]


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Said:
    """Runs a command in an empty home: exit code, stdout, stderr."""
    for variable in [name for name in os.environ if name.startswith(("PALIMPSEST_", "XDG_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize("client", [name for name in CLIENTS if name != "codex"])
def test_a_snippet_starts_the_server(client: str, said: Said) -> None:
    code, out, _ = said("mcp", "config", client)
    server = json.loads(out)[CLIENTS[client].table]["palimpsest"]
    assert (code, Path(server["command"]).name, server["args"]) == (0, "palimpsest", ["mcp"])


def test_codex_takes_toml(said: Said) -> None:
    code, out, _ = said("--store", 'sqlite:////tmp/a "b".db', "mcp", "config", "codex")
    server = tomllib.loads(out)["mcp_servers"]["palimpsest"]
    assert (code, server["args"]) == (0, ["--store", 'sqlite:////tmp/a "b".db', "mcp"])


def test_the_settings_file_is_named_where_it_names_the_store(said: Said, tmp_path: Path) -> None:
    (tmp_path / "palimpsest.toml").write_text('store = "sqlite:///own.db"\n')
    _, out, _ = said("mcp", "config", "cursor")
    args = json.loads(out)["mcpServers"]["palimpsest"]["args"]
    assert args == ["--config", str(tmp_path / "palimpsest.toml"), "mcp"]


def test_a_password_is_never_printed(said: Said) -> None:
    code, out, err = said("--store", "postgresql+psycopg://me:hunter2@db/x", "mcp", "config", "claude-desktop")
    server = json.loads(out)["mcpServers"]["palimpsest"]
    assert (code, server["env"]) == (0, {"PALIMPSEST_STORE": "postgresql+psycopg://me:***@db/x"})
    assert "hunter2" not in out + err
    assert "the store's password is left out" in err


def test_an_unknown_client_is_told_the_known_ones(said: Said) -> None:
    code, out, err = said("mcp", "config", "emacs")
    assert (code, out) == (2, "")
    assert "one of claude-code, claude-desktop, cursor, codex, vscode, generic" in err


def test_clients_are_found_and_left_as_they_are(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    files = {
        home / ".claude.json": '{"mcpServers": {"palimpsest": {"command": "palimpsest"}}}',
        home / ".cursor" / "mcp.json": '{"mcpServers": {"memory": {"command": "/opt/palimpsest", "args": ["mcp"]}}}',
        home / ".codex" / "config.toml": '[mcp_servers.other]\ncommand = "x"\n',
        project / ".vscode" / "mcp.json": '{"servers": []}',
        project / ".mcp.json": "{ not JSON",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert [(one.client.name, one.path, one.has_ours, one.problem) for one in found(home, project)] == [
        ("claude-code", home / ".claude.json", True, ""),
        ("claude-code", project / ".mcp.json", False, "not JSON"),
        ("cursor", home / ".cursor" / "mcp.json", True, ""),
        ("codex", home / ".codex" / "config.toml", False, ""),
        ("vscode", project / ".vscode" / "mcp.json", False, ""),
    ]
    assert {path: path.read_text() for path in files} == files


def test_the_doctor_tells_of_them(said: Said, tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text("{}")
    _, out, _ = said("doctor")
    (line,) = [line for line in out.splitlines() if "client cursor" in line]
    assert line.startswith("ok ")
    assert "palimpsest is not in it: to let its agents ask: palimpsest mcp config cursor" in line
