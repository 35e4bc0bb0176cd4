"""Resources: an entity as its brief, a belief as what it rests on; written down as delivered, as of the tools."""

from __future__ import annotations

from urllib.parse import unquote

from mcp import types

from palimpsest.core.brief import quoted
from palimpsest.surfaces.mcp import reading
from palimpsest.surfaces.mcp.answer import Answer
from palimpsest.surfaces.mcp.arguments import Arguments, CallError
from palimpsest.surfaces.mcp.briefing import brief
from palimpsest.surfaces.mcp.memory import Caller, Memory

_ENTITY, _BELIEF = "palimpsest://entity/", "palimpsest://belief/"
MIME = "text/plain"

TEMPLATES = types.ListResourceTemplatesResult(
    resource_templates=[
        types.ResourceTemplate(
            name="entity",
            uri_template=f"{_ENTITY}{{urn}}",
            description="What is believed of an entity, and what changed.",
            mime_type=MIME,
        ),
        types.ResourceTemplate(
            name="belief",
            uri_template=f"{_BELIEF}{{ref}}",
            description="What a belief rests on.",
            mime_type=MIME,
        ),
    ]
)


def read(memory: Memory, caller: Caller, uri: str) -> tuple[str, Answer]:
    """What a resource says, and the tool that says it. Raises CallError for one that there is not."""
    if uri.startswith(_ENTITY) and len(uri) > len(_ENTITY):
        named = unquote(uri.removeprefix(_ENTITY))
        return "brief", brief(memory, caller, Arguments({"entities": [named]}, ("entities",)))
    if uri.startswith(_BELIEF) and len(uri) > len(_BELIEF):
        named = unquote(uri.removeprefix(_BELIEF))
        return "why", reading.why(memory, caller, Arguments({"belief": named}, ("belief",)))
    raise CallError("uri", f"{quoted(uri[:200])} is no resource", f"write {_ENTITY}URN or {_BELIEF}DIGITS")
