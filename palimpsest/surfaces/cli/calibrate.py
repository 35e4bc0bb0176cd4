"""`palimpsest calibrate`: how far the confidence that is told can be trusted, on this store's own history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.surfaces.cli import asking, output
from palimpsest.surfaces.cli.asking import AsJson

if TYPE_CHECKING:
    from palimpsest.core.calibration import Score
    from palimpsest.queries.calibration import CalibrationView


def calibrate(
    ctx: typer.Context,
    at_share: Annotated[
        float, typer.Option(min=0.05, max=0.95, help="Where the history is cut, as a share of its time.")
    ] = 0.5,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.svg", help="Draw the reliability of each model.")] = None,
    as_json: AsJson = False,
) -> None:
    """Tell how well confidence told what stayed true.

    Learns from the history before the cut, and predicts, reading by reading, what is still the same after it.
    """
    from palimpsest.queries import calibration as query

    with asking.remembered(ctx) as store:
        view = query.calibrate(store, at_share)
    if plot is not None:
        _draw(view, plot)
    if as_json:
        output.emit_json("calibrate", view)
    else:
        output.emit_text(calibration_lines(view))


def _draw(view: CalibrationView, path: Path) -> None:
    """Write the plot. Raises UsageError when the file cannot be written."""
    from palimpsest.core.errors import UsageError
    from palimpsest.surfaces.cli.calibration_plot import plotted

    try:
        path.write_text(plotted(view), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "name another file") from error


def calibration_lines(view: CalibrationView) -> list[str]:
    """The report as text."""
    told = next(one for one in view.models if one.model == view.default)
    lines = [*_source_lines(view), "", *_model_lines(view)]
    lines += [f"* what is told; of {told.statements:,} statements {told.same:.4f} were the same at the next reading"]
    lines += [
        "",
        f"reliability of {told.model}",
        *_bin_lines(told),
        "",
        "learned by the last reading",
        *_rate_lines(view),
    ]
    return [output.neutral_line(line) for line in lines]


def _source_lines(view: CalibrationView) -> list[str]:
    lines = []
    for one in view.sources:
        of = f"{one.cells:,} cells" + (f" of {one.all_cells:,}" if one.cells < one.all_cells else "")
        cut = asking.spoken(one.cut)
        lines.append(f"{one.source}: {of}; {one.trained} readings until {cut}, {one.scored} scored after it")
    return lines


def _model_lines(view: CalibrationView) -> list[str]:
    rows = [
        (
            one.model + (" *" if one.model == view.default else ""),
            f"{one.brier:.4f}",
            f"{one.log_loss:.4f}",
            f"{one.calibration_error:.4f}",
            f"{one.predicted:.4f}",
            one.what,
        )
        for one in view.models
    ]
    header = ("MODEL", "BRIER", "LOG LOSS", "CALIBRATION ERROR", "PREDICTED", "WHAT IT IS")
    return output.table(rows, header=header, right={1, 2, 3, 4})


def _rate_lines(view: CalibrationView) -> list[str]:
    learned = [
        (one.source, one.aspect, f"{one.changes:,.1f}", f"{one.days / 365.25:,.1f}", f"{one.a_year:.3f}")
        for one in sorted(view.rates, key=lambda one: (one.source, -one.a_year))
    ]
    header = ("SOURCE", "ASPECT", "CHANGES", "YEARS WATCHED", "CHANGES A YEAR")
    return output.table(learned, header=header, right={2, 3, 4})


def _bin_lines(score: Score) -> list[str]:
    rows = [
        (
            f"{one.low:.1f} to {one.high:.1f}",
            f"{one.statements:,}",
            f"{one.predicted:.3f}" if one.statements else "",
            f"{one.same:.3f}" if one.statements else "",
        )
        for one in score.bins
    ]
    return output.table(rows, header=("CONFIDENCE", "STATEMENTS", "PREDICTED", "SAME"), right={1, 2, 3})
