"""upstreams: the set of what an entity is made from, each (URN, derivation): datasets, jobs, charts, features."""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Impact, Member, label_of, set_aspect


def _shown(member: Member) -> str:
    return label_of(member[0])


ASPECT = set_aspect("upstreams", "upstream", added=Impact.MINOR, removed=Impact.NOTABLE, shown=_shown, rank=25)
