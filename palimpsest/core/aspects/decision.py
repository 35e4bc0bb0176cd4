"""decision: what was decided about something. The key is the matter."""

from __future__ import annotations

from palimpsest.core.aspects.texts import text_aspect

ASPECT = text_aspect("decision", lambda key: "decision", rank=28, is_prose=True)
