"""The schema as each dialect spells it, for tests/golden: `python -m tests.store.contract.golden` writes the files.

No server is asked. What cannot be run here, since CockroachDB is not at hand, can at least be read.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy_cockroachdb.psycopg import CockroachDBDialect_psycopg

from palimpsest.store import vector_types
from palimpsest.store.migration_lease import operational
from palimpsest.store.schema import metadata

FOLDER = Path(__file__).resolve().parents[2] / "golden"
URLS = {"sqlite": "sqlite://", "postgresql": "postgresql+psycopg://", "cockroachdb": "cockroachdb+psycopg://"}


def file_of(name: str) -> Path:
    """The file that holds the schema of a dialect."""
    return FOLDER / f"schema.{name}.sql"


def schema_of(name: str) -> str:
    """Every statement that makes the schema, in order."""
    said: list[str] = []

    def note(statement: Any, *_: object, **__: object) -> None:
        compiled = statement.compile(dialect=engine.dialect)
        said.append(" ".join(str(compiled).split()) if isinstance(statement, sa.TextClause) else str(compiled).strip())

    engine = sa.create_mock_engine(URLS[name], note)
    if name != "sqlite":
        operational.create_all(engine, checkfirst=False)
    metadata.create_all(engine, checkfirst=False)
    if name == "cockroachdb" and not any(vector_types.INDEX in one for one in said):
        said.append(vector_types.index_statement(CockroachDBDialect_psycopg.name))
    said = [one for is_index, some in groupby(said, _is_index) for one in (sorted(some) if is_index else some)]
    text = ";\n\n".join("\n".join(line.rstrip() for line in one.replace("\t", "    ").splitlines()) for one in said)
    return f"{text};\n"


def _is_index(statement: str) -> bool:
    return statement.startswith(("CREATE INDEX", "CREATE UNIQUE INDEX"))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for dialect in URLS:
        file_of(dialect).write_text(schema_of(dialect))
