"""container: the database, schema, folder or workspace that holds the entity; the value is its URN."""

from __future__ import annotations

from palimpsest.core.aspects.aspect import label_of, text_aspect

ASPECT = text_aspect("container", lambda key: "container", shown=label_of, rank=55)
