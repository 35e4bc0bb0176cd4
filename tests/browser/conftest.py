"""Chromium, and the real console on the demo's memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from palimpsest.store.engine import Store, open_store
from tests.browser.watching import MissingBrowser, chromium, demo
from tests.surfaces.console.running import console


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The browser of this machine; without one the test is skipped, and fails in CI."""
    try:
        with chromium() as found:
            yield found
    except MissingBrowser as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the demo's store."""
    return demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def store(shop: str) -> Iterator[Store]:
    """The demo's store."""
    found = open_store(shop, writing=False)
    yield found
    found.dispose()


@pytest.fixture(scope="module")
def address(shop: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the console on it answers."""
    home: Path = tmp_path_factory.mktemp("home")
    with console(shop, home) as found:
        yield found
