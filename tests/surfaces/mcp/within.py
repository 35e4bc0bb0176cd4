"""The server in this process, one call at a time: what a client is answered, without a transport."""

from __future__ import annotations

from typing import Any

import anyio
from mcp.client import Client
from mcp.types import CallToolResult, Implementation

from palimpsest.surfaces.mcp.memory import Memory
from palimpsest.surfaces.mcp.server import server_of


def answered(memory: Memory, tool: str, given: dict[str, Any], *, name: str = "codex") -> CallToolResult:
    """What a client of that name is answered."""

    async def main() -> CallToolResult:
        async with Client(server_of(memory), client_info=Implementation(name=name, version="1")) as client:
            return await client.call_tool(tool, given)

    return anyio.run(main)
