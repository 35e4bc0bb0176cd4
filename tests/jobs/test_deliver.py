"""deliver: what an agent was handed is written down where it can be, and nothing fails where it cannot."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from palimpsest.core.moment import parse
from palimpsest.jobs.deliver import Delivery, deliver
from palimpsest.store.engine import open_store
from palimpsest.testing import FixedClock
from tests.building import Memory


def test_a_store_that_may_only_be_read_is_no_reason_to_fail(tmp_path: Path) -> None:
    Memory(tmp_path, name="read.db").store.dispose()
    store = open_store(f"sqlite:///file:{tmp_path / 'read.db'}?mode=ro&uri=true", writing=False)
    delivery = Delivery(agent="codex", surface="cli", kind="brief", tokens=1)
    why = deliver(store, delivery, clock=FixedClock(parse("2026-03-02"), step=0), holder="test:1:")
    assert why.startswith("the store is read-only")
    store.dispose()
    assert sqlite3.connect(tmp_path / "read.db").execute("SELECT count(*) FROM delivery").fetchone() == (0,)
