"""quality: what is right or wrong with the data, as people and agents say it. The key is the matter."""

from __future__ import annotations

from palimpsest.core.aspects.texts import text_aspect

ASPECT = text_aspect("quality", lambda key: "quality", rank=30, is_prose=True)
