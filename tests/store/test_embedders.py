"""Which embedder is searched, which is coming, which is going: one rule at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.core.moment import parse
from palimpsest.store import embedders
from palimpsest.store.embedders import EmbedderState, Known
from palimpsest.store.engine import Store
from tests.building import Memory

NOW = parse("2026-03-02T08:00:00Z")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    return Memory(tmp_path).store


def adopt(store: Store, name: str, *, change: bool = False) -> Known | None:
    """Adopt an embedder."""
    return store.write(lambda connection: embedders.adopt(connection, name, now=NOW, change=change))


def switch(store: Store, coming: Known | None) -> bool:
    """Let it take over."""
    assert coming is not None
    return store.write(lambda connection: embedders.switch(connection, coming))


def states(store: Store) -> dict[str, str]:
    """The state of each."""
    return {one.name: one.state.value for one in store.read(embedders.known)}


def test_the_first_one_is_searched_at_once(store: Store) -> None:
    first = adopt(store, "a")
    assert first == store.read(embedders.current)
    assert adopt(store, "a") == first
    assert states(store) == {"a": "current"}


def test_another_one_is_not_taken_unless_a_change_is_wanted(store: Store) -> None:
    adopt(store, "a")
    assert adopt(store, "b") is None
    assert states(store) == {"a": "current"}
    assert adopt(store, "b", change=True) == adopt(store, "b")
    assert states(store) == {"a": "current", "b": "coming"}


def test_the_coming_one_takes_over_once(store: Store) -> None:
    adopt(store, "a")
    coming = adopt(store, "b", change=True)
    assert [switch(store, coming), switch(store, coming)] == [True, False]
    assert states(store) == {"a": "going", "b": "current"}
    old = store.read(embedders.known)[0]
    store.write(lambda connection: embedders.leave(connection, old))
    assert states(store) == {"a": "gone", "b": "current"}


def test_a_coming_one_is_given_up_for_a_third_and_for_the_first_again(store: Store) -> None:
    adopt(store, "a")
    given_up = adopt(store, "b", change=True)
    adopt(store, "c", change=True)
    assert states(store) == {"a": "current", "b": "going", "c": "coming"}
    assert switch(store, given_up) is False
    assert adopt(store, "a", change=True) == store.read(embedders.current)
    assert states(store) == {"a": "current", "b": "going", "c": "going"}


def test_one_that_is_going_can_come_again(store: Store) -> None:
    adopt(store, "a")
    switch(store, adopt(store, "b", change=True))
    again = adopt(store, "a", change=True)
    assert again is not None
    assert states(store) == {"a": "coming", "b": "current"}
    store.write(lambda connection: embedders.leave(connection, again))
    assert states(store)["a"] == "coming"


def test_the_current_one_is_made_anew_under_its_name(store: Store) -> None:
    first = adopt(store, "a")
    anew = adopt(store, "a", change=True)
    assert first is not None
    assert anew is not None
    assert anew.id != first.id
    marked = store.read(embedders.current)
    assert marked is not None
    assert (marked.id, marked.name, embedders.kind_of(marked.name)) == (
        first.id, f"a (before 2026-03-02 08:00, {first.id})", "a",
    )  # fmt: skip
    assert adopt(store, "a", change=True) == anew
    assert anew.state is EmbedderState.COMING


def test_an_id_is_never_used_twice(store: Store) -> None:
    adopt(store, "a")
    for name in ("b", "c", "d"):
        switch(store, adopt(store, name, change=True))
    ids = [one.id for one in store.read(embedders.known)]
    assert len(set(ids)) == 4
    assert ids == sorted(ids)
