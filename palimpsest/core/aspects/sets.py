"""Aspects whose value is one set of members: order and duplicates are form, since when is told member by member.

A member is a tuple of texts; its first parts name it, the others are what is said of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from palimpsest.core.aspects.aspect import Aspect, Edit, Impact, Json
from palimpsest.core.aspects.form import squeeze
from palimpsest.core.aspects.words import label_of

Member: TypeAlias = tuple[str, ...]


def members_of(value: Json) -> frozenset[Member]:
    """The members of a set value: each a tuple of texts, of which the first is its URN (or URL)."""
    listed = value.get("at_least", []) if isinstance(value, dict) else value
    if not isinstance(listed, list):
        return frozenset()
    return frozenset(
        tuple(squeeze(str(part)) for part in member) if isinstance(member, list) else (squeeze(str(member)),)
        for member in listed
    )


def is_at_least(value: Json) -> bool:
    """Whether a set is known only in part: these members and perhaps more."""
    return isinstance(value, dict) and "at_least" in value


def _by_name(members: list[Member], identity: int) -> dict[Member, Member]:
    """Name → member, for the names that only one of the members bears."""
    found: dict[Member, list[Member]] = {}
    for member in members:
        found.setdefault(member[:identity], []).append(member)
    return {name: bearers[0] for name, bearers in found.items() if len(bearers) == 1}


def set_value(members: frozenset[Member], *, at_least: bool = False) -> Json:
    """The JSON of a set: `[[…], …]` in order when it is whole, `{"at_least": [[…], …]}` when known only in part."""
    listed: Json = [list(member) for member in sorted(members)]
    return {"at_least": listed} if at_least else listed


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRules:
    """How the sets of one aspect are compared and told.

    noun, many  what one member is called, and several
    added       how much a new member matters
    removed     how much a lost one does
    shown       a member inside a sentence
    keyed       whether the aspect has many sets, each named by its key
    identity    how many parts of a member name it: one whose name stays and whose other parts differ is changed
    most_said   how many members a sentence names
    """

    noun: str
    many: str
    added: Impact
    removed: Impact
    shown: Callable[[Member], str]
    keyed: bool
    identity: int
    most_said: int = 12

    def canonical(self, value: Json) -> Json:
        """The members in order, each once."""
        return set_value(members_of(value), at_least=is_at_least(value))

    def difference(self, before: Json, after: Json) -> tuple[Edit, ...]:
        """The members gone, come, and changed."""
        gone, come, changed = self._split(before, after)
        return (
            *(Edit(op="removed", item=member[0], before=list(member)) for member in gone),
            *(Edit(op="added", item=member[0], after=list(member)) for member in come),
            *(Edit(op="changed", item=was[0], before=list(was), after=list(now)) for was, now in changed),
        )

    def impact(self, before: Json, after: Json) -> Impact:
        """The gravest of what was lost, gained and changed; a set that is merely known whole now is quiet."""
        was, now = members_of(before), members_of(after)
        if was == now:
            return Impact.QUIET
        if is_at_least(before) and was <= now:
            return Impact.QUIET if not is_at_least(after) else self.added
        gone, come, changed = self._split(before, after)
        return max(
            self.removed if gone else Impact.QUIET,
            self.added if come else Impact.QUIET,
            Impact.MINOR if changed else Impact.QUIET,
        )

    def say(self, key: str, value: Json) -> str:
        """`owners: ann, bob`, `no tags`."""
        members = members_of(value)
        if not members:
            known = " known" if is_at_least(value) else ""
            return f"{key}: no {self.many}{known}" if self.keyed and key else f"no {self.many}{known}"
        least = "at least " if is_at_least(value) else ""
        return f"{self._what(key, len(members))}: {least}{self._names(members)}"

    def say_change(self, key: str, before: Json, after: Json) -> str:
        """`owner was ann, now bob`, or what was added and removed."""
        was, now = members_of(before), members_of(after)
        gone, come, changed = self._split(before, after)
        if gone and come and len(was) == len(gone) and len(now) == len(come):
            return f"{self._what(key, len(was))} was {self._names(was)}, now {self._names(now)}"
        parts = []
        if come:
            parts.append(f"{self._what(key, len(come))} {self._names(frozenset(come))} added")
        if gone:
            parts.append(f"{self._what(key, len(gone))} {self._names(frozenset(gone))} removed")
        parts.extend(f"{self._what(key, 1)} {self._detail(old)}, now {self._detail(new)}" for old, new in changed)
        if not parts:
            return f"{self._what(key, 2)} now known whole: {self._names(now) or 'none'}"
        return parts[-1] + f", no {self.many} left" if not now else "; ".join(parts)

    def _split(self, before: Json, after: Json) -> tuple[list[Member], list[Member], list[tuple[Member, Member]]]:
        """The members gone, come, and changed (was, is), each in order."""
        was, now = members_of(before), members_of(after)
        gone, come = sorted(was - now), sorted(now - was)
        old, new = _by_name(gone, self.identity), _by_name(come, self.identity)
        changed = [(old[name], new[name]) for name in old.keys() & new.keys()]
        left, entered = {pair[0] for pair in changed}, {pair[1] for pair in changed}
        return [m for m in gone if m not in left], [m for m in come if m not in entered], sorted(changed)

    def _names(self, members: frozenset[Member]) -> str:
        said = sorted(self.shown(member) for member in members)
        more = f" and {len(said) - self.most_said} more" if len(said) > self.most_said else ""
        return ", ".join(said[: self.most_said]) + more

    def _what(self, key: str, count: int) -> str:
        head = self.noun if count == 1 else self.many
        return f"{label_of(key)}: {head}" if self.keyed and key else head

    def _detail(self, member: Member) -> str:
        said = ", ".join(part for part in member[self.identity :] if part)
        return f"{label_of(member[0])} ({said})" if said else label_of(member[0])


def set_aspect(
    name: str,
    noun: str,
    *,
    added: Impact = Impact.MINOR,
    removed: Impact = Impact.MINOR,
    shown: Callable[[Member], str] = lambda member: label_of(member[0]),
    rank: int = 50,
    keyed: bool = False,
    paths: bool = False,
    identity: int = 1,
) -> Aspect:
    """An aspect whose value is one set; SetRules tells what the options mean."""
    rules = SetRules(
        noun=noun, many=noun + "s", added=added, removed=removed, shown=shown, keyed=keyed, identity=identity
    )
    return Aspect(
        name=name,
        canonical=rules.canonical,
        difference=rules.difference,
        impact=rules.impact,
        say=rules.say,
        say_change=rules.say_change,
        rank=rank,
        paths=paths,
    )
