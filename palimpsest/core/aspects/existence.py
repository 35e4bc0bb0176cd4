"""existence: whether the catalog holds the entity.

`{"exists": true}`, or false with the ground: `status` (soft-deleted) or `listing`. Retracts nothing: while an entity
does not exist, its beliefs are not current.
"""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Aspect, Edit, Impact, Json
from palimpsest.core.aspects.records import fields_of

STATUS, LISTING = "status", "listing"


def exists(value: Json) -> bool:
    """Whether an existence value says that the entity is there."""
    return bool(fields_of(value).get("exists"))


def present() -> Json:
    """The value of an entity that is there."""
    return {"exists": True}


def absent(ground: str) -> Json:
    """The value of an entity that is gone, and how that is known: `status` or `listing`."""
    return {"exists": False, "ground": ground}


def ground_of(value: Json) -> str:
    """How an absence is known."""
    return str(fields_of(value).get("ground", ""))


def _canonical(value: Json) -> Json:
    return exists(value)


def _difference(before: Json, after: Json) -> tuple[Edit, ...]:
    if exists(before) == exists(after) and before is not None:
        return ()
    return (Edit(op="added" if exists(after) else "removed", item="", before=before, after=after),)


def _impact(before: Json, after: Json) -> Impact:
    if exists(before) and not exists(after):
        return Impact.BREAKING
    return Impact.MINOR if before is None else Impact.NOTABLE


def _say(key: str, value: Json) -> str:
    if exists(value):
        return "exists"
    return "soft-deleted" if ground_of(value) == STATUS else "no longer listed"


def _say_change(key: str, before: Json, after: Json) -> str:
    if before is None:
        return "new" if exists(after) else "known as deleted"
    if exists(after):
        return "is back"
    return "gone (soft-deleted)" if ground_of(after) == STATUS else "gone (no longer listed)"


ASPECT = Aspect(
    name="existence",
    canonical=_canonical,
    difference=_difference,
    impact=_impact,
    say=_say,
    say_change=_say_change,
    rank=0,
)
