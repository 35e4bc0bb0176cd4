"""Serving over stdio, till the input ends, or over streamable HTTP, till it is interrupted.

Over HTTP without a token only this machine is served, and only under its own names, so that no page of another site can
ask; with one, whoever has it.
"""

from __future__ import annotations

import hmac
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import suppress
from hashlib import sha256
from ipaddress import ip_address
from typing import Any

import anyio
import anyio.lowlevel
import uvicorn
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from palimpsest.core.errors import ConfigError, UsageError
from palimpsest.surfaces.mcp.memory import Memory
from palimpsest.surfaces.mcp.server import server_of

PATH = "/mcp"
LEAST_TOKEN = 16  # characters
_LARGEST_REQUEST = 1_000_000  # bytes
_AT_ONCE = 65_536
_MOST_SESSIONS = 1_000
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

Scope = MutableMapping[str, Any]
Application = Callable[[Scope, Callable[..., Awaitable[Any]], Callable[..., Awaitable[Any]]], Awaitable[None]]


def serve_stdio(memory: Memory) -> None:
    """Serve this process's client until its input ends."""
    server = server_of(memory)

    async def main() -> None:
        async with stdio_server(stdin=_lines(sys.stdin.fileno())) as (read, write):  # type: ignore[arg-type]
            await server.run(read, write, server.create_initialization_options())

    with suppress(KeyboardInterrupt):  # how it is ended, where its client does not close its input
        anyio.run(main)


async def _lines(fd: int) -> AsyncIterator[str]:
    """The lines of a stream, read without a thread that would outlast an interrupt. A line without end ends it."""
    waiting, is_file = b"", False
    while len(waiting) <= _LARGEST_REQUEST:
        try:
            await (anyio.lowlevel.checkpoint() if is_file else anyio.wait_readable(fd))
        except PermissionError:  # a file is always ready, and is not waited for
            is_file = True
        data = os.read(fd, _AT_ONCE)
        *whole, waiting = (waiting + data).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace")
        if not data:
            return


def bind(host: str, port: int, *, token: str) -> socket.socket:
    """A socket that listens. Raises ConfigError for one that strangers could reach, UsageError for a port in use."""
    if token and len(token) < LEAST_TOKEN:
        raise ConfigError(f"mcp.token is shorter than {LEAST_TOKEN} characters", "make a longer one")
    if not token and not _is_loopback(host):
        raise ConfigError(
            f"without a token the MCP server listens on this machine only, not on {host}",
            "set PALIMPSEST_MCP__TOKEN, or leave --host out",
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()
    except (OSError, UnicodeError) as error:
        listening.close()
        raise UsageError(f"{host}:{port} cannot be listened on: {error}", "name another --host or --port") from error
    return listening


def serve_http(memory: Memory, listening: socket.socket, *, token: str, hosts: Sequence[str]) -> None:
    """Serve clients that come to a bound socket, until this process is interrupted."""
    config = uvicorn.Config(
        application(memory, token=token, hosts=hosts),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    with suppress(KeyboardInterrupt):  # how it is ended
        uvicorn.Server(config).run(sockets=[listening])


def application(memory: Memory, *, token: str, hosts: Sequence[str] = ()) -> Application:
    """The ASGI application: the protocol behind a check of the token, and of Host and Origin."""
    app = server_of(memory).streamable_http_app(
        streamable_http_path=PATH,
        transport_security=_names(token, hosts),
        max_request_body_size=_LARGEST_REQUEST,
        max_sessions=_MOST_SESSIONS,
    )
    return _guarded(app, token) if token else app


def _names(token: str, hosts: Sequence[str]) -> TransportSecuritySettings:
    """Under which names a request is answered: this machine's, or those given. A token keeps strangers out without."""
    named = [*hosts, *(() if hosts and token else _LOOPBACK)]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=bool(hosts) or not token,
        allowed_hosts=[spelt for name in named for spelt in (name, f"{name}:*")],
        allowed_origins=[
            f"{scheme}://{spelt}" for name in named for spelt in (name, f"{name}:*") for scheme in ("http", "https")
        ],
    )


def _guarded(app: Application, token: str) -> Application:
    """The application for those who have the token. Compared in a time that tells nothing of it."""
    right = sha256(token.encode()).digest()

    async def guarded(
        scope: Scope, receive: Callable[..., Awaitable[Any]], send: Callable[..., Awaitable[Any]]
    ) -> None:
        if scope["type"] == "http":
            given = sha256(_bearer(scope["headers"])).digest()
            if not hmac.compare_digest(given, right):
                headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": b"a bearer token is needed"})
                return
        await app(scope, receive, send)

    return guarded


def _bearer(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """The token that a request brings; nothing where it brings none, or two."""
    given = [value for name, value in headers if name.lower() == b"authorization"]
    kind, _, token = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
    return token.strip() if kind.lower() == b"bearer" else b""


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
