"""description: the prose about an entity. Keys `source` (from ingestion) and `edited` (by hand in DataHub)."""

from __future__ import annotations

from palimpsest.core.aspects.texts import text_aspect

ASPECT = text_aspect(
    "description", lambda key: "description (edited)" if key == "edited" else "description", rank=20, is_prose=True
)
