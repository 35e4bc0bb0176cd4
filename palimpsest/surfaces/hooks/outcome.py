"""How the call of a hook came out, in one word. docs/hooks.md explains each."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """What is counted."""

    ANSWERED = "answered"
    NOTHING = "nothing"
    STOPPED = "stopped"
    LATE = "late"
    MISSING = "missing"
    LOCKED = "locked"
    BEHIND = "behind"
    BROKEN = "broken"
    SERVER = "server"
    FAILED = "failed"
    UNREADABLE = "unreadable"
    HUGE = "huge"
    UNKNOWN = "unknown"
    UNEXPECTED = "unexpected"


FINE = frozenset({Outcome.ANSWERED, Outcome.NOTHING, Outcome.STOPPED})  # all else: an answer could not be given
