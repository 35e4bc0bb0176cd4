"""The event that an agent's client hands to a hook on standard input, as each client writes it. Pure but for `read`.

The shapes are in docs/hooks.md. What a client does not say is empty.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import BinaryIO

from palimpsest.surfaces.hooks.outcome import Outcome

MOST_BYTES = 1_000_000
_PIECE = 65_536


class Event(StrEnum):
    """When a hook is called."""

    SESSION_START = "session-start"
    PROMPT = "prompt"
    STOP = "stop"


class UnreadableEvent(Exception):
    """Standard input holds no event. `why` is how the call came out."""

    def __init__(self, why: Outcome) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a client tells of an event. `folder` is where the agent works."""

    session: str = ""
    folder: str = ""
    prompt: str = ""


def read(stream: BinaryIO) -> bytes:
    """All of a stream, so that its writer is not broken off. Raises UnreadableEvent past a megabyte."""
    kept, size = [], 0
    while piece := stream.read(_PIECE):
        size += len(piece)
        if size <= MOST_BYTES:
            kept.append(piece)
    if size > MOST_BYTES:
        raise UnreadableEvent(Outcome.HUGE)
    return b"".join(kept)


def parse(data: bytes) -> Told:
    """What the JSON of an event tells. Raises UnreadableEvent for anything else."""
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UnreadableEvent(Outcome.UNREADABLE) from error
    if not isinstance(found, dict):
        raise UnreadableEvent(Outcome.UNREADABLE)
    roots = found.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots else ""
    return Told(
        session=_text(found.get("session_id")) or _text(found.get("conversation_id")),
        folder=_text(found.get("cwd")) or _text(root),
        prompt=_text(found.get("prompt")),
    )


def _text(value: object) -> str:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""
