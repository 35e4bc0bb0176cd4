"""note: free text said of an entity, before it is known what it bears on. The key is the run that took it down."""

from __future__ import annotations

from palimpsest.core.aspects.texts import text_aspect

ASPECT = text_aspect("note", lambda key: "note", rank=90, is_prose=True)
