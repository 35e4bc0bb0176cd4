"""When to ask a server again: how a request failed, how long it is tried, how long the server says to wait. Pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

_MAY_PASS = frozenset({408, 425, 429, 498})  # 498: a server of Groq is full
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What a server said, or that it said nothing: `status` 0 is no whole answer in time, -1 no connection."""

    status: int
    text: str
    retry_after: float | None = None

    @property
    def may_pass(self) -> bool:
        """Whether the same request may go well later. A server that is not there is told at once."""
        return self.status in _MAY_PASS or self.status >= 500 or self.status == 0

    def said(self, secret: str = "") -> str:
        """The text on one line of at most 200 letters, without the secret."""
        text = " ".join(self.text.split())
        return (text.replace(secret, "…") if secret else text)[:200]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a request is tried: so many times, waiting from `first` to `most` seconds, for `whole` in all."""

    attempts: int = 6
    first: float = 1.0
    most: float = 30.0
    whole: float = 180.0

    def wait(self, failure: Failure) -> bool | float:
        """Whether to try again, or after how many seconds, where the server says so and that is not too long."""
        if not failure.may_pass or failure.retry_after is None:
            return failure.may_pass
        return failure.retry_after if failure.retry_after <= self.whole else False


def seconds_of(retry_after: str | None, date: str | None = None) -> float | None:
    """What a Retry-After header asks for, in seconds: a number, or a date counted from the answer's own Date.

    None where it tells neither.
    """
    try:
        seconds = float(retry_after or "")
    except ValueError:
        return _between(date or "", retry_after or "")
    return max(0.0, seconds) if math.isfinite(seconds) else None


def delay_in(body: object) -> float | None:
    """The seconds that a google.rpc.RetryInfo in the body of an error asks for; None without one."""
    error = body.get("error") if isinstance(body, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        found = _SECONDS.fullmatch(str(detail.get("retryDelay", ""))) if isinstance(detail, dict) else None
        if found:
            return float(found[1])
    return None


def _between(earlier: str, later: str) -> float | None:
    try:
        return max(0.0, (parsedate_to_datetime(later) - parsedate_to_datetime(earlier)).total_seconds())
    except (ValueError, TypeError):
        return None
