"""Runs the application on one socket until it is interrupted, with limits on what a client may send."""

from __future__ import annotations

import gc
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import uvicorn

from palimpsest.core.errors import PalimpsestError, UsageError

if TYPE_CHECKING:
    from fastapi import FastAPI

_MOST_HEADERS = 16_384  # bytes of a request line with its headers
_MOST_AT_ONCE = 64
_BACKLOG = 128


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises UsageError where there can be none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise UsageError(
            f"{host} port {port} cannot be listened on: {error.strerror}", "name another --port"
        ) from error
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # head and body are two writes: no waiting between
    return listening


def address(listening: socket.socket) -> str:
    """Where a socket listens, as an address for a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def serve(make: Callable[[], FastAPI], listening: socket.socket, workers: int) -> None:
    """Answer until interrupted, in so many processes; each makes the application for itself.

    Raises PalimpsestError when one of them fails: the others end with it.
    """
    if workers == 1:
        _run(make(), listening)
        return
    children = [_begin(make, listening) for _ in range(workers)]
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        os.wait()
        raise PalimpsestError("a process of the console failed", "its last words are above")
    finally:
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)
        for _ in children:
            with suppress(ChildProcessError):
                os.wait()


def _begin(make: Callable[[], FastAPI], listening: socket.socket) -> int:
    """A process that answers; gives its number."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process says when to end
        _run(make(), listening)
        code = 0
    finally:
        os._exit(code)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _run(app: FastAPI, listening: socket.socket) -> None:
    gc.collect()
    gc.freeze()  # what is loaded stays: a collection that walks it would hold up a page by some 50 ms
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_AT_ONCE,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=5,
        h11_max_incomplete_event_size=_MOST_HEADERS,
        backlog=1,
    )
    _Server(config).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Takes one connection at a time, so that processes on one socket share them: asyncio takes a backlog at once."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin, and let as many wait as did before."""
        await super().startup(sockets)
        for one in sockets or []:
            one.listen(_BACKLOG)
