"""What the SDKs of Anthropic and Groq have in common: one generator made both."""

from __future__ import annotations

from typing import Any

from palimpsest.adapters.models.remote import broken
from palimpsest.adapters.models.replies import error_in
from palimpsest.core.patience import Failure, seconds_of


def failure_of(error: Any) -> Failure:
    """What an error of such an SDK means: a response with a status, or the error of the HTTP library under it."""
    response = getattr(error, "response", None)
    if response is None:
        return broken(error.__cause__ or error)
    inner = error_in(error.body) if isinstance(error.body, dict) else None
    headers = response.headers
    return Failure(
        status=response.status_code,
        text=inner.text if inner else str(error),
        retry_after=seconds_of(headers.get("retry-after"), headers.get("date")),
    )
