"""Observers: who, within a source, said something. Empty for a catalog; a person, an agent or a document for notes."""

from __future__ import annotations

from enum import IntEnum

from palimpsest.core.errors import UsageError
from palimpsest.core.jsontext import clean

NOTES = "notes"  # the source whose observations are free text
_LONGEST = 200


class Rank(IntEnum):
    """Whose word goes first within `notes`; a catalog has none."""

    NONE = 0
    DOCUMENT = 1
    AGENT = 2
    PERSON = 3


_RANKS = {"person": Rank.PERSON, "agent": Rank.AGENT, "document": Rank.DOCUMENT}


def observer(kind: str, name: str) -> str:
    """How an observer is written: `person:mira`, `agent:claude-code`, `document:adr/0007.md`. Raises UsageError."""
    name = " ".join(clean(name).split())
    if kind not in _RANKS:
        raise UsageError(f"{kind!r} is no kind of observer", f"one of: {', '.join(_RANKS)}")
    if not name or len(name) > _LONGEST:
        raise UsageError(f"an observer's name has 1 to {_LONGEST} letters, not {len(name)}", "name who says it")
    return f"{kind}:{name}"


def rank_of(observer: str) -> Rank:
    """The rank of an observer as it is written."""
    return _RANKS.get(observer.partition(":")[0], Rank.NONE)


def said_by(observer: str) -> str:
    """The observer as people read it: `mira`, `agent claude-code`, `document adr/0007.md`."""
    kind, _, name = observer.partition(":")
    return name if kind == "person" else f"{kind} {name}" if name else observer
