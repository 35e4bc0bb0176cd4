"""insight: what somebody found out about something. The key is the matter."""

from __future__ import annotations

from palimpsest.core.aspects.texts import text_aspect

ASPECT = text_aspect("insight", lambda key: "insight", rank=54, is_prose=True)
