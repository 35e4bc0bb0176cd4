"""question: what somebody asks about something, and nobody answered yet. The key is the matter."""

from __future__ import annotations

from palimpsest.core.aspects.texts import text_aspect

ASPECT = text_aspect("question", lambda key: "question", rank=56, is_prose=True)
