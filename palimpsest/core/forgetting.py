"""Forgetting: which episodes are weak enough to be dropped, and what is said of a text that was forgotten. Pure.

Which ones may be dropped at all, whatever their strength (R6), the statements in palimpsest.store.forgetting say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from palimpsest.core import say
from palimpsest.core.aspects.aspect import Impact, Json
from palimpsest.core.episode import Kind
from palimpsest.core.ids import BeliefId, CellId, EntityId, RunId
from palimpsest.core.moment import Moment, spoken
from palimpsest.core.observer import rank_of
from palimpsest.core.strength import Strength, base_of, episode_strength

FORGOTTEN_VALUE = "null"  # the JSON text that stands for a value that was forgotten
REASON = "why was forgotten together with the text"


class Droppable(NamedTuple):
    """An episode that only bears out what newer ones bear out too: nothing would rest on it if it were gone."""

    cell: CellId
    number: int
    run: RunId
    entity: EntityId
    belief: BeliefId
    aspect: str
    kind: Kind
    impact: Impact
    observer: str
    observed_at: Moment


def weak(
    episodes: Iterable[Droppable], strengths: Mapping[BeliefId, Strength], *, below: float, now: Moment
) -> list[Droppable]:
    """Those that are weaker than `below`."""
    return [
        one
        for one in episodes
        if episode_strength(
            base_of(one.kind, one.impact, rank_of(one.observer)), one.observed_at, strengths.get(one.belief), now
        )
        < below
    ]


def said(forgotten_at: Moment) -> str:
    """What is told in place of a text: `its text was forgotten on 2026-03-05`."""
    return f"its text was forgotten on {spoken(forgotten_at)[:10]}"


def change(
    aspect: str, key: str, before: Json, after: Json, kind: Kind, *, was: Moment | None, now: Moment | None
) -> str:
    """What was and what is now, without the subject, where the text before was forgotten at `was`, that after at `now`.

    What was forgotten is compared with nothing.
    """
    if now is not None:
        return f"{say.what(aspect, key)}: {said(now)}"
    if was is None:
        return say.change(aspect, key, before, after, kind)
    stated = f"{say.what(aspect, key)} gone" if after is None else say.statement(aspect, key, after)
    return f"{stated}; what it was before: {said(was)}"


def kept_reason(reason: str | None, rules: Iterable[str]) -> str | None:
    """The reason of a version whose text is forgotten: one that rules word quotes nothing, any other one may."""
    if reason is None or any(reason.startswith(worded) for worded in rules):
        return reason
    return REASON
