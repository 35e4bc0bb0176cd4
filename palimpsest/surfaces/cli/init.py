"""`palimpsest init`: write a commented palimpsest.toml, made from the settings model so that it cannot drift."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.core.errors import ConfigError
from palimpsest.surfaces.cli import diagnostics
from palimpsest.surfaces.cli.context import Context

if TYPE_CHECKING:
    from palimpsest.config import Key

_HEAD = """\
# Settings of palimpsest. Every line that starts with #name = … shows a default (or an example):
# take the # away to set it. A flag wins over PALIMPSEST_SECTION__NAME, that over this file,
# this file over the user's. `palimpsest config show` tells where each value comes from.
"""


def init(
    ctx: typer.Context,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
) -> None:
    """Write a commented palimpsest.toml into the current folder."""
    from palimpsest import config

    path = Context.of(ctx).config_path or Path(config.FILE_NAME)
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(settings_text(config.all_keys()))
    except FileExistsError as err:
        raise ConfigError(f"{path} is already there", "--force overwrites it") from err
    except OSError as err:
        raise ConfigError(f"{path} cannot be written: {err.strerror}") from err
    diagnostics.note(f"wrote {path}; next: palimpsest scan file:PATH")


def settings_text(keys: Iterable[Key]) -> str:
    """The settings file: each key with its description and its default, commented out, in sections."""
    lines = [_HEAD]
    for section, members in groupby(keys, key=lambda key: key.name.rpartition(".")[0]):
        if section:
            lines.append(f"[{section}]")
        for key in members:
            lines.extend(_entry(key))
    return "\n".join(lines)


def _entry(key: Key) -> list[str]:
    name = key.name.rpartition(".")[2]
    description = textwrap.wrap(key.description, 100, initial_indent="# ", subsequent_indent="# ")
    if key.default is None:
        return [*description, "# Not set by default; for example:", f"#{name} = {_toml(key.example)}", ""]
    example = [] if key.example is None else [f"# For example: {_toml(key.example)}"]
    return [*description, *example, f"#{name} = {_toml(_at_home(key.default))}", ""]


def _at_home(value: object) -> object:
    """A SQLite path below the home folder starts with ~: the file can be shared."""
    return value.replace(f":///{Path.home()}/", ":///~/", 1) if isinstance(value, str) else value


def _toml(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case list() | tuple():
            return f"[{', '.join(_toml(item) for item in value)}]"
        case _:
            return json.dumps(str(value), ensure_ascii=False)
