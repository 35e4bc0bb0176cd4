"""terms: the set of glossary terms on an entity. Attribution and context of a term are no part of the fact."""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.aspects.sets import set_aspect

ASPECT = set_aspect("terms", "term", added=Impact.NOTABLE, removed=Impact.NOTABLE, rank=15)
