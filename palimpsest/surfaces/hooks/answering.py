"""One call of a hook: read the event, find what to say in time, say it, write down that it was said; or stay silent.

Nothing is raised and nothing shown but the answer. Whatever happens, the process ends by the deadline.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from palimpsest.core.brief import plain, tokens_of
from palimpsest.core.moment import Moment
from palimpsest.surfaces.hooks import event as events
from palimpsest.surfaces.hooks import naming, news, reading, settings, speech
from palimpsest.surfaces.hooks.clients import Client
from palimpsest.surfaces.hooks.event import Event, Told, UnreadableEvent
from palimpsest.surfaces.hooks.outcome import Outcome
from palimpsest.surfaces.hooks.reading import Unanswered
from palimpsest.surfaces.hooks.speech import SILENCE, Speech

WITHIN_S = {Event.SESSION_START: 2.0, Event.PROMPT: 0.5, Event.STOP: 0.5}
RESERVE_S = 0.1  # to say it, and to end the process
_LEAST_FOR_A_CHILD_S = 0.8
_UNSEEN_S = 0.1  # how long the interpreter took to start, where the system does not tell
_LONGEST_START_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a hook is called with.

    `agents`: the names of the agent, the one to write down first; `until`: when it must have answered, by the
    monotonic clock.
    """

    event: Event
    client: Client
    agents: tuple[str, ...]
    until: float
    now: Moment
    store: str | None = None
    config: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of a call, what is printed, and what is to be done after."""

    outcome: Outcome
    text: str = ""
    after: Callable[[], None] | None = None


def answer(call: Call, stream: BinaryIO) -> Answer:
    """What a hook answers to the event on a stream."""
    try:
        told = events.parse(events.read(stream))
        found = Answer(outcome=Outcome.STOPPED) if call.event is Event.STOP else _said(call, told)
        return found if time.monotonic() < call.until else Answer(outcome=Outcome.LATE)
    except (UnreadableEvent, Unanswered) as silent:
        return Answer(outcome=silent.why)
    except (OSError, ValueError):
        return Answer(outcome=Outcome.BROKEN)


def since_start() -> float:
    """How many seconds ago this process started, the start of the interpreter included."""
    try:
        ticks = int(
            Path("/proc/self/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[19]
        )
        passed = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return _UNSEEN_S
    return max(0.0, passed) if passed < _LONGEST_START_S else _UNSEEN_S


def end_by(until: float, *, late: Callable[[], None]) -> Callable[[], None]:
    """End this process at a time of the monotonic clock, with exit code 0, whatever it is waiting for then.

    `late` is called before, and given a moment. The function that comes back calls it off.
    """
    done = threading.Event()

    def watch() -> None:
        if done.wait(max(0.0, until - RESERVE_S / 2 - time.monotonic())):
            return
        last = threading.Thread(target=late, daemon=True)
        last.start()
        last.join(RESERVE_S / 4)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    return done.set


def _said(call: Call, told: Told) -> Answer:
    folder = Path(told.folder) if told.folder and Path(told.folder).is_dir() else Path.cwd()
    url = settings.store_url(folder, flag=call.store, config=call.config)
    file = settings.sqlite_file(url)
    if file is None:
        return _of_a_server(call, url, folder)
    with reading.opened(file, until=call.until) as connection:
        say = _session if call.event is Event.SESSION_START else _prompt
        found = say(call, told, connection)
    if not found.text:
        return Answer(outcome=Outcome.NOTHING)

    def after() -> None:
        reading.deliver(
            file,
            found,
            agent=f"agent:{call.agents[0]}",
            session=told.session,
            kind=call.event.value,
            tokens=tokens_of(found.text),
            now=call.now,
            until=call.until,
        )

    return Answer(outcome=Outcome.ANSWERED, text=call.client.answer(call.event, found.text), after=after)


def _session(call: Call, told: Told, connection: sqlite3.Connection) -> Speech:
    seen = reading.seen_by(connection, [f"agent:{one}" for one in call.agents], told.session)
    since = seen.entities if seen.last is not None else reading.changed_last(connection)
    entities = reading.known(connection, list(since))
    by_urn = {one.urn: since[one.id] for one in entities}
    found = news.news_of(reading.versions_since(connection, {one.id: since[one.id] for one in entities}), by_urn)
    return speech.session(found, last=seen.last, agent=call.agents[0], now=call.now)


def _prompt(call: Call, told: Told, connection: sqlite3.Connection) -> Speech:
    urns, names = naming.urns_in(told.prompt), naming.names_in(told.prompt)
    if not urns and not names:
        return SILENCE
    entities = reading.named(connection, urns, names)
    ever = {one.id: Moment(0) for one in entities}
    found = news.news_of(reading.versions_since(connection, ever), {one.urn: Moment(0) for one in entities})
    return speech.prompt(found, now=call.now)


def _of_a_server(call: Call, url: str, folder: Path) -> Answer:
    """The brief of the session, by a process of its own: a server's driver is no part of this path."""
    left = call.until - RESERVE_S - time.monotonic()
    if call.event is not Event.SESSION_START or left < _LEAST_FOR_A_CHILD_S:
        return Answer(outcome=Outcome.SERVER)
    command = [sys.executable, "-P", "-m", "palimpsest.surfaces.cli.app"]
    command += ["--config", str(call.config)] if call.config is not None else []
    command += ["brief", "--session", "--agent", call.agents[0], "--budget", str(speech.BUDGET)]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "PALIMPSEST_STORE": url},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=left,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Answer(outcome=Outcome.LATE)
    text = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode != 0:
        return Answer(outcome=Outcome.FAILED)
    if not text or "\n" not in text:  # a first line alone tells no change
        return Answer(outcome=Outcome.NOTHING)
    return Answer(outcome=Outcome.ANSWERED, text=call.client.answer(call.event, text))


def agents_named(client: Client, name: str) -> tuple[str, ...]:
    """The names of the agent in the log of deliveries: the given one, or those of the client."""
    given = plain(" ".join(name.removeprefix("agent:").split()))[:200]
    return (given,) if given else (client.name, *client.also)
