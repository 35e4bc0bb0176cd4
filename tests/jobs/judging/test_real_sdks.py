"""Each provider's real SDK against a loopback server: whatever goes wrong, nothing is lost and the next run completes.

R4 at the whole height: adapter, patience, batches, validation, consolidation, exit code.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest

from palimpsest.adapters.models.building import Wanted, build
from palimpsest.core.patience import Patience
from palimpsest.jobs.judging.judging import Judging
from palimpsest.jobs.verify import verify
from palimpsest.surfaces.cli.app import main
from palimpsest.testing import NoProgress
from tests.adapters.models.serving import KEY, PROVIDERS, Fault, body, error
from tests.building import Memory
from tests.jobs.judging.catalogs import changed, pending
from tests.jobs.judging.matters import judging
from tests.jobs.judging.serving import SensibleModels, serving
from tests.robustness.stores import Rows, differing, tables

DATASETS = 3
MATTERS = 2 * DATASETS
_LATER = ("groq", "gemini")
_CALM: dict[str, Rows] = {}
# How the run ends: 5 where the model could not be used, 1 where it only gave answers that are none.
FAULTS = {
    "429 with retry-after": 5,
    "429 without": 5,
    "500": 5,
    "timeout": 5,
    "cut stream": 5,
    "200 with an error": 5,
    "truncated JSON": 1,
    "cut at its longest": 1,
    "refusal": 1,
    "wrong aspect": 1,
    "extra fields": 1,
    "unknown entity": 1,
    "empty": 1,
}


def fault(provider: str, name: str) -> Fault:
    """What the server does in place of an answer."""
    entry = {"item": 1, "place": 1, "why": "", "restates": None, "sure": True}
    texts = {
        "truncated JSON": ('{"answers":[{"item":1,"pl', "end"),
        "cut at its longest": ('{"answers":[]', "cut"),
        "refusal": ("I cannot help with that.", "refusal"),
        "wrong aspect": (json.dumps({"answers": [entry | {"aspect": "ownership"}]}), "end"),
        "extra fields": (json.dumps({"answers": [], "verdict": "restates"}), "end"),
        "unknown entity": (json.dumps({"answers": [entry | {"item": "urn:li:dataset:other"}]}), "end"),
        "empty": ("", "end"),
    }
    match name:
        case "429 with retry-after":
            return Fault(status=429, body=error(provider, 429, "slow down"), headers={"retry-after": "3600"})
        case "429 without":
            return Fault(status=429, body=error(provider, 429, "slow down"))
        case "500":
            return Fault(status=500, body=error(provider, 500, "the engine burns"))
        case "timeout":
            return Fault(status=0)
        case "cut stream":
            return Fault(status=200, body=body(provider, '{"answers":[]}'), cut=True)
        case "200 with an error":
            return Fault(status=200, body=error(provider, 403, "not today"))
        case _:
            text, reason = texts[name]
            return Fault(
                status=200, body=body(provider, text, "end" if provider == "ollama" and reason == "refusal" else reason)
            )


@pytest.fixture
def remote() -> Iterator[SensibleModels]:
    """A server of all four."""
    with serving() as state:
        yield state


def model(provider: str, remote: SensibleModels, *, timeout: float = 20) -> Judging:
    """A model at work, with little patience."""
    wanted = Wanted(provider=provider, url=remote.url, key=KEY, timeout_seconds=timeout, tokens_per_run=1_000_000)
    return judging(build(wanted, {}, Patience(attempts=2, first=0, most=0, whole=20)))


def calm(provider: str, remote: SensibleModels, folder: Path) -> Rows:
    """What an undisturbed run leaves, once for each provider."""
    if provider not in _CALM:
        memory = changed(folder, name="calm.db", datasets=DATASETS)
        work = model(provider, remote)
        assert memory.consolidate(judging=work).left == 0
        work.asking.model.close()
        memory.store.dispose()
        _CALM[provider] = tables(memory.url)
    return _CALM[provider]


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize(
    "provider", [pytest.param(name, marks=[pytest.mark.long] if name in _LATER else []) for name in PROVIDERS]
)
def test_a_fault_leaves_the_matters_pending_and_the_next_run_completes_it(
    tmp_path: Path, remote: SensibleModels, provider: str, name: str
) -> None:
    wanted = calm(provider, remote, tmp_path)
    memory = changed(tmp_path, datasets=DATASETS)
    remote.faults = deque([fault(provider, name)] * 20)
    work = model(provider, remote, timeout=0.3 if name == "timeout" else 20)
    report = memory.consolidate(judging=work)
    work.asking.model.close()
    assert report.asked is not None
    assert (report.left, report.verdicts) == (MATTERS, {"supersede": DATASETS})
    assert pending(memory) == {"column": DATASETS, "description": DATASETS}
    assert sum(report.asked.left.values()) == MATTERS or report.asked.problem
    assert (bool(report.asked.problem), report.asked.answered) == (FAULTS[name] == 5, 0)
    assert verify(memory.store, clock=memory.clock, progress=NoProgress()).broken == 0
    remote.faults.clear()
    again = model(provider, remote)
    assert memory.consolidate(judging=again).left == 0
    again.asking.model.close()
    assert verify(memory.store, clock=memory.clock, progress=NoProgress()).broken == 0
    memory.store.dispose()
    assert differing(tables(memory.url), wanted) == []


@pytest.fixture
def commanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remote: SensibleModels) -> Memory:
    """A memory with matters pending, and settings that name the server; each request is tried once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PALIMPSEST_MODEL__URL", remote.url)
    monkeypatch.setenv("PALIMPSEST_MODEL__KEY", KEY)
    monkeypatch.setenv("PALIMPSEST_MODEL__TIMEOUT_SECONDS", "20")
    memory = changed(tmp_path, datasets=DATASETS)
    memory.store.dispose()
    return memory


@pytest.mark.parametrize("name", ["429 with retry-after", "200 with an error", "truncated JSON", "wrong aspect"])
@pytest.mark.parametrize("provider", ["anthropic", "ollama"])
def test_the_command_ends_with_the_code_that_says_what_went_wrong(
    commanded: Memory,
    remote: SensibleModels,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    provider: str,
    name: str,
) -> None:
    monkeypatch.setenv("PALIMPSEST_MODEL__PROVIDER", provider)
    remote.faults = deque([fault(provider, name)] * 20)
    assert main(["--store", commanded.url, "consolidate"]) == FAULTS[name]
    out, err = capsys.readouterr()
    assert f"{DATASETS} episodes of {DATASETS} entities consolidated: {DATASETS} supersede\n" in out
    assert out.endswith(f"{MATTERS} episodes are still pending\n")
    assert err.startswith("warning: ")
    remote.faults.clear()
    assert main(["--store", commanded.url, "consolidate", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)["data"]
    assert (data["left"], data["asked"]["answered"], data["asked"]["left"]) == (0, MATTERS, {})
    assert (data["asked"]["calls"], data["asked"]["input_tokens"]) == (1, 120)
