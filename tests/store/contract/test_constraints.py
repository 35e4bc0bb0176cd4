"""Servers refuse what the rules forbid as SQLite does, by the same constraints."""

from __future__ import annotations

import psycopg
import pytest
import sqlalchemy as sa

from palimpsest.store.engine import Store
from tests.robustness import breaking
from tests.store.test_constraints import REFUSED

STATES = {"UNIQUE": "23505", "FOREIGN": "23503", "CHECK": "23514"}
NOBODY = "CAST('00000000-0000-0000-0000-000000000000' AS uuid)"


@pytest.fixture
def store(server: str, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with two versions of an owner, and ends of every kind."""
    return breaking.rich_memory(tmp_path_factory.mktemp("sound")).store


def test_the_server_refuses(store: Store) -> None:
    said = {}
    for what, (statement, complaint) in REFUSED.items():
        with (
            store.engine.connect() as connection,
            pytest.raises(sa.exc.IntegrityError) as caught,
        ):
            connection.exec_driver_sql(statement.replace("zeroblob(16)", NOBODY).replace("%", "%%"))
        original = caught.value.orig
        assert isinstance(original, psycopg.Error), what
        said[what] = (original.sqlstate, original.diag.constraint_name if "CHECK" in complaint else None)
    assert said == {
        what: (STATES[complaint.split()[0]], complaint.rpartition(" ")[2] if "CHECK" in complaint else None)
        for what, (_, complaint) in REFUSED.items()
    }
