"""outputs: the set of datasets that a data job writes, each (URN). Its inputs are `upstreams`."""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.aspects.sets import set_aspect

ASPECT = set_aspect("outputs", "output", added=Impact.MINOR, removed=Impact.NOTABLE, rank=26)
