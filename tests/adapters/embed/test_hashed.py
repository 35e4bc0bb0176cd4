"""The built-in embedder: the same numbers on every machine, and near what is spelled alike."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import numpy as np

from palimpsest.adapters.embed.hashed import VERSION, HashedEmbedder
from palimpsest.core.vector import packed

TEXTS = [
    "dataset shop.orders (snowflake): column customerId",
    "Владелец таблицы заказов",
    "注文テーブルの所有者",
    "",
    "C3PO 42",
]


def digest() -> str:
    """All vectors of the texts, to five digits: sums may differ in the last bits between processors."""
    rounded = np.round(HashedEmbedder().embed_passages(TEXTS), 5) + 0.0
    return hashlib.sha256(b"".join(map(packed, rounded))).hexdigest()[:16]


def test_the_vectors_are_those_of_the_version() -> None:
    """When they change, raise VERSION: or stores would compare old vectors with new ones."""
    assert (VERSION, digest()) == (1, "d72058711662fdb7")


def test_no_hash_of_python_is_in_them() -> None:
    script = "from tests.adapters.embed.test_hashed import digest; print(digest())"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == digest()


def test_what_is_spelled_alike_is_near() -> None:
    embedder = HashedEmbedder()
    passages = embedder.embed_passages(["column customer_id", "column customerIds", "dashboard revenue", "заказов"])
    near = passages @ embedder.embed_question("customer id")
    assert near[0] >= near[1] > near[2] + 0.2
    assert np.argmax(passages @ embedder.embed_question("заказ")) == 3
    assert np.argmax(passages @ embedder.embed_question("revenu dashbord")) == 2


def test_a_word_said_often_counts_a_little_more() -> None:
    embedder = HashedEmbedder()
    once, often = embedder.embed_passages(["orders payments", "orders orders orders orders payments"])
    asked = embedder.embed_question("orders")
    assert 0 < often @ asked - once @ asked < 0.3
