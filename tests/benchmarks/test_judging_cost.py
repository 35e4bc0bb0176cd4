"""The count of what a model costs: what is asked is what changed in prose, and the table is per 1,000 changed cells."""

from __future__ import annotations

from pathlib import Path

from benchmarks.judging_cost import Cost, cost_of, invented

DATASETS = 60


def counted(folder: Path, name: str, *, prose_only: bool) -> Cost:
    """What a small invented catalog costs."""
    made = folder / name
    made.mkdir()
    return cost_of(name, made, invented(made, prose_only=prose_only, datasets=DATASETS), each=True)


def test_prose_is_asked_about_and_nothing_else(tmp_path: Path) -> None:
    mixed, prose = (counted(tmp_path, name, prose_only=name == "prose") for name in ("mixed", "prose"))
    assert mixed.cells == 3 * DATASETS
    assert 0 < prose.cells < mixed.cells
    assert (prose.texts, prose.calls) == (mixed.texts, mixed.calls)
    assert prose.texts <= prose.cells
    assert (prose.read, prose.written) == (mixed.read, mixed.written)


def test_a_row_is_per_thousand_changed_cells() -> None:
    cost = Cost(catalog="a", cells=2_000, texts=500, calls=9, read=100_000, written=20_000)
    assert cost.row() == "| a | 2,000 | 250 | 4.5 | 50,000 | 10,000 | 0.0100 |"
