"""The schema in the SQL of each dialect is what was read and agreed to."""

from __future__ import annotations

import pytest

from tests.store.contract import golden


@pytest.mark.parametrize("name", golden.URLS)
def test_the_schema_is_spelled_as_it_was_read(name: str) -> None:
    """After a change that is meant: python -m tests.store.contract.golden, then read what changed."""
    assert golden.schema_of(name) == golden.file_of(name).read_text()


def test_cockroachdb_is_asked_for_nothing_that_it_does_not_have() -> None:
    spelled = golden.schema_of("cockroachdb").upper()
    for word in ("SERIAL", "EXCLUDE", "DEFERRABLE", "COLLATE", "ENUM", "DOMAIN", "CREATE EXTENSION", "HNSW", "TRIGGER"):
        assert word not in spelled
    assert (
        "CREATE VECTOR INDEX IF NOT EXISTS IX_PASSAGE_VECTOR_VEC ON PASSAGE_VECTOR (EMBEDDER_ID, VEC VECTOR_COSINE_OPS)"
        in (spelled)
    )
