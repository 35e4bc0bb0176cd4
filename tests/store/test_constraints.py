"""The database itself refuses what the rules forbid, whoever writes."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.robustness import breaking

_OWNER = "(SELECT belief_id FROM cell WHERE aspect = 'ownership' AND source = 'file')"
_OWNER_CELL = "(SELECT id FROM cell WHERE aspect = 'ownership' AND source = 'file')"
_COPIED = (
    "cell_id, {number}, run_id, observed_at, after_at, kind, impact, baseline, value, ground, stamped_at, actor, "
    "catalog_run, verdict, forgotten_at FROM episode WHERE number = 1"
)
REFUSED = {
    "R5: a second version of one episode": (
        f"""INSERT INTO version SELECT belief_id, 9, 'contested', cell_id, episode, valid_from, valid_after, valid_to,
            recorded_at, closed_at, run_id, judge, reason, reverts_to, successor, ended_reason FROM version
            WHERE belief_id = {_OWNER} AND number = 2""",
        "UNIQUE constraint failed: version.cell_id, version.episode",
    ),
    "R6: forgetting an episode that founded a version": (
        f"DELETE FROM episode WHERE cell_id = {_OWNER_CELL} AND number = 1",
        "FOREIGN KEY constraint failed",
    ),
    "R6: forgetting an episode that ended a version": (
        "DELETE FROM episode WHERE kind = 'removed'",
        "FOREIGN KEY constraint failed",
    ),
    "R6: a version of an episode that never was": (
        f"UPDATE version SET episode = 99 WHERE belief_id = {_OWNER} AND number = 1",
        "FOREIGN KEY constraint failed",
    ),
    "R6: evidence for a version that never was": (
        "UPDATE evidence SET number = 99",
        "FOREIGN KEY constraint failed",
    ),
    "R7: a second current version": (
        f"""UPDATE version SET state = 'current', valid_to = NULL, closed_at = NULL WHERE belief_id = {_OWNER}
            AND number = 1""",
        "UNIQUE constraint failed: version.belief_id",
    ),
    "R7: a number twice": (
        f"UPDATE version SET number = 1 WHERE belief_id = {_OWNER} AND number = 2",
        "UNIQUE constraint failed: version.belief_id, version.number",
    ),
    "R7: a version before its own successor": (
        f"UPDATE version SET successor = 1 WHERE belief_id = {_OWNER} AND number = 1",
        "CHECK constraint failed: ck_version_no_cycle",
    ),
    "R7: superseded without a successor": (
        f"UPDATE version SET successor = NULL WHERE belief_id = {_OWNER} AND number = 1",
        "CHECK constraint failed: ck_version_superseded_says_why",
    ),
    "R7: superseded without a reason": (
        f"UPDATE version SET ended_reason = NULL WHERE belief_id = {_OWNER} AND number = 1",
        "CHECK constraint failed: ck_version_superseded_says_why",
    ),
    "R12: current although it has ended": (
        f"UPDATE version SET valid_to = 1 WHERE belief_id = {_OWNER} AND number = 2",
        "CHECK constraint failed: ck_version_current_open",
    ),
    "R9: a cell twice in one run": (
        f"INSERT INTO episode SELECT {_COPIED.format(number=9)} LIMIT 1",
        "UNIQUE constraint failed: episode.cell_id, episode.run_id",
    ),
    "an episode of a cell that never was": (
        "UPDATE episode SET cell_id = zeroblob(16) WHERE kind = 'removed'",
        "FOREIGN KEY constraint failed",
    ),
    "an episode of a run that never was": (
        "UPDATE episode SET run_id = zeroblob(16) WHERE kind = 'removed'",
        "FOREIGN KEY constraint failed",
    ),
    "a removal that states a value": (
        "UPDATE episode SET value = '1' WHERE kind = 'removed'",
        "CHECK constraint failed: ck_episode_value_unless_removed",
    ),
    "R4: a verdict that is none": (
        "UPDATE episode SET verdict = 'leave' WHERE kind = 'removed'",
        "CHECK constraint failed: ck_episode_verdict_known",
    ),
    "a state that is none": (
        f"UPDATE version SET state = 'gone' WHERE belief_id = {_OWNER} AND number = 1",
        "CHECK constraint failed: ck_version_state_known",
    ),
    "an ordinal twice in one source": (
        "UPDATE part SET ordinal = 0 WHERE source = 'file'",
        "UNIQUE constraint failed: part.source, part.ordinal",
    ),
    "two jobs at once on one source": (
        "UPDATE run SET state = 'running' WHERE source = 'file'",
        "UNIQUE constraint failed: run.source",
    ),
    "a URN twice": (
        "UPDATE entity SET urn = 'urn:li:dataset:x'",
        "UNIQUE constraint failed: entity.urn",
    ),
    "a second secret": (
        "INSERT INTO store SELECT 2, secret, created_at FROM store",
        "CHECK constraint failed: ck_store_one_row",
    ),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store with two versions of an owner, and ends of every kind."""
    folder = tmp_path_factory.mktemp("sound")
    breaking.rich_memory(folder)
    return folder / "memory.db"


@pytest.fixture
def db(sound: Path, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a copy, with foreign keys on as ours have them."""
    connection = sqlite3.connect(shutil.copyfile(sound, tmp_path / "copy.db"))
    connection.execute("PRAGMA foreign_keys = ON")
    yield connection
    connection.close()


@pytest.mark.parametrize("what", REFUSED)
def test_the_database_refuses(db: sqlite3.Connection, what: str) -> None:
    statement, complaint = REFUSED[what]
    with pytest.raises(sqlite3.IntegrityError) as caught:
        db.execute(statement)
    assert str(caught.value).startswith(complaint)


def test_foreign_keys_are_on_in_a_store_s_own_connections(sound: Path) -> None:
    from palimpsest.store.engine import open_store

    for writing in (True, False):
        store = open_store(f"sqlite:///{sound}", writing=writing)
        found = store.read(lambda c: c.exec_driver_sql("PRAGMA foreign_keys").scalar())
        store.dispose()
        assert found == 1
