"""The tools that write: `note`, an episode that others judge, and `task`, a scratchpad that expires. Nothing else does.

What they write is the agent's word: its observer is the client's name, whatever the arguments say (R10).
"""

from __future__ import annotations

from palimpsest.core import say
from palimpsest.core.aspects import SAID
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.brief import FRAME, as_name, quoted
from palimpsest.core.moment import spoken
from palimpsest.jobs import note as notes
from palimpsest.jobs import task as tasks
from palimpsest.jobs.task import TaskView
from palimpsest.surfaces.mcp.answer import Answer, cut, told
from palimpsest.surfaces.mcp.arguments import Arguments, CallError, about
from palimpsest.surfaces.mcp.finding import entity_of
from palimpsest.surfaces.mcp.memory import Caller, Memory

ACTIONS = ("list", "start", "put", "get", "end")
_HOURS = 24.0
_MOST_SHOWN = 50


def note(memory: Memory, caller: Caller, given: Arguments) -> Answer:
    """Take down what the agent saw."""
    text = given.text("text", needed=True)
    kind = given.choice("kind", tuple(SAID))
    entity = entity_of(memory, given.text("entity", needed=True))
    with about("text"):
        report = notes.note(
            memory.writable,
            urn=entity.urn,
            text=text,
            observer=caller.agent,
            kind=kind,
            clock=memory.clock,
            holder=memory.holder,
        )
    word = "taken down" if report.is_new else "taken down before, and still waiting"
    data: dict[str, Json] = {
        "note": report.run,
        "urn": report.urn,
        "observer": report.observer,
    }
    said = f"{word} as {as_name(report.observer)} at {spoken(report.said_at)}, of {as_name(report.urn)}"
    return Answer(
        text=f"{said}: an episode, not a belief; the next consolidation judges it", data=data, urns=(report.urn,)
    )


def task(memory: Memory, caller: Caller, given: Arguments) -> Answer:
    """Keep something for one task, or look at what is kept."""
    action = given.choice("action", ACTIONS, default="list")
    if action == "list":
        return _listed(memory)
    name = given.text("name", needed=True)
    match action:
        case "start":
            hours = given.hours("hours", default=_HOURS)
            with about("name"):
                view = tasks.start(
                    memory.writable,
                    name,
                    hours=hours,
                    about=given.text("value"),
                    observer=caller.agent,
                    clock=memory.clock,
                )
            return _told(view, "started")
        case "put":
            key, value = given.text("key", needed=True), given.text("value", needed=True)
            with about("name"):
                view = tasks.put(memory.writable, name, key, value, observer=caller.agent, clock=memory.clock)
            return _told(view, "kept")
        case "end":
            with about("name"):
                ended = tasks.end(memory.writable, name, clock=memory.clock)
            data: dict[str, Json] = {"name": ended.name, "keys": ended.keys}
            return Answer(text=f"ended {quoted(ended.name)}: {say.count_of(ended.keys, 'key')} gone", data=data)
        case _:
            return _contents(memory, name, given.text("key") or None)


def _told(view: TaskView, word: str) -> Answer:
    text = f"{word}: task {quoted(view.name)} has {say.count_of(view.keys, 'key')}, till {view.expires:%Y-%m-%d %H:%M}"
    return Answer(text=text, data=_data(view))


def _data(view: TaskView) -> dict[str, Json]:
    return {"name": view.name, "keys": view.keys, "expires": told(view.expires)}


def _listed(memory: Memory) -> Answer:
    found = tasks.list_tasks(memory.store, clock=memory.clock)
    lines = [say.count_of(len(found), "task"), *map(_line, found[:_MOST_SHOWN])]
    if len(found) > _MOST_SHOWN:
        lines.append(f"{len(found) - _MOST_SHOWN} more")
    listed: list[Json] = [_data(one) for one in found[:_MOST_SHOWN]]
    return Answer(text="\n".join(lines), data={"tasks": listed, "left_out": max(0, len(found) - _MOST_SHOWN)})


def _line(one: TaskView) -> str:
    keys = say.count_of(one.keys, "key")
    return f"- {quoted(cut(one.name, 200))}: {quoted(cut(one.about, 100))}, {keys}, till {one.expires:%Y-%m-%d %H:%M}"


def _contents(memory: Memory, name: str, key: str | None) -> Answer:
    """Everything of a task, each value cut, or one value whole."""
    with about("key" if key else "name"):
        found = tasks.get(memory.store, name, key, clock=memory.clock)
    if not found.items and key:
        raise CallError("key", "nothing is kept under it")
    letters = tasks.MOST_LETTERS if key else max(40, 2 * memory.room // max(1, len(found.items)))
    lines = [f"task {quoted(found.task.name)}: {quoted(found.task.about)}", FRAME]
    items: list[Json] = []
    for one in found.items[:_MOST_SHOWN]:
        lines.append(f"- {quoted(cut(one.key, 100))}: {quoted(cut(one.value, letters))}")
        items.append({"key": one.key, "value": cut(one.value, letters), "put": told(one.put)})
    left_out = len(found.items) - len(items)
    if left_out:
        lines.append(f'{left_out} more: task(action="get", name="...", key="...")')
    return Answer(text="\n".join(lines), data=_data(found.task) | {"items": items, "left_out": left_out})
