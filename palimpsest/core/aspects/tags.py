"""tags: the set of tags on an entity. Attribution and context of a tag are no part of the fact."""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.aspects.sets import set_aspect

ASPECT = set_aspect("tags", "tag", added=Impact.NOTABLE, removed=Impact.NOTABLE, rank=14)
