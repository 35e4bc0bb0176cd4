"""The sentence model on this machine: near is alike in meaning, and only the file that was meant is run."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from palimpsest.adapters.embed import minilm
from palimpsest.adapters.embed.minilm import MiniLmEmbedder, packaged_path
from palimpsest.core.errors import ConfigError, ModelError

# (sentence, alike in meaning though not in words, not alike)
KNOWN = [
    ("who is responsible for this table", "the owner of the dataset", "the weather is nice today"),
    ("money given back to buyers", "refunds of customers", "clicks on the website"),
    ("the column was deleted", "a field has been removed from the schema", "the dashboard was renamed"),
    ("How many people work here?", "number of employees", "price of a product"),
    ("A man is playing a guitar.", "Someone plays an instrument.", "A chef cuts an onion."),
    ("personal data such as mail addresses", "PII: email of the user", "warehouse stock level"),
    ("do not use this table any more", "deprecated dataset", "freshly loaded every hour"),
]


@pytest.fixture(scope="module")
def embedder() -> MiniLmEmbedder:
    """The packaged model."""
    return MiniLmEmbedder(packaged_path())


@pytest.mark.parametrize(("text", "alike", "other"), KNOWN)
def test_sentences_alike_in_meaning_are_nearer(embedder: MiniLmEmbedder, text: str, alike: str, other: str) -> None:
    near, far = embedder.embed_passages([alike, other]) @ embedder.embed_question(text)
    assert near > far + 0.1


def test_the_pieces_are_those_that_the_model_was_trained_with(embedder: MiniLmEmbedder) -> None:
    encoded = embedder._tokenizer.encode("Café orders_v2: naïveté, 注文!")
    assert encoded.tokens == [
        "[CLS]", "cafe", "orders", "_", "v", "##2", ":", "naive", "##te", ",", "[UNK]", "文", "!", "[SEP]",
    ]  # fmt: skip
    assert encoded.ids[:3] == [101, 7668, 4449]


def test_texts_are_run_together_by_length_and_never_too_many_pieces_at_once() -> None:
    assert list(minilm._batches([5, 3, 4, 9], 2)) == [[1, 2], [0, 3]]
    assert list(minilm._batches([5_000, 4_000, 4_000], 8)) == [[1, 2], [0]]
    assert list(minilm._batches([], 8)) == []


def test_a_file_with_another_hash_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "model.onnx"
    other.write_bytes(b"not what was meant")
    with pytest.raises(ConfigError, match=r"has the sha256 [0-9a-f]{64}, not 8199be6f699a"):
        MiniLmEmbedder(other)


def test_a_file_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*: No such file"):
        MiniLmEmbedder(tmp_path / "none.onnx")


def test_a_file_that_is_no_model_is_told_when_it_is_run(tmp_path: Path) -> None:
    other = tmp_path / "model.onnx"
    other.write_bytes(b"no model")
    embedder = MiniLmEmbedder(other, sha256=hashlib.sha256(b"no model").hexdigest())
    with pytest.raises(ModelError, match="cannot be run"):
        embedder.embed_question("orders")


def test_another_file_is_taken_with_its_own_hash_and_tokenizer(tmp_path: Path, embedder: MiniLmEmbedder) -> None:
    copy = tmp_path / "model.onnx"
    copy.symlink_to(packaged_path())
    (tmp_path / "tokenizer.json").write_text(embedder._tokenizer.to_str())
    own = MiniLmEmbedder(copy, sha256=minilm.PINNED_SHA256.upper())
    assert own.name.startswith("minilm:8199be6f699a+")
    np.testing.assert_allclose(own.embed_question("orders"), embedder.embed_question("orders"), atol=1e-6)


def test_a_tokenizer_that_is_none_is_told(tmp_path: Path) -> None:
    copy = tmp_path / "model.onnx"
    copy.symlink_to(packaged_path())
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"tokenizer.json is no tokenizer"):
        MiniLmEmbedder(copy)
