"""column_upstreams: the columns that a column is made from; the key is the column, a member (URN, path, operation)."""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.aspects.sets import Member, set_aspect
from palimpsest.core.aspects.words import label_of


def _shown(member: Member) -> str:
    path = member[1] if len(member) > 1 else ""
    return f"{label_of(member[0])}.{path}" if path else label_of(member[0])


ASPECT = set_aspect(
    "column_upstreams",
    "source column",
    added=Impact.MINOR,
    removed=Impact.NOTABLE,
    shown=_shown,
    rank=70,
    keyed=True,
    paths=True,
    identity=2,
)
