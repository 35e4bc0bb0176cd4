"""The official client on our server: over stdio on a real process, and over HTTP on a real socket."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx2
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, Implementation, TextContent

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = [sys.executable, "-m", "palimpsest.surfaces.cli.app"]
Result = TypeVar("Result")
Work = Callable[[ClientSession], Awaitable[Result]]


def environment(home: Path, **more: str) -> dict[str, str]:
    """The variables of a process of ours, with a home of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PALIMPSEST_", "XDG_"))}
    return kept | {"HOME": str(home), "PYTHONPATH": str(ROOT)} | more


def over_stdio(url: str, home: Path, work: Work[Result], *, name: str = "codex") -> Result:
    """Run some work with a client of that name on a server that it starts."""
    given = StdioServerParameters(
        command=PROGRAM[0], args=[*PROGRAM[1:], "--store", url, "mcp"], env=environment(home), cwd=home
    )

    async def main() -> Result:
        with (home / "stderr.log").open("w") as errors, anyio.fail_after(60):
            async with (
                stdio_client(given, errlog=errors) as (read, write),
                ClientSession(read, write, client_info=Implementation(name=name, version="1")) as session,
            ):
                await session.initialize()
                return await work(session)

    return anyio.run(main)


@contextmanager
def serving(url: str, home: Path, *, token: str = "", **more: str) -> Iterator[str]:
    """A server over HTTP while the block lasts: its address. It ends well by Ctrl-C."""
    variables = environment(home, **({"PALIMPSEST_MCP__TOKEN": token} if token else {}), **more)
    command = [*PROGRAM, "--store", url, "mcp", "--http", "--port", "0"]
    process = subprocess.Popen(command, cwd=home, env=variables, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        assert line.startswith("serving http://127.0.0.1:"), line
        yield line.split()[1].rstrip(";")
    finally:
        process.send_signal(2)
        _, errors = process.communicate(timeout=20)
        assert process.returncode == 0, errors


def over_http(address: str, work: Work[Result], *, token: str = "", name: str = "cursor") -> Result:
    """Run some work with a client of that name on a server at an address."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}

    async def main() -> Result:
        with anyio.fail_after(60):
            async with (
                httpx2.AsyncClient(headers=headers) as http,
                streamable_http_client(address, http_client=http) as (read, write),
                ClientSession(read, write, client_info=Implementation(name=name, version="1")) as session,
            ):
                await session.initialize()
                return await work(session)

    return anyio.run(main)


def text_of(result: CallToolResult) -> str:
    """The text of a tool's answer."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def calls(*given: tuple[str, dict[str, Any]]) -> Work[list[CallToolResult]]:
    """Work that calls tools one after the other."""

    async def work(session: ClientSession) -> list[CallToolResult]:
        return [await session.call_tool(tool, arguments) for tool, arguments in given]

    return work
