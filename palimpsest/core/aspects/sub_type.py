"""sub_type: what the platform calls this kind of thing (Table, View, Topic): a set of names."""

from __future__ import annotations

from palimpsest.core.aspects.sets import set_aspect

ASPECT = set_aspect("sub_type", "sub-type", rank=58)
