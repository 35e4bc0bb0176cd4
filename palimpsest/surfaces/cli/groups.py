"""Groups of commands: typer's own, kept quick. Every group of the command line is made by `group`."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup, TyperOption


class QuickOption(TyperOption):
    """An option that is left alone where it was not given: to convert a None, typer would import pydantic."""

    def process_value(self, ctx: Any, value: Any) -> Any:
        """The value as typer converts it, if there is one."""
        return None if value is None else super().process_value(ctx, value)


class Group(TyperGroup):
    """A group whose options are quick, --help included. It has no arguments of its own."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, typer's own with them."""
        options = super().get_params(ctx)
        for option in options:
            option.__class__ = QuickOption  # typer offers no way to choose the class of --help
        return options


def group(cls: type[Group] = Group) -> typer.Typer:
    """An empty group of commands. Give it a callback: its docstring is the help, and one command stays a subcommand."""
    return typer.Typer(cls=cls, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
