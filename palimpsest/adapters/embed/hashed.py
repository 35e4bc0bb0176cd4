"""The built-in embedder: words and their character n-grams hashed with a sign, no model and nothing to install.

It finds what is spelled alike, in any language; it knows nothing of meaning. The same on every machine: the hash is
BLAKE2, never Python's.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

import numpy as np

from palimpsest.core.terms import tokens_of
from palimpsest.core.vector import DIMENSION, Vector, Vectors, unit

VERSION = 1  # raise it when the vectors of a text change: a test holds them
_GRAM_SIZES = (3, 4)
_GRAM_SHARE = 0.6  # how much all n-grams of a word count, beside the word as a whole
_WORDS_AT_MOST = 2_000
_LETTERS_AT_MOST = 50_000


class HashedEmbedder:
    """Feature hashing with signs: Weinberger et al., Feature Hashing for Large Scale Multitask Learning, 2009."""

    name = f"hashed:{VERSION}"

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row for each text."""
        if not texts:
            return np.empty((0, DIMENSION), dtype=np.float32)
        return unit(np.stack([_of_text(text) for text in texts]))

    def embed_question(self, text: str) -> Vector:
        """A question is made as a passage is."""
        return np.asarray(self.embed_passages([text])[0], dtype=np.float32)

    def close(self) -> None:
        """Nothing is held."""


def _of_text(text: str) -> Vector:
    """The sum of the words' vectors, a word that comes n times counting 1 + ln n times."""
    counted = Counter((token.stem, token.kind) for token in islice(tokens_of(text[:_LETTERS_AT_MOST]), _WORDS_AT_MOST))
    if not counted:
        return _of_feature("nothing")
    weights = np.array([1 + math.log(count) for count in counted.values()], dtype=np.float32)
    total: Vector = weights @ np.stack([_of_word(*word) for word in counted])
    return total if total.any() else _of_feature("nothing")


@lru_cache(maxsize=16_384)
def _of_word(word: str, kind: str) -> Vector:
    """A word as a whole, and all its n-grams, which together have a fixed share. Only words are taken apart."""
    whole = _of_feature(f"w {word}")
    marked = f"<{word}>"
    grams = {marked[start : start + size] for size in _GRAM_SIZES for start in range(len(marked) - size + 1)}
    if kind != "word" or not grams:
        return whole
    parts = np.sum([_of_feature(f"g {gram}") for gram in sorted(grams)], axis=0, dtype=np.float32)
    return np.asarray(whole + parts * (_GRAM_SHARE / math.sqrt(len(grams))), dtype=np.float32)


def _of_feature(feature: str) -> Vector:
    """Two places, each with a sign: one alone would make two features that share it the same."""
    digest = int.from_bytes(hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    row = np.zeros(DIMENSION, dtype=np.float32)
    for half in (digest & 0xFFFFFFFF, digest >> 32):
        row[(half >> 1) % DIMENSION] += (1 if half & 1 else -1) * math.sqrt(0.5)
    return row
