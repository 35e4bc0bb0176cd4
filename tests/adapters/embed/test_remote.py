"""What goes wrong with a server becomes one clear error; what may pass is tried again as the server says."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import numpy as np
import pytest

from palimpsest.adapters.embed.gemini import GeminiEmbedder
from palimpsest.adapters.embed.ollama import OllamaEmbedder, prefixes
from palimpsest.adapters.embed.remote import Patience
from palimpsest.core.errors import ModelError, RefusedTextError
from palimpsest.core.vector import DIMENSION
from palimpsest.ports import Embedder
from tests.adapters.embed.serving import KEY, Fault, Serving, serving

QUICK = Patience(attempts=3, first=0, most=0, whole=20)
BUSY = {
    "gemini": {"error": {"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED"}},
    "ollama": {"error": "remote busy"},
}
DOWN = {
    "gemini": {"error": {"code": 500, "message": "internal", "status": "INTERNAL"}},
    "ollama": {"error": "llama runner died"},
}


@pytest.fixture
def remote() -> Iterator[Serving]:
    """A server of both kinds."""
    with serving() as state:
        yield state


@pytest.fixture(params=["gemini", "ollama"])
def kind(request: pytest.FixtureRequest) -> str:
    """Which provider."""
    return str(request.param)


def made(kind: str, url: str, *, key: str = KEY, timeout: float = 20) -> Embedder:
    """The embedder, quick to give up."""
    if kind == "gemini":
        return GeminiEmbedder(key=key, url=url, timeout=timeout, question_timeout=timeout, patience=QUICK)
    return OllamaEmbedder(url=url, key=key, timeout=timeout, question_timeout=timeout, patience=QUICK)


def failure(embedder: Embedder, texts: list[str] | None = None) -> ModelError:
    """How embedding fails."""
    with pytest.raises(ModelError) as caught:
        embedder.embed_passages(texts or ["orders"])
    embedder.close()
    assert KEY not in caught.value.message + caught.value.hint
    return caught.value


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(kind: str, remote: Serving, status: int) -> None:
    remote.faults += [Fault(status=status, body=DOWN[kind]), Fault(status=status, body="<html>no JSON")]
    embedder = made(kind, remote.url)
    assert embedder.embed_passages(["orders"]).shape == (1, DIMENSION)
    assert len(remote.requests) == 3
    embedder.close()


def test_retry_after_is_waited_for_and_one_beyond_all_patience_is_told(kind: str, remote: Serving) -> None:
    remote.faults += [Fault(status=429, body=BUSY[kind], headers={"retry-after": "0"})]
    embedder = made(kind, remote.url)
    assert embedder.embed_passages(["orders"]).shape == (1, DIMENSION)
    remote.faults += [Fault(status=429, body=BUSY[kind], headers={"retry-after": "3600"})]
    error = failure(embedder)
    assert len(remote.requests) == 3
    assert "takes no more requests now" in error.message
    assert error.message.endswith("it says to wait 3600 s")
    assert error.hint == "run again later: it goes on where it was"


def test_the_delay_in_an_answer_of_gemini_is_taken(remote: Serving) -> None:
    body = {"error": {**BUSY["gemini"]["error"], "details": [{"retryDelay": "1000s"}]}}  # type: ignore[dict-item]
    remote.faults += [Fault(status=429, body=body)]
    assert "it says to wait 1000 s" in failure(made("gemini", remote.url)).message
    assert len(remote.requests) == 1


def test_what_does_not_pass_is_told_after_all_attempts(kind: str, remote: Serving) -> None:
    remote.faults += [Fault(status=500, body=DOWN[kind])] * 3
    error = failure(made(kind, remote.url))
    assert f"at {remote.url} failed (500)" in error.message
    assert len(remote.requests) == 3


def test_a_question_is_asked_once(kind: str, remote: Serving) -> None:
    remote.faults += [Fault(status=503, body=DOWN[kind])]
    embedder = made(kind, remote.url)
    with pytest.raises(ModelError):
        embedder.embed_question("who owns orders")
    assert len(remote.requests) == 1
    embedder.close()


def test_a_server_that_is_silent_is_given_up(kind: str, remote: Serving) -> None:
    remote.faults += [Fault(status=0)] * 3
    error = failure(made(kind, remote.url, timeout=0.2))
    assert "did not answer in time" in error.message
    assert "embed.timeout_seconds" in error.hint


def test_a_server_that_is_not_there_is_told_at_once(kind: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        error = failure(made(kind, f"http://127.0.0.1:{unused.getsockname()[1]}"))
    assert "cannot be reached" in error.message
    assert error.hint == "is it running, and is embed.url right?"


def test_a_refused_key_is_told_without_showing_it(kind: str, remote: Serving) -> None:
    if kind == "ollama":
        remote.faults += [Fault(status=401, body={"error": f"unauthorized: {KEY}"})]
    error = failure(made(kind, remote.url, key=KEY if kind == "ollama" else "wrong"))
    assert "refused the key" in error.message
    assert "embed.key" in error.hint
    assert len(remote.requests) == 1


def test_an_unknown_model_is_told_with_what_to_do(remote: Serving) -> None:
    remote.model = "another"
    error = failure(made("ollama", remote.url))
    assert "has no model all-minilm" in error.message
    assert error.hint == "run: ollama pull all-minilm"


def test_a_text_that_is_refused_is_an_error_of_its_own(kind: str, remote: Serving) -> None:
    body = {"error": {"code": 400, "message": "too long"}} if kind == "gemini" else {"error": "too long"}
    remote.faults += [Fault(status=400, body=body)]
    assert isinstance(failure(made(kind, remote.url)), RefusedTextError)


@pytest.mark.parametrize("dimension", [383, 768])
def test_another_dimension_is_refused(kind: str, remote: Serving, dimension: int) -> None:
    remote.dimension = dimension
    error = failure(made(kind, remote.url))
    assert f"gives vectors of {dimension} numbers, and the memory holds such of 384" in error.message


def test_vectors_of_a_matryoshka_model_are_cut_where_a_setting_says_so(remote: Serving) -> None:
    remote.dimension = 768
    embedder = OllamaEmbedder(url=remote.url, model="nomic-embed-text:v1.5", cut=True)
    rows = embedder.embed_passages(["orders"])
    assert (rows.shape, embedder.name) == ((1, DIMENSION), "ollama:nomic-embed-text:v1.5:cut")
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    remote.dimension = 383
    assert "of 383 numbers" in failure(embedder).message


@pytest.mark.parametrize("rows", [[], [[0.5] * 384] * 2, [[0.0] * 384], [[float("nan")] * 384]])
def test_an_answer_that_is_none_is_told(remote: Serving, rows: list[list[float]]) -> None:
    remote.faults += [Fault(status=200, body={"model": "m", "embeddings": rows})]
    assert "gave" in failure(made("ollama", remote.url)).message


def test_what_is_no_json_is_told(kind: str, remote: Serving) -> None:
    remote.faults += [Fault(status=200, body="<html>a proxy says hello</html>")] * 3
    assert "failed (502): not an answer of" in failure(made(kind, remote.url)).message


def test_batches_are_no_larger_than_asked(kind: str, remote: Serving) -> None:
    batch = 250 if kind == "gemini" else 7  # Gemini takes a hundred
    embedder = (
        GeminiEmbedder(key=KEY, url=remote.url, batch=batch)
        if kind == "gemini"
        else OllamaEmbedder(url=remote.url, batch=batch)
    )
    assert len(embedder.embed_passages([f"table {number}" for number in range(120)])) == 120
    sizes = [len(body.get("requests") or body["input"]) for _, _, body in remote.requests]
    assert sizes == ([100, 20] if kind == "gemini" else [7] * 17 + [1])
    embedder.close()


def test_gemini_is_told_what_a_text_is_for_and_how_wide_its_vector(remote: Serving) -> None:
    embedder = GeminiEmbedder(key=KEY, url=remote.url, model="gemini-embedding-001")
    embedder.embed_passages(["orders", "payments"])
    embedder.embed_question("who owns orders")
    embedder.close()
    asked = [
        (path, [(one["taskType"], one["outputDimensionality"]) for one in body["requests"]])
        for path, _, body in remote.requests
    ]
    path = "/v1beta/models/gemini-embedding-001:batchEmbedContents"
    assert asked == [(path, [("RETRIEVAL_DOCUMENT", 384)] * 2), (path, [("RETRIEVAL_QUERY", 384)])]


def test_a_model_of_ollama_gets_the_prefixes_of_its_family(remote: Serving) -> None:
    assert prefixes("all-minilm") == ("", "")
    assert prefixes("registry.example.org/me/nomic-embed-text:latest") == ("search_document: ", "search_query: ")
    embedder = OllamaEmbedder(url=remote.url, model="nomic-embed-text")
    embedder.embed_passages(["orders", ""])
    embedder.embed_question("who")
    embedder.close()
    assert [body["input"] for _, _, body in remote.requests] == [
        ["search_document: orders", "search_document: (empty)"],
        ["search_query: who"],
    ]
