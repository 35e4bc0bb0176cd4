"""upstreams: the set of what an entity is made from, each (URN, derivation): datasets, jobs, charts, features."""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.aspects.sets import Member, set_aspect
from palimpsest.core.aspects.words import label_of


def _shown(member: Member) -> str:
    return label_of(member[0])


ASPECT = set_aspect("upstreams", "upstream", added=Impact.MINOR, removed=Impact.NOTABLE, shown=_shown, rank=25)
