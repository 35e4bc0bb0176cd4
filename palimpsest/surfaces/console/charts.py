"""Charts as inline SVG, with a title and a description for who does not see them. Their colours are in the CSS."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from palimpsest.queries.overview import DayView

_HEIGHT = 64
_STEP, _BAR = 10, 7
_LEAST = 1.5  # of a weight that is there at all
_WEIGHTS = ("minor", "notable", "breaking")


def changes_by_day(days: Sequence[DayView]) -> Markup:
    """A bar for each day, the weights on top of each other, breaking ones above."""
    most = max((day.changes for day in days), default=0)
    bars = [_bar(place, day, most) for place, day in enumerate(days)]
    width = max(1, len(days)) * _STEP
    return Markup(
        '<svg class="days" viewBox="0 0 {width} {height}" preserveAspectRatio="none" role="img" '
        'aria-labelledby="days-title days-text" focusable="false">'
        '<title id="days-title">Changes by day</title><desc id="days-text">{text}</desc>{bars}</svg>'
    ).format(width=width, height=_HEIGHT, text=description(days), bars=Markup("").join(bars))


def description(days: Sequence[DayView]) -> str:
    """What the chart shows, in words."""
    if not days:
        return "Nothing was read yet."
    changes = sum(day.changes for day in days)
    busiest = max(days, key=lambda day: day.changes)
    text = f"{changes:,} changes in the {len(days)} days to {days[-1].day.isoformat()}"
    return f"{text}; most on {busiest.day.isoformat()}: {busiest.changes:,}." if changes else f"{text}."


def _bar(place: int, day: DayView, most: int) -> Markup:
    x = place * _STEP + (_STEP - _BAR) / 2
    if not day.changes:
        mark = "read" if day.readings else "unread"
        return Markup('<rect class="{mark}" x="{x}" y="{y}" width="{w}" height="1"/>').format(
            mark=mark, x=x, y=_HEIGHT - 1, w=_BAR
        )
    found, base = [], float(_HEIGHT)
    for weight in _WEIGHTS:
        count: int = getattr(day, weight)
        if count:
            height = max(_LEAST, count / most * (_HEIGHT - 4))
            base -= height
            found.append(
                Markup('<rect class="{weight}" x="{x}" y="{y:.2f}" width="{w}" height="{h:.2f}"/>').format(
                    weight=escape(weight), x=x, y=base, w=_BAR, h=height
                )
            )
    return Markup("").join(found)
