"""The growth of each measure as one SVG: time against size, both by powers of ten, with the goals. Drawn by hand.

What is drawn here and what is tabled in benchmarks/scale_table.py is stated once, in MEASURES.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape

Figures = Mapping[str, Any]
Point = tuple[float, float]

_COLUMNS, _WIDE, _HIGH = 3, 290, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 14, 34, 30
_HEAD = 44
_COLOURS = {"sqlite": "#1f6fb4", "postgresql": "#c4560b"}
NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
_STYLE = "text{font:11px system-ui,sans-serif;fill:#222}.t{font-weight:600;font-size:12px}.s{fill:#666;font-size:10px}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What is drawn in one panel: a number of each store, and the goal at some sizes (0: at all)."""

    title: str
    unit: str
    of: Callable[[Figures], float]
    needs: str
    goals: Mapping[int, float] = field(default_factory=dict)


def _each(job: str, of: str) -> Callable[[Figures], float]:
    return lambda store: store[job]["cpu_s"] / store[of] * 1e6


def times_bare(store: Figures) -> float:
    """Processor seconds of consolidating an episode, in those of a row of one executemany on the same database."""
    bare = store["bare"]["cpu_s"] / store["bare"]["rows"]
    return float(store["consolidate"]["cpu_s"] / store["episodes"] / bare)


MEASURES = (
    Measure(title="Scan, an episode", unit="µs", of=_each("scan", "episodes"), needs="scan"),
    Measure(title="Consolidate, an episode", unit="× bare", of=times_bare, needs="consolidate", goals={0: 4}),
    Measure(title="Index, a passage", unit="µs", of=_each("index", "passages"), needs="index"),
    Measure(title="Embed, a passage", unit="µs", of=_each("embed", "passages"), needs="embed"),
    Measure(
        title="Recall, warm, p95",
        unit="ms",
        of=lambda store: store["recall"]["cpu_p95_ms"],
        needs="recall",
        goals={100_000: 50, 1_000_000: 200},
    ),
    Measure(
        title="Recall from the shell",
        unit="s",
        of=lambda store: store["cold"]["cpu_p50_s"],
        needs="cold",
        goals={0: 2},
    ),
    Measure(title="Brief, p95", unit="ms", of=lambda store: store["brief"]["cpu_p95_ms"], needs="brief", goals={0: 10}),
    Measure(
        title="Dump, a row",
        unit="µs",
        of=lambda store: store["dump"]["cpu_s"] / store["dump"]["rows"] * 1e6,
        needs="dump",
    ),
    Measure(title="Size on disk", unit="MB", of=lambda store: store["megabytes"], needs="megabytes"),
)


def points(figures: Mapping[str, Figures], measure: Measure, dialect: str) -> list[Point]:
    """(size, number) of each store of a database in which it was measured, the small ones first."""
    stores = [one for one in figures.values() if one["dialect"] == dialect and "episodes" in one]
    measured = [one for one in stores if one.get(measure.needs)]
    return sorted((float(one["size"]), float(measure.of(one))) for one in measured)


def plot(figures: Mapping[str, Figures]) -> str:
    """The SVG."""
    rows = math.ceil(len(MEASURES) / _COLUMNS)
    wide, high = _COLUMNS * _WIDE, _HEAD + rows * _HIGH
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img" aria-labelledby="title desc">',
        '<title id="title">How each measure grows with the number of passages</title>',
        f'<desc id="desc">{escape(said(figures))}</desc>',
        f'<style>{_STYLE}</style><rect width="{wide}" height="{high}" fill="#fff"/>',
        *_legend(),
    ]
    for number, measure in enumerate(MEASURES):
        row, column = divmod(number, _COLUMNS)
        lines = {dialect: points(figures, measure, dialect) for dialect in NAMES}
        parts.append(f'<g transform="translate({column * _WIDE} {_HEAD + row * _HIGH})">')
        parts += [*_panel(measure, lines), "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def said(figures: Mapping[str, Figures]) -> str:
    """The same in words, for who does not see it."""
    found = []
    for measure in MEASURES:
        for dialect, name in NAMES.items():
            numbers = ", ".join(f"{short(y)} at {x:,.0f}" for x, y in points(figures, measure, dialect))
            if numbers:
                found.append(f"{measure.title} on {name} ({measure.unit}): {numbers}.")
    return " ".join(found)


def short(number: float) -> str:
    """A number with as many digits as tell something."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}" if number >= 10 else f"{number:.2f}"


def _legend() -> Iterator[str]:
    at = _LEFT
    for dialect, name in NAMES.items():
        yield f'<circle cx="{at}" cy="18" r="4" fill="{_COLOURS[dialect]}"/><text x="{at + 10}" y="22">{name}</text>'
        at += 100
    yield f'<path d="M{at - 4} 18h22" stroke="#777" stroke-dasharray="4 3"/><text x="{at + 24}" y="22">goal</text>'
    yield f'<text class="s" x="{at + 70}" y="22">processor time; both axes by powers of ten; across: passages</text>'


class _Scale:
    """From a size and a number to a place in the panel."""

    def __init__(self, numbers: list[float]) -> None:
        low, high = math.log10(min(numbers)), math.log10(max(numbers))
        room = max(1.0 - (high - low), 0.2) / 2  # no panel spans less than a power of ten
        self.low, self.high = low - room, high + room

    def x(self, size: float) -> float:
        """Across: from 6,000 to 1,700,000."""
        share = (math.log10(size) - 3.8) / (6.23 - 3.8)
        return _LEFT + share * (_WIDE - _LEFT - _RIGHT)

    def y(self, number: float) -> float:
        """Up."""
        share = (math.log10(number) - self.low) / (self.high - self.low)
        return _HIGH - _BOTTOM - share * (_HIGH - _TOP - _BOTTOM)


def _panel(measure: Measure, lines: Mapping[str, list[Point]]) -> Iterator[str]:
    yield f'<text class="t" x="{_LEFT}" y="22">{escape(measure.title)} ({measure.unit})</text>'
    numbers = [y for line in lines.values() for _, y in line]
    if not numbers:
        yield f'<text class="s" x="{_LEFT}" y="60">not measured</text>'
        return
    scale = _Scale([*numbers, *measure.goals.values()])
    yield from _axes(scale)
    yield from _goals(scale, measure.goals)
    for dialect, line in lines.items():
        places = [(scale.x(x), scale.y(y)) for x, y in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline points="{path}" fill="none" stroke="{_COLOURS[dialect]}" stroke-width="2"/>'
        for (x, y), (size, number) in zip(places, line, strict=True):
            tip = f"{NAMES[dialect]}, {size:,.0f}: {short(number)} {measure.unit}"
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{_COLOURS[dialect]}"><title>{tip}</title></circle>'
        if places:
            x, y = places[-1]
            yield f'<text class="s" x="{x:.1f}" y="{y - 7:.1f}" text-anchor="middle">{short(line[-1][1])}</text>'


def _axes(scale: _Scale) -> Iterator[str]:
    bottom, right = _HIGH - _BOTTOM, _WIDE - _RIGHT
    yield f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="#999"/>'
    for size, name in ((10_000, "10,000"), (100_000, "100,000"), (1_000_000, "1,000,000")):
        x = scale.x(size)
        yield f'<path d="M{x:.1f} {_TOP}V{bottom}" stroke="#eee"/>'
        yield f'<text class="s" x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">{name}</text>'
    steps = (1, 2, 5) if scale.high - scale.low < 1.6 else (1,)
    for number in (
        step * 10.0**power for power in range(math.floor(scale.low), math.ceil(scale.high)) for step in steps
    ):
        if scale.low <= math.log10(number) <= scale.high:
            y = scale.y(number)
            yield f'<path d="M{_LEFT} {y:.1f}H{right}" stroke="#eee"/>'
            yield f'<text class="s" x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{number:,g}</text>'


def _goals(scale: _Scale, goals: Mapping[int, float]) -> Iterator[str]:
    for size, goal in goals.items():
        y = scale.y(goal)
        start, end = (scale.x(size) - 22, scale.x(size) + 22) if size else (_LEFT, _WIDE - _RIGHT)
        yield f'<path d="M{start:.1f} {y:.1f}H{end:.1f}" stroke="#777" stroke-dasharray="4 3"/>'
        yield f'<text class="s" x="{end:.1f}" y="{y - 4:.1f}" text-anchor="end">{goal:g}</text>'
