"""A small shop that changed once, and a console on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from palimpsest.surfaces.console.pages import Desk
from tests.building import Memory
from tests.surfaces.console.reading import client_of, desk_of, shop


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """The shop, read twice."""
    made = shop(Memory(tmp_path_factory.mktemp("shop")))
    yield made
    made.store.dispose()


@pytest.fixture(scope="module")
def desk(memory: Memory) -> Iterator[Desk]:
    """What pages are made from."""
    made = desk_of(memory)
    yield made
    made.store.dispose()


@pytest.fixture
def client(desk: Desk) -> TestClient:
    """A client of the console on the shop."""
    return client_of(desk)


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[TestClient]:
    """A client of a console on a memory that holds nothing."""
    made = desk_of(Memory(tmp_path))
    yield client_of(made)
    made.store.dispose()
