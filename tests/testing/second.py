"""The second environment, which holds DataHub's own MCP server, emitter and SDK: they cannot share ours.

`PALIMPSEST_TEST_DATAHUB_ENV` names it; without, it is `.venv-datahub` beside `.venv`, from requirements/datahub.txt.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]


def datahub_environment() -> Path:
    """The folder of the second environment. Skips the test where it is absent."""
    folder = Path(os.environ.get("PALIMPSEST_TEST_DATAHUB_ENV") or _ROOT / ".venv-datahub")
    if not (folder / "bin" / "mcp-server-datahub").exists():
        pytest.skip("needs DataHub's own MCP server and SDK: make .venv-datahub from requirements/datahub.txt")
    return folder


def mcp_command(folder: Path) -> list[str]:
    """The command of the official MCP server, without graphql-core even where that is installed beside it.

    With it, the server parses and prints each of its long queries again before it sends them, which takes it 12 times
    as long; `uvx mcp-server-datahub` does not install it. `folder` gets a package that hides it.
    """
    hiding = folder / "without" / "graphql"
    hiding.mkdir(parents=True, exist_ok=True)
    (hiding / "__init__.py").write_text('raise ImportError("hidden")\n', "utf-8")
    server = datahub_environment() / "bin" / "mcp-server-datahub"
    return ["env", f"PYTHONPATH={hiding.parent}", str(server)]


def server_environment(home: Path, url: str, token: str) -> dict[str, str]:
    """The environment variables under which DataHub's programs run in a test: a home of their own, no telemetry."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "DATAHUB_GMS_URL": url,
        "DATAHUB_GMS_TOKEN": token,
        "DATAHUB_TELEMETRY_ENABLED": "false",
        "DATAHUB_MCP_DISABLE_DEFAULT_VIEW": "true",
        "LOGURU_LEVEL": "WARNING",
    }
