"""What the embedders behind a server have in common: when to try again, what an error means, what an answer must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import stamina

from palimpsest.core.errors import ModelError, RefusedTextError
from palimpsest.core.patience import Failure, Patience
from palimpsest.core.vector import DIMENSION, Vector, Vectors, unit

stamina.instrumentation.set_on_retry_hooks(())  # a retry is no news; unset, it is logged to stdout, which is for data

Result = TypeVar("Result")

LETTERS_AT_MOST = 8_000  # what is beyond is left out: servers read some 2,000 tokens, and some refuse more
EMPTY = "(empty)"  # what is sent in place of an empty text, which servers refuse
_LATER = "run again later: it goes on where it was"


class RequestFailed(Exception):
    """A request that failed, as a `Failure`. It never leaves this package."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.failure = failure


def patiently(work: Callable[[], Result], patience: Patience) -> Result:
    """Do `work` until it does not raise a RequestFailed that may pass; waits as long as the server says, if it does."""

    def wait(error: Exception) -> bool | float:
        return patience.wait(error.failure) if isinstance(error, RequestFailed) else False

    for attempt in stamina.retry_context(
        on=wait,
        attempts=patience.attempts,
        timeout=patience.whole,
        wait_initial=patience.first,
        wait_max=patience.most,
        wait_jitter=patience.first,
    ):
        with attempt:
            return work()
    raise AssertionError("a retried request neither returned nor raised")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """How to speak of a server: its name, its address, its model, and what to do in the usual cases."""

    name: str
    url: str
    model: str
    on_refused_key: str
    on_unknown_model: str
    secret: str = ""


def explained(failure: Failure, server: Server) -> ModelError:
    """The error that a person can act on; it never shows the key."""
    said = failure.said(server.secret)
    where = f"{server.name} at {server.url}"
    match failure.status:
        case -1:
            return ModelError(f"{where} cannot be reached: {said}", "is it running, and is embed.url right?")
        case 0:
            return ModelError(
                f"{where} did not answer in time: {said}", "try again later, or raise embed.timeout_seconds"
            )
        case 401 | 403:
            return ModelError(f"{where} refused the key: {said}", server.on_refused_key)
        case 404:
            return ModelError(f"{where} has no model {server.model}: {said}", server.on_unknown_model)
        case 429:
            after = f"; it says to wait {failure.retry_after:.0f} s" if failure.retry_after else ""
            return ModelError(f"{where} takes no more requests now: {said}{after}", _LATER)
        case 400 | 413 | 422:
            return RefusedTextError(f"{where} does not take this text: {said}", "see embed.model and embed.batch")
        case status:
            return ModelError(f"{where} failed ({status}): {said}", _LATER)


def sendable(text: str) -> str:
    """A text as servers take it: not empty, not endless, and valid UTF-8."""
    text = text[:LETTERS_AT_MOST].encode("utf-8", "replace").decode()
    return text if text.strip() else EMPTY


def batches(texts: Sequence[str], most: int) -> Iterator[Sequence[str]]:
    """The texts in slices."""
    for start in range(0, len(texts), most):
        yield texts[start : start + most]


def rows_of(answer: Sequence[Sequence[float] | None], wanted: int, server: Server, *, cut: bool = False) -> Vectors:
    """The vectors of an answer, of length one. `cut`: longer ones are cut, which only a Matryoshka model bears.

    Raises ModelError for an answer that is none: too few vectors, another dimension, no numbers.
    """
    where = f"{server.name} at {server.url}"
    if len(answer) != wanted:
        raise ModelError(f"{where} gave {len(answer)} vectors for {wanted} texts", "is embed.url right?")
    found = {len(row or ()) for row in answer}
    if cut and min(found) >= DIMENSION:
        answer, found = [(row or ())[:DIMENSION] for row in answer], {DIMENSION}
    if found != {DIMENSION}:
        sizes = " and ".join(map(str, sorted(found)))
        raise ModelError(
            f"{server.model} gives vectors of {sizes} numbers, and the memory holds such of {DIMENSION}",
            f"name another embed.model, or set embed.cut if it is a Matryoshka model of more than {DIMENSION}",
        )
    try:
        return unit(np.array(answer, dtype=np.float64))
    except ValueError as error:
        hint = "is embed.model an embedding model?"
        raise ModelError(f"{where} gave a vector that is none: {error}", hint) from error


def first(rows: Vectors) -> Vector:
    """The only row."""
    return np.asarray(rows[0], dtype=np.float32)
