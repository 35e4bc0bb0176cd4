"""Loopback servers that speak the wire formats of Gemini's and Ollama's embedders, and fail as they are told to."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

import numpy as np

from palimpsest.adapters.embed.hashed import HashedEmbedder
from palimpsest.core.vector import DIMENSION

KEY = "key-of-the-test"
Served = TypeVar("Served", bound="Serving")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What one request gets in place of an answer; `status` 0 is silence until the server ends.

    `cut`: the connection is closed in the middle of the body.
    """

    status: int
    body: object = ""
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False


class Serving:
    """A server at work: what it was asked, what it will do wrong next, how its vectors look."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.faults: deque[Fault] = deque()
        self.dimension = DIMENSION
        self.model = ""
        self.url = ""
        self.ended = threading.Event()

    def vectors(self, texts: list[str], dimension: int) -> list[list[float]]:
        """Vectors that depend on the text alone, not of length one, as a server that cuts gives them."""
        rows = HashedEmbedder().embed_passages(texts) * 0.37
        wide = np.concatenate([rows] * -(-dimension // DIMENSION), axis=1)[:, :dimension]
        return [[float(number) for number in row] for row in wide]

    def answer(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> tuple[int, object]:
        """By the path: which of the two it is asked as."""
        self.requests.append((path, headers, body))
        return self._as_ollama(body) if path == "/api/embed" else self._as_gemini(path, headers, body)

    def _as_ollama(self, body: dict[str, Any]) -> tuple[int, object]:
        if self.model and body["model"] != self.model:
            return 404, {"error": f'model "{body["model"]}" not found, try pulling it first'}
        texts = body["input"]
        if not all(texts):
            return 400, {"error": "invalid input"}
        return 200, {"model": body["model"], "embeddings": self.vectors(texts, self.dimension), "total_duration": 1}

    def _as_gemini(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> tuple[int, object]:
        if headers.get("x-goog-api-key") != KEY:
            details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
            said = "API key not valid. Please pass a valid API key."
            return 400, {"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT", "details": details}}
        asked = body["requests"]
        texts = [one["content"]["parts"][0]["text"] for one in asked]
        if len(asked) > 100 or not all(texts):
            return 400, {"error": {"code": 400, "message": "bad request", "status": "INVALID_ARGUMENT"}}
        wide = min(self.dimension, asked[0].get("outputDimensionality", self.dimension))
        wide = self.dimension if self.dimension != DIMENSION else wide
        return 200, {"embeddings": [{"values": row} for row in self.vectors(texts, wide)]}


@contextmanager
def serving() -> Iterator[Serving]:
    """A server of embedders while the block lasts."""
    with served(Serving()) as state:
        yield state


@contextmanager
def served(state: Served) -> Iterator[Served]:
    """A server on a free port of this machine while the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers: dict[str, str] = {}
            cut = False
            if state.faults:
                fault = state.faults.popleft()
                state.requests.append((self.path, {}, body))
                if not fault.status:
                    state.ended.wait()
                    self.close_connection = True
                    return
                status, content, headers, cut = fault.status, fault.body, fault.headers, fault.cut
            else:
                given = {name.lower(): value for name, value in self.headers.items()}
                status, content = state.answer(self.path, given, body)
            sent = content.encode() if isinstance(content, str) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in {"content-type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent[: len(sent) // 2] if cut else sent)
            self.close_connection = self.close_connection or cut

        def log_message(self, *arguments: object) -> None:
            """Says nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that gave up is no news."""

    server = Server(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        state.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
