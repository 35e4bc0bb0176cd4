"""Column types of the text search that the dialects spell differently: terms, what is asked for, a passage's number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

# A whole number of 64 bits as a primary key: on SQLite it must be an INTEGER to be the row's own number.
Number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


class Terms(sa.types.UserDefinedType[str]):
    """The terms of a passage, sorted, each once, a blank between: TEXT on SQLite, TSVECTOR elsewhere.

    core.terms makes them of letters, digits, `_` and `=` only, so that no database takes them apart in another way.
    """

    cache_ok = True

    def get_col_spec(self, **options: Any) -> str:
        """The type's name where no dialect says otherwise."""
        return "TSVECTOR"

    def bind_processor(self, dialect: sa.Dialect) -> Callable[[Any], Any] | None:
        """Terms into what the database reads: lexemes stand in quotes."""
        if dialect.name == "sqlite":
            return None
        return lambda value: None if value is None else " ".join(f"'{term}'" for term in value.split(" "))

    def result_processor(self, dialect: sa.Dialect, coltype: object) -> Callable[[Any], str | None] | None:
        """What the database gives into terms."""
        if dialect.name == "sqlite":
            return None
        return lambda value: None if value is None else value.replace("'", "")


@compiles(Terms, "sqlite")
def _terms_on_sqlite(type_: Terms, compiler: Any, **options: Any) -> str:
    return "TEXT"


class Wanted(sa.types.UserDefinedType[Any]):
    """What a text search asks for: groups of terms, of each group one at least. Terms hold nothing to be escaped."""

    cache_ok = True

    def get_col_spec(self, **options: Any) -> str:
        """The type's name where no dialect says otherwise."""
        return "TSQUERY"

    def bind_processor(self, dialect: sa.Dialect) -> Callable[[Any], Any]:
        """Groups of terms into the query language of the database."""
        mark, either, both = ('"', " OR ", " AND ") if dialect.name == "sqlite" else ("'", " | ", " & ")
        return lambda groups: both.join(f"({either.join(f'{mark}{term}{mark}' for term in one)})" for one in groups)
