"""Puts our hooks into a client's settings file and takes them out, and nothing else of it.

Read → plan (the new text) → apply: an atomic write, with the old text kept beside it.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from palimpsest.core.errors import ConfigError
from palimpsest.surfaces.hooks import editing
from palimpsest.surfaces.hooks.clients import Client
from palimpsest.surfaces.hooks.editing import NotEditable
from palimpsest.surfaces.hooks.event import Event

_OURS = re.compile(r"palimpsest\S*\s+(?:\S+\s+)*?hook\s+(?:session-start|prompt|stop)\b")
_KEPT = ".before-palimpsest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done to one file: `before` None where there is none, `after` None where it is to go.

    `first`: no hook of ours was in it, so that `before` is worth keeping.
    """

    file: Path
    before: str | None
    after: str | None
    first: bool = False

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after

    def difference(self) -> list[str]:
        """The lines of a unified difference."""
        before, after = ((text or "").splitlines(keepends=True) for text in (self.before, self.after))
        old, new = (os.devnull if text is None else str(self.file) for text in (self.before, self.after))
        return [line.rstrip("\r\n") for line in difflib.unified_diff(before, after, old, new)]


def plan(client: Client, file: Path, commands: dict[Event, str]) -> Plan:
    """How the file comes to hold exactly these hooks of ours; none: how it comes to hold none. Raises ConfigError."""
    file = file.resolve()
    before = _text(file)
    try:
        bare, found = _without_ours(client, before or "")
        if before is not None and found == _wanted(client, commands):
            return Plan(file=file, before=before, after=before)
        if before is None and not commands:
            return Plan(file=file, before=None, after=None)
        start = client.starts_as if before is None else bare
        after: str | None = _with_ours(client, start, commands)
    except NotEditable as error:
        hint = f"put this into it yourself:\n{snippet(client, commands)}" if commands else "take our hooks out yourself"
        raise ConfigError(f"{file}: {error}; nothing was changed", hint) from error
    if not commands and after == client.starts_as and not _kept(file).exists():
        after = None
    return Plan(file=file, before=before, after=after, first=before is not None and not found)


def apply(made: Plan) -> None:
    """Do what was planned. Raises ConfigError for a file that cannot be written."""
    file, kept = made.file, _kept(made.file)
    try:
        if made.after is None:
            file.unlink(missing_ok=True)
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        if made.before is None:
            kept.unlink(missing_ok=True)
        elif made.first:
            _write(kept, made.before, like=file)
        _write(file, made.after, like=file)
        if kept.exists() and kept.read_bytes() == made.after.encode():
            kept.unlink()
    except OSError as error:
        raise ConfigError(f"{made.file}: cannot be written: {error.strerror}", "see who may write it") from error


def installed(client: Client, file: Path) -> dict[Event, str]:
    """The commands of ours that a file holds, by event; none where it cannot be read."""
    try:
        return dict(_without_ours(client, _text(file) or "")[1])
    except (ConfigError, NotEditable):
        return {}


def snippet(client: Client, commands: dict[Event, str]) -> str:
    """Our hooks as a settings file of the client holds them."""
    return _with_ours(client, client.starts_as, commands).strip()


def settings_file(client: Client, *, project: Path | None) -> Path:
    """The settings file of the client: the user's, or that of a project."""
    if project is not None:
        return project / client.home / client.file
    named = os.environ.get(client.variable) if client.variable else None
    return (Path(named) if named else Path.home() / client.home) / client.file


def _wanted(client: Client, commands: dict[Event, str]) -> list[tuple[Event, str]]:
    return [(event, commands[event]) for event in client.events if event in commands]


def _with_ours(client: Client, text: str, commands: dict[Event, str]) -> str:
    for event, command in _wanted(client, commands):
        text = editing.put(text, ("hooks", client.events[event]), client.entry(event, command))
    return text


def _without_ours(client: Client, text: str) -> tuple[str, list[tuple[Event, str]]]:
    """The text without any hook of ours, and those that it held."""
    found: dict[Event, str] = {}
    while text.strip():
        value = editing.parse(text).plain()
        place = None
        for event in reversed(list(client.events)):  # what came in last goes out first
            place = place or _place(client, value, event)
        if place is None:
            break
        event, index, command = place
        found.setdefault(event, command)
        text = editing.take(text, ("hooks", client.events[event]), index)
    return text, [(event, found[event]) for event in client.events if event in found]


def _place(client: Client, value: object, event: Event) -> tuple[Event, int, str] | None:
    """Where the first hook of ours for an event stands in its list, and its command."""
    hooks = value.get("hooks") if isinstance(value, dict) else None
    listed = hooks.get(client.events[event]) if isinstance(hooks, dict) else None
    for index, entry in enumerate(listed if isinstance(listed, list) else []):
        inner = entry.get("hooks") if client.grouped and isinstance(entry, dict) else [entry]
        if isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], dict):
            command = inner[0].get("command")
            if isinstance(command, str) and _OURS.search(command):
                return event, index, command
    return None


def _text(file: Path) -> str | None:
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read as UTF-8 text", "mend the file; nothing was changed") from error


def _kept(file: Path) -> Path:
    return file.with_name(file.name + _KEPT)


def _write(file: Path, text: str, *, like: Path) -> None:
    """Write a file in one step, with the mode of another where that is there."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode())
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, like.stat().st_mode & 0o7777 if like.exists() else 0o644)
        os.replace(name, file)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def written(commands: dict[Event, str]) -> str:
    """The commands as lines, for a client whose settings we do not know."""
    return json.dumps({event.value: command for event, command in commands.items()}, indent=2)
