"""The call of a hook, from its arguments to its count: nothing printed but the answer, and no other end than well.

The arguments are read here, before typer: it takes long to import, imports pydantic to take a value, and refuses what
it does not know, which an installed hook of another version of us may give.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from palimpsest.surfaces.cli import output

_VALUES = ("--store", "--config", "--client", "--agent", "--within")


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """The arguments of a call, as they were given."""

    event: str = ""
    client: str = "generic"
    agent: str = ""
    within: str = ""
    store: str | None = None
    config: str | None = None


def answered(arguments: Sequence[str]) -> bool:
    """Whether these arguments are the call of a hook; if so it has been answered, or silence has been kept."""
    call = called(arguments)
    if call is None:
        return False
    answer(call)
    return True


def called(arguments: Sequence[str]) -> Called | None:
    """The call of a hook that these arguments are; None for any other command, for --help, and at a terminal."""
    found, words, rest = Called(), [], list(arguments)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if name in _VALUES:
            given = value if equals else rest.pop(0) if rest else ""
            found = replace(found, **{name.removeprefix("--"): given})
        elif not word.startswith("-"):
            words.append(word)
            if words[0] != "hook":
                return None
        elif word == "--help":
            return None
    if not words or (sys.stdin is not None and sys.stdin.isatty()):
        return None
    return replace(found, event=words[1] if len(words) > 1 else "")


def answer(call: Called) -> None:
    """Answer a call by its time, or be silent; and count how it came out."""
    from palimpsest.adapters.clock import SystemClock
    from palimpsest.surfaces.hooks import answering, counting
    from palimpsest.surfaces.hooks.clients import CLIENTS
    from palimpsest.surfaces.hooks.event import Event
    from palimpsest.surfaces.hooks.outcome import Outcome

    now = SystemClock().now()
    started = time.monotonic() - answering.since_start()
    outcome = Outcome.LATE

    def count() -> None:
        passed = int((time.monotonic() - started) * 1000)
        counting.count(call.event, call.client, outcome, at=now, milliseconds=passed)

    if call.event in set(Event) and call.client in CLIENTS:
        event, client = Event(call.event), CLIENTS[call.client]
        until = started + _seconds(call.within, answering.WITHIN_S[event])
        call_off = answering.end_by(until, late=count)
        asked = answering.Call(
            event=event,
            client=client,
            agents=answering.agents_named(client, call.agent),
            until=until - answering.RESERVE_S,
            now=now,
            store=call.store,
            config=Path(call.config) if call.config else None,
        )
        try:
            found = answering.answer(asked, sys.stdin.buffer)
            outcome = found.outcome
            output.emit_text(found.text)
            if found.after is not None:
                found.after()
        except (Exception, KeyboardInterrupt):  # noqa: BLE001  an agent at work is shown no error, whatever happened
            outcome = Outcome.UNEXPECTED
        call_off()
    else:
        outcome = Outcome.UNKNOWN
    count()


def _seconds(text: str, usual: float) -> float:
    try:
        return float(text)
    except ValueError:
        return usual
