"""The chart of changes by day."""

from __future__ import annotations

import re
from datetime import date

from palimpsest.queries.overview import DayView
from palimpsest.surfaces.console.charts import changes_by_day, description


def days(*counts: tuple[int, int, int]) -> list[DayView]:
    """The days from the first of March on: breaking, notable, minor."""
    return [
        DayView(day=date(2026, 3, place), readings=1, breaking=breaking, notable=notable, minor=minor)
        for place, (breaking, notable, minor) in enumerate(counts, start=1)
    ]


def test_a_bar_is_as_high_as_its_day_has_changes() -> None:
    svg = changes_by_day(days((0, 0, 10), (0, 0, 5)))
    heights = [float(found) for found in re.findall(r'class="minor".*?height="([\d.]+)"', svg)]
    assert heights == [60, 30]


def test_weights_lie_on_each_other_the_breaking_ones_above() -> None:
    svg = changes_by_day(days((1, 1, 2)))
    tops = {name: float(y) for name, y in re.findall(r'class="(\w+)" x="[\d.]+" y="([\d.]+)" width', svg)}
    assert tops == {"minor": 34, "notable": 19, "breaking": 4}


def test_a_day_without_a_reading_is_drawn_apart_from_one_without_a_change() -> None:
    unread = DayView(day=date(2026, 3, 9), readings=0, breaking=0, notable=0, minor=0)
    assert changes_by_day([*days((0, 0, 0)), unread]).count('class="read"') == 1
    assert changes_by_day([*days((0, 0, 0)), unread]).count('class="unread"') == 1


def test_what_is_rare_is_still_seen_beside_what_is_frequent() -> None:
    svg = changes_by_day(days((1, 0, 0), (0, 0, 100_000)))
    assert float(re.findall(r'class="breaking".*?height="([\d.]+)"', svg)[0]) >= 1.5


def test_the_description_says_what_is_drawn() -> None:
    assert description(days((1, 2, 3), (0, 0, 1))) == ("7 changes in the 2 days to 2026-03-02; most on 2026-03-01: 6.")
    assert description([]) == "Nothing was read yet."
    assert description(days((0, 0, 0))) == "0 changes in the 1 days to 2026-03-01."
    assert changes_by_day([])


def test_the_svg_has_no_style_and_no_script() -> None:
    svg = changes_by_day(days((1, 1, 1)))
    assert "style=" not in svg
    assert "<script" not in svg
    assert '<title id="days-title">' in svg
