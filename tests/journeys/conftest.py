"""What journeys on a running DataHub share: the sample catalog behind a double, a store, and the real MCP server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import stamina

from palimpsest.adapters.datahub.credentials import Credentials
from palimpsest.adapters.datahub.mcp_source import McpReader
from palimpsest.testing.gms import GmsDouble
from tests.journeys.living import SAMPLE, Live, new_store
from tests.testing.second import mcp_command


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """The sample catalog behind a double, and an empty store. No retry waits."""
    store = new_store(tmp_path / "memory.db")
    with GmsDouble.serving(load=[SAMPLE]) as gms, stamina.set_testing(True, attempts=2):
        yield Live(store, gms)
    store.dispose()


@pytest.fixture
def mcp(live: Live, tmp_path: Path) -> Callable[..., McpReader]:
    """Makes readers through DataHub's real MCP server."""
    command = mcp_command(tmp_path)

    def make(**options: object) -> McpReader:
        credentials = Credentials(url=live.gms.url, token=live.gms.token)
        return McpReader(credentials, command=command, environ=dict(os.environ), **options)  # type: ignore[arg-type]

    return make
