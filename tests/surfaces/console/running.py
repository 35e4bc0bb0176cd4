"""The real console in a process of its own, and a proxy before it, both on loopback."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[3]


@contextmanager
def console(url: str, home: Path, *arguments: str, **variables: str) -> Iterator[str]:
    """`palimpsest console serve` on a free port; gives its address."""
    env = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "PYTHONPATH": str(ROOT), **variables}
    command = [sys.executable, "-m", "palimpsest.surfaces.cli.app", "--store", url, "console", "serve", "--port", "0"]
    process = subprocess.Popen(
        [*command, *arguments], cwd=home, env=env, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert process.stdout is not None
    try:
        said = process.stderr.readline()
        assert "the console is at http" in said, said + process.stderr.read()
        yield said.split()[4].rstrip("/")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    assert process.returncode == 130


@contextmanager
def proxy(target: str, prefix: str, *, strips: bool) -> Iterator[str]:
    """A reverse proxy that shows a console below a prefix, which it takes off the path or leaves; gives its address."""
    to = urlsplit(target)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self.path.startswith(prefix):
                self.send_error(404)
                return
            path = self.path.removeprefix(prefix) if strips else self.path
            upstream = http.client.HTTPConnection(to.hostname or "", to.port or 80, timeout=30)
            headers = {
                name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")
            }
            upstream.request(self.command, path or "/", headers={**headers, "Host": "memory.example.org"})
            answer = upstream.getresponse()
            body = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)
            upstream.close()

        do_HEAD = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def fetch(
    address: str, *, method: str = "GET", headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], str]:
    """Status, headers in small letters, and body of one request."""
    to = urlsplit(address)
    connection = http.client.HTTPConnection(to.hostname or "", to.port or 80, timeout=30)
    connection.request(method, to.path + (f"?{to.query}" if to.query else ""), headers=headers or {})
    answer = connection.getresponse()
    body = answer.read().decode("utf-8")
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body
