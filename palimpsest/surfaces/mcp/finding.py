"""Finding what a parameter means: the entity that somebody names, or what is nearest to it."""

from __future__ import annotations

from palimpsest.core.brief import as_name, quoted
from palimpsest.core.errors import UsageError
from palimpsest.queries import entities
from palimpsest.queries.held import EntityView
from palimpsest.surfaces.mcp.arguments import CallError, for_agents
from palimpsest.surfaces.mcp.memory import Memory


def entity_of(memory: Memory, text: str, *, parameter: str = "entity") -> EntityView:
    """The one entity that a text names. Raises CallError with the nearest URNs."""
    try:
        return entities.find(memory.store, text)
    except UsageError as error:
        near = entities.nearest(memory.store, text) if error.hint.startswith(("the nearest", "palimpsest")) else ()
        hint = f"the nearest: {', '.join(map(as_name, near))}" if near else for_agents(error.hint)
        raise CallError(parameter, quoted(error.message), hint) from error
