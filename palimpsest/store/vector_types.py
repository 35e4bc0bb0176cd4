"""The column of a vector, and whether the database at hand has a type for it.

CockroachDB has VECTOR; PostgreSQL has it where pgvector is; elsewhere a vector is its bytes. Decided once, when the
table is made, and read back from the table's column after that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.compiler import compiles

from palimpsest.core.vector import DIMENSION, packed, spelled
from palimpsest.store.types import Bytes

if TYPE_CHECKING:
    from palimpsest.store.engine import Store

INDEX = "ix_passage_vector_vec"
_BYTES_OIDS = (None, 17)  # how drivers name the type of a byte string: SQLite's not at all


class Vec(sa.types.UserDefinedType[bytes]):
    """A vector where nobody has looked yet what the database can: its bytes, but VECTOR on CockroachDB."""

    cache_ok = True

    def get_col_spec(self, **options: Any) -> str:
        """The type's name where no dialect says otherwise."""
        return "BYTEA"


@compiles(Vec, "sqlite")
def _vec_on_sqlite(type_: Vec, compiler: Any, **options: Any) -> str:
    return "BLOB"


@compiles(Vec, "cockroachdb")
def _vec_on_cockroachdb(type_: Vec, compiler: Any, **options: Any) -> str:
    return f"VECTOR({DIMENSION})"


class NativeVec(sa.types.UserDefinedType[str]):
    """A vector in the database's own type: sent as text, with a cast."""

    cache_ok = True

    def get_col_spec(self, **options: Any) -> str:
        """The same on every database that has it."""
        return f"VECTOR({DIMENSION})"

    def bind_expression(self, bindvalue: sa.BindParameter[str]) -> sa.ColumnElement[str]:
        """CockroachDB takes no binary vectors before 25.4 (cockroachdb/cockroach#147844)."""
        return sa.cast(bindvalue, NativeVec())


class Form(NamedTuple):
    """How the vectors of a store are kept. `pgvector` is the version of the extension, empty where there is none."""

    native: bool
    pgvector: tuple[int, ...] = ()

    @property
    def write(self) -> Callable[[Any], object]:
        """What turns a vector into what the column takes."""
        return spelled if self.native else packed


_FORMS: WeakKeyDictionary[sa.Engine, Form] = WeakKeyDictionary()


def form_of(connection: sa.Connection) -> Form:
    """How this store keeps its vectors; asked once for each engine."""
    engine = connection.engine
    if engine not in _FORMS:
        _FORMS[engine] = _ask(connection)
    return _FORMS[engine]


def _ask(connection: sa.Connection) -> Form:
    described = connection.execute(sa.text("SELECT vec FROM passage_vector WHERE 1 = 0")).cursor.description
    if described[0][1] in _BYTES_OIDS:
        return Form(native=False)
    asked = sa.text("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    version = str(connection.scalar(asked) or "")
    return Form(native=True, pgvector=tuple(int(part) for part in version.split(".") if part.isdigit()))


class Kept(NamedTuple):
    """How a store keeps its vectors, for the doctor."""

    form: Form
    is_embedded: bool
    indexed: bool


def kept(store: Store) -> Kept:
    """How a migrated store keeps its vectors."""
    form = store.read(form_of)
    return Kept(form, store.dialect.is_embedded, form.native and store.read(has_index))


def has_index(connection: sa.Connection) -> bool:
    """Whether vectors that have a type of their own have an index."""
    asked = sa.text("SELECT count(*) FROM pg_indexes WHERE indexname = :name")
    return bool(connection.scalar(asked, {"name": INDEX}))


def column_type(connection: sa.Connection) -> sa.types.TypeEngine[Any]:
    """The type that the column is made with, by what the database knows now."""
    if connection.dialect.name == "sqlite":
        return Vec()
    known = connection.scalar(sa.text("SELECT to_regtype('vector') IS NOT NULL"))
    return NativeVec() if known else Bytes()


def index_statement(dialect: str) -> str:
    """The statement that makes the vectors' index.

    On CockroachDB the embedder is a prefix, since the index serves equalities on its prefix only
    (cockroachdb/cockroach#146145); pgvector's has one column, and scans on while another embedder's are in the way.
    """
    if dialect == "cockroachdb":
        return f"CREATE VECTOR INDEX IF NOT EXISTS {INDEX} ON passage_vector (embedder_id, vec vector_cosine_ops)"
    return f"CREATE INDEX IF NOT EXISTS {INDEX} ON passage_vector USING hnsw (vec vector_cosine_ops)"


def create_index(connection: sa.Connection) -> str | None:
    """The statement for the database at hand; None where vectors have no type of their own."""
    return index_statement(connection.dialect.name) if _ask(connection).native else None


def attempt(connection: sa.Connection, step: Callable[[], object]) -> bool:
    """Do a step that a database may refuse, for lack of rights or of the feature; whether it did it."""
    try:
        if connection.dialect.name == "cockroachdb":  # there each step is a transaction of its own
            step()
        else:
            with connection.begin_nested():
                step()
    except DBAPIError as error:
        if error.connection_invalidated:
            raise
        return False
    return True
