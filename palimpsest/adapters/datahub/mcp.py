"""The connection to DataHub's MCP server, over stdio or streamable HTTP. All that is asynchronous is in here.

One event loop in one thread (an anyio blocking portal) serves every caller. The server's process has an environment and
a home of its own, its stderr goes to a file, and it ends with the connection.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import AsyncExitStack, ExitStack, suppress
from pathlib import Path
from typing import IO, Protocol

import anyio
import httpx2
from anyio.abc import TaskStatus
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CONNECTION_CLOSED, CallToolResult, TextContent

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.errors import CatalogError
from palimpsest.core.jsontext import clean, loads

DEFAULT_COMMAND = ("uvx", "mcp-server-datahub@0.8.0")

_STOP_WITHIN_S = 15.0
_NO_LIMIT = "1000000000"
# What the server's process is told: quiet, silent to others, unabridged, and with nothing that writes.
_SETTINGS = {
    "LOGURU_LEVEL": "WARNING",
    "DATAHUB_TELEMETRY_ENABLED": "false",
    "DATAHUB_MCP_DISABLE_DEFAULT_VIEW": "true",
    "DATAHUB_MCP_DOCUMENT_TOOLS_DISABLED": "true",
    "TOOLS_IS_MUTATION_ENABLED": "false",
    "SEMANTIC_SEARCH_ENABLED": "false",
    "TOOL_RESPONSE_TOKEN_LIMIT": _NO_LIMIT,
    "ENTITY_SCHEMA_TOKEN_BUDGET": _NO_LIMIT,
    "DESCRIPTION_LENGTH_LIMIT": _NO_LIMIT,
    "FIELD_DESCRIPTION_LENGTH_LIMIT": _NO_LIMIT,
    "QUERY_LENGTH_LIMIT": _NO_LIMIT,
}
# What it keeps of ours: the way to the network, and where uv holds what it has fetched.
_KEPT = ("LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_KEPT_FOLDED = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


class ToolFailed(Exception):
    """The server answers, but this call failed or took too long; another may go well. The message is the server's."""


class Tools(Protocol):
    """What reading needs of a connection."""

    @property
    def tools(self) -> frozenset[str]:
        """The names of the tools that the server has."""

    def call(self, tool: str, arguments: dict[str, Json]) -> Json:
        """A tool's answer. Raises ToolFailed, and CatalogError when the server cannot be used any more."""


class Connection:
    """One session with a server. Threads may share it. Open with `open_stdio` or `open_http`, and close it."""

    def __init__(self, where: str, *, timeout: float, start_timeout: float, secret: str = "") -> None:
        self.where = where
        self.tools: frozenset[str] = frozenset()
        self.calls = 0
        self._timeout = timeout
        self._start_timeout = start_timeout
        self._secret = secret
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None
        self._session: ClientSession | None = None
        self._stop: anyio.Event | None = None
        self._served: Future[None] | None = None
        self._log: Path | None = None

    # --- opening and closing ------------------------------------------------------------------------------------

    def open_stdio(self, command: Sequence[str], *, gms_url: str, token: str, environ: Mapping[str, str]) -> None:
        """Start the server's process and greet it. Raises CatalogError."""
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="palimpsest-mcp-")))
        self._log = folder / "stderr.txt"
        log = self._stack.enter_context(self._log.open("w", encoding="utf-8", errors="replace"))
        parameters = StdioServerParameters(
            command=command[0],
            args=list(command[1:]),
            env=server_environment(environ, home=folder, gms_url=gms_url, token=token),
            cwd=folder,
        )
        self._open(lambda stack: self._over_stdio(stack, parameters, log))

    def open_http(self, url: str, *, token: str) -> None:
        """Greet a server at an address. Raises CatalogError."""
        self._open(lambda stack: self._over_http(stack, url, token))

    def close(self) -> None:
        """End the session and, if it is ours, the server's process."""
        portal, self._portal = self._portal, None
        try:
            if portal is not None and self._stop is not None and self._served is not None:
                portal.call(self._stop.set)
                self._served.result(timeout=_STOP_WITHIN_S)
        except (*_BROKEN, RuntimeError, CancelledError):
            pass  # it is over either way
        finally:
            if portal is not None:
                with suppress(RuntimeError, CancelledError):
                    portal.call(portal.stop, True)
            self._stack.close()

    def _open(self, transport: _Transport) -> None:
        try:
            portal = self._stack.enter_context(start_blocking_portal(name="palimpsest-mcp"))
            self._portal = portal
            self._served, self.tools = portal.start_task(self._serve, transport)
        except (*_BROKEN, TimeoutError, RuntimeError, ValueError) as error:
            message = self._explained(error)
            self.close()
            raise CatalogError(
                f"DataHub's MCP server at {self.where} does not start: {message}", _START_HINT
            ) from error
        except BaseException:
            self.close()
            raise

    async def _serve(self, transport: _Transport, *, task_status: TaskStatus[frozenset[str]]) -> None:
        """Hold the session open until it is told to stop."""
        self._stop = anyio.Event()
        async with AsyncExitStack() as stack:
            session = await transport(stack)
            with anyio.fail_after(self._start_timeout):
                await session.initialize()
                names = frozenset(tool.name for tool in (await session.list_tools()).tools)
            self._session = session
            task_status.started(names)
            await self._stop.wait()
            self._session = None

    async def _over_stdio(
        self, stack: AsyncExitStack, parameters: StdioServerParameters, log: IO[str]
    ) -> ClientSession:
        read, write = await stack.enter_async_context(stdio_client(parameters, errlog=log))  # type: ignore[arg-type]
        return await stack.enter_async_context(ClientSession(read, write))

    async def _over_http(self, stack: AsyncExitStack, url: str, token: str) -> ClientSession:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        client = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=self._timeout))
        read, write = await stack.enter_async_context(
            streamable_http_client(url, http_client=client, max_sse_event_size=None)
        )
        return await stack.enter_async_context(ClientSession(read, write))

    # --- calling ------------------------------------------------------------------------------------------------

    def call(self, tool: str, arguments: dict[str, Json]) -> Json:
        """A tool's answer as JSON. Raises ToolFailed, and CatalogError when the server cannot be used any more."""
        portal = self._portal
        if portal is None:
            raise CatalogError(f"the connection to {self.where} is closed")
        self.calls += 1
        try:
            result = portal.call(self._call, tool, arguments)
        except TimeoutError as error:
            raise ToolFailed(f"no answer within {self._timeout:g} s") from error
        except MCPError as error:
            if error.error.code == CONNECTION_CLOSED:
                raise self._lost(error) from error
            raise ToolFailed(self._plain(str(error))) from error
        except _BROKEN as error:
            raise self._lost(error) from error
        except RuntimeError as error:
            if self._portal is None or self._session is None:
                raise self._lost(error) from error
            raise ToolFailed(self._plain(str(error))) from error
        text = "".join(block.text for block in result.content if isinstance(block, TextContent))
        if result.is_error:
            raise ToolFailed(self._plain(text) or "an error without a message")
        try:
            return loads(text)
        except ValueError as error:
            raise ToolFailed("the answer is no JSON") from error

    async def _call(self, tool: str, arguments: dict[str, Json]) -> CallToolResult:
        session = self._session
        if session is None:
            raise anyio.ClosedResourceError
        with anyio.fail_after(self._timeout):
            result = await session.call_tool(tool, dict(arguments))
        if not isinstance(result, CallToolResult):
            raise RuntimeError("the server asks for input, which a tool that reads does not need")
        return result

    def _lost(self, error: BaseException) -> CatalogError:
        return CatalogError(
            f"DataHub's MCP server at {self.where} is gone: {self._explained(error)}",
            "see that it runs; then scan again",
        )

    def _explained(self, error: BaseException) -> str:
        """What went wrong, and the last line that the server wrote on its stderr."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        what = "no answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
        said = ""
        if self._log is not None and self._log.exists():
            lines = [line.strip() for line in self._log.read_text("utf-8", "replace").splitlines() if line.strip()]
            said = f" ({lines[-1][:300]})" if lines else ""
        return self._plain(what + said)

    def _plain(self, text: str) -> str:
        """Server text as one line without the token in it."""
        text = clean(" ".join(text.split()))[:500]
        return text.replace(self._secret, "***") if self._secret else text


class _Transport(Protocol):
    async def __call__(self, stack: AsyncExitStack, /) -> ClientSession: ...


_BROKEN = (
    OSError,
    MCPError,
    httpx2.HTTPError,
    anyio.ClosedResourceError,
    anyio.BrokenResourceError,
    anyio.EndOfStream,
    ExceptionGroup,
)
_START_HINT = "is DataHub up, is the token valid, and does datahub.mcp_command start mcp-server-datahub?"


def server_environment(environ: Mapping[str, str], *, home: Path, gms_url: str, token: str) -> dict[str, str]:
    """The environment of the server's process: what it needs of ours, a home of its own, and our settings."""
    kept = {
        name: value
        for name, value in environ.items()
        if name in _KEPT or name.casefold() in _KEPT_FOLDED or name.startswith("UV_")
    }
    own_home = environ.get("HOME", "")
    if own_home:
        cache = environ.get("XDG_CACHE_HOME") or f"{own_home}/.cache"
        data = environ.get("XDG_DATA_HOME") or f"{own_home}/.local/share"
        kept.setdefault("UV_CACHE_DIR", f"{cache}/uv")
        kept.setdefault("UV_PYTHON_INSTALL_DIR", f"{data}/uv/python")
    path = {"PATH": environ["PATH"]} if "PATH" in environ else {}
    secret = {"DATAHUB_GMS_TOKEN": token} if token else {}
    return {**kept, **path, **_SETTINGS, "HOME": str(home), "DATAHUB_GMS_URL": gms_url, **secret}
