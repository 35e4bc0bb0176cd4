"""`palimpsest consolidate`: turn pending episodes into versions of beliefs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.core.errors import ConfigError, UsageError
from palimpsest.surfaces.cli import diagnostics, output, reports, upkeep
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.diagnostics import ExitCode

if TYPE_CHECKING:
    from palimpsest.config import Settings
    from palimpsest.jobs.judging.judging import Judging


def consolidate(
    ctx: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the verdicts, and write nothing.")] = False,
    workers: Annotated[int, typer.Option(min=1, max=64, help="So many processes at once, on a database server.")] = 1,
    judge: Annotated[
        str, typer.Option(metavar="rules|model", help="Who judges text: the rules alone, or the model of the settings.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> ExitCode:
    """Turn what was written down into versioned beliefs.

    The rules judge all that is structured. Where the settings name a model, it judges text that was rewritten, and
    notes.
    """
    from palimpsest import wiring
    from palimpsest.jobs.consolidate import consolidate as consolidate_alone
    from palimpsest.jobs.consolidate_together import consolidate_together
    from palimpsest.store.runs import this_process

    cli = Context.of(ctx)
    workers = 1 if dry_run else workers
    store = wiring.store_for_reading(cli.settings) if dry_run else wiring.store_for_writing(cli.settings)
    with models(cli.settings, judge, workers) as judging, diagnostics.progress() as progress:
        clock, holder = wiring.clock(), this_process()
        if dry_run:
            report = consolidate_alone(
                store, clock=clock, progress=progress, holder=holder, dry_run=True, judging=next(iter(judging), None)
            )
        else:
            report = consolidate_together(
                store, workers=workers, clock=clock, progress=progress, holder=holder, judging=judging
            )
    if not dry_run:
        upkeep.afterwards(cli.settings, store)
    store.dispose()
    reports.log(
        "consolidation.finished", report.run, episodes=report.episodes, founded=report.founded, left=report.left
    )
    if as_json:
        output.emit_json("consolidate", report)
    elif not cli.quiet:
        output.emit_text(reports.consolidate_lines(report))
    return reports.judged(report)


@contextmanager
def models(settings: Settings, judge: str, workers: int = 1) -> Iterator[list[Judging]]:
    """The models that are to judge, one a worker; none where the rules judge alone. Raises UsageError, ConfigError."""
    from palimpsest import wiring

    if judge not in ("", "rules", "model"):
        raise UsageError(f"--judge {judge!r} is no judge", "write --judge rules or --judge model")
    found = [] if judge == "rules" else wiring.judging(settings, workers=workers)
    if judge == "model" and not found:
        raise ConfigError("--judge model: no model is set", "set model.provider (docs/models.md)")
    try:
        yield found
    finally:
        for one in found:
            one.close()
