"""Draws docs/calibration.svg from a store that replayed the checkpoints, and prints the tables of docs/calibration.md.

`python docs/calibration.py sqlite:///replay.db`
"""

from __future__ import annotations

import sys
from pathlib import Path

from palimpsest.queries.calibration import CalibrationView, calibrate
from palimpsest.store.engine import open_store
from palimpsest.surfaces.cli.calibration_plot import plotted

FILE = Path(__file__).resolve().parent / "calibration.svg"


def tables(view: CalibrationView) -> list[str]:
    """The scores, and the reliability of what is told, as Markdown."""
    lines = ["| model | Brier score | calibration error | log loss | what it is |", "|---|---:|---:|---:|---|"]
    for one in view.models:
        numbers = f"{one.brier:.4f} | {one.calibration_error:.4f} | {one.log_loss:.4f}"
        lines.append(f"| {one.model} | {numbers} | {one.what} |")
    told = next(one for one in view.models if one.model == view.default)
    lines += ["", "| confidence | statements | predicted | same |", "|---|---:|---:|---:|"]
    lines += [
        f"| {one.low:.1f} to {one.high:.1f} | {one.statements:,} | {one.predicted:.3f} | {one.same:.3f} |"
        for one in told.bins
        if one.statements
    ]
    return lines


def main(url: str) -> None:
    """Draw and print."""
    store = open_store(url, writing=False)
    view = calibrate(store, 0.5)
    FILE.write_text(plotted(view), encoding="utf-8")
    sys.stdout.write("\n".join([*tables(view), ""]))


if __name__ == "__main__":
    main(sys.argv[1])
