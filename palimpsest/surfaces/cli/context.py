"""What the global options say, handed to every command. The settings are read on first use, not before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

if TYPE_CHECKING:
    from palimpsest.config import Loaded, Settings


@dataclass(frozen=True, kw_only=True)
class Context:
    """The global options of one invocation. `overrides` are settings given as flags: dotted key to value."""

    config_path: Path | None = None
    overrides: Mapping[str, object] = field(default_factory=dict)
    quiet: bool = False

    @classmethod
    def of(cls, ctx: typer.Context) -> Context:
        """The context of a running command."""
        return cast(Context, ctx.obj)

    @cached_property
    def loaded(self) -> Loaded:
        """The settings and where each came from. Raises ConfigError."""
        from palimpsest import config

        return config.load(self.config_path, self.overrides)

    @property
    def settings(self) -> Settings:
        """The settings. Raises ConfigError."""
        return self.loaded.settings

    def overriding(self, flags: Mapping[str, object]) -> Context:
        """This context with more settings given as flags: dotted key to value, None where a flag was not given."""
        return replace(self, overrides={**self.overrides, **flags})
