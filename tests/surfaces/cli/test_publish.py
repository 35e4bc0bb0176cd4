"""`palimpsest publish`: the settings it needs, the page it looks for, what it prints."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import stamina

from palimpsest.core.link import url_of
from palimpsest.surfaces.cli.app import main
from palimpsest.testing.gms import READER_TOKEN, GmsDouble
from palimpsest.testing.gms.store import AspectStore
from tests.building import Memory, dataset, mcp, owners

ORDERS = dataset("shop.orders")
LABEL = "Agent memory: 2 beliefs, 1 revision (latest 2026-03-03)"


class Console(BaseHTTPRequestHandler):
    """Has a page for every entity."""

    def do_GET(self) -> None:
        """Answer, for a page of ours."""
        self.send_response(200 if self.path.startswith("/entity/") else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def console() -> Iterator[str]:
    """The address of a console on the loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Console)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """A dataset with a revision."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    memory = Memory(tmp_path)
    memory.remember([mcp(ORDERS, "ownership", owners("jonas"))], at="2026-03-02")
    memory.remember([mcp(ORDERS, "ownership", owners("ana"))], at="2026-03-03")
    return memory


def publish(memory: Memory, *options: str) -> int:
    """Run the command."""
    return main(["--store", memory.url, "publish", "--to", "links.json", *options])


def test_a_page_that_answers_is_published(
    memory: Memory, console: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PALIMPSEST_CONSOLE__PUBLIC_URL", console)
    assert publish(memory, "--allow-local") == 0
    out, err = capsys.readouterr()
    target = f"file:{memory.folder / 'links.json'}"
    assert (out.splitlines(), err) == ([f"{target}: 1 links written, 0 unchanged", f"  {ORDERS}: {LABEL}"], "")
    assert len(json.loads((memory.folder / "links.json").read_text())) == 1
    assert publish(memory, "--allow-local") == 0
    assert capsys.readouterr().out == f"{target}: 0 links written, 1 unchanged\n"
    assert main(["--store", memory.url, "-q", "verify"]) == 0


def test_a_page_that_does_not_answer_is_an_error_of_the_catalog(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PALIMPSEST_CONSOLE__PUBLIC_URL", "http://127.0.0.1:1")
    assert publish(memory, "--allow-local") == 3
    assert "does not answer" in capsys.readouterr().err
    assert not (memory.folder / "links.json").exists()
    assert publish(memory, "--allow-local", "--unchecked") == 0


@pytest.mark.parametrize(
    ("address", "said"),
    [(None, "console.public_url is not set"), ("http://localhost:1", "console.public_url is http://localhost:1")],
)
def test_the_address_has_to_be_one_that_people_reach(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], address: str | None, said: str
) -> None:
    if address is not None:
        monkeypatch.setenv("PALIMPSEST_CONSOLE__PUBLIC_URL", address)
    assert publish(memory) == 2
    assert capsys.readouterr().err.startswith(f"error: {said}")


def test_a_dry_run_shows_the_links(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PALIMPSEST_CONSOLE__PUBLIC_URL", "https://memory.example.org")
    assert publish(memory, "--dry-run") == 0
    assert "1 links would be written, 0 unchanged" in capsys.readouterr().out
    assert not (memory.folder / "links.json").exists()
    assert publish(memory, "--dry-run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["data"]["changes"][0]["label"] == LABEL


def test_a_file_that_is_not_ours_is_refused(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PALIMPSEST_CONSOLE__PUBLIC_URL", "https://memory.example.org")
    (memory.folder / "links.json").write_text(json.dumps([mcp(ORDERS, "ownership", owners("x"))]))
    assert publish(memory, "--unchecked") == 2
    assert capsys.readouterr().err.startswith("error: links.json is no proposals file of ours")


# --- in a running DataHub ---------------------------------------------------------------------------------------------

ASPECT = "institutionalMemory"
WIKI = {"url": "https://wiki.example.org", "description": "Wiki", "createStamp": {"time": 1, "actor": "a"}}


@pytest.fixture
def gms(monkeypatch: pytest.MonkeyPatch) -> Iterator[GmsDouble]:
    """A running DataHub, named as its own command line finds it; the token there may only read."""
    with GmsDouble.serving() as double:
        double.store.put(ORDERS, ASPECT, {"elements": [WIKI]})
        monkeypatch.setenv("DATAHUB_GMS_URL", double.url)
        monkeypatch.setenv("DATAHUB_GMS_TOKEN", READER_TOKEN)
        monkeypatch.setenv("PALIMPSEST_CONSOLE__PUBLIC_URL", "https://memory.example.org")
        monkeypatch.setenv("PALIMPSEST_PUBLISH__TO", "datahub")
        yield double


def run(memory: Memory, *arguments: str) -> int:
    """Run a command on the memory."""
    return main(["--store", memory.url, *arguments])


def test_publishing_to_datahub_takes_its_own_token_and_shows_none(
    memory: Memory, gms: GmsDouble, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PALIMPSEST_PUBLISH__TOKEN", gms.token)
    assert run(memory, "publish", "--unchecked") == 0
    said = capsys.readouterr()
    assert said.out == f"datahub:{gms.url}: 1 links written, 0 unchanged\n  {ORDERS}: {LABEL}\n"
    assert run(memory, "-q", "publish", "--unchecked") == 0
    assert capsys.readouterr() == ("", "")
    assert run(memory, "config", "show") == 0
    assert run(memory, "unpublish", "--all", "--json") == 0
    assert gms.token not in said.out + said.err + "".join(capsys.readouterr())
    assert gms.store.value(ORDERS, ASPECT) == {"elements": [WIKI]}


def test_a_token_that_may_not_write_is_a_failure_that_says_so(
    memory: Memory, gms: GmsDouble, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(memory, "publish", "--unchecked") == 1
    out = capsys.readouterr().out
    assert f"failed: {ORDERS}: the token may not do this (403): set publish.token" in out
    assert READER_TOKEN not in out
    monkeypatch.setenv("PALIMPSEST_PUBLISH__TOKEN", "no-such-token")
    assert run(memory, "publish", "--unchecked") == 3
    assert "no-such-token" not in "".join(capsys.readouterr())


@pytest.mark.long
def test_what_others_write_meanwhile_is_kept_or_reported_and_the_next_publish_completes(
    memory: Memory, gms: GmsDouble, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another writer, one who wins every time, and a DataHub that ignores the condition of a write."""
    monkeypatch.setenv("PALIMPSEST_PUBLISH__TOKEN", gms.token)
    other = WIKI | {"url": "https://other.example.org"}

    def another(store: AspectStore, urn: str, aspect: str) -> None:
        store.put(urn, ASPECT, {"elements": [*store.links(urn), other | {"description": str(store.generation)}]})

    gms.faults.before_write(another, times=None)
    assert run(memory, "publish", "--unchecked") == 1
    assert f"failed: {ORDERS}: others wrote to the same links" in capsys.readouterr().out
    assert not any("memory.example.org" in str(link["url"]) for link in gms.store.links(ORDERS))
    gms.faults.clear()
    gms.faults.ignores_version_match = True
    gms.faults.before_write(lambda store, urn, aspect: store.put(urn, ASPECT, {"elements": [WIKI, other]}))
    assert run(memory, "publish", "--unchecked") == 0
    assert "DataHub ignored If-Version-Match" in capsys.readouterr().out
    gms.faults.clear()
    assert run(memory, "-q", "publish", "--unchecked") == 0
    assert capsys.readouterr() == ("", "")
    links = gms.store.links(ORDERS)
    assert (links[:2], len(links)) == ([WIKI, other], 3)
    assert {write.aspect for write in gms.writes} == {ASPECT}


def test_a_dry_run_shows_the_list_before_and_after(
    memory: Memory, gms: GmsDouble, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(memory, "publish", "--dry-run") == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[2:] == [
        "      Wiki  https://wiki.example.org",
        f"    + {LABEL}  {url_of('https://memory.example.org', memory.store.ids.entity(ORDERS))}",
    ]
    assert gms.writes == []


def test_a_datahub_that_is_away_or_not_named(
    memory: Memory, gms: GmsDouble, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATAHUB_GMS_URL", "http://127.0.0.1:1")
    with stamina.set_testing(True, attempts=1):
        assert run(memory, "publish", "--unchecked") == 3
    assert "gives no answer" in capsys.readouterr().err
    monkeypatch.delenv("DATAHUB_GMS_URL")
    assert run(memory, "publish", "--unchecked") == 2
    assert capsys.readouterr().err.startswith("error: no DataHub is named")
    monkeypatch.delenv("PALIMPSEST_CONSOLE__PUBLIC_URL")
    assert run(memory, "publish", "--unchecked") == 2
    assert capsys.readouterr().err.startswith("error: console.public_url is not set")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name datasets, or take --all"),
        (["--all", ORDERS], "name datasets, or take --all"),
        (["urn:li:tag:x"], "'urn:li:tag:x' is no dataset"),
        (["--all", "--from", "links.json"], "publish.to is links.json: what was applied from a proposals file"),
    ],
)
def test_what_cannot_be_unpublished_is_said(
    memory: Memory, gms: GmsDouble, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run(memory, "unpublish", *arguments) == 2
    assert capsys.readouterr().err.startswith(f"error: {said}")
    assert gms.requests == []


def test_unpublish_shows_what_it_would_do(memory: Memory, gms: GmsDouble, capsys: pytest.CaptureFixture[str]) -> None:
    url = url_of("https://memory.example.org", memory.store.ids.entity(ORDERS))
    ours = WIKI | {"url": url, "description": "Agent memory"}
    gms.store.put(ORDERS, ASPECT, {"elements": [ours, WIKI]})
    assert run(memory, "unpublish", ORDERS, "--dry-run") == 0
    assert capsys.readouterr().out.splitlines() == [
        f"datahub:{gms.url}: 1 links would be taken away, 0 datasets had none",
        f"  {ORDERS}",
        f"    - Agent memory  {url}",
        "      Wiki  https://wiki.example.org",
    ]
    assert gms.writes == []
