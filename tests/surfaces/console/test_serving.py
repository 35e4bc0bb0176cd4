"""The console as a process: where it listens, what it takes from clients, behind a proxy, and the command line."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.building import Memory
from tests.surfaces.console.reading import ORDERS, Seen, entity_path
from tests.surfaces.console.running import ROOT, console, fetch, proxy

PREFIX = "/tools/memory"


def palimpsest(url: str, home: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the console."""
    env = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "PYTHONPATH": str(ROOT), **variables}
    command = [sys.executable, "-m", "palimpsest.surfaces.cli.app", "--store", url, "console", *arguments]
    return subprocess.run(command, cwd=home, env=env, capture_output=True, text=True, check=False, timeout=120)


def test_the_console_serves_until_it_is_interrupted(memory: Memory, tmp_path: Path) -> None:
    with console(memory.url, tmp_path) as address:
        status, headers, body = fetch(f"{address}/")
        assert status == 200
        assert "What is remembered" in body
        assert "server" not in headers
        assert fetch(f"{address}/", method="HEAD")[2] == ""
        assert fetch(f"{address}/readyz")[2] == "ready\n"
        assert fetch(f"{address}/", headers={"Host": "evil.example"})[0] == 421


def test_a_request_line_that_never_ends_is_cut_off(memory: Memory, tmp_path: Path) -> None:
    with console(memory.url, tmp_path) as address:
        to = urlsplit(address)
        with socket.create_connection((to.hostname, to.port), timeout=30) as client:
            client.sendall(b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 4")
        assert fetch(f"{address}/healthz")[0] == 200


@pytest.mark.parametrize("strips", [True, False])
def test_behind_a_proxy_every_link_stays_below_the_root_path(memory: Memory, tmp_path: Path, strips: bool) -> None:
    public = {"PALIMPSEST_CONSOLE__PUBLIC_URL": f"https://memory.example.org{PREFIX}"}
    with (
        console(memory.url, tmp_path, "--root-path", PREFIX, **public) as address,
        proxy(address.removesuffix(PREFIX), PREFIX, strips=strips) as front,
    ):
        waiting, seen = (
            [f"{PREFIX}/", f"{PREFIX}{entity_path(memory.store, ORDERS)}?from=palimpsest-memory"],
            set[str](),
        )
        while waiting and len(seen) < 40:
            path = waiting.pop(0)
            if path in seen:
                continue
            seen.add(path)
            status, headers, body = fetch(f"{front}{path}")
            assert (path, status) == (path, 200)
            page = Seen(body)
            found = [given.get(name) for _, given in page.elements for name in ("href", "src", "action")]
            leads = [str(one) for one in found if one and not one.startswith("#")]
            assert [one for one in leads if not one.startswith(PREFIX + "/")] == [], path
            if headers["content-type"].startswith("text/html"):
                waiting += leads
        assert len(seen) == 40
        assert fetch(f"{front}{PREFIX}/nothing")[0] == 404


def test_behind_a_proxy_with_a_token_the_cookie_is_of_the_root_path(memory: Memory, tmp_path: Path) -> None:
    given = {"Authorization": "Basic " + base64.b64encode(b":sixteen letters..").decode()}
    with (
        console(
            memory.url, tmp_path, "--root-path", PREFIX, "--token-env", "SECRET", SECRET="sixteen letters.."
        ) as address,
        proxy(address.removesuffix(PREFIX), PREFIX, strips=True) as front,
    ):
        assert fetch(f"{front}{PREFIX}/")[0] == 401
        assert fetch(f"{front}{PREFIX}/", headers=given)[0] == 200
        status, headers, _ = fetch(f"{front}{PREFIX}/enter", headers=given)
        assert (status, headers["location"]) == (303, f"{PREFIX}/")
        assert f"Path={PREFIX}" in headers["set-cookie"]
        assert fetch(f"{front}{PREFIX}/", headers={"Cookie": headers["set-cookie"].partition(";")[0]})[0] == 200


def test_elsewhere_than_on_this_machine_it_listens_only_with_a_token(memory: Memory, tmp_path: Path) -> None:
    done = palimpsest(memory.url, tmp_path, "serve", "--host", "0.0.0.0")
    assert done.returncode == 2
    assert "without a token the console listens on this machine only" in done.stderr


def test_a_token_that_is_not_there_is_no_token(memory: Memory, tmp_path: Path) -> None:
    done = palimpsest(memory.url, tmp_path, "serve", "--token-env", "NOT_THERE")
    assert done.returncode == 2
    assert "NOT_THERE holds no token" in done.stderr


def test_a_port_that_is_taken_is_told(memory: Memory, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = palimpsest(memory.url, tmp_path, "serve", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 2
    assert "cannot be listened on" in done.stderr


def test_a_root_path_that_is_none_is_refused(memory: Memory, tmp_path: Path) -> None:
    assert palimpsest(memory.url, tmp_path, "serve", "--root-path", "/a?b").returncode == 2


def test_a_store_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert palimpsest(f"sqlite:///{tmp_path}/none.db", tmp_path, "serve").returncode == 4


def test_an_export_says_where_it_is(memory: Memory, tmp_path: Path) -> None:
    done = palimpsest(memory.url, tmp_path, "export", str(tmp_path / "site"))
    assert done.returncode == 0
    assert f"open {tmp_path}/site/index.html" in done.stderr
    assert done.stdout == ""
    again = palimpsest(memory.url, tmp_path, "export", str(tmp_path / "site"), "--json")
    assert '"kind":"console export"' in again.stdout
    assert palimpsest(memory.url, tmp_path, "export", str(tmp_path)).returncode == 2
