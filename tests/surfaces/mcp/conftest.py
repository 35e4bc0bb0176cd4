"""What the tests of the MCP server share: the demo's store, searched, in a copy for each test."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest.core.moment import parse
from palimpsest.jobs.index import index
from palimpsest.store.engine import open_store
from palimpsest.surfaces.cli.demo import demo
from palimpsest.surfaces.mcp.memory import Memory, Opening
from palimpsest.testing import FixedClock, NoProgress


@pytest.fixture(scope="session")
def demo_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of the demo, indexed."""
    file = tmp_path_factory.mktemp("demo") / "demo.db"
    demo(keep=file, serve_gms=False, port=0)
    store = open_store(f"sqlite:///{file}")
    index(store, clock=FixedClock(parse("2026-03-06T09:00:00Z"), step=0), progress=NoProgress())
    store.use_write_ahead_log()
    store.dispose()
    return file


@pytest.fixture
def url(demo_file: Path, tmp_path: Path) -> str:
    """A copy of the demo's store."""
    return f"sqlite:///{shutil.copy(demo_file, tmp_path / 'memory.db')}"


@pytest.fixture
def memory_of() -> Callable[..., Memory]:
    """Makes memories over stores, whose clock stands two days after the demo's last day, or where it is set."""

    def make(url: str, *, at: str = "2026-03-08T09:00:00Z") -> Memory:
        return Memory(
            Opening(
                reading=lambda: open_store(url, writing=False),
                writing=lambda: open_store(url, writing=False),
                meaning=lambda store, question: None,
                clock=FixedClock(parse(at), step=1),
                holder="test:1:",
                budget=2000,
                timeout_seconds=10,
            )
        )

    return make
