"""task: an agent's working memory for one task. Not searched, not embedded, gone when it expires; no source of beliefs.

For the command line and for agents: each function is one transaction and returns a frozen report.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from palimpsest.core.errors import UsageError
from palimpsest.core.jsontext import clean
from palimpsest.core.moment import Moment, spoken, to_datetime
from palimpsest.core.secret import secret_in
from palimpsest.ports import Clock
from palimpsest.store import erasing, working
from palimpsest.store.engine import Connection, Store
from palimpsest.store.working import TASK, Kept

MOST_LETTERS = 20_000
MOST_KEYS = 500
MOST_TASKS = 1_000
LONGEST_NAME = 200
MOST_HOURS = 24 * 30
_HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task: what it is about, how many keys it has, when it was started, by whom, and when it expires."""

    name: str
    about: str
    keys: int
    observer: str
    started: datetime
    expires: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """One thing that is kept for a task."""

    key: str
    value: str
    observer: str
    put: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContents:
    """A task and what is kept for it: all, or the one thing that was asked for."""

    task: TaskView
    items: tuple[ItemView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEnded:
    """A task that is no more, and how many keys went with it."""

    name: str
    keys: int


def start(store: Store, name: str, *, hours: float, about: str, observer: str, clock: Clock) -> TaskView:
    """Begin a task, which expires by itself. Raises UsageError for a name that is taken, and for a secret."""
    name, about = _name(name, "a task"), _text(about, "what the task is about")
    if not 0 < hours <= MOST_HOURS:
        raise UsageError(f"a task lasts more than 0 and at most {MOST_HOURS} hours, not {hours:g}", "give --hours")
    now, ids = clock.now(), store.ids

    def work(connection: Connection) -> TaskView:
        working.drop_expired(connection, now)
        names = erasing.pseudonyms(connection, ids)
        task = names.text(name)
        there = working.kept(connection, task, now)
        if there:
            raise UsageError(
                f"the task {task!r} is there already, until {spoken(there[0].expires_at)}",
                f"go on with it, or: palimpsest task end {task}",
            )
        if len(working.tasks(connection, now)) >= MOST_TASKS:
            raise UsageError(f"there are {MOST_TASKS} tasks already", "end some: palimpsest task list")
        row = Kept(task, TASK, names.text(about), names.observer(observer), now, Moment(now + round(hours * _HOUR_MS)))
        working.put(connection, row)
        return _view(row, 0)

    return store.write(work)


def put(store: Store, name: str, key: str, value: str, *, observer: str, clock: Clock) -> TaskView:
    """Keep one thing for a task, in place of what its key held. Raises UsageError, for a secret too."""
    key, value = _name(key, "a key"), _text(value, f"the value of {key!r}")
    now, ids = clock.now(), store.ids

    def work(connection: Connection) -> TaskView:
        working.drop_expired(connection, now)
        names = erasing.pseudonyms(connection, ids)
        task, *items = _there(connection, names.text(name), now)
        row = Kept(task.task, names.text(key), names.text(value), names.observer(observer), now, task.expires_at)
        keys = {item.key for item in items} | {row.key}
        if len(keys) > MOST_KEYS:
            raise UsageError(f"the task {task.task!r} has {MOST_KEYS} keys already", "use one of them again")
        working.put(connection, row)
        return _view(task, len(keys))

    return store.write(work)


def get(store: Store, name: str, key: str | None = None, *, clock: Clock) -> TaskContents:
    """What is kept for a task. Raises UsageError for a task or a key that is not there, or has expired."""
    now, ids = clock.now(), store.ids
    names = store.read(lambda connection: erasing.pseudonyms(connection, ids))
    task, *items = store.read(lambda connection: _there(connection, names.text(name), now))
    wanted = names.text(key) if key is not None else None
    chosen = [item for item in items if wanted in (None, item.key)]
    if wanted is not None and not chosen:
        listed = ", ".join(item.key for item in items[:10])
        raise UsageError(f"nothing is kept under {wanted!r} for {task.task!r}", f"its keys: {listed or 'none yet'}")
    return TaskContents(
        task=_view(task, len(items)),
        items=tuple(
            ItemView(key=item.key, value=item.value, observer=item.observer, put=to_datetime(item.put_at))
            for item in chosen
        ),
    )


def list_tasks(store: Store, *, clock: Clock) -> tuple[TaskView, ...]:
    """The tasks that have not expired, by name."""
    now = clock.now()
    return tuple(_view(task, keys) for task, keys in store.read(lambda connection: working.tasks(connection, now)))


def end(store: Store, name: str, *, clock: Clock) -> TaskEnded:
    """End a task: all that is kept for it goes. Raises UsageError when it is not there, or has expired."""
    now, ids = clock.now(), store.ids

    def work(connection: Connection) -> TaskEnded:
        task, *items = _there(connection, erasing.pseudonyms(connection, ids).text(name), now)
        working.end(connection, task.task)
        working.drop_expired(connection, now)
        return TaskEnded(name=task.task, keys=len(items))

    return store.write(work)


def _there(connection: Connection, name: str, now: Moment) -> list[Kept]:
    rows = working.kept(connection, name, now)
    if not rows or rows[0].key != TASK:
        raise UsageError(
            f"no task {name!r}, or it has expired", f"palimpsest task list, or: palimpsest task start {name}"
        )
    return rows


def _view(task: Kept, keys: int) -> TaskView:
    return TaskView(
        name=task.task,
        about=task.value,
        keys=keys,
        observer=task.observer,
        started=to_datetime(task.put_at),
        expires=to_datetime(task.expires_at),
    )


def _name(text: str, what: str) -> str:
    text = _checked(" ".join(clean(text).split()), f"the name of {what}")
    if not text or len(text) > LONGEST_NAME:
        raise UsageError(f"{what} has a name of 1 to {LONGEST_NAME} letters, not {len(text)}", "give a shorter one")
    return text


def _text(text: str, what: str) -> str:
    text = _checked(clean(text), what)
    if len(text) > MOST_LETTERS:
        raise UsageError(f"{what} has {len(text)} letters, at most {MOST_LETTERS} are kept", "keep less, or a pointer")
    return text


def _checked(text: str, what: str) -> str:
    kind = secret_in(text)
    if kind is not None:
        raise UsageError(f"{what} holds {kind}; secrets are not remembered", "leave it out, or name where it is kept")
    return text
