"""usage: how something is used, as people and agents say it. The key is the matter."""

from __future__ import annotations

from palimpsest.core.aspects.texts import text_aspect

ASPECT = text_aspect("usage", lambda key: "usage", rank=52, is_prose=True)
