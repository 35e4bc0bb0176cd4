"""Whatever goes wrong with a running DataHub while it is scanned: nothing ends because of it, and the exit code tells.

Each fault strikes the second of three scans, after an owner changed; the third, healthy one brings the change in.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from palimpsest.surfaces.cli.app import main
from palimpsest.testing.gms import GmsDouble
from tests.building import dataset, owners
from tests.journeys.living import ORDERS, Live, beliefs
from tests.testing.second import mcp_command

USERS = ORDERS.replace("orders", "users_of_the_shop")
OK, FAILED, DATAHUB = 0, 1, 3
Strike = Callable[[GmsDouble], object]


def lag(gms: GmsDouble) -> None:
    """Search knows nothing yet of a dataset that is there."""
    gms.faults.search_lags = True
    gms.store.put(USERS, "ownership", owners("mira"))


class Case(NamedTuple):
    """A fault, the exit codes that fit it, and whether the reading may call itself complete."""

    strike: Strike
    codes: tuple[int, ...]
    complete: tuple[bool, ...] = (True, False)


CASES: dict[str, Case] = {
    "latency": Case(lambda gms: gms.faults.delay(0.05), (OK,), (True,)),
    "401": Case(lambda gms: gms.faults.fail(401), (DATAHUB,)),
    "403": Case(lambda gms: gms.faults.fail(403), (DATAHUB,)),
    "401 on entities": Case(lambda gms: gms.faults.fail(401, match=ORDERS), (DATAHUB,)),
    "429 always": Case(lambda gms: gms.faults.fail(429, match="graphql", retry_after="0"), (DATAHUB,)),
    "429 once": Case(lambda gms: gms.faults.fail(429, match=ORDERS, times=1, retry_after="0"), (OK, FAILED)),
    "500 always": Case(lambda gms: gms.faults.fail(500), (DATAHUB,)),
    "500 on one entity": Case(lambda gms: gms.faults.fail(500, match=ORDERS), (FAILED,), (False,)),
    "cut always": Case(lambda gms: gms.faults.cut(), (DATAHUB,)),
    "cut once": Case(lambda gms: gms.faults.cut(match=ORDERS, times=1), (OK, FAILED)),
    "cut within an answer": Case(lambda gms: gms.faults.cut(match=ORDERS, times=1, within=True), (OK, FAILED)),
    "an error in one entity of a page": Case(lambda gms: gms.faults.broken.add(ORDERS), (FAILED,), (False,)),
    "a page that comes short": Case(lambda gms: gms.faults.shorten(times=None), (OK, FAILED), (False,)),
    "a search index that lags": Case(lag, (OK,)),
    "a hang": Case(lambda gms: gms.faults.delay(30, match=ORDERS), (FAILED,), (False,)),
}


class Command:
    """The command line over one double and one store, in this process."""

    def __init__(self, live: Live, store: Path, source: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.live, self.store, self.source, self._capsys = live, store, source, capsys

    def scan(self) -> tuple[int, dict[str, Any]]:
        """Scan, consolidate and verify: the exit code of the scan, and its report if there is one."""
        code = main(["--store", f"sqlite:///{self.store}", "scan", self.source, "--json"])
        out = self._capsys.readouterr().out
        for job in ("consolidate", "verify"):
            assert main(["--store", f"sqlite:///{self.store}", "-q", job]) == 0
        self._capsys.readouterr()
        return code, json.loads(out)["data"] if out else {}

    def held(self) -> set[tuple[object, ...]]:
        """Everything that is held now."""
        return beliefs(self.store)


@pytest.fixture(params=["datahub-graphql", pytest.param("datahub-mcp", marks=pytest.mark.long)])
def command(
    request: pytest.FixtureRequest,
    live: Live,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Command:
    """Scans of either source, with a timeout that does not let a test wait."""
    for name in [name for name in os.environ if name.startswith(("DATAHUB_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DATAHUB_GMS_URL", live.gms.url)
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", live.gms.token)
    monkeypatch.setenv("PALIMPSEST_DATAHUB__TIMEOUT_SECONDS", "5" if request.param == "datahub-mcp" else "2")
    if request.param == "datahub-mcp":
        monkeypatch.setenv("PALIMPSEST_DATAHUB__MCP_COMMAND", json.dumps(mcp_command(tmp_path)))
        live.gms.store.put(dataset("more"), "ownership", owners("mira"))
    monkeypatch.chdir(tmp_path)
    return Command(live, tmp_path / "cli.db", request.param, capsys)


@pytest.mark.parametrize("name", CASES)
def test_no_fault_ends_a_belief_and_the_next_healthy_run_completes(command: Command, name: str) -> None:
    case, gms = CASES[name], command.live.gms
    code, first = command.scan()
    assert (code, first["complete"]) == (OK, True)
    before = command.held()
    gms.store.put(ORDERS, "ownership", owners("lena"))
    case.strike(gms)
    code, report = command.scan()
    assert code in case.codes
    assert not report or report["complete"] in case.complete
    assert bool(report) == (code != DATAHUB)
    if report and report["records_failed"]:
        assert (code, report["complete"]) == (FAILED, False)
    changed = {belief[:4] for belief in before - command.held()}
    assert {(urn, aspect) for urn, _, aspect, _ in changed} <= {(ORDERS, "ownership")}
    assert {belief[:4] for belief in before} - {belief[:4] for belief in command.held()} <= changed
    gms.faults.clear()
    gms.refresh()
    code, healthy = command.scan()
    assert (code, healthy["complete"], healthy["records_failed"]) == (OK, True, 0)
    owned = [belief for belief in command.held() if (belief[0], belief[2]) == (ORDERS, "ownership")]
    assert ["lena" in str(belief[4]) for belief in owned] == [True]
    assert {belief for belief in before if (belief[0], belief[2]) != (ORDERS, "ownership")} <= command.held()
