"""How long a message is tried to be sent."""

from __future__ import annotations

from collections.abc import Callable

import stamina

from palimpsest.core.patience import Failure, Patience

stamina.instrumentation.set_on_retry_hooks(())  # a retry is no news; unset, it is logged to stdout, which is for data

PATIENCE = Patience(attempts=4, first=1.0, most=10.0, whole=60.0)
TIMEOUT_S = 10.0


class NotSent(Exception):
    """A sending that failed, as a `Failure`. It never leaves this package."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.failure = failure


def patiently(work: Callable[[], None], patience: Patience) -> Failure | None:
    """Do `work` until it does not raise a NotSent that may pass; the last failure, None where it went well."""

    def wait(error: Exception) -> bool | float:
        return patience.wait(error.failure) if isinstance(error, NotSent) else False

    try:
        for attempt in stamina.retry_context(
            on=wait,
            attempts=patience.attempts,
            timeout=patience.whole,
            wait_initial=patience.first,
            wait_max=patience.most,
            wait_jitter=patience.first,
        ):
            with attempt:
                work()
    except NotSent as error:
        return error.failure
    return None
