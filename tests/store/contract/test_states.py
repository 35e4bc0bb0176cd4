"""Which errors of a server are worth another attempt, and which leave open whether a COMMIT took place."""

from __future__ import annotations

import psycopg
import pytest
import sqlalchemy as sa

from palimpsest.store.dialects.cockroachdb import CockroachDB
from palimpsest.store.dialects.postgresql import PostgreSQL
from palimpsest.store.dialects.server import Server

BOTH = [PostgreSQL(), CockroachDB()]
AGAIN = ["40001", "40003", "40P01", "55P03", "57P01", "57P02", "57P03", "58C00", "58C01", "53300", "08000", "08006"]
FINAL = ["XXA00", "23503", "23514", "42501", "42P01", "25006", "28P01", "53100", "0A000", "57014"]


class WithState(psycopg.OperationalError):
    """An error with any SQLSTATE; psycopg has no class for CockroachDB's own."""

    def __init__(self, state: str | None, text: str = "") -> None:
        super().__init__(text)
        self.sqlstate = state


def failed(state: str | None, text: str = "") -> sa.exc.OperationalError:
    """A failure as SQLAlchemy hands it on."""
    return sa.exc.OperationalError("", {}, WithState(state, text))


@pytest.mark.parametrize("spoken", BOTH, ids=lambda one: one.name)
@pytest.mark.parametrize(
    "state",
    [
        "40001",
        "40003",
        "40P01",
        "55P03",
        "57P01",
        "57P02",
        "57P03",
        "58C00",
        "58C01",
        "53300",
        "08000",
        "08006",
        "08P01",
    ],
)
def test_these_are_worth_another_attempt(spoken: Server, state: str) -> None:
    assert spoken.is_conflict(failed(state))


@pytest.mark.parametrize("spoken", BOTH, ids=lambda one: one.name)
@pytest.mark.parametrize(
    "state", ["XXA00", "23503", "23514", "42501", "42P01", "25006", "28P01", "53100", "0A000", "57014"]
)
def test_these_are_not(spoken: Server, state: str) -> None:
    assert not spoken.is_conflict(failed(state))
    assert not spoken.is_ambiguous(failed(state))


@pytest.mark.parametrize("spoken", BOTH, ids=lambda one: one.name)
def test_only_a_unique_key_may_be_somebody_else_s_doing(spoken: Server) -> None:
    assert spoken.is_duplicate(failed("23505"))
    assert not spoken.is_duplicate(failed("23503"))


@pytest.mark.parametrize("spoken", BOTH, ids=lambda one: one.name)
@pytest.mark.parametrize("state", ["40003", "57P01", "08006", None])
def test_these_leave_open_whether_a_commit_took_place(spoken: Server, state: str | None) -> None:
    assert spoken.is_ambiguous(failed(state))


@pytest.mark.parametrize("spoken", BOTH, ids=lambda one: one.name)
@pytest.mark.parametrize("state", ["40001", "40P01", "23505"])
def test_these_say_that_it_did_not(spoken: Server, state: str) -> None:
    assert not spoken.is_ambiguous(failed(state))


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("server closed the connection unexpectedly", True),
        ("consuming input failed: SSL connection has been closed unexpectedly", True),
        ("connection to server at 127.0.0.1, port 1 failed: Connection refused", True),
        ("FATAL: the database system is starting up", True),
        ("sending query failed: another command is already in progress", True),
        ("FATAL: sorry, too many clients already", True),
        ("FATAL: password authentication failed for user me", False),
        ('FATAL: database "x" does not exist', False),
        ("certificate verify failed", False),
        ("something that nobody has seen", False),
    ],
)
def test_without_a_state_the_words_decide(text: str, again: bool) -> None:
    assert PostgreSQL().is_conflict(failed(None, text)) is again
