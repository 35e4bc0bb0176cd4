"""The plot of growth and its tables: whole where all was measured, and honest where something was not."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks.growth import MEASURES, plot, points, said, times_bare
from benchmarks.scale_table import markdown

_SPREAD = {f"{clock}_{what}_ms": 4.0 for clock in ("cpu", "wall") for what in ("p50", "p95", "worst")}


def store(dialect: str, size: int, **more: Any) -> dict[str, Any]:
    """The figures of one store, as benchmarks/scale.py keeps them."""
    job = {"cpu_s": size / 1_000, "wall_s": size / 500, "load": 1.0}
    return {
        "dialect": dialect,
        "size": size,
        "episodes": size,
        "passages": size,
        "megabytes": size / 100,
        "bare": {"rows": size, "cpu_s": size / 4_000, "wall_s": 1.0},
        "scan": job,
        "consolidate": job,
        "index": job,
        "embed": job,
        "recall": _SPREAD | {"kinds": {"exact name": _SPREAD}, "load": 1.0},
        "brief": _SPREAD | {"load": 1.0},
        **more,
    }


@pytest.fixture
def figures() -> dict[str, Any]:
    stores = [store("sqlite", 100_000), store("sqlite", 10_000), store("postgresql", 10_000)]
    return {f"{one['dialect']} {one['size']}": one for one in stores}


def test_a_plot_is_a_picture_with_its_numbers_in_words(figures: dict[str, Any]) -> None:
    root = ElementTree.fromstring(plot(figures))
    space = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img"
    assert [one.tag for one in root][:2] == [f"{space}title", f"{space}desc"]
    assert root.findtext(f"{space}desc") == said(figures)
    assert "Brief, p95 on SQLite (ms): 4.00 at 10,000, 4.00 at 100,000." in said(figures)
    assert len(root.findall(f"{space}g")) == len(MEASURES)


def test_what_was_not_measured_is_left_out_of_its_line(figures: dict[str, Any]) -> None:
    cold, brief = (next(one for one in MEASURES if one.needs == needed) for needed in ("cold", "brief"))
    assert points(figures, cold, "sqlite") == []
    assert points(figures, brief, "sqlite") == [(10_000.0, 4.0), (100_000.0, 4.0)]
    assert plot(figures).count("not measured") == 2  # from the shell, and the dump


def test_consolidating_is_told_in_rows_of_one_insert_of_many(figures: dict[str, Any]) -> None:
    assert times_bare(figures["sqlite 10000"]) == 4.0


def test_a_table_has_a_column_for_each_store_and_goals_beside_what_was_reached(figures: dict[str, Any]) -> None:
    lines = markdown(figures).splitlines()
    assert "|  | SQLite 10,000 | SQLite 100,000 | PostgreSQL 10,000 |" in lines
    assert "| SQLite 100,000 | recall | p95 ≤ 50 ms | 4.0 | 4.0 | 4.0 | 4.0 | 4.0 | 4.0 | 1.0 |" in lines
    assert "| consolidate, an episode | 4.00 × bare | 4.00 × bare | 4.00 × bare |" in lines
