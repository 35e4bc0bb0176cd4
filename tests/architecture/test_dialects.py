"""No module names a database but those whose business that is."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Types, schema and the index of vectors are spelled as each database does; everything else asks `Store.dialect`.
MAY = re.compile(r"palimpsest/store/(?:dialects/\w+|(?:\w+_)?types|expr|schema|vector_index)\.py")
COMPARED = re.compile(r"dialect\.name|backend_name|\.drivername|\bsqlite_version\b|isinstance\([^)]*sqlite3\.")
# The spool is a SQLite file of its own beside any store; the doctor tells the version of this Python's library.
SQLITE_OF_THEIR_OWN = {"palimpsest/store/spool.py", "palimpsest/queries/health.py"}


def test_no_other_module_asks_for_the_name_of_a_database() -> None:
    naming = {
        str(file.relative_to(ROOT))
        for file in (ROOT / "palimpsest").rglob("*.py")
        if COMPARED.search(file.read_text()) and not MAY.fullmatch(str(file.relative_to(ROOT)))
    }
    assert naming == SQLITE_OF_THEIR_OWN


def test_a_module_that_asks_would_be_seen() -> None:
    assert COMPARED.search('if connection.dialect.name == "sqlite":')
    assert not MAY.fullmatch("palimpsest/store/runs.py")
