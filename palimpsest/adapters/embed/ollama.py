"""An Ollama server as embedder, by its SDK."""

from __future__ import annotations

from collections.abc import Sequence

import httpx
import numpy as np
import ollama

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
from palimpsest.core.patience import Failure, Patience, seconds_of
from palimpsest.core.vector import DIMENSION, Vector, Vectors

DEFAULT_URL = "http://127.0.0.1:11434"
DEFAULT_MODEL = "all-minilm"
_HASTE = Patience(attempts=1)
# What a family of models wants before a passage and before a question, by its model card.
_PREFIXES = {
    "nomic-embed-text": ("search_document: ", "search_query: "),
    "mxbai-embed-large": ("", "Represent this sentence for searching relevant passages: "),
    "snowflake-arctic-embed": ("", "Represent this sentence for searching relevant passages: "),
    "snowflake-arctic-embed2": ("", "query: "),
    "embeddinggemma": ("title: none | text: ", "task: search result | query: "),
}


class OllamaEmbedder:
    """Batches of texts to /api/embed. `cut`: keep the first numbers of longer vectors (Matryoshka models only)."""

    def __init__(
        self,
        *,
        url: str = DEFAULT_URL,
        model: str = DEFAULT_MODEL,
        key: str = "",
        cut: bool = False,
        batch: int = 32,
        timeout: float = 60,
        question_timeout: float = 10,
        patience: Patience | None = None,
    ) -> None:
        self.name = f"ollama:{model}" + (":cut" if cut else "")
        self._cut, self._batch, self._patience = cut, batch, patience or Patience()
        self._prefixes = prefixes(model)
        self._server = Server(
            name="Ollama",
            url=url,
            model=model,
            secret=key,
            on_refused_key="set embed.key to a valid key of the server before it",
            on_unknown_model=f"run: ollama pull {model}",
        )
        self._after: float | None = None
        headers = {"authorization": f"Bearer {key}"} if key else {}
        hooks = {"response": [self._note_retry_after]}
        self._passages = ollama.Client(host=url, timeout=timeout, headers=headers, event_hooks=hooks)
        self._questions = ollama.Client(host=url, timeout=question_timeout, headers=headers, event_hooks=hooks)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row for each text."""
        sent = [self._prefixes[0] + sendable(text) for text in texts]
        rows = [self._ask(self._passages, batch, self._patience) for batch in batches(sent, self._batch)]
        return np.concatenate(rows) if rows else np.empty((0, DIMENSION), dtype=np.float32)

    def embed_question(self, text: str) -> Vector:
        """The vector of a question, asked for once and not for long."""
        return first(self._ask(self._questions, [self._prefixes[1] + sendable(text)], _HASTE))

    def close(self) -> None:
        """Close the connections."""
        self._passages.close()  # type: ignore[no-untyped-call]
        self._questions.close()  # type: ignore[no-untyped-call]

    def _ask(self, client: ollama.Client, texts: Sequence[str], patience: Patience) -> Vectors:
        def work() -> Sequence[Sequence[float]]:
            try:
                return client.embed(model=self._server.model, input=list(texts), truncate=True).embeddings
            except ollama.ResponseError as error:
                raise RequestFailed(
                    Failure(status=error.status_code, text=error.error, retry_after=self._after)
                ) from error
            except httpx.TimeoutException as error:
                raise RequestFailed(Failure(status=0, text=type(error).__name__)) from error
            except (ConnectionError, httpx.TransportError) as error:
                raise RequestFailed(Failure(status=-1, text=str(error))) from error
            except ValueError as error:  # JSON that is none, or of another shape
                raise RequestFailed(Failure(status=502, text=f"not an answer of Ollama: {error}")) from error

        try:
            answer = patiently(work, patience)
        except RequestFailed as failed:
            raise explained(failed.failure, self._server) from failed
        return rows_of(answer, len(texts), self._server, cut=self._cut)

    def _note_retry_after(self, response: httpx.Response) -> None:
        self._after = seconds_of(response.headers.get("retry-after"))


def prefixes(model: str) -> tuple[str, str]:
    """What goes before a passage and before a question, by the model's name without its place and tag."""
    return _PREFIXES.get(model.rpartition("/")[2].partition(":")[0], ("", ""))
