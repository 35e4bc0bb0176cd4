"""What every test may ask for: the shared material, and the rule that CI skips nothing.

A test that lacks what it needs is skipped on a developer's machine, with the reason, and fails where CI=true.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import building, servers

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"

# Two shared cores: a slow example says nothing about the code.
settings.register_profile("steady", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test marked `needs_shared(reason)` where the material is absent."""
    marker = item.get_closest_marker("needs_shared")
    if marker is not None:
        _require_shared(*marker.args, **marker.kwargs)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure in CI; expected failures stay what they are."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: not run, and CI runs every test: {reason}"
    return report


def pytest_configure() -> None:
    """A run in the background ignores Ctrl-C, and so would the processes that tests interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that uses the fixture `dialect` runs once on each kind of database.

    The quick ones: of the store's own tests the first two kinds, of those of what stands on it the first.
    """
    is_of_store = "store" in metafunc.definition.path.relative_to(ROOT / "tests").parts
    for fixture, names in (("dialect", servers.DIALECTS), ("server", servers.SERVERS)):
        if fixture in metafunc.fixturenames:
            quick = {servers.DIALECTS[0], *servers.SERVERS[:1]} if is_of_store else set(names[:1])
            marked = [pytest.param(name, marks=[] if name in quick else [pytest.mark.long]) for name in names]
            metafunc.parametrize(fixture, marked, indirect=True)


@pytest.fixture
def dialect(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where the memories of this test live: the name of a kind of database. One with it runs on every kind."""
    name: str = request.param
    if name == "sqlite":
        yield name
        return
    with ExitStack() as stack:
        try:
            where = stack.enter_context(servers.places(name))
        except servers.MissingServer as error:
            pytest.skip(str(error))
        stack.enter_context(building.placed(where))
        yield name
        gc.collect()  # stores that the test let go close their connections


server = dialect  # the same, for what an embedded store cannot meet


def pytest_sessionfinish() -> None:
    """No server outlives the tests."""
    servers.end_all()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared material beside the repository; the test is skipped where it is absent."""
    _require_shared("reads the shared material")
    return SHARED


def _require_shared(reason: str) -> None:
    if not SHARED.is_dir():
        pytest.skip(f"{reason}; there is no folder ../shared beside the repository")
