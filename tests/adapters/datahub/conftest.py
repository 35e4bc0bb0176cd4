"""What the tests of live sources share: the double, and the second environment with DataHub's own packages."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import stamina

from palimpsest.adapters.datahub.credentials import Credentials
from palimpsest.adapters.datahub.graphql import GraphqlReader
from palimpsest.adapters.datahub.mcp_source import McpReader
from palimpsest.testing.gms import GmsDouble
from tests.testing.second import datahub_environment, mcp_command


@pytest.fixture(scope="session")
def datahub_bin() -> Path:
    """Where the programs of the second environment are; the test is skipped where there is none."""
    return datahub_environment() / "bin"


@pytest.fixture
def graphql() -> Iterator[Callable[..., GraphqlReader]]:
    """Makes GraphQL readers of a double, and closes them. No retry waits."""
    with ExitStack() as stack, stamina.set_testing(True, attempts=3):

        def make(gms: GmsDouble, **options: object) -> GraphqlReader:
            options.setdefault("token", gms.token)
            return stack.enter_context(GraphqlReader(gms.url, **options))  # type: ignore[arg-type]

        yield make


@pytest.fixture
def mcp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., McpReader]]:
    """Makes readers that start the real server for a double, and closes them."""
    with ExitStack() as stack:

        def make(gms: GmsDouble, **options: object) -> McpReader:
            credentials = Credentials(url=gms.url, token=str(options.pop("token", gms.token)))
            command = mcp_command(tmp_path_factory.mktemp("server"))
            options.setdefault("environ", dict(os.environ))
            return stack.enter_context(McpReader(credentials, command=command, **options))  # type: ignore[arg-type]

        yield make
