"""The tools, by name: what each is for, what it takes and gives, what it does to the world, and how it is run.

Every agent reads this list before it does anything, so it is short: its size is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mcp import types

from palimpsest.core.aspects import SAID
from palimpsest.surfaces.mcp import reading, writing
from palimpsest.surfaces.mcp.answer import Answer
from palimpsest.surfaces.mcp.arguments import Arguments
from palimpsest.surfaces.mcp.briefing import LEAST_BUDGET, MOST_BUDGET, MOST_ENTITIES, brief
from palimpsest.surfaces.mcp.memory import Caller, Memory

Schema = dict[str, Any]
Run = Callable[[Memory, Caller, Arguments], Answer]

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer"}
_ENTITY: Schema = {"type": "string", "description": "URN, or name"}
_READS = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_NOTES = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_KEEPS = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)


@dataclass(frozen=True)
class Tool:
    """One tool. `takes` are its parameters, `gives` the properties of its data; those in `needs` are required."""

    name: str
    description: str
    takes: Mapping[str, Schema]
    gives: Mapping[str, Schema]
    run: Run
    hints: types.ToolAnnotations
    needs: tuple[str, ...] = ()

    @cached_property
    def listed(self) -> types.Tool:
        """The tool as clients list it."""
        takes: Schema = {"type": "object", "properties": dict(self.takes)}
        if self.needs:
            takes["required"] = list(self.needs)
        gives: Schema = {"type": "object", "properties": dict(self.gives)}
        return types.Tool(
            name=self.name,
            description=self.description,
            input_schema=takes,
            output_schema=gives,
            annotations=self.hints,
        )


def _items(*properties: str) -> dict[str, Schema]:
    """Entries of objects that have these, how many were left out, and the call that fetches them."""
    entry: Schema = {"type": "object", "required": list(properties)}
    return {"items": {"type": "array", "items": entry}, "left_out": _COUNT, "more": _TEXT}


TOOLS = (
    Tool(
        name="brief",
        description="Call before touching a dataset: what is believed of it, what changed and why, in a token budget. "
        "session=true: what changed since your last session in the entities you work with.",
        takes={
            "entities": {"type": "array", "items": _TEXT, "maxItems": MOST_ENTITIES, "description": "URNs, or names"},
            "session": {"type": "boolean"},
            "budget": {"type": "integer", "minimum": LEAST_BUDGET, "maximum": MOST_BUDGET},
        },
        gives={"entities": {"type": "array"}, "tokens": _COUNT} | _items("urn", "text", "refs"),
        run=brief,
        hints=_READS,
    ),
    Tool(
        name="recall",
        description="Answer a question in words from current beliefs; says confident, weak or nothing.",
        takes={
            "question": _TEXT,
            "entity": _ENTITY,
            "aspect": _TEXT,
            "superseded": {"type": "boolean", "description": "past ones too"},
            "limit": _COUNT,
            "skip": _COUNT,
        },
        gives={"answer": _TEXT} | _items("ref", "urn", "statement", "state"),
        run=reading.recall,
        hints=_READS,
        needs=("question",),
    ),
    Tool(
        name="changes",
        description="What changed in the catalog: was, now, since, by.",
        takes={
            "since": {"type": "string", "description": "7d, 24h, 2026-01-31, or last"},
            "entity": _ENTITY,
            "aspect": _TEXT,
            "impact": {"enum": list(reading.IMPACTS)},
            "skip": _COUNT,
        },
        gives=_items("ref", "urn", "said", "impact"),
        run=reading.changes,
        hints=_READS,
    ),
    Tool(
        name="history",
        description="Every version of what is held of an entity, with reasons.",
        takes={"entity": _ENTITY, "aspect": {"type": "string", "description": "e.g. ownership, column"}}
        | {"key": {"type": "string", "description": "e.g. a column"}, "skip": _COUNT},
        gives=_items("ref", "version", "state", "statement", "reason"),
        run=reading.history,
        hints=_READS,
        needs=("entity",),
    ),
    Tool(
        name="why",
        description="What a belief rests on: evidence, judge, reason.",
        takes={"belief": {"type": "string", "description": "the digits in brackets"}, "skip": _COUNT},
        gives={"urn": _TEXT} | _items("version", "state", "statement", "reason"),
        run=reading.why,
        hints=_READS,
        needs=("belief",),
    ),
    Tool(
        name="entities",
        description="Find entities by words of their URN, owner, tag.",
        takes={"search": _TEXT, "platform": _TEXT, "kind": _TEXT, "owner": _TEXT, "tag": _TEXT}
        | {"limit": _COUNT, "after": _TEXT},
        gives=_items("urn", "name"),
        run=reading.entities,
        hints=_READS,
    ),
    Tool(
        name="note",
        description="Leave what you saw about an entity as an observation, in your name. It is no belief: "
        "the next consolidation judges it.",
        takes={"entity": _ENTITY, "text": _TEXT, "kind": {"enum": list(SAID)}},
        gives={"note": _TEXT, "urn": _TEXT},
        run=writing.note,
        hints=_NOTES,
        needs=("entity", "text"),
    ),
    Tool(
        name="task",
        description="Scratchpad for one task; expires.",
        takes={
            "action": {"enum": list(writing.ACTIONS)},
            "name": _TEXT,
            "key": _TEXT,
            "value": _TEXT,
            "hours": {"type": "number"},
        },
        gives={"name": _TEXT, "keys": _COUNT, "tasks": {"type": "array"}, "items": {"type": "array"}},
        run=writing.task,
        hints=_KEEPS,
        needs=("action",),
    ),
    Tool(
        name="status",
        description="How much is remembered, what waits, when it was last read.",
        takes={},
        gives={"entities": _COUNT, "pending": _COUNT, "sources": {"type": "array"}},
        run=reading.status,
        hints=_READS,
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}
LISTED = types.ListToolsResult(tools=[tool.listed for tool in TOOLS])
