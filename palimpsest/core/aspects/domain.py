"""domain: the set of domains an entity belongs to (DataHub allows one, its files a list)."""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.aspects.sets import set_aspect

ASPECT = set_aspect("domain", "domain", added=Impact.NOTABLE, removed=Impact.NOTABLE, rank=12)
