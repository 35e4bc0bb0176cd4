"""Stale: what is held and no longer fits what else is held, by rules on facts that the store gives. Pure.

Four kinds: what is gone or deprecated and still read; owners who left everything else or own nothing else;
a description older than what it describes; what has no owner or no description. Nothing is stale by age alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from palimpsest.core import say
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.aspects.column import canonical
from palimpsest.core.aspects.records import fields_of
from palimpsest.core.aspects.sets import members_of
from palimpsest.core.aspects.words import label_of
from palimpsest.core.entity import name_of
from palimpsest.core.ids import BeliefId, EntityId
from palimpsest.core.moment import Moment, spoken

_NUMBERED = re.compile(r"_v\d+$|_?\d*\*$")
_BUILT_BY = ("type", "native_type", "nullable", "part_of_key")
_MOST_NAMED = 3
_MOST_EVIDENCE = 5
# What is expected to have an owner and a description.
DATA = frozenset(
    {"dataset", "dashboard", "chart", "dataJob", "dataFlow", "mlModel", "mlFeatureTable", "dataProduct", "notebook"}
)


class Kind(StrEnum):
    """What is stale about an entity, the weightiest first."""

    READ = "read"
    OWNER = "owner"
    DESCRIPTION = "description"
    LACKING = "lacking"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding about an entity: what is stale, in words, and the beliefs that show it.

    `at` is when it became so by a change; None where it was so when it was first read. `order`: the weightier first.
    """

    kind: Kind
    said: str
    evidence: tuple[BeliefId, ...]
    at: Moment | None = None
    order: int = 0

    @property
    def is_weak(self) -> bool:
        """Whether it is worth a look and no more: a description of what only got more."""
        return self.kind is Kind.DESCRIPTION and self.order > 0


# --- a description older than what it describes -------------------------------------------------------------------


class Text(NamedTuple):
    """A description that is current: since when it is worded so."""

    since: Moment
    belief: BeliefId


class Later(NamedTuple):
    """A change of what a description may tell: in few words, when it was seen, and when it was not yet so.

    `adds`: it took nothing away.
    """

    said: str
    at: Moment
    after: Moment | None
    belief: BeliefId
    adds: bool = False


def is_rebuilt(before: Json, after: Json) -> bool:
    """Whether a column came, went, or is of another type, nullability or key; another text or label is no matter."""
    if before is None or after is None:
        return True
    was, now = fields_of(canonical(before)), fields_of(canonical(after))
    return any(was.get(name) != now.get(name) for name in _BUILT_BY)


class Rewired(NamedTuple):
    """What an entity is made from now and was not before, and the other way round."""

    new: frozenset[str]
    lost: frozenset[str]


def rewired(before: Json, after: Json, own: str) -> Rewired:
    """The names that differ between two sets of upstreams of the entity `own`, a URN.

    An entity that is made from itself too is no news, nor is a name that agrees in its last two parts: the same table
    spelled in full, read by way of another database, or its next version (`_v2`) or shards (`_20*`).
    """
    tail = _tail(name_of(own))
    was, now = (
        {name for member in members_of(value) if not _is_like(_tail(name := name_of(member[0])), tail)}
        for value in (before, after)
    )
    lost, new = was - now, now - was
    return Rewired(
        frozenset(one for one in new if not any(_is_like(_tail(one), _tail(other)) for other in lost)),
        frozenset(one for one in lost if not any(_is_like(_tail(one), _tail(other)) for other in new)),
    )


def _tail(name: str) -> list[str]:
    """The last two parts of a name, without the number of its version and without what stands for its shards."""
    return [_NUMBERED.sub("", part) for part in name.split(".")[-2:]]


def _is_like(tail: list[str], other: list[str]) -> bool:
    same = min(len(tail), len(other))
    return tail[-same:] == other[-same:]


def outdated(texts: Sequence[Text], changes: Iterable[Later]) -> Finding | None:
    """The newest of an entity's descriptions, if something changed certainly after it was written.

    What only added something weighs less. It is stale from the first of the changes on.
    """
    if not texts:
        return None
    text = max(texts)
    later = [one for one in changes if one.at > text.since and (one.after is None or one.after >= text.since)]
    if not later:
        return None
    later.sort(key=lambda one: (-one.at, one.said, one.belief))
    named = [f"{one.said} {spoken(one.at)[:10]}" for one in later[:_MOST_NAMED]]
    more = f" and {len(later) - _MOST_NAMED} more" if len(later) > _MOST_NAMED else ""
    count = say.count_of(len(later), "later change")
    said = f"description since {spoken(text.since)[:10]} is older than {count}: {', '.join(named)}{more}"
    refs = dict.fromkeys((text.belief, *(one.belief for one in later)))
    return Finding(
        kind=Kind.DESCRIPTION,
        said=said,
        evidence=tuple(refs)[:_MOST_EVIDENCE],
        at=later[-1].at,
        order=1 if all(one.adds for one in later) else 0,
    )


# --- owners -------------------------------------------------------------------------------------------------------


class Owned(NamedTuple):
    """An entity that somebody owns, or owned until then, and the belief that says so."""

    entity: EntityId
    until: Moment | None
    belief: BeliefId


def owner(urn: str, held: BeliefId, entity: EntityId, owned: Iterable[Owned]) -> Finding | None:
    """What is stale about one owner of an entity. `owned` is all that he owns or once owned and that still exists.

    Catalogs are not asked for users: that one is gone shows by what he no longer owns. A group that owns one thing is
    nothing strange.
    """
    name = label_of(urn)
    others = [one for one in owned if one.entity != entity]
    if any(one.until is None for one in others):
        return None
    left = {one.entity: one for one in sorted(others, key=lambda one: (one.until or 0, one.belief))}
    if left:
        last = max(left.values(), key=lambda one: (one.until or 0, one.belief))
        many = "the only other one" if len(left) == 1 else f"any of {len(left)} others"
        until = spoken(Moment(last.until or 0))[:10]
        said = f"owner {name} no longer owns {many} of before, the last until {until}"
        refs = (held, *(one.belief for one in reversed(left.values())))
        return Finding(kind=Kind.OWNER, said=said, evidence=refs[:_MOST_EVIDENCE], at=last.until)
    if not urn.startswith("urn:li:corpuser:"):
        return None
    return Finding(kind=Kind.OWNER, said=f"owner {name} owns nothing else", evidence=(held,), order=1)


# --- what is still read, and what lacks something -----------------------------------------------------------------


class Reader(NamedTuple):
    """What reads an entity, by which belief."""

    name: str
    belief: BeliefId


def still_read(state: str, since: Moment | None, held: BeliefId, readers: Iterable[Reader]) -> Finding | None:
    """What is deprecated or gone (`state`) and still read from."""
    by_name = sorted({one.name: one for one in sorted(readers, reverse=True)}.values())
    if not by_name:
        return None
    when = f" since {spoken(since)[:10]}" if since is not None else ""
    names = say.list_of([one.name for one in by_name])
    said = f"{state}{when} and still read by {len(by_name)}: {names}"
    refs = (held, *(one.belief for one in by_name))
    order = 0 if state == "gone" else 1
    return Finding(kind=Kind.READ, said=said, evidence=refs[:_MOST_EVIDENCE], at=since, order=order)


class Lack(NamedTuple):
    """Something that an entity lacks: what, and the belief that held it and when it ended, where there was one."""

    what: str
    ended: Moment | None = None
    belief: BeliefId | None = None


def lacking(lacks: Sequence[Lack], evidence: Sequence[BeliefId]) -> Finding | None:
    """An entity without owner or description; it counts what depends on it."""
    if not lacks:
        return None
    ended = [one.ended for one in lacks if one.ended is not None]
    parts = [f"no {one.what}" + (f" since {spoken(one.ended)[:10]}" if one.ended else "") for one in lacks]
    refs = dict.fromkeys((*(one.belief for one in lacks if one.belief is not None), *evidence))
    return Finding(
        kind=Kind.LACKING,
        said=" and ".join(parts),
        evidence=tuple(refs)[:_MOST_EVIDENCE],
        at=max(ended, default=None),
        order=2 - len(lacks),
    )


def ranked(findings: Iterable[tuple[Finding, str, int]]) -> list[tuple[Finding, str, int]]:
    """(finding, URN, how much is downstream) in the order in which they are told; the same for the same facts."""
    kinds = {kind: place for place, kind in enumerate(Kind)}

    def order(one: tuple[Finding, str, int]) -> tuple[object, ...]:
        finding, urn, below = one
        first = (-below, finding.order) if finding.kind is Kind.LACKING else (finding.order, -below)
        return (kinds[finding.kind], *first, urn, finding.said)

    return sorted(findings, key=order)


def cut(
    findings: Sequence[tuple[Finding, str, int]], most: int
) -> tuple[list[tuple[Finding, str, int]], Mapping[Kind, int]]:
    """At most so many of each kind, and how many there are of each."""
    counts: dict[Kind, int] = {}
    shown = []
    for one in findings:
        counts[one[0].kind] = counts.get(one[0].kind, 0) + 1
        if counts[one[0].kind] <= most:
            shown.append(one)
    return shown, counts
