"""Google's Gemini as embedder, by its SDK `google-genai`, over the Gemini API."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from google import genai
from google.genai import errors, types

from palimpsest.adapters.embed.remote import (
    RequestFailed,
    Server,
    batches,
    explained,
    first,
    patiently,
    rows_of,
    sendable,
)
from palimpsest.core.patience import Failure, Patience, delay_in, seconds_of
from palimpsest.core.vector import DIMENSION, Vector, Vectors

DEFAULT_URL = "https://generativelanguage.googleapis.com"
DEFAULT_MODEL = "gemini-embedding-001"
PASSAGE, QUESTION = "RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"
_API = "v1beta"  # which knows output_dimensionality
_BATCH_AT_MOST = 100  # the API takes no more
_HASTE = Patience(attempts=1)
# The SDK speaks through one of two HTTP libraries, and imports what it finds.
_TRANSPORTS = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]
_FAILURES = (errors.APIError, ValueError, OSError, *(library.HTTPError for library in _TRANSPORTS))


class GeminiEmbedder:
    """Batches of texts to batchEmbedContents, cut by the server to our dimension and brought to length one here."""

    def __init__(
        self,
        *,
        key: str,
        url: str = DEFAULT_URL,
        model: str = DEFAULT_MODEL,
        batch: int = 32,
        timeout: float = 60,
        question_timeout: float = 10,
        patience: Patience | None = None,
    ) -> None:
        self.name = f"gemini:{model}:{DIMENSION}"
        self._batch, self._patience = min(batch, _BATCH_AT_MOST), patience or Patience()
        self._server = Server(
            name="Gemini",
            url=url,
            model=model,
            secret=key,
            on_refused_key="set GEMINI_API_KEY, or embed.key, to a valid key",
            on_unknown_model="see embed.model",
        )
        self._passages, self._questions = (_client(key, url, seconds) for seconds in (timeout, question_timeout))

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row for each text."""
        sent = [sendable(text) for text in texts]
        rows = [self._ask(self._passages, batch, PASSAGE, self._patience) for batch in batches(sent, self._batch)]
        return np.concatenate(rows) if rows else np.empty((0, DIMENSION), dtype=np.float32)

    def embed_question(self, text: str) -> Vector:
        """The vector of a question, asked for once and not for long."""
        return first(self._ask(self._questions, [sendable(text)], QUESTION, _HASTE))

    def close(self) -> None:
        """Close the connections."""
        self._passages.close()
        self._questions.close()

    def _ask(self, client: genai.Client, texts: Sequence[str], task: str, patience: Patience) -> Vectors:
        model = self._server.model

        def work() -> types.EmbedContentResponse:
            try:
                return client.models.embed_content(model=model, contents=contents(texts), config=config(task))
            except _FAILURES as error:
                raise RequestFailed(failure_of(error)) from error

        try:
            answer = patiently(work, patience)
        except RequestFailed as failed:
            raise explained(failed.failure, self._server) from failed
        return rows_of(values(answer), len(texts), self._server)


def contents(texts: Sequence[str]) -> list[Any]:
    """The texts as the API takes them: each a content of its own, or they would become one vector."""
    return [types.Content(parts=[types.Part(text=text)]) for text in texts]


def config(task: str) -> types.EmbedContentConfig:
    """What is asked of the vectors."""
    return types.EmbedContentConfig(task_type=task, output_dimensionality=DIMENSION)


def values(answer: types.EmbedContentResponse) -> list[list[float] | None]:
    """The numbers of an answer."""
    return [one.values for one in answer.embeddings or ()]


def failure_of(error: Exception) -> Failure:
    """What an error of the SDK, or of the HTTP library under it, means."""
    if isinstance(error, errors.APIError):
        text = error.message or error.status or ""
        refused = error.code == 400 and "API_KEY_INVALID" in str(error.details)
        return Failure(status=401 if refused else error.code, text=str(text), retry_after=_retry_after(error))
    if "timeout" in type(error).__name__.lower():
        return Failure(status=0, text=type(error).__name__)
    if isinstance(error, ValueError):
        return Failure(status=502, text=f"not an answer of Gemini: {error}")
    return Failure(status=-1, text=f"{type(error).__name__}: {error}")


def _retry_after(error: errors.APIError) -> float | None:
    """By the header, or by google.rpc.RetryInfo in the body."""
    header = seconds_of(getattr(error.response, "headers", {}).get("retry-after"))
    return delay_in(error.details) if header is None else header


def _client(key: str, url: str, timeout: float) -> genai.Client:
    """A client that retries nothing by itself, whatever the environment says of Vertex."""
    options = types.HttpOptions(
        base_url=url, api_version=_API, timeout=int(timeout * 1000), retry_options=types.HttpRetryOptions(attempts=1)
    )
    return genai.Client(vertexai=False, api_key=key, http_options=options)
