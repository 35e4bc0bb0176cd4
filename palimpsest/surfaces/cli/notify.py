"""`palimpsest notify`: one quiet message to each who is to be told what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.core.errors import ConfigError, PalimpsestError
from palimpsest.surfaces.cli import diagnostics, output, reports
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.diagnostics import ExitCode

if TYPE_CHECKING:
    from palimpsest.config import Settings
    from palimpsest.jobs.notify import Notice, NotifyReport
    from palimpsest.store.engine import Store


def notify(
    ctx: typer.Context,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="From when on rules that are new tell: a date, a time, a span (7d, 24h)."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would go to whom; send and write nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> ExitCode:
    """Tell people what changed, by the rules of the settings.

    One message a recipient, and none where nothing is new. What a receiver did not accept goes out the next time. A
    rule that is new begins now.
    """
    from palimpsest import wiring
    from palimpsest.queries.changes import since_of
    from palimpsest.store.runs import this_process

    cli = Context.of(ctx)
    if not cli.settings.notify:
        raise ConfigError("there are no rules", "write a [[notify]] table into palimpsest.toml: docs/notify.md")
    start = since_of(since, wiring.clock().now()) if since else None
    store = wiring.store_for_reading(cli.settings) if dry_run else wiring.store_for_writing(cli.settings)
    with diagnostics.progress() as progress:
        report = wiring.notify(cli.settings, store, progress, holder=this_process(), since=start, dry_run=dry_run)
    store.dispose()
    if not dry_run:
        reports.log("notify.finished", "", messages=len(report.notices), failed=report.failed)
    if as_json:
        output.emit_json("notify", report)
    elif dry_run:
        output.emit_text(preview_lines(report))
    elif not cli.quiet or report.failed:
        output.emit_text(report_lines(report) or ["nothing is new: nobody was told"])
    return ExitCode.FAILED if report.failed else ExitCode.OK


def after_run(settings: Settings, store: Store) -> tuple[NotifyReport | None, PalimpsestError | None]:
    """Notify at the end of a run, where there are rules: the report, or what went wrong, to be raised at last."""
    if not settings.notify:
        return None, None
    from palimpsest import wiring
    from palimpsest.store.runs import this_process

    try:
        with diagnostics.progress() as progress:
            return wiring.notify(settings, store, progress, holder=this_process()), None
    except PalimpsestError as error:  # the rest of the run is done, and is told first
        return None, error


def report_lines(report: NotifyReport) -> list[str]:
    """What was sent to whom, one line each."""
    lines = [f"notify: rule {name} is new, and begins here" for name in report.begun]
    lines += [_line(one) for one in report.notices]
    for rule, count in report.unreached.items():
        lines.append(f"notify: {_unreached(rule, count)}")
    return [output.neutral_line(line) for line in lines]


def preview_lines(report: NotifyReport) -> list[str]:
    """What would be sent to whom, whole."""
    lines = []
    for one in report.notices:
        lines += [f"{_to(one)}:", f"  {one.message.title}"]
        lines += [f"  - {line.text}" for line in one.message.lines]
        lines += [f"  {one.message.link}"] if one.message.link else []
    for rule, count in report.unreached.items():
        lines.append(_unreached(rule, count))
    return [output.neutral_line(line) for line in lines] or ["nothing is new: nobody would be told"]


def _line(one: Notice) -> str:
    if one.failure:
        return f"notify: {_to(one)}: {one.failure}; kept for the next time"
    return f"notify: {_to(one)}: {one.message.title}"


def _to(one: Notice) -> str:
    return f"{one.to} {one.address} (rule {', '.join(one.rules)})"


def _unreached(rule: str, count: int) -> str:
    return f"rule {rule}: nobody can be told of {count} change{'' if count == 1 else 's'}"
