"""name: what the entity is called. Keys `source` (from ingestion) and `edited` (by hand in DataHub)."""

from __future__ import annotations

from palimpsest.core.aspects.texts import text_aspect

ASPECT = text_aspect("name", lambda key: "name (edited)" if key == "edited" else "name", rank=30)
