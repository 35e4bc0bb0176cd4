"""Moments: points in time as whole milliseconds since 1970-01-01 UTC, the unit of every time that is held.

Here: the conversion from and to aware datetimes and text. Not here: a clock; moments come in as arguments.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import NewType

from palimpsest.core.errors import UsageError

Moment = NewType("Moment", int)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z


def told(value: object) -> Moment | None:
    """The moment that milliseconds in a catalog tell; None where they can tell none: zero, or past the year 9999."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _LAST:
        return Moment(value)
    return None


def from_datetime(when: datetime) -> Moment:
    """Milliseconds since the epoch of an aware datetime. A naive one is refused with ValueError."""
    if when.tzinfo is None:
        raise ValueError("a naive datetime is no moment: give it a time zone")
    return Moment((when - _EPOCH) // timedelta(milliseconds=1))


def to_datetime(moment: Moment) -> datetime:
    """The aware UTC datetime of a moment."""
    return _EPOCH + timedelta(milliseconds=moment)


def parse(text: str, *, end_of_day: bool = False) -> Moment:
    """A moment from ISO 8601 text; UTC without a zone. A bare date is its start, or with `end_of_day` its last ms.

    Raises UsageError when the text is no date.
    """
    cleaned = text.strip()
    try:
        if len(cleaned) == len("2026-01-31"):
            day = date.fromisoformat(cleaned)
            start = from_datetime(datetime(day.year, day.month, day.day, tzinfo=UTC))
            return Moment(start + 86_400_000 - 1) if end_of_day else start
        when = datetime.fromisoformat(cleaned)
    except ValueError as error:
        raise UsageError(f"{text!r} is not a date or time", "write 2026-01-31 or 2026-01-31T08:00:00Z") from error
    return from_datetime(when if when.tzinfo else when.replace(tzinfo=UTC))


def text(moment: Moment) -> str:
    """ISO 8601 in UTC with a Z; milliseconds only where there are some: 2026-01-31T08:00:00Z."""
    return to_datetime(moment).isoformat(timespec="milliseconds").replace(".000", "").replace("+00:00", "Z")


def spoken(moment: Moment) -> str:
    """What a person reads: 2026-01-31 08:00."""
    return to_datetime(moment).strftime("%Y-%m-%d %H:%M")
