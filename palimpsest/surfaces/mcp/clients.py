"""The clients that agents run in: where each keeps its servers, how ours is written there, whether it is. Only read."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from palimpsest.core.errors import UsageError

NAME = "palimpsest"
_LARGEST = 20_000_000  # bytes of a file that is looked into


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client: the files in which it keeps servers, `~` for the home and `.` for the project, under which table.

    `how` is another way to add one, if the client has a command for it.
    """

    name: str
    title: str
    files: tuple[str, ...]
    table: str = "mcpServers"
    typed: bool = False
    how: str = ""

    @property
    def is_toml(self) -> bool:
        """Whether its files are TOML."""
        return self.files[0].endswith(".toml")


CLIENTS = {
    client.name: client
    for client in (
        Client(
            name="claude-code",
            title="Claude Code",
            files=("~/.claude.json", "./.mcp.json"),
            typed=True,
            how="claude mcp add --scope user palimpsest -- ",
        ),
        Client(
            name="claude-desktop",
            title="Claude Desktop",
            files=(
                "~/Library/Application Support/Claude/claude_desktop_config.json",
                "~/AppData/Roaming/Claude/claude_desktop_config.json",
                "~/.config/Claude/claude_desktop_config.json",
            ),
        ),
        Client(name="cursor", title="Cursor", files=("~/.cursor/mcp.json", "./.cursor/mcp.json")),
        Client(
            name="codex",
            title="Codex",
            files=("~/.codex/config.toml", "./.codex/config.toml"),
            table="mcp_servers",
            how="codex mcp add palimpsest -- ",
        ),
        Client(
            name="vscode",
            title="VS Code",
            files=(
                "./.vscode/mcp.json",
                "~/.config/Code/User/mcp.json",
                "~/Library/Application Support/Code/User/mcp.json",
                "~/AppData/Roaming/Code/User/mcp.json",
            ),
            table="servers",
            typed=True,
        ),
        Client(name="generic", title="any other client", files=()),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file of a client that is there: whether our server is in it, or why that cannot be told."""

    client: Client
    path: Path
    has_ours: bool
    problem: str = ""


def client_of(name: str) -> Client:
    """The client of that name. Raises UsageError."""
    if name not in CLIENTS:
        raise UsageError(f"no such client: {name}", f"one of {', '.join(CLIENTS)}")
    return CLIENTS[name]


def snippet(client: Client, command: Sequence[str], environment: Mapping[str, str]) -> str:
    """What stands in a client's file for a server that this command starts."""
    if client.name == "codex":
        lines = [f"[{client.table}.{NAME}]", f"command = {json.dumps(command[0])}"]
        lines.append(f"args = {json.dumps(list(command[1:]), ensure_ascii=False)}")
        if environment:
            pairs = ", ".join(
                f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in environment.items()
            )
            lines.append(f"env = {{ {pairs} }}")
        return "\n".join(lines)
    server: dict[str, object] = {"type": "stdio"} if client.typed else {}
    server |= {"command": command[0], "args": list(command[1:])}
    if environment:
        server["env"] = dict(environment)
    return json.dumps({client.table: {NAME: server}}, indent=2, ensure_ascii=False)


def found(home: Path, project: Path) -> list[Found]:
    """The files of clients that are there."""
    listed: list[Found] = []
    for client in CLIENTS.values():
        for name in client.files:
            path = (home if name.startswith("~") else project) / name[2:]
            try:
                if path.is_file() and path not in {one.path for one in listed}:
                    listed.append(_looked_into(client, path))
            except OSError as error:
                listed.append(Found(client=client, path=path, has_ours=False, problem=error.strerror or "unreadable"))
    return listed


def _looked_into(client: Client, path: Path) -> Found:
    if path.stat().st_size > _LARGEST:
        return Found(client=client, path=path, has_ours=False, problem="too large to look into")
    try:
        text = path.read_text(encoding="utf-8-sig")
        tables = tomllib.loads(text) if client.is_toml else json.loads(text or "{}")
    except (ValueError, RecursionError):
        kind = "TOML" if client.is_toml else "JSON"
        return Found(client=client, path=path, has_ours=False, problem=f"not {kind}")
    return Found(client=client, path=path, has_ours=_has_ours(tables, client.table))


def _has_ours(tables: object, name: str) -> bool:
    """Whether a table of servers has ours, by its name or by the command that it starts."""
    servers = tables.get(name) if isinstance(tables, dict) else None
    if not isinstance(servers, dict):
        return False
    commands = [one.get("command") for one in servers.values() if isinstance(one, dict)]
    return NAME in servers or any(isinstance(one, str) and Path(one).name == NAME for one in commands)
