"""structured_property: the set of values of one structured property; the key is the property's URN."""

from __future__ import annotations

from palimpsest.core.aspects.sets import set_aspect

ASPECT = set_aspect("structured_property", "value", keyed=True, rank=45)
