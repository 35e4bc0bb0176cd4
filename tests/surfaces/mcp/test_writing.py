"""What an agent writes is an episode in its own name, or a scratchpad: no call makes, changes or ends a belief."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest.store.engine import open_store
from palimpsest.surfaces.mcp.memory import Memory, Opening
from palimpsest.surfaces.mcp.tools import BY_NAME
from palimpsest.testing import FixedClock
from tests.surfaces.mcp.clienting import text_of
from tests.surfaces.mcp.within import answered

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
OWNER = "5c77a4038d85"
HELD = ("version", "evidence", "edge", "choice", "publication", "erased")


def rows(file: Path, *tables: str) -> dict[str, list[tuple[object, ...]]]:
    """Everything in some tables."""
    database = sqlite3.connect(file)
    try:
        return {table: database.execute(f"SELECT * FROM {table}").fetchall() for table in tables}
    finally:
        database.close()


# Calls that would change a belief if anything could.
TRIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("note", {"entity": ORDERS, "text": "owner: mallory", "kind": "decision"}),
    ("note", {"entity": ORDERS, "text": '{"decision":"reject","version":2}'}),
    ("note", {"entity": ORDERS, "text": '{"decision":"withdraw"}'}),
    ("note", {"entity": ORDERS, "text": "x", "observer": "person:mira"}),
    ("note", {"entity": ORDERS, "text": "x", "source": "shop", "aspect": "ownership"}),
    ("note", {"entity": ORDERS, "text": "x", "kind": "ownership"}),
    ("note", {"entity": ORDERS, "text": "x", "belief": OWNER}),
    ("task", {"action": "put", "name": OWNER, "key": "ownership", "value": "mallory"}),
    ("task", {"action": "end", "name": OWNER}),
    ("why", {"belief": f"{OWNER}'; DELETE FROM version; --"}),
    ("entities", {"search": "'; DELETE FROM version; --"}),
    ("history", {"entity": ORDERS, "aspect": "ownership", "key": "'; UPDATE version SET state = 'retracted'; --"}),
    ("recall", {"question": "retract the owner of orders"}),
    ("consolidate", {}),
    ("decide", {"belief": OWNER, "reject": True}),
    ("inbox", {"accept": OWNER}),
)


def test_no_call_changes_a_belief(url: str, tmp_path: Path, memory_of: Callable[..., Any]) -> None:
    before = rows(tmp_path / "memory.db", *HELD)
    memory = memory_of(url)
    for tool, arguments in TRIES:
        answered(memory, tool, arguments, name="person:mira")
    assert rows(tmp_path / "memory.db", *HELD) == before


def test_a_note_is_an_episode_of_the_agent_whatever_its_client_calls_itself(
    url: str, tmp_path: Path, memory_of: Callable[..., Any]
) -> None:
    memory = memory_of(url)
    for name, text in (("person:mira", "One."), ("agent:boss", "Two."), ("   ", "Three."), ("x" * 900, "Four.")):
        assert not answered(memory, "note", {"entity": ORDERS, "text": text}, name=name).is_error
    said = rows(tmp_path / "memory.db", "cell")["cell"]
    observers = {str(row[3]) for row in said if row[2] == "notes"}
    assert {one.partition(":")[0] for one in observers} == {"agent"}
    assert {"agent:person:mira", "agent:agent:boss", "agent:unknown", f"agent:{'x' * 100}"} == observers


def test_the_same_note_twice_is_one_note(url: str, tmp_path: Path, memory_of: Callable[..., Any]) -> None:
    memory = memory_of(url)
    notes = [answered(memory, "note", {"entity": ORDERS, "text": "Twice."}).structured_content for _ in range(2)]
    assert notes[0] == notes[1]
    assert len([row for row in rows(tmp_path / "memory.db", "cell")["cell"] if row[2] == "notes"]) == 1


def test_a_scratchpad_keeps_what_is_put_and_ends(url: str, memory_of: Callable[..., Any]) -> None:
    memory = memory_of(url)

    def task(**arguments: Any) -> Any:
        return answered(memory, "task", arguments).structured_content

    task(action="start", name="t", value="about it", hours=2)
    task(action="put", name="t", key="plan", value="first this")
    assert task(action="put", name="t", key="plan", value="first that")["keys"] == 1
    assert [one["value"] for one in task(action="get", name="t")["items"]] == ["first that"]
    assert [one["name"] for one in task(action="list")["tasks"]] == ["t"]
    assert task(action="end", name="t") == {"name": "t", "keys": 1}
    assert task(action="list")["tasks"] == []


def test_a_store_that_may_only_be_read_still_answers(url: str, tmp_path: Path, memory_of: Callable[..., Any]) -> None:
    file = tmp_path / "memory.db"
    readonly = f"sqlite:///file:{file}?mode=ro&immutable=1&uri=true"
    memory = memory_of(readonly)
    assert not answered(memory, "brief", {"entities": [ORDERS]}).is_error
    refused = answered(memory, "note", {"entity": ORDERS, "text": "x"})
    assert (refused.is_error, "the store is read-only" in text_of(refused)) == (True, True)
    assert str(tmp_path) not in text_of(refused)
    assert rows(file, "delivery")["delivery"] == []


class Slow(Memory):
    """A memory whose store never comes."""

    @property
    def store(self) -> Any:
        """Waits longer than anybody does."""
        import time

        time.sleep(1.5)
        raise AssertionError("nobody waited")


def test_what_takes_too_long_is_broken_off() -> None:
    opening = Opening(
        reading=lambda: open_store("sqlite:///none.db"),
        writing=lambda: open_store("sqlite:///none.db"),
        meaning=lambda store, question: None,
        clock=FixedClock(0, step=1),  # type: ignore[arg-type]
        holder="test:1:",
        budget=2000,
        timeout_seconds=0.1,
    )
    result = answered(Slow(opening), "status", {})
    assert (result.is_error, "it took too long and was broken off" in text_of(result)) == (True, True)


values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20),
    st.lists(st.text(max_size=5), max_size=3), st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)  # fmt: skip


@pytest.mark.parametrize("tool", sorted(BY_NAME))
def test_whatever_is_given_is_answered_or_refused_with_a_parameters_name(demo_file: Path, tool: str) -> None:
    memory = Memory(
        Opening(
            reading=lambda: open_store(f"sqlite:///{demo_file}", writing=False),
            writing=lambda: open_store(f"sqlite:///file:{demo_file}?mode=ro&uri=true", writing=False),
            meaning=lambda store, question: None,
            clock=FixedClock(1_772_900_000_000, step=1),  # type: ignore[arg-type]
            holder="test:1:",
            budget=2000,
            timeout_seconds=10,
        )
    )
    names = [*BY_NAME[tool].takes, "other"]

    @settings(max_examples=25)
    @given(st.dictionaries(st.sampled_from(names), values, max_size=4))
    def check(arguments: dict[str, Any]) -> None:
        from palimpsest.core.errors import StoreError
        from palimpsest.surfaces.mcp.arguments import Arguments, CallError
        from palimpsest.surfaces.mcp.memory import Caller

        known = tuple(BY_NAME[tool].takes)
        complaint = ""
        try:
            BY_NAME[tool].run(memory, Caller(agent="agent:x"), Arguments(arguments, known))
        except CallError as error:
            complaint = error.parameter
        except StoreError as error:
            complaint = "other" if "read-only" in error.message else error.message
        assert complaint in {"", *names}

    check()
    memory.close()
