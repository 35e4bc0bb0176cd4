"""Events as each client hands them to a hook, field by field as its documentation has them (docs/hooks.md)."""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).with_name("events")
CLIENTS = ("claude-code", "codex", "cursor", "generic")


def recorded(client: str, event: str, **fields: object) -> bytes:
    """The recorded event of a client, with some fields replaced."""
    event_of = json.loads((FOLDER / f"{client}.{event}.json").read_text())
    assert fields.keys() <= event_of.keys()
    return json.dumps(event_of | fields).encode()
