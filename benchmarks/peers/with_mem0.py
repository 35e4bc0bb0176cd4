"""mem0 without a language model (`infer=False`), by `add`, `update` and `search`, in an environment of its own.

Its default vector store, qdrant, in its embedded form in a folder. Palimpsest's embedder is put in the place of the one
that would be asked over the network. Its optional parts need downloads and are left out: keyword scores (fastembed) and
entities (spaCy), so that it does less than it could.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.facts import Fact
from benchmarks.peers.measure import MOST, Bound
from palimpsest.adapters.embed.hashed import HashedEmbedder

_USER = "benchmark"


class WithMem0:
    """The memories of one user. What supersedes is an update of the memory, whose number is known: no search for it."""

    def __init__(self, memory: Any) -> None:
        self.memory = memory

    def insert(self, first: Sequence[Fact], later: Sequence[Fact], bound: Bound) -> int:
        """Fact by fact."""
        ids: dict[tuple[str, str], str] = {}
        done = 0
        for fact in first:
            added = self.memory.add(fact.sentence, user_id=_USER, infer=False)
            ids[fact.subject, fact.predicate] = added["results"][0]["id"]
            done += 1
            if bound.is_used_up():
                return done
        for fact in later:
            self.memory.update(ids[fact.subject, fact.predicate], fact.sentence)
            done += 1
            if bound.is_used_up():
                break
        return done

    def search(self, question: str) -> list[str]:
        """Its search, of the one user, as it asks for."""
        found = self.memory.search(question, filters={"user_id": _USER}, top_k=MOST)
        return [one["memory"] for one in found["results"]]

    def facts_about(self) -> dict[str, object]:
        """How many points the vector store holds."""
        store = self.memory.vector_store
        return {"points": store.client.count(store.collection_name).count}


def open_memory(folder: Path, variant: str) -> WithMem0:
    """An empty one in a folder; it has no variants."""
    assert not variant
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "mem0"), "OPENAI_API_KEY": "none"}
    from mem0 import Memory
    from mem0.embeddings.base import EmbeddingBase

    class Embedder(EmbeddingBase):  # type: ignore[misc]
        """Palimpsest's embedder, as mem0 asks for one."""

        inner = HashedEmbedder()

        def embed(self, text: str, memory_action: str | None = None) -> list[float]:
            return self.inner.embed_question(text).tolist()

    qdrant = {"collection_name": "facts", "embedding_model_dims": 384, "path": str(folder / "qdrant"), "on_disk": True}
    memory = Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": qdrant},
            "history_db_path": str(folder / "history.db"),
        }
    )
    memory.embedding_model = Embedder()
    return WithMem0(memory)
