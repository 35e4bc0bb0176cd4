"""What changed in entities since a moment, folded from the versions that a hook reads. Pure.

What came and went in between is no news, nor is a first reading (R14); of what is gone nothing is told but that (R12).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from palimpsest.core import forgetting, say
from palimpsest.core.aspects import ASPECTS, existence
from palimpsest.core.aspects.aspect import Impact, Json
from palimpsest.core.belief import State, is_current
from palimpsest.core.episode import Kind, credible
from palimpsest.core.moment import Moment
from palimpsest.core.observer import said_by

_EXISTENCE = "existence"
_BESIDE = frozenset({State.CONTESTED, State.PROPOSED})


class Version(NamedTuple):
    """One version of a belief as a hook reads it, with its founding episode."""

    belief: bytes
    number: int
    state: str
    recorded_at: int
    closed_at: int | None
    valid_from: int
    valid_to: int | None
    urn: str
    source: str
    observer: str
    aspect: str
    key: str
    kind: str
    baseline: bool
    value: str | None
    forgotten_at: int | None
    actor: str
    stamped_at: int | None
    after_at: int | None
    observed_at: int


class News(NamedTuple):
    """One change, of a column where one is named. `said` tells it whole, `edited` in few words.

    `versions` are those that it tells, as `id:number`.
    """

    urn: str
    column: str
    impact: Impact
    at: Moment
    said: str
    edited: str
    by: str
    versions: tuple[str, ...]


def news_of(versions: Sequence[Version], since: Mapping[str, Moment]) -> list[News]:
    """What became known of each entity after its moment: the weightiest first, then the newest."""
    chains: dict[bytes, list[Version]] = {}
    for one in versions:
        chains.setdefault(one.belief, []).append(one)
    for chain in chains.values():
        chain.sort(key=lambda one: one.number)
    here = _here(chains)
    found = []
    for chain in chains.values():
        one = chain[0]
        source = "" if one.observer else one.source
        if one.aspect in ASPECTS and (one.aspect == _EXISTENCE or here.get((one.urn, source), True)):
            news = _news(chain, since[one.urn])
            found += [news] if news is not None else []
    found.sort(key=lambda one: (-one.impact, -one.at, one.urn, one.column, one.said))
    return found


def _here(chains: Mapping[bytes, Sequence[Version]]) -> dict[tuple[str, str], bool]:
    """Whether each entity of which that is said exists: by each source, and under an empty name by any."""
    found: dict[tuple[str, str], bool] = {}
    for chain in chains.values():
        last = chain[-1]
        if last.aspect == _EXISTENCE:
            is_there = is_current(State(last.state), exists=existence.exists(_value(last)))
            found[last.urn, last.source] = is_there
            found[last.urn, ""] = found.get((last.urn, ""), False) or is_there
    return found


def _news(chain: Sequence[Version], since: Moment) -> News | None:
    """The difference between what a belief was at a moment and what it is; None where there is none to tell."""
    current = [one for one in chain if one.state not in _BESIDE]
    before = next((one for one in reversed(current) if _was_held(one, since)), None)
    after = next((one for one in reversed(current) if one.state == State.CURRENT), None)
    if after is not None and after.observer and before is None:
        return _noted(after, since)
    if before is None:
        before = next((one for one in current if one.baseline and one.recorded_at > since), None)
    told = after or before
    if told is None or (before is None and after is not None and after.baseline) or before is after:
        return None
    rules = ASPECTS[told.aspect]
    was, now = _value(before), _value(after)
    if before is not None and after is not None and rules.canonical(was) == rules.canonical(now):
        return None
    impact = Impact.MINOR if told.forgotten_at is not None else rules.impact(was, now)
    if impact is Impact.QUIET:
        return None
    gone = after is None and before is not None
    at = before.valid_to if gone and before is not None and before.valid_to is not None else told.valid_from
    kind = Kind(after.kind) if after is not None else Kind.CHANGED
    forgotten = [_moment(one.forgotten_at) if one is not None else None for one in (before, after)]
    return News(
        urn=told.urn,
        column=told.key if rules.paths else "",
        impact=impact,
        at=Moment(at),
        said=forgetting.change(told.aspect, told.key, was, now, kind, was=forgotten[0], now=forgotten[1]),
        edited=_edited(told, before, after),
        by=_author(after) if after is not None else "",
        versions=tuple(_named(one) for one in (before, after) if one is not None),
    )


def _noted(after: Version, since: Moment) -> News | None:
    """What somebody said, where it was not said before."""
    if after.recorded_at <= since:
        return None
    forgotten = _moment(after.forgotten_at)
    text = say.statement(after.aspect, after.key, _value(after)) if forgotten is None else forgetting.said(forgotten)
    return News(
        urn=after.urn,
        column=after.key if ASPECTS[after.aspect].paths else "",
        impact=Impact.MINOR,
        at=Moment(after.valid_from),
        said=text,
        edited=f"{say.what(after.aspect, after.key)} taken down",
        by=_author(after),
        versions=(_named(after),),
    )


def _was_held(one: Version, at: Moment) -> bool:
    return one.recorded_at <= at and (one.closed_at is None or one.closed_at > at)


def _edited(told: Version, before: Version | None, after: Version | None) -> str:
    if told.aspect == _EXISTENCE and after is not None:
        return say.edited("existence", "", was=before is not None, now=existence.exists(_value(after)))
    return say.edited(told.aspect, told.key, was=before is not None, now=after is not None)


def _author(one: Version) -> str:
    """Who said it, or wrote it where the catalog tells: as queries.held has it."""
    if one.observer:
        return said_by(one.observer)
    stamped, after = _moment(one.stamped_at), _moment(one.after_at)
    if stamped and credible(stamped, after, Moment(one.observed_at)) is None:
        return ""
    return say.person(one.actor)


def _value(one: Version | None) -> Json:
    if one is None or one.value is None:
        return None
    value: Json = json.loads(one.value)
    return value


def _moment(value: int | None) -> Moment | None:
    return Moment(value) if value is not None else None


def _named(one: Version) -> str:
    return f"{one.belief.hex()}:{one.number}"
