"""Runs the application on one socket until it is interrupted, with limits on what a client may send."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import uvicorn

from palimpsest.core.errors import UsageError

if TYPE_CHECKING:
    from fastapi import FastAPI

_MOST_HEADERS = 16_384  # bytes of a request line with its headers
_MOST_AT_ONCE = 64
_BACKLOG = 128


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises UsageError where there can be none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise UsageError(
            f"{host} port {port} cannot be listened on: {error.strerror}", "name another --port"
        ) from error


def address(listening: socket.socket) -> str:
    """Where a socket listens, as an address for a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def serve(app: FastAPI, listening: socket.socket) -> None:
    """Answer until interrupted."""
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
    )
    uvicorn.Server(config).run(sockets=[listening])
