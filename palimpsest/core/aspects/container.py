"""container: the database, schema, folder or workspace that holds the entity; the value is its URN."""

from __future__ import annotations

from palimpsest.core.aspects.texts import text_aspect
from palimpsest.core.aspects.words import label_of

ASPECT = text_aspect("container", lambda key: "container", shown=label_of, rank=55)
