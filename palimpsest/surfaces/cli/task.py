"""`palimpsest task`: an agent's working memory for one task, which expires."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.surfaces.cli import asking, output
from palimpsest.surfaces.cli.asking import AsJson
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.groups import group

if TYPE_CHECKING:
    from palimpsest.jobs.task import TaskView

app = group()

Name = Annotated[str, typer.Argument(metavar="NAME", help="The task.")]
By = Annotated[
    str, typer.Option("--by", metavar="KIND:NAME", help="Who says so: person:NAME or agent:NAME; else this user.")
]


@app.callback()
def task() -> None:
    """What is kept for one task, until it expires."""


@app.command()
def start(
    ctx: typer.Context,
    name: Name,
    hours: Annotated[float, typer.Option(help="For how long it is kept.")] = 24.0,
    about: Annotated[str, typer.Option(metavar="TEXT", help="What the task is about.")] = "",
    by: By = "",
    as_json: AsJson = False,
) -> None:
    """Begin a task. It is not searched, and no belief comes of it."""
    from palimpsest import wiring
    from palimpsest.jobs import task as job

    cli = Context.of(ctx)
    store = wiring.store_for_writing(cli.settings)
    view = job.start(store, name, hours=hours, about=about, observer=_observer(by), clock=wiring.clock())
    store.dispose()
    _tell(cli, as_json, "task", view, [f"{view.name} is kept until {asking.spoken(view.expires)}"])


@app.command()
def put(
    ctx: typer.Context,
    name: Name,
    key: Annotated[str, typer.Argument(metavar="KEY", help="Under what.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="What is to be kept; - reads standard input.")],
    by: By = "",
    as_json: AsJson = False,
) -> None:
    """Keep one thing for a task, in place of what its key held."""
    from palimpsest import wiring
    from palimpsest.jobs import task as job

    cli = Context.of(ctx)
    text = sys.stdin.read() if value == "-" else value
    store = wiring.store_for_writing(cli.settings)
    view = job.put(store, name, key, text, observer=_observer(by), clock=wiring.clock())
    store.dispose()
    _tell(cli, as_json, "task", view, _task_lines([view]))


@app.command()
def get(
    ctx: typer.Context,
    name: Name,
    key: Annotated[str | None, typer.Argument(metavar="KEY", help="Only this.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what is kept for a task: one thing as it is, or all with their keys."""
    from palimpsest import wiring
    from palimpsest.jobs import task as job

    with asking.remembered(ctx) as store:
        view = job.get(store, name, key, clock=wiring.clock())
    if as_json:
        output.emit_json("task-contents", view)
    elif key is not None:
        output.emit_text(view.items[0].value)
    else:
        head = f"{view.task.name}, until {asking.spoken(view.task.expires)}" + (
            view.task.about and f": {view.task.about}"
        )
        output.emit_text([head, *(f"{item.key}: {item.value}" for item in view.items)])


@app.command("list")
def list_tasks(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the tasks that have not expired."""
    from palimpsest import wiring
    from palimpsest.jobs import task as job

    with asking.remembered(ctx) as store:
        views = job.list_tasks(store, clock=wiring.clock())
    if as_json:
        output.emit_json("tasks", {"tasks": views})
    else:
        output.emit_text(_task_lines(views) or ["no task"])


@app.command()
def end(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """End a task: all that is kept for it goes."""
    from palimpsest import wiring
    from palimpsest.jobs import task as job

    cli = Context.of(ctx)
    store = wiring.store_for_writing(cli.settings)
    done = job.end(store, name, clock=wiring.clock())
    store.dispose()
    _tell(cli, as_json, "task-ended", done, [f"{done.name} has ended; keys that went with it: {done.keys}"])


def _tell(cli: Context, as_json: bool, kind: str, payload: object, lines: list[str]) -> None:
    if as_json:
        output.emit_json(kind, payload)
    elif not cli.quiet:
        output.emit_text(lines)


def _task_lines(views: list[TaskView] | tuple[TaskView, ...]) -> list[str]:
    rows = [(view.name, str(view.keys), asking.spoken(view.expires), view.observer, view.about) for view in views]
    return output.table(rows, header=("task", "keys", "until", "by", "about"), right={1}) if rows else []


def _observer(by: str) -> str:
    """Who it is that says so. Raises UsageError."""
    import getpass

    from palimpsest.core.observer import observer

    kind, separator, name = by.partition(":")
    return observer(kind, name) if by and separator else observer("person", by or getpass.getuser())
