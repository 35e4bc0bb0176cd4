"""Prompts: what a person asks an agent to do with this memory, with what the memory says already in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mcp import types

from palimpsest.core.brief import quoted
from palimpsest.surfaces.mcp import reading
from palimpsest.surfaces.mcp.answer import Answer
from palimpsest.surfaces.mcp.arguments import Arguments, CallError
from palimpsest.surfaces.mcp.briefing import brief
from palimpsest.surfaces.mcp.memory import Caller, Memory

_BEFORE = """Before I change this table, tell me what could go wrong. Below is what is remembered of it. Say:
1. what changed lately, who changed it and why, quoting the reasons and the belief numbers in brackets;
2. what reads it, and what of it is contested, proposed or no longer current: never present that as current;
3. what you would ask its owner first.
Look further with the tools history, why and changes. When we are done, leave what you saw with the tool note."""
_WEEK = """Tell me what changed in our data this week, in at most ten lines: what breaks something first, with who it \
concerns and the belief numbers in brackets. Below is what is remembered. Ask the tool why where a reason is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One prompt: what it is called, what it asks, and the tool whose answer goes with it."""

    name: str
    title: str
    description: str
    arguments: tuple[types.PromptArgument, ...]
    asks: str
    tool: str
    tell: Callable[[Memory, Caller, Mapping[str, str]], Answer]

    def listed(self) -> types.Prompt:
        """The prompt as clients list it."""
        return types.Prompt(
            name=self.name, title=self.title, description=self.description, arguments=list(self.arguments)
        )


def _table(memory: Memory, caller: Caller, given: Mapping[str, str]) -> Answer:
    arguments = Arguments(given, ("entity",))
    return brief(memory, caller, Arguments({"entities": [arguments.text("entity", needed=True)]}, ("entities",)))


def _week(memory: Memory, caller: Caller, given: Mapping[str, str]) -> Answer:
    Arguments(given, ())
    return reading.changes(memory, caller, Arguments({"since": "7d"}, ("since",)))


PROMPTS = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            name="before_i_change_this_table",
            title="before I change this table",
            description="What is believed of a table, what changed and why, and what depends on it.",
            arguments=(types.PromptArgument(name="entity", description="URN, or name", required=True),),
            asks=_BEFORE,
            tool="brief",
            tell=_table,
        ),
        Prompt(
            name="what_changed_this_week",
            title="what changed this week",
            description="The changes of the last seven days, the weightiest first.",
            arguments=(),
            asks=_WEEK,
            tool="changes",
            tell=_week,
        ),
    )
}
LISTED = types.ListPromptsResult(prompts=[prompt.listed() for prompt in PROMPTS.values()])


def prompt_of(name: str) -> Prompt:
    """The prompt of that name. Raises CallError."""
    if name not in PROMPTS:
        raise CallError("name", f"{quoted(name[:80])} is no prompt", f"there are: {', '.join(PROMPTS)}")
    return PROMPTS[name]
