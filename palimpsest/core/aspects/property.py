"""property: one custom property; the key is its name."""

from __future__ import annotations

from palimpsest.core.aspects.texts import text_aspect

ASPECT = text_aspect("property", lambda key: f"property {key}", rank=60)
