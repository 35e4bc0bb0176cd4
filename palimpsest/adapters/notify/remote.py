"""What the ways over HTTP have in common: one POST of JSON, and what an answer means."""

from __future__ import annotations

from collections.abc import Mapping

import httpx

from palimpsest.adapters.notify.patient import PATIENCE, TIMEOUT_S, NotSent, patiently
from palimpsest.core.patience import Failure, Patience, seconds_of


class Posts:
    """Posts JSON to secret addresses; `urls` gives each by the name under which it may be spoken of."""

    def __init__(
        self,
        urls: Mapping[str, str],
        *,
        patience: Patience = PATIENCE,
        timeout: float = TIMEOUT_S,
        most: int = 1_000_000,
    ) -> None:
        self._urls, self._patience, self._most = urls, patience, most
        self._client = httpx.Client(timeout=timeout, headers={"user-agent": "palimpsest"})

    def post(self, address: str, body: bytes, headers: Mapping[str, str]) -> Failure | None:
        """Post a body to an address; None when the receiver accepted it."""
        if len(body) > self._most:
            return Failure(status=413, text=f"the message is longer than {self._most} bytes")
        url = self._urls[address]

        def work() -> None:
            try:
                answer = self._client.post(url, content=body, headers={"content-type": "application/json", **headers})
            except httpx.TimeoutException as error:
                raise NotSent(Failure(status=0, text=type(error).__name__)) from None
            except (httpx.TransportError, httpx.InvalidURL) as error:
                raise NotSent(Failure(status=-1, text=_without(str(error), url))) from None
            if not answer.is_success:
                after = seconds_of(answer.headers.get("retry-after"), answer.headers.get("date"))
                text = _without(answer.text[:1_000], url)
                raise NotSent(Failure(status=answer.status_code, text=text, retry_after=after))

        return patiently(work, self._patience)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _without(text: str, url: str) -> str:
    """A text without a secret address, or the part of it that is secret."""
    path = httpx.URL(url).raw_path.decode("ascii", "replace")
    text = text.replace(url, "…")
    return text.replace(path, "…") if len(path) > 1 else text
