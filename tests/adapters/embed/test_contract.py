"""What every embedder does: one row a text, of one dimension and length, whatever the text is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from palimpsest.adapters.embed.gemini import GeminiEmbedder
from palimpsest.adapters.embed.hashed import HashedEmbedder
from palimpsest.adapters.embed.minilm import MiniLmEmbedder, packaged_path
from palimpsest.adapters.embed.ollama import OllamaEmbedder
from palimpsest.core.vector import DIMENSION
from palimpsest.ports import Embedder
from tests.adapters.embed.serving import KEY, serving

TEXTS = [
    "table orders: owned by Jonas",
    "",
    "   \n",
    "😀🦜 emoji",
    "订单表 的 负责人",
    "заказы клиентов",
    "a" * 300_000,
    "word " * 60_000,
    "\x00\ud800 broken",
    "table orders: owned by Jonas",
]


@contextmanager
def _gemini() -> Iterator[Embedder]:
    with serving() as server:
        made = GeminiEmbedder(key=KEY, url=server.url, batch=3)
        yield made
        made.close()


@contextmanager
def _ollama() -> Iterator[Embedder]:
    with serving() as server:
        made = OllamaEmbedder(url=server.url, batch=3)
        yield made
        made.close()


@contextmanager
def _here(make: Callable[[], Embedder]) -> Iterator[Embedder]:
    made = make()
    yield made
    made.close()


EMBEDDERS = {
    "hashed": lambda: _here(HashedEmbedder),
    "minilm": lambda: _here(lambda: MiniLmEmbedder(packaged_path(), batch=4)),
    "gemini": _gemini,
    "ollama": _ollama,
}


@pytest.fixture(params=EMBEDDERS)
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    """Each embedder, the remote ones with a server behind them."""
    with EMBEDDERS[request.param]() as made:
        yield made


def test_a_row_for_each_text_of_one_dimension_and_of_length_one(embedder: Embedder) -> None:
    rows = embedder.embed_passages(TEXTS)
    assert (rows.shape, rows.dtype) == ((len(TEXTS), DIMENSION), np.float32)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_a_question_is_a_vector_of_the_same_kind(embedder: Embedder) -> None:
    for text in TEXTS:
        row = embedder.embed_question(text)
        assert (row.shape, row.dtype) == ((DIMENSION,), np.float32)
        assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)


def test_no_texts_are_no_rows(embedder: Embedder) -> None:
    assert embedder.embed_passages([]).shape == (0, DIMENSION)


def test_the_order_is_kept_and_a_batch_is_what_its_texts_are_alone(embedder: Embedder) -> None:
    together = embedder.embed_passages(TEXTS)
    alone = np.concatenate([embedder.embed_passages([text]) for text in TEXTS])
    np.testing.assert_allclose(together, alone, atol=2e-3)
    np.testing.assert_array_equal(together[0], together[-1])


def test_the_same_text_has_the_same_vector_again(embedder: Embedder) -> None:
    np.testing.assert_array_equal(embedder.embed_passages(TEXTS[:6]), embedder.embed_passages(TEXTS[:6]))


def test_a_question_is_near_the_passage_with_its_words(embedder: Embedder) -> None:
    passages = embedder.embed_passages(["table payments: refunds of customers", "dashboard of the weather in Oslo"])
    near, far = passages @ embedder.embed_question("customers' refunds")
    assert near > far + 0.2


def test_the_name_tells_provider_and_version(embedder: Embedder, request: pytest.FixtureRequest) -> None:
    names = {
        "hashed": "hashed:1",
        "minilm": "minilm:8199be6f699a",
        "gemini": "gemini:gemini-embedding-001:384",
        "ollama": "ollama:all-minilm",
    }
    assert embedder.name == names[request.node.callspec.params["embedder"]]
