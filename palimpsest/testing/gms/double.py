"""`GmsDouble`: the double itself, a server on the loopback with a Python API to load it, watch it and break it.

with GmsDouble.serving(load=[path]) as gms:
    gms.url, gms.token, gms.store, gms.requests, gms.writes, gms.faults
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast
from urllib.parse import parse_qsl, urlsplit

from palimpsest.adapters.clock import SystemClock
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.moment import Moment
from palimpsest.ports import Clock
from palimpsest.testing.gms import answers, loading, rest
from palimpsest.testing.gms.faults import Fault, Faults
from palimpsest.testing.gms.lineage import Lineage
from palimpsest.testing.gms.rest import Call, Reply
from palimpsest.testing.gms.search import SearchIndex
from palimpsest.testing.gms.store import SYSTEM, AspectStore, Write

TOKEN = "gms-double-token"
READER_TOKEN = "gms-double-reader-token"
VERSION = "v1.4.0"
_OPEN_PATHS = ("/config", "/health", "/admin")


@dataclass(slots=True)
class Request:
    """A request that came in, and the status that it was answered with; 0 while there is no answer."""

    method: str
    path: str
    operation: str
    body: Json
    actor: str
    status: int = 0


class GmsDouble:
    """A test double of DataHub's metadata service.

    `tokens` maps each token to the actor it stands for; no token at all means that nobody is asked for one. An actor in
    `readers` may read and not write.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        retention: int = 20,
        tokens: dict[str, str] | None = None,
        version: str = VERSION,
    ) -> None:
        self.version = version
        self.tokens = {TOKEN: SYSTEM, READER_TOKEN: "urn:li:corpuser:reader"} if tokens is None else tokens
        self.token = next(iter(self.tokens), "")
        self.readers = {"urn:li:corpuser:reader"}
        self.faults = Faults()
        self.store = AspectStore(clock or SystemClock(), retention)
        self.index = SearchIndex(self.store, self.faults)
        self.lineage = Lineage(self.store, self.faults)
        self.requests: list[Request] = []
        self.writes: list[Write] = []
        self.url = ""
        self._server: _Server | None = None

    @classmethod
    @contextmanager
    def serving(
        cls,
        load: Iterable[Path] = (),
        *,
        at: Moment | None = None,
        clock: Clock | None = None,
        retention: int = 20,
        tokens: dict[str, str] | None = None,
        port: int = 0,
    ) -> Iterator[GmsDouble]:
        """A double that serves on the loopback while the block runs, with these metadata files in it."""
        double = cls(clock=clock, retention=retention, tokens=tokens)
        for path in load:
            double.load(path, at=at)
        double.start(port)
        try:
            yield double
        finally:
            double.stop()

    def load(self, path: Path, *, at: Moment | None = None, actor: str = "") -> int:
        """Ingest a metadata file or folder, at a time. Returns the number of aspects; none is recorded as a write."""
        with self.store.lock:
            return loading.load(self.store, path, at=at, actor=actor)

    def refresh(self) -> None:
        """Let search see what was written, though it lags."""
        with self.store.lock:
            self.index.refresh()

    def asked(self, text: str) -> list[Request]:
        """The requests with this GraphQL operation, or this text in their path."""
        return [request for request in self.requests if text == request.operation or text in request.path]

    def start(self, port: int = 0) -> None:
        """Serve on the loopback; `url` says where. Search sees what was loaded till now, though it lags later."""
        self.refresh()
        self._server = _Server(("127.0.0.1", port), self)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self) -> None:
        """Stop serving, and break what connections there are."""
        self.faults.close()
        if self._server is not None:
            self._server.shutdown()
            self._server.end()
            self._server = None

    def reply(self, call: Call, token: str) -> tuple[Reply, list[Fault]]:
        """What is answered to a call, and the faults that happen to it."""
        if isinstance(call.body, dict) and isinstance(call.body.get("query"), str):
            call.body["query"] = sys.intern(str(call.body["query"]))  # a client asks the same long text again and again
        operation = _operation(call)
        actor = self.tokens.get(token, "") if self.tokens else SYSTEM
        request = Request(call.method, _full_path(call), operation, call.body, actor)
        self.requests.append(request)
        struck: list[Fault] = []
        if self.faults.are_set:
            struck = self.faults.striking(request.path, operation, json.dumps(call.body, ensure_ascii=False))
        reply = self._answer(call, actor, struck)
        request.status = reply.status
        return reply, struck

    def _answer(self, call: Call, actor: str, struck: list[Fault]) -> Reply:
        for fault in struck:
            if fault.seconds:
                self.faults.wait(fault.seconds)
            if fault.status:
                headers = {"Retry-After": fault.retry_after} if fault.retry_after else {}
                phrase = HTTPStatus(fault.status).phrase
                return Reply(fault.status, {"error": phrase, "message": f"fault {fault.status}: {phrase}"}, headers)
            if fault.message:
                return Reply(200, {"data": None, "errors": [{"message": fault.message, "extensions": {"code": 500}}]})
        if call.path in ("/health", "/admin"):
            return Reply(200)
        if call.path == "/config":
            return Reply(200, rest.config(self.version))
        if not actor:
            return Reply(401, {"message": "Unauthorized to perform this action: no valid token."})
        world = answers.World(
            self.store,
            self.index,
            self.lineage,
            self.faults,
            actor,
            actor not in self.readers,
            self.writes,
            self.version,
        )
        if call.path == "/api/graphql":
            if not isinstance(call.body, dict):
                return Reply(400, {"errors": [{"message": "a query is a JSON object"}]})
            with self.store.lock:
                return Reply(200, answers.execute(world, call.body))
        return rest.answer(world, call)


def _operation(call: Call) -> str:
    if call.path != "/api/graphql" or not isinstance(call.body, dict):
        return ""
    named = call.body.get("operationName")
    return named if isinstance(named, str) and named else answers.operation_of(str(call.body.get("query")))


def _full_path(call: Call) -> str:
    return call.path + ("?" + "&".join(f"{name}={value}" for name, value in call.query.items()) if call.query else "")


class _Server(ThreadingHTTPServer):
    """The HTTP server of one double; it knows its open connections, to break them at the end."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], double: GmsDouble) -> None:
        self.double = double
        self.open: set[socket.socket] = set()
        super().__init__(address, _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no error of the double's."""

    def end(self) -> None:
        """Close the listening socket and every connection."""
        self.server_close()
        for connection in list(self.open):
            _break(connection)


def _break(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    """One connection: each request is taken apart, answered, or not answered as the faults will."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        """Remember the connection."""
        super().setup()
        self.server.open.add(cast("socket.socket", self.connection))

    def finish(self) -> None:
        """Forget the connection."""
        self.server.open.discard(cast("socket.socket", self.connection))
        super().finish()

    def do_GET(self) -> None:
        """Answer."""
        self._serve()

    do_POST = do_PATCH = do_DELETE = do_HEAD = do_PUT = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Silent: the requests are in `GmsDouble.requests`."""

    def _serve(self) -> None:
        split = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length) if length else b""
        try:
            body: Json = json.loads(raw) if raw else None
        except ValueError:
            self._send(Reply(400, {"message": "the body is no JSON"}))
            return
        headers = {name.casefold(): value for name, value in self.headers.items()}
        path = split.path.removeprefix("/api/gms") or "/"
        call = Call(self.command, path, dict(parse_qsl(split.query, keep_blank_values=True)), headers, body)
        token = headers.get("authorization", "").removeprefix("Bearer ").strip()
        reply, struck = self.server.double.reply(call, token)
        cut = next((fault.cut for fault in struck if fault.cut), "")
        if cut == "before":
            self._drop()
            return
        self._send(reply, within=cut == "within")

    def _send(self, reply: Reply, *, within: bool = False) -> None:
        payload = b"" if reply.body is None else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if payload:
            self.send_header("Content-Type", "application/json")
        if reply.status != 204:
            self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        if within:
            self.wfile.write(payload[: len(payload) // 2])
            self._drop()
        elif self.command != "HEAD":
            self.wfile.write(payload)

    def _drop(self) -> None:
        self.close_connection = True
        _break(cast("socket.socket", self.connection))
