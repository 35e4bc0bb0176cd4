"""Calibration on six years of one company's catalog: the table of docs/calibration.md, and what a scan counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from palimpsest.core.confidence import by_aspect, rates_of
from palimpsest.core.moment import parse
from palimpsest.queries.calibration import CalibrationView, calibrate
from palimpsest.store.confidence import learned_in
from palimpsest.store.schema import run

pytestmark = [pytest.mark.needs_shared("replays the checkpoints of a real catalog"), pytest.mark.xdist_group("replay")]

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "calibration.md"


@pytest.fixture(scope="module")
def replayed(shared: Path, document: Callable[[Path], Any], new_memory_in: Callable[[str], Any]) -> Iterator[Any]:
    """A memory that read and consolidated every checkpoint at its own time."""
    folder = shared / "data" / "replay" / "mcp_checkpoints"
    memory = new_memory_in("sqlite")
    for entry in document(folder / "CHECKPOINTS.json.gz"):
        memory.remember(folder / f"{entry['file']}.gz", at=parse(entry["time"]))
    return memory


@pytest.fixture(scope="module")
def view(replayed: Any) -> CalibrationView:
    return calibrate(replayed.store, 0.5)


def test_the_default_has_the_least_brier_score_and_calibration_error_of_the_three(view: CalibrationView) -> None:
    three = view.models[:3]
    assert [one.model for one in three] == ["constant", "exponential", "learned"]
    assert {one.statements for one in three} == {37_196}
    assert min(three, key=lambda one: one.brier).model == view.default
    assert min(three, key=lambda one: one.calibration_error).model == view.default


def test_the_document_tells_these_numbers(view: CalibrationView) -> None:
    rows = re.findall(r"^\| ([a-z, ]+?) \| ([0-9.]+) \| ([0-9.]+) \| ([0-9.]+) \|", DOCUMENT.read_text(), re.M)
    told = {name: [float(number) for number in numbers] for name, *numbers in rows}
    assert told.keys() == {one.model for one in view.models}
    for one in view.models:
        assert told[one.model] == pytest.approx([one.brier, one.calibration_error, one.log_loss], abs=6e-4)


def test_what_scans_counted_is_what_the_history_tells(replayed: Any, view: CalibrationView) -> None:
    with replayed.store.engine.connect() as connection:
        statement = sa.select(run.c.counts).where(run.c.source == "file").order_by(run.c.read_at.desc()).limit(1)
        learned = learned_in(connection.scalar(statement))
    assert learned is not None
    counted = by_aspect(learned)
    exact = {one.aspect: one for one in view.rates}
    assert counted.keys() == exact.keys()
    rates = rates_of(counted)
    for aspect, one in exact.items():
        assert rates.of(aspect) * 365.25 == pytest.approx(one.a_year, rel=0.15)
        assert counted[aspect].days == pytest.approx(one.days, rel=0.15)
