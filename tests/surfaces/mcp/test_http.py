"""Over HTTP: who has no token, or asks under a strange name, gets nothing."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from palimpsest.core.errors import ConfigError, UsageError
from palimpsest.surfaces.mcp.serving import bind
from tests.surfaces.mcp.clienting import calls, over_http, serving, text_of

TOKEN = "a-token-of-more-than-16-letters"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}
ACCEPTED = {"Accept": "application/json, text/event-stream"}


def status_of(address: str, **headers: str) -> int:
    """What a greeting with these headers is answered."""
    return httpx2.post(address, json=HELLO, headers=ACCEPTED | headers, timeout=20).status_code


def test_with_a_token_only_who_has_it_is_answered(url: str, tmp_path: Path) -> None:
    with serving(url, tmp_path, token=TOKEN) as address:
        (result,) = over_http(address, calls(("status", {})), token=TOKEN)
        assert text_of(result).startswith("20 entities")
        for wrong in ("", "Bearer", "Bearer wrong", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN):
            assert status_of(address, Authorization=wrong) == 401, wrong
        assert httpx2.post(address, json=HELLO, headers=ACCEPTED, timeout=20).headers["www-authenticate"] == "Bearer"
        assert status_of(address, Authorization=f"bearer {TOKEN}") == 200


def test_without_a_token_only_this_machines_names_are_answered(url: str, tmp_path: Path) -> None:
    with serving(url, tmp_path) as address:
        port = address.rpartition(":")[2].partition("/")[0]
        assert status_of(address) == 200
        assert status_of(address, Host=f"localhost:{port}") == 200
        assert status_of(address, Host="evil.example.org") == 421
        assert status_of(address, Host=f"127.0.0.1.evil.example.org:{port}") == 421
        assert status_of(address, Origin="https://evil.example.org") == 403
        assert status_of(address, Origin=f"http://localhost:{port}") == 200
        huge = httpx2.post(
            address,
            content=b'{"a": "' + b"x" * 1_100_000 + b'"}',
            headers=ACCEPTED | {"Content-Type": "application/json"},
            timeout=20,
        )
        assert huge.status_code == 413


def test_named_hosts_are_the_only_ones(url: str, tmp_path: Path) -> None:
    with serving(url, tmp_path, token=TOKEN, PALIMPSEST_MCP__HOSTS="memory.example.org") as address:
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        assert status_of(address, Host="memory.example.org", **bearer) == 200
        assert status_of(address, **bearer) == 421


@pytest.mark.parametrize(
    ("host", "token", "said"),
    [
        ("0.0.0.0", "", "without a token the MCP server listens on this machine only, not on 0.0.0.0"),
        ("::", "", "without a token the MCP server listens on this machine only, not on ::"),
        ("memory.example.org", "", "without a token the MCP server listens on this machine only"),
        ("127.0.0.1", "short", "mcp.token is shorter than 16 characters"),
    ],
)
def test_what_strangers_could_reach_asks_for_a_token(host: str, token: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        bind(host, 0, token=token)


def test_a_port_that_is_taken_is_told() -> None:
    with bind("127.0.0.1", 0, token="") as first:
        port = first.getsockname()[1]
        with pytest.raises(UsageError, match="cannot be listened on"):
            bind("127.0.0.1", port, token="")
