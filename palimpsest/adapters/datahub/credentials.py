"""Where DataHub is and who asks, found as DataHub's own command line finds it; never printed, never logged.

First what is given, then DATAHUB_GMS_URL (or _HOST, _PORT, _PROTOCOL) and DATAHUB_GMS_TOKEN, then `~/.datahubenv`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from palimpsest.core.errors import ConfigError

FILE_NAME = ".datahubenv"
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A server's address without credentials in it, and the token, empty where none is needed."""

    url: str
    token: str = field(default="", repr=False)


def is_named(url: str = "", *, environ: Mapping[str, str], home: Path) -> bool:
    """Whether any server is named at all."""
    return bool(url or environ.get("DATAHUB_GMS_URL") or _of_parts(environ) or _in_file(home / FILE_NAME)[0])


def find(url: str = "", token: str = "", *, environ: Mapping[str, str], home: Path) -> Credentials:
    """The server and the token. A token in the file belongs to the server in the file. Raises ConfigError."""
    named = url or environ.get("DATAHUB_GMS_URL") or _of_parts(environ)
    held_url, held_token = _in_file(home / FILE_NAME)
    chosen = named or held_url
    if not chosen:
        raise ConfigError(
            "no DataHub is named", "set datahub.url or DATAHUB_GMS_URL, or run `datahub init` once for ~/.datahubenv"
        )
    address = normalised(chosen)
    token = token or environ.get("DATAHUB_GMS_TOKEN") or ""
    if not token and held_token and held_url and normalised(held_url) == address:
        token = held_token
    if not (token.isascii() and token.isprintable()):
        raise ConfigError("the DataHub token holds a character that no token holds", "make a new one in DataHub")
    return Credentials(url=address, token=token)


def normalised(url: str) -> str:
    """The address in one spelling: lower-case scheme and host, no default port, user, query or slash at the end.

    Raises ConfigError when it is no http or https address.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise ConfigError("the DataHub address is no http or https URL", "write https://HOST[:PORT]")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    place = host if port is None or port == _DEFAULT_PORTS[parts.scheme] else f"{host}:{port}"
    path = parts.path.rstrip("/").removesuffix("/api/graphql").rstrip("/")
    return urlunsplit((parts.scheme, place, path, "", ""))


def _of_parts(environ: Mapping[str, str]) -> str:
    host, port = environ.get("DATAHUB_GMS_HOST", ""), environ.get("DATAHUB_GMS_PORT", "")
    if not host:
        return ""
    if "://" in host:
        return f"{host}:{port}" if port else host
    scheme = environ.get("DATAHUB_GMS_PROTOCOL") or ("https" if port == "443" else "http")
    return f"{scheme}://{host}:{port}" if port else f"{scheme}://{host}"


def _in_file(path: Path) -> tuple[str, str]:
    """`server` and `token` under `gms:` of a .datahubenv, which DataHub writes as YAML of two levels."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return "", ""
    found: dict[str, str] = {}
    within = False
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, _, value = line.strip().partition(":")
        if not line[0].isspace():
            within = name == "gms"
        elif within:
            found.setdefault(name.strip(), _plain(value))
    return found.get("server", ""), found.get("token", "")


def _plain(value: str) -> str:
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    value = value.partition(" #")[0].strip()
    return "" if value in {"null", "~"} else value
