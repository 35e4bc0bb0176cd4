"""The probe fetches a page once from a real server, and says why where there is none."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from palimpsest.adapters.page_probe import HttpPageProbe, NoPageProbe
from palimpsest.core.errors import CatalogError


class Console(BaseHTTPRequestHandler):
    """Answers /ok, moves /moved there, breaks on /broken, and knows nothing else."""

    asked: list[str]

    def do_GET(self) -> None:
        """Answer."""
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        code = {"/ok": 200, "/moved": 302, "/broken": 500}.get(self.path, 404)
        self.send_response(code)
        if code == 302:
            self.send_header("Location", "/ok")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    """A console on the loopback."""
    found = ThreadingHTTPServer(("127.0.0.1", 0), Console)
    found.asked = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=found.serve_forever)
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


def address(server: ThreadingHTTPServer, path: str) -> str:
    """A page of it."""
    return f"http://127.0.0.1:{server.server_address[1]}{path}"


def test_a_page_that_answers_is_fetched_once(server: ThreadingHTTPServer) -> None:
    HttpPageProbe().check(address(server, "/ok"))
    assert server.asked == ["/ok"]  # type: ignore[attr-defined]


def test_a_page_that_moved_is_followed(server: ThreadingHTTPServer) -> None:
    HttpPageProbe().check(address(server, "/moved"))
    assert server.asked == ["/moved", "/ok"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("path", "why"), [("/nowhere", "Not Found"), ("/broken", "Internal Server Error")])
def test_a_page_that_is_not_there_is_one_error(server: ThreadingHTTPServer, path: str, why: str) -> None:
    url = address(server, path)
    with pytest.raises(CatalogError) as caught:
        HttpPageProbe().check(url)
    assert caught.value.message == f"the page {url} does not answer: {why}"
    assert caught.value.hint == "start the console there, or publish with --unchecked"


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x", "http://[bad", "no address"])
def test_a_server_that_is_not_there_is_one_error(url: str) -> None:
    with pytest.raises(CatalogError, match="does not answer"):
        HttpPageProbe().check(url)


def test_no_probe_asks_for_nothing() -> None:
    NoPageProbe().check("http://127.0.0.1:1/x")
