"""The one setting that a hook needs, read without pydantic: which store. The rules are those of palimpsest.config."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import platformdirs

_FILE = "palimpsest.toml"
_SQLITE_FILE = re.compile(r"(?P<scheme>sqlite(?:\+\w+)?:///)(?P<path>[^?]+)(?P<query>\?.*)?", re.DOTALL)


def store_url(folder: Path, *, flag: str | None = None, config: Path | None = None) -> str:
    """The URL of the store, for an agent that works in a folder: flag > variable > project file > user file > default.

    Raises OSError or ValueError for a settings file that cannot be read.
    """
    if flag is not None:
        return _absolute(flag, Path.cwd())
    if told := os.environ.get("PALIMPSEST_STORE"):
        return _absolute(told, Path.cwd())
    named = str(config) if config is not None else os.environ.get("PALIMPSEST_CONFIG")
    project = Path(named).expanduser() if named else _above(folder)
    user = Path(platformdirs.user_config_dir("palimpsest")) / _FILE
    for file in (project, user if user.is_file() else None):
        store = tomllib.loads(file.read_text(encoding="utf-8")).get("store") if file is not None else None
        if file is not None and isinstance(store, str):
            return _absolute(store, file.absolute().parent)
    return f"sqlite:///{Path(platformdirs.user_data_dir('palimpsest')).absolute() / 'memory.db'}"


def sqlite_file(url: str) -> Path | None:
    """The file of a store in one; None for a server, and for a URL that says more than a file."""
    match = _SQLITE_FILE.fullmatch(url)
    if match is None or match["query"] or match["path"].startswith((":memory:", "file:")):
        return None
    return Path(match["path"]).expanduser()


def _above(folder: Path) -> Path | None:
    """palimpsest.toml in a folder or above it, no higher than the top of its git tree or the home folder."""
    for one in (folder, *folder.parents):
        if (one / _FILE).is_file():
            return one / _FILE
        if (one / ".git").exists() or one == Path.home():
            return None
    return None


def _absolute(url: str, folder: Path) -> str:
    match = _SQLITE_FILE.fullmatch(url)
    if match is None or match["path"].startswith((":memory:", "file:")):
        return url
    return f"{match['scheme']}{folder / Path(match['path']).expanduser()}{match['query'] or ''}"
