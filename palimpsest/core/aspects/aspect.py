"""The interface of an aspect, and the forms that values share: text, sets of members, records of fields.

A value is JSON as it was read; what counts as the same is decided by its canonical form, so that a change of the
canonical rules compares old and new values under the new rules and forges no change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias, cast

from palimpsest.core.entity import name_of

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


class Impact(IntEnum):
    """How much a change matters. Quiet ones are kept, and shown only when asked for."""

    QUIET = 0
    MINOR = 1
    NOTABLE = 2
    BREAKING = 3

    @property
    def word(self) -> str:
        """The impact as people write it."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One thing that differs between two values: `op` is added, removed or changed; `item` says what within a value."""

    op: str
    item: str
    before: Json = None
    after: Json = None


Canonical: TypeAlias = Callable[[Json], Json]
Difference: TypeAlias = Callable[[Json, Json], tuple[Edit, ...]]
Judged: TypeAlias = Callable[[Json, Json], Impact]
Say: TypeAlias = Callable[[str, Json], str]
SayChange: TypeAlias = Callable[[str, Json, Json], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aspect:
    """A facet that changes on its own. None stands for "nothing held" in every function that takes two values.

    name        the word for it, everywhere
    canonical   value → its canonical form; equal forms are the same fact
    difference  (before, after) → the edits between them
    impact      (before, after) → how much that change matters
    say         (key, value) → the sentence it states
    say_change  (key, before, after) → the sentence that tells the change: what was, what is now
    rank        order of importance when there is room for a few only; lower comes first
    paths       whether keys are column paths, matched as columns are
    """

    name: str
    canonical: Canonical
    difference: Difference
    impact: Judged
    say: Say
    say_change: SayChange
    rank: int = field(default=50)
    paths: bool = False


def squeeze(text: str) -> str:
    """Text with every run of white space as one blank, none at the ends: white space is no fact."""
    return " ".join(text.split()) if text else text


def compact(value: Json) -> Json:
    """A value without its empty parts: null, "", [], {} and false are DataHub's ways to say nothing; text squeezed."""
    if isinstance(value, str):
        return squeeze(value)
    if isinstance(value, dict):
        kept: dict[str, Json] = {}
        for name, part in value.items():
            if part is None or part is False:
                continue
            small = part if part is True else " ".join(part.split()) if isinstance(part, str) else compact(part)
            if small is True or not is_empty(small):
                kept[name] = small
        return kept
    if isinstance(value, list):
        return [compact(part) for part in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def is_empty(value: Json) -> bool:
    """Whether DataHub means "nothing" by it. Zero is a number, and no emptiness."""
    return value is None or value is False or (isinstance(value, str | list | dict) and not value)


def quote(value: Json, limit: int = 160) -> str:
    """A value inside a sentence: text squeezed and cut at `limit` characters, anything else as short JSON-like text."""
    if isinstance(value, str):
        flat = squeeze(value)
        return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
    if isinstance(value, list):
        return quote(", ".join(quote(part) for part in value), limit)
    if isinstance(value, dict):
        return quote(", ".join(f"{name} {quote(part)}" for name, part in value.items()), limit)
    if value is True:
        return "yes"
    return "no" if value is False or value is None else str(value)


def differing(before: str, after: str, *, around: int = 3, limit: int = 60) -> tuple[str, str]:
    """Two texts as a sentence about their difference shows them: short ones whole, long ones cut to where they differ.

    `around` words stay on each side of the difference; what is left out is an ellipsis.
    """
    was, now = squeeze(before), squeeze(after)
    if len(was) <= limit and len(now) <= limit:
        return was, now
    old, new = was.split(" "), now.split(" ")
    same = min(len(old), len(new))
    head = next((place for place in range(same) if old[place] != new[place]), same)
    tail = next((place for place in range(same - head) if old[-1 - place] != new[-1 - place]), same - head)
    first = max(0, head - around)
    parts = []
    for words in (old, new):
        last = min(len(words), len(words) - tail + around)
        text = " ".join(words[first:last])
        parts.append(("… " if first else "") + quote(text) + (" …" if last < len(words) else ""))
    return parts[0], parts[1]


def was_now(before: Json, after: Json, shown: Callable[[Json], str] = quote) -> str:
    """`was X, now Y`; of long texts only the part that differs."""
    if isinstance(before, str) and isinstance(after, str) and shown is quote:
        old, new = differing(before, after)
        return f"was {old}, now {new}"
    return f"was {shown(before)}, now {shown(after)}"


def label_of(urn: Json) -> str:
    """A short label for a URN that is a member: `mira` of `urn:li:corpuser:mira`, `orders` kept with its full name."""
    text = str(urn)
    return name_of(text) if text.startswith("urn:li:") else text


def whole_difference(canonical: Canonical, before: Json, after: Json) -> tuple[Edit, ...]:
    """The one edit between two values that have no parts; none where their canonical forms are equal."""
    if before is None and after is None:
        return ()
    if before is None:
        return (Edit(op="added", item="", after=after),)
    if after is None:
        return (Edit(op="removed", item="", before=before),)
    if canonical(before) == canonical(after):
        return ()
    return (Edit(op="changed", item="", before=before, after=after),)


# --- text -------------------------------------------------------------------------------------------------------


def text_aspect(
    name: str,
    label: Callable[[str], str],
    *,
    impact: Impact = Impact.MINOR,
    rank: int = 50,
    shown: Callable[[Json], str] = quote,
) -> Aspect:
    """An aspect whose value is one text. White space is form; letter case is not."""

    def canonical(value: Json) -> Json:
        return squeeze(value) if isinstance(value, str) else compact(value)

    def difference(before: Json, after: Json) -> tuple[Edit, ...]:
        return whole_difference(canonical, before, after)

    def say_change(key: str, before: Json, after: Json) -> str:
        what = label(key)
        if before is None:
            return f"{what} set: {shown(after)}"
        if after is None:
            return f"{what} cleared, was {shown(before)}"
        return f"{what} {was_now(before, after, shown)}"

    return Aspect(
        name=name,
        canonical=canonical,
        difference=difference,
        impact=lambda before, after: impact,
        say=lambda key, value: f"{label(key)}: {shown(value)}",
        say_change=say_change,
        rank=rank,
    )


# --- sets -------------------------------------------------------------------------------------------------------

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


def set_aspect(  # noqa: PLR0913 - each option is one way in which sets differ
    name: str,
    noun: str,
    *,
    plural: str | None = None,
    added: Impact = Impact.MINOR,
    removed: Impact = Impact.MINOR,
    shown: Callable[[Member], str] = lambda member: label_of(member[0]),
    rank: int = 50,
    keyed: bool = False,
    paths: bool = False,
    identity: int = 1,
    most_said: int = 12,
) -> Aspect:
    """An aspect whose value is one set. Order and duplicates are form; since when is told member by member.

    `identity` is how many parts of a member name it; the others are what is said of it. A member whose name stays and
    whose other parts differ is changed, neither lost nor new.
    """
    many = plural or noun + "s"

    def split(before: Json, after: Json) -> tuple[list[Member], list[Member], list[tuple[Member, Member]]]:
        """The members gone, come, and changed (was, is), each in order."""
        was, now = members_of(before), members_of(after)
        gone, come = sorted(was - now), sorted(now - was)
        old, new = _by_name(gone, identity), _by_name(come, identity)
        changed = [(old[name], new[name]) for name in old.keys() & new.keys()]
        left, entered = {pair[0] for pair in changed}, {pair[1] for pair in changed}
        return [m for m in gone if m not in left], [m for m in come if m not in entered], sorted(changed)

    def names(members: frozenset[Member]) -> str:
        said = sorted(shown(member) for member in members)
        if len(said) > most_said:
            return ", ".join(said[:most_said]) + f" and {len(said) - most_said} more"
        return ", ".join(said)

    def canonical(value: Json) -> Json:
        return set_value(members_of(value), at_least=is_at_least(value))

    def difference(before: Json, after: Json) -> tuple[Edit, ...]:
        gone, come, changed = split(before, after)
        return (
            *(Edit(op="removed", item=member[0], before=list(member)) for member in gone),
            *(Edit(op="added", item=member[0], after=list(member)) for member in come),
            *(Edit(op="changed", item=was[0], before=list(was), after=list(now)) for was, now in changed),
        )

    def judged(before: Json, after: Json) -> Impact:
        was, now = members_of(before), members_of(after)
        if was == now:
            return Impact.QUIET
        if is_at_least(before) and was <= now:
            return Impact.QUIET if not is_at_least(after) else added
        gone, come, changed = split(before, after)
        return max(
            removed if gone else Impact.QUIET,
            added if come else Impact.QUIET,
            Impact.MINOR if changed else Impact.QUIET,
        )

    def what(key: str, count: int) -> str:
        head = noun if count == 1 else many
        return f"{label_of(key)}: {head}" if keyed and key else head

    def say(key: str, value: Json) -> str:
        members = members_of(value)
        if not members:
            known = " known" if is_at_least(value) else ""
            return f"no {what(key, 2)}{known}" if not (keyed and key) else f"{key}: no {many}{known}"
        least = "at least " if is_at_least(value) else ""
        return f"{what(key, len(members))}: {least}{names(members)}"

    def say_change(key: str, before: Json, after: Json) -> str:
        was, now = members_of(before), members_of(after)
        gone, come, changed = split(before, after)
        if gone and come and len(was) == len(gone) and len(now) == len(come):
            return f"{what(key, len(was))} was {names(was)}, now {names(now)}"
        parts = []
        if come:
            parts.append(f"{what(key, len(come))} {names(frozenset(come))} added")
        if gone:
            parts.append(f"{what(key, len(gone))} {names(frozenset(gone))} removed")
        parts.extend(f"{what(key, 1)} {detail(old)}, now {detail(new)}" for old, new in changed)
        if not parts:
            return f"{what(key, 2)} now known whole: {names(now) or 'none'}"
        if not now:
            return parts[-1] + f", no {many} left"
        return "; ".join(parts)

    def detail(member: Member) -> str:
        said = ", ".join(part for part in member[identity:] if part)
        return f"{label_of(member[0])} ({said})" if said else label_of(member[0])

    return Aspect(
        name=name,
        canonical=canonical,
        difference=difference,
        impact=judged,
        say=say,
        say_change=say_change,
        rank=rank,
        paths=paths,
    )


# --- records ----------------------------------------------------------------------------------------------------


def fields_of(value: Json) -> dict[str, Json]:
    """The fields of a record value; anything else has none."""
    return value if isinstance(value, dict) else {}


def field_difference(before: Json, after: Json) -> tuple[Edit, ...]:
    """The fields in which two records differ, compared in compact form."""
    was, now = fields_of(compact(before)), fields_of(compact(after))
    edits = []
    for name in sorted(was.keys() | now.keys()):
        old, new = was.get(name), now.get(name)
        if old == new:
            continue
        op = "added" if old is None else "removed" if new is None else "changed"
        edits.append(Edit(op=op, item=name, before=old, after=new))
    return tuple(edits)


def record_aspect(
    name: str,
    say: Say,
    *,
    impact: Judged | Impact = Impact.MINOR,
    canonical: Canonical = compact,
    words: Mapping[str, str] | None = None,
    subject: Callable[[str], str] = str,
    rank: int = 50,
    paths: bool = False,
) -> Aspect:
    """An aspect whose value is a record of fields. Empty spellings and white space are form.

    `words` names fields in sentences; `subject` turns the key into what the sentence is about.
    """
    names = dict(words or {})
    judged = impact if callable(impact) else cast("Judged", lambda before, after, fixed=impact: fixed)

    def difference(before: Json, after: Json) -> tuple[Edit, ...]:
        return field_difference(canonical(before), canonical(after))

    def say_change(key: str, before: Json, after: Json) -> str:
        about = subject(key)
        if before is None:
            return f"{about} added" if about else say(key, after)
        if after is None:
            return f"{about} gone" if about else f"no longer stated: {say(key, before)}"
        parts = []
        for edit in difference(before, after):
            word = names.get(edit.item, edit.item.replace("_", " "))
            if edit.op == "added":
                parts.append(f"{word} set: {quote(edit.after)}")
            elif edit.op == "removed":
                parts.append(f"{word} cleared, was {quote(edit.before)}")
            else:
                parts.append(f"{word} {was_now(edit.before, edit.after)}")
        return f"{about}: " + "; ".join(parts) if about else "; ".join(parts)

    return Aspect(
        name=name,
        canonical=canonical,
        difference=difference,
        impact=judged,
        say=say,
        say_change=say_change,
        rank=rank,
        paths=paths,
    )
