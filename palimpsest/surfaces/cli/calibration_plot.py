"""The reliability of each model as one SVG: what was predicted against what came true. Drawn by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from palimpsest.core.calibration import Bin, Score
    from palimpsest.queries.calibration import CalibrationView

_WIDE, _HIGH, _HEAD = 250, 264, 44
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 14, 44, 34
_FROM = 0.5  # both axes run from here to 1: a statement that is told is seldom less sure
_COLOURS = {"constant": "#8a6d00", "exponential": "#c4560b", "learned": "#1f6fb4"}
_ACROSS = "across: the confidence told; up: the share that was still the same; dashes: as it should be"
_DOTS = "a dot: a tenth of the scale, the larger the more statements; a ring: it lies below the axes"
_STYLE = "text{font:11px system-ui,sans-serif;fill:#222}.t{font-weight:600;font-size:12px}.s{fill:#666;font-size:10px}"


def plotted(view: CalibrationView) -> str:
    """The SVG: one panel for each of the models that are compared, with the same in words for who does not see it."""
    models = [one for one in view.models if one.model in _COLOURS]
    wide, high = len(models) * _WIDE, _HEAD + _HIGH
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img" aria-labelledby="title desc">',
        '<title id="title">What was predicted, and what came true</title>',
        f'<desc id="desc">{escape(said(models))}</desc>',
        f'<style>{_STYLE}</style><rect width="{wide}" height="{high}" fill="#fff"/>',
        f'<text class="s" x="{_LEFT}" y="18">{_ACROSS}</text>',
        f'<text class="s" x="{_LEFT}" y="32">{_DOTS}</text>',
    ]
    for number, score in enumerate(models):
        parts += [f'<g transform="translate({number * _WIDE} {_HEAD})">', *_panel(score), "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def said(models: list[Score]) -> str:
    """The same in words."""
    found = []
    for score in models:
        bins = ", ".join(
            f"{one.same:.3f} of {one.statements:,} told {one.predicted:.3f}" for one in score.bins if one.statements
        )
        scores = f"Brier score {score.brier:.4f}, calibration error {score.calibration_error:.4f}"
        found.append(f"{score.model}: {scores}; still the same were {bins}.")
    return " ".join(found)


def _panel(score: Score) -> Iterator[str]:
    yield f'<text class="t" x="{_LEFT}" y="20">{escape(score.model)}</text>'
    scores = f"Brier {score.brier:.4f}, calibration error {score.calibration_error:.4f}"
    yield f'<text class="s" x="{_LEFT}" y="34">{scores}</text>'
    bottom, right = _HIGH - _BOTTOM, _WIDE - _RIGHT
    yield f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="#999"/>'
    for mark in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        x, y = _place(mark, mark)
        yield f'<path d="M{x:.1f} {_TOP}V{bottom}M{_LEFT} {y:.1f}H{right}" stroke="#eee"/>'
        yield f'<text class="s" x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">{mark:g}</text>'
        yield f'<text class="s" x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{mark:g}</text>'
    (x1, y1), (x2, y2) = _place(_FROM, _FROM), _place(1, 1)
    yield f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="#777" stroke-dasharray="4 3"/>'
    for one in score.bins:
        if one.statements:
            yield _dot(one, score)


def _dot(one: Bin, score: Score) -> str:
    x, y = _place(one.predicted, one.same)
    radius = 3 + 6 * (one.statements / score.statements) ** 0.5
    is_below = min(one.predicted, one.same) < _FROM
    fill = "none" if is_below else _COLOURS[score.model]
    tip = f"{one.same:.3f} of {one.statements:,} statements told {one.predicted:.3f}"
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{fill}" '
        f'stroke="{_COLOURS[score.model]}" fill-opacity=".75">'
        f"<title>{tip}</title></circle>"
    )


def _place(across: float, up: float) -> tuple[float, float]:
    """Where a pair stands in its panel; what lies below the axes, on them."""
    along, above = (max(0.0, (one - _FROM) / (1 - _FROM)) for one in (across, up))
    return _LEFT + along * (_WIDE - _LEFT - _RIGHT), _HIGH - _BOTTOM - above * (_HIGH - _TOP - _BOTTOM)
