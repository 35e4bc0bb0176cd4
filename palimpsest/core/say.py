"""How what is remembered is worded: the subject of a sentence, since when, by whom, and a change as one line. Pure.

What a value says is the business of its aspect; here it is put into a sentence that stands on its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.core.aspects import ASPECTS
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.aspects.sets import Member, members_of
from palimpsest.core.aspects.words import label_of
from palimpsest.core.entity import kind_of, short_name
from palimpsest.core.episode import Kind
from palimpsest.core.moment import Moment, spoken

# Writers that are no person: ingestion writes under these names.
_ROBOTS = frozenset({"datahub", "unknown", "__ingestion", "_ingestion", "__datahub_system", "datahub_system"})
_KEY = "\x00"
_WORDS = {
    "ownership": "owner",
    "column_edit": "note on column",
    "column_upstreams": "lineage of column",
    "data_product": "assets",
    "links": "links",
    "foreign_key": "foreign key",
    "view_definition": "view",
}
_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
_PLURALS = {"dataJob": "data jobs", "dataFlow": "data flows", "dataProduct": "data products"}


def person(actor: str | None) -> str:
    """The name of who did it, or an empty string where it was an ingestion or nobody says."""
    if not actor:
        return ""
    name = label_of(actor)
    return "" if name.casefold() in _ROBOTS else name


def subject(urn: str, aspect: str, key: str) -> str:
    """What a sentence is about: `orders`, or `orders.discount` for an aspect whose keys are columns."""
    name = short_name(urn)
    return f"{name}.{key}" if key and ASPECTS[aspect].paths else name


def statement(aspect: str, key: str, value: Json) -> str:
    """What a value states, as its aspect says it."""
    return ASPECTS[aspect].say(key, value)


def change(aspect: str, key: str, before: Json, after: Json, kind: Kind = Kind.CHANGED) -> str:
    """What was and what is now, without the subject: `owner was X, now Y`, `column gone`."""
    rules = ASPECTS[aspect]
    if not rules.paths:
        said = rules.say_change(key, before, after)
    else:
        said = rules.say_change(_KEY, before, after)
        said = said.replace(f"column {_KEY} (edited)", "column edit").replace(f"column {_KEY}", "column")
        said = said.replace(f"{_KEY}: ", "").replace(_KEY, key)
        said = said.removeprefix("column: ")
    return f"{said} (stated again)" if kind is Kind.RETURNED and aspect != "existence" else said


def what(aspect: str, key: str) -> str:
    """What a belief is about within its entity, in a word or two: `owner`, `column discount`, `property retention`."""
    word = _WORDS.get(aspect, aspect.replace("_", " "))
    if key and aspect in {"description", "name"}:
        return f"{word} (edited)" if key == "edited" else word
    return f"{word} {label_of(key)}" if key else word


def edited(aspect: str, key: str, *, was: bool, now: bool) -> str:
    """That something was edited, in few words: `owner changed`, `column discount gone`, `is back`."""
    if aspect == "existence":
        return "back" if was and now else "new" if now else "gone"
    verb = "changed" if was and now else "added" if now else "gone"
    return f"{what(aspect, key)} {verb}"


def stated(aspect: str, key: str, value: Json) -> str:
    """That a value was stated for the first time, without the subject; it is no change."""
    rules = ASPECTS[aspect]
    said = rules.say(_KEY if rules.paths else key, value)
    return f"{said.replace(f'{_KEY}: ', '').replace(f'{_KEY} ', '').replace(_KEY, key)} (stated first)"


def since(valid_from: Moment, valid_after: Moment | None, *, at_least: bool = False) -> str:
    """`since 2026-03-05 14:20`; `between` two readings where no stamp tells better; `at least since` for a first."""
    if valid_after is not None and valid_after < valid_from:
        return f"between {spoken(valid_after)} and {spoken(valid_from)}"
    return f"{'at least ' if at_least else ''}since {spoken(valid_from)}"


def ago(moment: Moment, now: Moment) -> str:
    """How long before `now`: `2 days ago`, `3 hours ago`, `just now`."""
    passed = max(0, now - moment)
    for unit, length in (("day", _DAY), ("hour", _HOUR), ("minute", _MINUTE)):
        count = passed // length
        if count:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def count_of(count: int, noun: str, plural: str = "") -> str:
    """`1 dataset`, `41 datasets`."""
    return f"{count} {noun}" if count == 1 else f"{count} {plural or noun + 's'}"


def entities(count: int, urns: Sequence[str]) -> str:
    """So many entities, by their kind where they share one: `41 datasets`."""
    kinds = {kind_of(urn) or "entity" for urn in urns}
    if len(kinds) != 1:
        return count_of(count, "entity", "entities")
    kind = kinds.pop()
    return count_of(count, kind, _PLURALS.get(kind, "entities" if kind == "entity" else f"{kind}s"))


def line(
    *,
    what: str,
    said: str,
    is_breaking: bool = False,
    downstream: int | None = None,
    when: str = "",
    by: str = "",
    hint: str = "",
) -> str:
    """One change as people read it: `orders: owner was X, now Y, since 2026-03-05 14:20, by mira`.

    A breaking one says so and how much is downstream: `orders.discount: column gone (breaking, 3 downstream)`.
    """
    text = f"{what}: {said}"
    if is_breaking:
        text += f" (breaking, {downstream} downstream)" if downstream is not None else " (breaking)"
    if when:
        text += f", {when}"
    if by:
        text += f", by {by}"
    return f"{text}; {hint}" if hint else text


def members_since(versions: Sequence[tuple[Moment, Json]]) -> dict[Member, Moment]:
    """Since when each member of the last version's set has been in it without a break. Versions come oldest first."""
    held: dict[Member, Moment] = {}
    for valid_from, value in versions:
        now = members_of(value)
        held = {member: held.get(member, valid_from) for member in now}
    return held


def list_of(names: Sequence[str], most: int = 3) -> str:
    """`a, b, c and 38 more`."""
    if len(names) <= most + 1:
        return ", ".join(names)
    return ", ".join(names[:most]) + f" and {len(names) - most} more"
