"""ownership: the set of (owner, role). A user and a group of one name differ; one person may have several roles.

DataHub spells a role twice, as `type` (an enumeration) and as `typeUrn`; both spellings of one role are one.
"""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.aspects.sets import Member, set_aspect
from palimpsest.core.aspects.words import label_of

_SYSTEM = "urn:li:ownershipType:__system__"


def role_of(kind: str | None, urn: str | None) -> str:
    """One name for a role: `TECHNICAL_OWNER` for `type` and for `urn:li:ownershipType:__system__technical_owner`.

    A role that is not DataHub's own keeps its URN.
    """
    if urn:
        folded = urn.casefold()
        if folded.startswith(_SYSTEM.casefold()):
            return folded[len(_SYSTEM) :].upper()
        return urn
    return (kind or "NONE").upper()


def _shown(member: Member) -> str:
    owner = label_of(member[0])
    if member[0].startswith("urn:li:corpGroup:"):
        owner = f"group {owner}"
    role = member[1] if len(member) > 1 else ""
    if role.startswith("urn:li:"):
        return f"{owner} ({label_of(role)})"
    plain = {"", "NONE", "DATAOWNER", "TECHNICAL_OWNER"}
    return owner if role in plain else f"{owner} ({role.replace('_', ' ').lower()})"


ASPECT = set_aspect(
    "ownership", "owner", added=Impact.NOTABLE, removed=Impact.NOTABLE, shown=_shown, rank=10, identity=2
)
