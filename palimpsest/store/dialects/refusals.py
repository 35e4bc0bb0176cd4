"""What servers refuse, in words: by SQLSTATE, and by the text of a refused connection, which carries no SQLSTATE."""

from __future__ import annotations

import re
from typing import NamedTuple

from sqlalchemy.exc import DBAPIError, OperationalError

from palimpsest.core.errors import StoreError
from palimpsest.store.dialects.dialect import one_line

OLDEST = {"postgresql": (15, 0), "cockroachdb": (25, 4)}
_SPOKEN = {"postgresql": "PostgreSQL", "cockroachdb": "CockroachDB"}


class Refusal(NamedTuple):
    """What is said about an error, and what to do. `passing`: it may go away by itself."""

    what: str
    do: str
    passing: bool = False


_UPGRADE = "run: palimpsest db upgrade"
BY_STATE: dict[str, Refusal] = {
    "42501": Refusal(
        "this database user may not do that",
        "grant it SELECT, INSERT, UPDATE and DELETE on all tables, or only ask; db upgrade needs the schema's owner",
    ),
    "25006": Refusal("the database is read-only", "name the primary server in --store; questions can be asked here"),
    "42P01": Refusal("the store has not the expected tables", _UPGRADE),
    "42703": Refusal("the store has not the expected columns", _UPGRADE),
    "28P01": Refusal("the password is wrong", "put the right one into the address, or into ~/.pgpass"),
    "28000": Refusal("the server does not let this user in", "check user, database and pg_hba.conf of the server"),
    "3D000": Refusal("there is no such database", "make it: CREATE DATABASE …, or name another one"),
    "53100": Refusal("the disk of the server is full", "free some space and run again; nothing was half-written"),
    "53200": Refusal("the server is out of memory", "give it more, or run again when less is going on"),
    "53300": Refusal(
        "the server has no connection left", "run again later, or allow it more connections", passing=True
    ),
    "54000": Refusal(
        "a value is too large for an index of the server", "report it, with the name of the catalog object"
    ),
    "57014": Refusal("the server ended the statement", "is there a statement_timeout for this user? give it more time"),
    "55P03": Refusal("a row stayed locked by another process", "wait for it to end, and run again"),
    "40001": Refusal("others kept changing the same rows", "run again; nothing was half-written"),
    "40P01": Refusal("others kept locking the same rows", "run again; nothing was half-written"),
    "XXA00": Refusal(
        "a step of the migration was committed without its schema change",
        "look at the table with SHOW CREATE TABLE and SHOW JOBS, then run: palimpsest db upgrade",
    ),
}
_CLOUD_SLOWED = Refusal(
    "the cluster does not let this address in",
    "wrong passwords slow it down, and IP rules shut it: check both in the Cloud console, then wait a minute",
)
_CLOUD_UNKNOWN = Refusal(
    "CockroachDB Cloud does not know this cluster",
    "copy the address from the Cloud console; it names the cluster in its host, or as options=--cluster%3DNAME",
)
_CLOUD_PAUSED = Refusal(
    "the CockroachDB Cloud cluster is paused or disabled",
    "resume it in the Cloud console, or raise its limit, and run again",
)
_NO_TRUST = Refusal(
    "the server's certificate cannot be trusted",
    "name its CA: sslrootcert=/path/ca.crt, or sslrootcert=system for a public one; the host must be the one in the "
    "certificate",
)
_NO_TLS = Refusal(
    "no agreement about TLS",
    "set sslmode in the address: require or verify-full where the server speaks TLS, disable where it does not",
)
_STARTING = Refusal("the server is starting up or shutting down", "wait a moment, and run again", passing=True)
_NO_HOST = Refusal("the host of the store is not known", "is the name right, and the network up?", passing=True)
_NOBODY = Refusal(
    "nothing answers at the store's address", "is the database running, and are host and port right?", passing=True
)
_SILENT = Refusal("the server does not answer", "is a firewall in the way, or the server overloaded?", passing=True)
_LOST = Refusal("the connection to the store was lost", "run again; nothing was half-written", passing=True)

# In this order: the first whose words are found in the text of an error without a SQLSTATE.
BY_TEXT: tuple[tuple[re.Pattern[str], Refusal], ...] = tuple(
    (re.compile("|".join(words), re.IGNORECASE), refusal)
    for words, refusal in (
        (("password authentication failed", "no password supplied", "codeAuthFailed"), BY_STATE["28P01"]),
        (("attempt throttled", "codeProxyRefusedConnection"), _CLOUD_SLOWED),
        (
            ("codeParamsRoutingFailed", "missing cluster", r"cluster \S+ not found", "invalid cluster name"),
            _CLOUD_UNKNOWN,
        ),
        (
            (
                "codeUnavailable",
                "codeBackendD(own|ialFailed)",
                "cluster .{0,60}(disabled|paused|unavailable)",
                "(disabled|paused) cluster",
                "request unit limit",
            ),
            _CLOUD_PAUSED,
        ),
        ((r'database "[^"]*" does not exist',), BY_STATE["3D000"]),
        (
            (r'role "[^"]*" does not exist', r"pg_hba\.conf", "peer authentication failed", "user .* does not exist"),
            BY_STATE["28000"],
        ),
        (
            (
                "certificate verify failed",
                "root certificate file",
                "does not match host name",
                "certificate has expired",
            ),
            _NO_TRUST,
        ),
        (("server does not support SSL", "SSL connection required", "sslmode", "SSL error", "SSL is not"), _NO_TLS),
        (("too many (clients|connections)", "remaining connection slots"), BY_STATE["53300"]),
        (("starting up", "shutting down", "in recovery mode", "not yet accepting"), _STARTING),
        (("could not translate host", "failed to resolve host", "(name or service|nodename nor servname)"), _NO_HOST),
        (("connection refused", "no such file or directory", "network is unreachable", "no route to host"), _NOBODY),
        (("timeout expired", "timed out"), _SILENT),
        (
            (
                "server closed the connection",
                "(connection|connection to server) (was |is )?(reset|lost|closed|not open)",
                "broken pipe",
                "terminating connection",
                "consuming input failed",
                "EOF detected",
                "sending .*failed",
                "got no (result|data)",
                "discarded connection",
            ),
            _LOST,
        ),
    )
)


def refusal_in(text: str) -> Refusal | None:
    """What a driver's message without a SQLSTATE means."""
    return next((refusal for pattern, refusal in BY_TEXT if pattern.search(text)), None)


def is_passing(error: DBAPIError) -> bool:
    """Whether an error without a SQLSTATE is one that may go away: a connection that broke or could not be made."""
    if error.connection_invalidated:
        return True
    found = refusal_in(one_line(error.orig, 2_000)) if error.orig is not None else None
    return isinstance(error, OperationalError) and found is not None and found.passing


def explained(state: str | None, error: DBAPIError, shown: str) -> StoreError | None:
    """An error in words, None where there are none."""
    text = one_line(error.orig, 2_000) if error.orig is not None else ""
    if state is None:
        return explained_refusal(text, shown)
    refusal = BY_STATE.get(state)
    if refusal is None and (state.startswith("08") or state.startswith("57P")):
        refusal = Refusal("the connection to the store was lost", "run again; nothing was half-written")
    if refusal is None:
        return None
    detail = f": {text[:200]}" if state in ("42501", "54000", "XXA00") else ""
    return StoreError(f"{refusal.what}: {shown}{detail}", refusal.do)


def explained_refusal(text: str, shown: str) -> StoreError | None:
    """A refused connection in words, None where there are none."""
    refusal = refusal_in(text)
    if refusal is None:
        return None
    return StoreError(f"{refusal.what}: {shown}", refusal.do)


def check_version(name: str, version: str, shown: str) -> None:
    """Refuse a server that is older than what the store was made for. Raises StoreError."""
    found = re.search(r"(?:PostgreSQL |v)(\d+)(?:\.(\d+))?", version)
    if found is None:
        return
    major, minor = int(found[1]), int(found[2] or 0)
    oldest = OLDEST[name]
    if (major, minor) < oldest:
        least = f"{oldest[0]}.{oldest[1]}" if oldest[1] else str(oldest[0])
        raise StoreError(
            f"{_SPOKEN[name]} {major}.{minor} is too old: {shown}", f"use {_SPOKEN[name]} {least} or newer"
        )
