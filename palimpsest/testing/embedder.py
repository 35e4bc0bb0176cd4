"""An embedder for tests: a text's vector depends on its words, and it fails where it is told to."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence

import numpy as np

from palimpsest.core.errors import ModelError, RefusedTextError
from palimpsest.core.vector import DIMENSION, Vector, Vectors, unit


class WordEmbedder:
    """Adds up a random vector for each word.

    `name` tells versions apart: each has vectors of its own. It fails for good after `fails_after` texts, refuses
    texts with the word `refuses`, and gives vectors of `dimension` numbers. `seen` are the texts it was given.
    """

    def __init__(
        self,
        name: str = "words:1",
        *,
        fails_after: int | None = None,
        refuses: str | None = None,
        dimension: int = DIMENSION,
    ) -> None:
        self.name = name
        self.fails_after = fails_after
        self.seen: list[str] = []
        self._refuses, self._dimension, self._lock = refuses, dimension, threading.Lock()

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row for each text."""
        if self._refuses is not None and any(self._refuses in text.split() for text in texts):
            raise RefusedTextError("a text was refused", "leave it out")
        with self._lock:
            self.seen += texts
            if self.fails_after is not None and len(self.seen) > self.fails_after:
                raise ModelError("the model of the test fails", "as it was told to")
        if not texts:
            return np.empty((0, DIMENSION), dtype=np.float32)
        return unit(np.stack([self._of_text(text) for text in texts]))[:, : self._dimension]

    def embed_question(self, text: str) -> Vector:
        """As a passage."""
        return np.asarray(unit(self._of_text(text)[None, :])[0], dtype=np.float32)

    def close(self) -> None:
        """Nothing is held."""

    def _of_text(self, text: str) -> Vector:
        words = [f"{self.name} {word}".encode() for word in text.split() or ["nothing"]]
        seeds = [int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "big") for word in words]
        rows = [np.random.default_rng(seed).standard_normal(DIMENSION) for seed in seeds]
        return np.asarray(np.sum(rows, axis=0), dtype=np.float32)
