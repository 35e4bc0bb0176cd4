"""The clients whose hooks we answer: how each wants its answer, and where it keeps hooks. Pure.

Sources are named in docs/hooks.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from palimpsest.surfaces.hooks.event import Event

_PATIENCE_S = {Event.SESSION_START: 10, Event.PROMPT: 5, Event.STOP: 5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client.

    `home`: its folder in the user's home and in a project, and the variable that names another; `file`: in it.
    `also`: the names that it gives to MCP servers; `events`: its name for each event that it can be answered;
    `starts_as`: a new settings file without hooks.
    """

    name: str
    home: str = ""
    variable: str = ""
    file: str = ""
    also: tuple[str, ...] = ()
    events: Mapping[Event, str] = field(default_factory=dict)
    starts_as: str = "{}\n"
    grouped: bool = True
    remark: str = ""

    def answer(self, event: Event, text: str) -> str:
        """A text for the agent, as the client takes it on standard output."""
        if not self.file:
            return f"{text}\n"
        if not self.grouped:
            return json.dumps({"additional_context": text}) + "\n"
        output = {"hookEventName": self.events[event], "additionalContext": text}
        return json.dumps({"hookSpecificOutput": output}) + "\n"

    def entry(self, event: Event, command: str) -> dict[str, Any]:
        """One hook as its settings hold it, in the list of its event."""
        one: dict[str, Any] = {"command": command, "timeout": _PATIENCE_S[event]}
        return {"hooks": [{"type": "command", **one}]} if self.grouped else one


_CAPITALS = {
    Event.SESSION_START: "SessionStart",
    Event.PROMPT: "UserPromptSubmit",
    Event.STOP: "Stop",
}
CLIENTS = {
    one.name: one
    for one in (
        Client(
            name="claude-code",
            home=".claude",
            variable="CLAUDE_CONFIG_DIR",
            file="settings.json",
            events=_CAPITALS,
        ),
        Client(
            name="codex",
            home=".codex",
            variable="CODEX_HOME",
            file="hooks.json",
            also=("codex-mcp-client",),
            events=_CAPITALS,
            remark="Codex asks to trust a new hook (/hooks); where hooks are off, switch them on in config.toml:"
            " [features] codex_hooks = true",
        ),
        Client(
            name="cursor",
            home=".cursor",
            file="hooks.json",
            also=("cursor-vscode",),
            events={Event.SESSION_START: "sessionStart", Event.STOP: "stop"},
            starts_as='{\n  "version": 1\n}\n',
            grouped=False,
        ),
        Client(name="generic", events=_CAPITALS),
    )
}
