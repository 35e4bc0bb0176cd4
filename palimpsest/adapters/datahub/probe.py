"""Looks at a DataHub: is it there, which version, whose token, may links be written, what starts its MCP server.

Asks once, without retries. Nothing here raises for a DataHub that cannot be read: that is what is found.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from palimpsest.adapters.datahub.graphql_client import GraphqlClient, Unanswered, UnknownToServer
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.errors import CatalogError

_WHOSE = "query palimpsestWhose { me { corpUser { urn } } }"
_MAY_LINK = """query palimpsestMayLink {
  searchAcrossEntities(input: {types: [DATASET], query: "*", start: 0, count: 1}) {
    searchResults { entity { urn ... on Dataset { privileges { canEditLinks } } } }
  }
}"""
_WHICH = "from importlib.metadata import version; print(version('mcp-server-datahub'))"
_WHICH_WITHIN_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one look at a GMS found. `problem` is empty where it can be reached, `refused` where it can be read."""

    version: str = ""
    actor: str = ""
    problem: str = ""
    refused: str = ""
    hint: str = ""


def look(url: str, token: str, *, timeout: float) -> Found:
    """Ask a GMS for its version and for whom it takes the token's bearer."""
    client = GraphqlClient(url, token, timeout=timeout, attempts=1)
    try:
        try:
            version = _version(client.check())
        except CatalogError as error:
            return Found(problem=error.message, hint=error.hint)
        try:
            actor = _actor(client.ask(_WHOSE, {}).data)
        except CatalogError as error:
            return Found(version=version, refused=error.message, hint=error.hint)
        except (Unanswered, UnknownToServer) as error:
            return Found(version=version, refused=str(error), hint="see DataHub's own log")
        return Found(version=version, actor=actor)
    finally:
        client.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Whether a token's bearer may edit links: None where that cannot be told. `refused`: the token is not taken."""

    may: bool | None = None
    refused: str = ""
    hint: str = ""


def may_edit_links(url: str, token: str, *, timeout: float) -> Links:
    """Ask a GMS whether the token's bearer may edit the links of one dataset that it lists. Writes nothing."""
    client = GraphqlClient(url, token, timeout=timeout, attempts=1)
    try:
        return Links(may=_may_link(client.ask(_MAY_LINK, {}).data))
    except (Unanswered, UnknownToServer):
        return Links()
    except CatalogError as error:
        return Links(refused=error.message, hint=error.hint)
    finally:
        client.close()


def server_version(command: Sequence[str]) -> tuple[str, str]:
    """(where the command is, the version of the MCP server that it starts); empty where that cannot be told."""
    place = shutil.which(command[0]) or ""
    if not place:
        return "", ""
    for word in command[1:]:
        name, _, pinned = word.partition("@")
        if name == "mcp-server-datahub" and pinned:
            return place, pinned
    python = Path(place).resolve().parent / "python"
    if not Path(place).name.startswith("mcp-server-datahub") or not python.exists():
        return place, ""
    try:
        done = subprocess.run(
            [str(python), "-c", _WHICH], capture_output=True, check=True, text=True, timeout=_WHICH_WITHIN_S
        )
    except (OSError, subprocess.SubprocessError):
        return place, ""
    return place, done.stdout.strip()


def _version(config: dict[str, Json]) -> str:
    versions = config.get("versions")
    named = versions.get("acryldata/datahub") if isinstance(versions, dict) else None
    version = named.get("version") if isinstance(named, dict) else None
    return version if isinstance(version, str) else ""


def _actor(data: dict[str, Json]) -> str:
    me = data.get("me")
    user = me.get("corpUser") if isinstance(me, dict) else None
    urn = user.get("urn") if isinstance(user, dict) else None
    return urn if isinstance(urn, str) else ""


def _may_link(data: dict[str, Json]) -> bool | None:
    found: Json = data.get("searchAcrossEntities")
    for step in ("searchResults", 0, "entity", "privileges", "canEditLinks"):
        if isinstance(found, dict) and isinstance(step, str):
            found = found.get(step)
        elif isinstance(found, list) and isinstance(step, int) and found:
            found = found[step]
        else:
            return None
    return found if isinstance(found, bool) else None
