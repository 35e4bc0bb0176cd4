"""links: the set of (URL, label) in DataHub's documentation list that are not ours."""

from __future__ import annotations

from palimpsest.core.aspects.sets import Member, set_aspect


def _shown(member: Member) -> str:
    label = member[1] if len(member) > 1 else ""
    return f"{label} <{member[0]}>" if label else member[0]


ASPECT = set_aspect("links", "link", shown=_shown, rank=42)
