"""`palimpsest embed`, the same pass after other jobs, and what `status` and `doctor` tell of vectors."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from palimpsest.jobs.index import index
from palimpsest.surfaces.cli.app import main
from palimpsest.testing import NoProgress
from tests.adapters.embed.serving import KEY, Fault, Serving, serving
from tests.building import Memory, dataset, mcp, owners, text

RECORDS = [
    record
    for number in range(4)
    for record in (
        mcp(dataset(f"shop.t{number}"), "ownership", owners(f"user{number}")),
        mcp(dataset(f"shop.t{number}"), "datasetProperties", text(f"Things of kind {number}.")),
    )
]

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """A memory with passages and without vectors."""
    monkeypatch.chdir(tmp_path)
    made = Memory(tmp_path)
    made.remember(RECORDS, at="2026-03-02T08:00:00Z")
    index(made.store, clock=made.clock, progress=NoProgress())
    return made


@pytest.fixture
def command(memory: Memory, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs palimpsest on the memory: exit code, stdout, stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["--store", memory.url, *arguments])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serving]:
    """Gemini, as the settings name it."""
    with serving() as state:
        monkeypatch.setenv("PALIMPSEST_EMBED__PROVIDER", "gemini")
        monkeypatch.setenv("PALIMPSEST_EMBED__URL", state.url)
        monkeypatch.setenv("GEMINI_API_KEY", KEY)
        yield state


def passages(command: Command) -> int:
    """How many passages are to have a vector."""
    return int(json.loads(command("status", "--json")[1])["data"]["embedders"][0]["passages"])


def test_embedding_tells_what_it_did_and_status_how_far_it_is(command: Command) -> None:
    code, out, _ = command("embed")
    count = passages(command)
    assert count > 8
    assert (code, out) == (0, f"embedded: {count} passages by hashed:1\n")
    assert command("embed")[:2] == (0, "embedded: 0 passages by hashed:1\n")
    assert f"{count} of {count} passages by hashed:1: searched" in command("status")[1]


def test_the_json_is_one_document(command: Command) -> None:
    document = json.loads(command("embed", "--json")[1])
    assert document["data"]["embedder"] == "hashed:1"
    assert document["data"]["left"] == 0


def test_a_change_of_embedder_goes_on_after_a_failure(
    command: Command, remote: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_EMBED__PROVIDER", "hashed")
    monkeypatch.delenv("PALIMPSEST_EMBED__URL")
    command("embed")
    count = passages(command)
    monkeypatch.setenv("PALIMPSEST_EMBED__PROVIDER", "gemini")
    monkeypatch.setenv("PALIMPSEST_EMBED__URL", remote.url)
    name = "gemini:gemini-embedding-001:384"

    code, out, _ = command("embed")
    assert code == 0
    assert out == (
        f"the vectors are by hashed:1, and the settings say {name}: nothing was embedded; "
        "to change over: palimpsest embed --all\n"
    )
    assert remote.requests == []

    refused = {"error": {"code": 403, "message": "no", "status": "PERMISSION_DENIED"}}
    remote.faults += [Fault(status=403, body=refused)]
    code, out, err = command("embed", "--all")
    assert (code, out) == (5, "")
    assert f"error: Gemini at {remote.url} refused the key: no" in err
    assert KEY not in err
    assert f"0 of {count} passages by {name}: being made" in command("status")[1]

    code, out, _ = command("embed", "--all")
    assert (code, out.splitlines()) == (
        0,
        [
            f"embedded: {count} passages by {name}",
            f"searched from now on: the vectors of {name}",
            f"deleted: {count} vectors of the embedder before",
        ],
    )
    assert f"{count} of {count} passages by {name}: searched" in command("status")[1]


def test_no_embedder_is_a_setting_and_asking_for_vectors_then_an_error(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_EMBED__PROVIDER", "none")
    code, _, err = command("embed")
    assert (code, "embed.provider is none" in err) == (2, True)
    assert command("consolidate")[0] == 0
    assert "none: searching by text only" in command("doctor")[1]


def test_an_embedder_that_fails_is_in_no_other_jobs_way(
    command: Command, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("PALIMPSEST_EMBED__PROVIDER", "ollama")
        monkeypatch.setenv("PALIMPSEST_EMBED__URL", f"http://127.0.0.1:{unused.getsockname()[1]}")
        memory.scan([mcp(dataset("shop.t9"), "ownership", owners("nora"))], at="2026-03-03T08:00:00Z")
        code, out, err = command("consolidate")
        assert (code, "Traceback" in err) == (0, False)
        assert out.strip()
        assert "warning: not embedded, found by text only: Ollama at http://127.0.0.1:" in err
        code, _, err = command("embed")
        assert (code, "cannot be reached" in err) == (5, True)
        code, out, _ = command("doctor")
        assert code == 1
        assert "cannot be reached" in out


def test_the_doctor_tells_the_embedder_and_how_vectors_are_kept(command: Command, remote: Serving) -> None:
    out = command("doctor")[1]
    rows = {line.split()[1]: line for line in out.splitlines()}
    assert rows["embedder"].split() == ["ok", "embedder", "gemini:gemini-embedding-001:384"]
    assert rows["vectors"].startswith("ok")
    assert "bytes, their signs searched in memory" in rows["vectors"]


def test_the_doctor_tells_what_to_install_or_to_set(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_EMBED__PROVIDER", "gemini")
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    code, out, _ = command("doctor")
    assert (code, "Gemini wants a key, and none is set: set GEMINI_API_KEY, or embed.key" in out) == (1, True)
