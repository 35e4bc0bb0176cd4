"""Finds the files that ship beside the code: in a wheel inside the package, in a checkout beside it."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """The folder of `migrations`, `demo` or `prompts`. Raises FileNotFoundError when the installation lacks it."""
    for place in (_PACKAGE / f"_{name}", _PACKAGE.parent / name):
        if place.is_dir():
            return place
    raise FileNotFoundError(f"the installation lacks its {name} folder: install palimpsest again")
