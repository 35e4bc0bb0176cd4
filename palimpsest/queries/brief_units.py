"""The units of a brief: one for each slot, for what ended, for who reads an entity; each stands on its own, whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from typing import NamedTuple

from palimpsest.core import confidence, say
from palimpsest.core.aspects import ASPECTS, existence
from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.belief import State
from palimpsest.core.brief import Unit, as_author, as_name, plain, quoted
from palimpsest.core.entity import short_name
from palimpsest.core.ids import BeliefId, Ids, short_ref
from palimpsest.core.jsontext import dumps, loads
from palimpsest.core.moment import Moment, from_datetime
from palimpsest.core.observer import NOTES
from palimpsest.queries import held, lineage
from palimpsest.queries.confidence import usual
from palimpsest.queries.edits import Edit
from palimpsest.queries.held import EXISTENCE, Sure, When
from palimpsest.store import answers
from palimpsest.store.answers import Named, Remembered, Seen
from palimpsest.store.engine import Connection

# What ended longer ago than this is told last: it is history, and no warning.
_STALE_AFTER = 90 * 86_400_000
_MOST_READERS = 5
_RULES = "rules"  # a judge whose reasons are ours
_SURE = 0.985  # what rounds to 99 % is told without its number


class Ranked(NamedTuple):
    """A unit and where it comes: what changed first, newest first; then by rank. `news`: its weight, if it is any."""

    order: tuple[int, int, int, str, str]
    unit: Unit
    news: Impact | None = None


def current_units(
    now: Sequence[Remembered],
    edits: Mapping[BeliefId, Sequence[Edit]],
    chains: Mapping[BeliefId, Sequence[Remembered]],
    sure: Sureness,
    beside: Sequence[Remembered],
    fresh: Set[tuple[BeliefId, int]],
    *,
    many: bool,
) -> list[Ranked]:
    """One unit for each slot: sources that differ about it stand in one unit, those that agree share a statement.

    What is contested stands in the unit of what it contests. What was said is news where it is `fresh`.
    """
    slots: dict[tuple[str, str], dict[bytes, list[Remembered]]] = {}
    for one in sorted(now, key=lambda version: version.source):
        if one.aspect == EXISTENCE and existence.exists(loads(one.value)) and len(chains[one.belief]) == 1:
            continue  # that it is there goes without saying
        form = dumps(ASPECTS[one.aspect].canonical(loads(one.value))) if many else b""
        slots.setdefault((one.aspect, one.key), {}).setdefault(form, []).append(one)
    found = []
    for (aspect, key), said in slots.items():
        parts, refs, newest = [], [], 0
        versions = [_named(one) for same in said.values() for one in same]
        news: list[Impact] = []
        for same in said.values():
            edit = _last_edit(edits[same[0].belief], same[0])
            if edit is not None:
                newest = max(newest, edit.at)
                news.append(edit.impact)
            news += [one.founded.impact for one in same if (one.belief, one.number) in fresh] if fresh else []
            names = f" ({', '.join(as_name(one.source) for one in same)})" if many else ""
            told = _said(same[0], edit, chains[same[0].belief]) + sure.said(same) + names
            parts.append(told + "".join(_ref(one) for one in same))
            refs += [short_ref(one.belief) for one in same]
        text = "- sources differ: " + " | ".join(parts) if len(parts) > 1 else "- " + parts[0]
        for one in beside:
            if (one.aspect, one.key) == (aspect, key):
                text += f" | {_told_beside(one)}"
                refs.append(short_ref(one.belief))
                versions.append(_named(one))
                newest = max(newest, one.valid_from)
                news += [one.founded.impact] if (one.belief, one.number) in fresh else []
        order = (0 if newest else 1, -newest, ASPECTS[aspect].rank, aspect, key)
        surest = max((sure.of(same).confidence for same in said.values()), default=None)
        unit = Unit(text=text, refs=tuple(refs), confidence=surest, versions=tuple(versions))
        found.append(Ranked(order, unit, max(news, default=None)))
    return found


def beside_units(
    beside: Sequence[Remembered], fresh: Set[tuple[BeliefId, int]], current: Set[tuple[str, str, str]]
) -> list[Ranked]:
    """One unit for each contested or proposed version of a slot in which nothing is current."""
    return [
        Ranked(
            (0, -one.valid_from, ASPECTS[one.aspect].rank, one.aspect, one.key),
            Unit(text=f"- {_told_beside(one)}", refs=(short_ref(one.belief),), versions=(_named(one),)),
            one.founded.impact if (one.belief, one.number) in fresh else None,
        )
        for one in beside
        if (one.aspect, one.key, one.source) not in current
    ]


def _told_beside(one: Remembered) -> str:
    """A version that is not current: its state, what it says, who says so, and its name in the inbox."""
    by = as_author(held.author(one.founded))
    item = f"{short_ref(one.belief)}@{one.number}"
    return f"not current, {held.state_then(one)}: {quoted(_statement(one))} {held.since_text(one)} by {by} [{item}]"


class Sureness:
    """How sure current beliefs of one entity are, told only where it is worth a word.

    When most of it was confirmed stands in the head once; a statement tells its confidence where that is below
    99 %, and when it was confirmed where that was at another time.
    """

    def __init__(self, sure: Mapping[BeliefId, Sure], now: Sequence[Remembered], when: When) -> None:
        self._sure, self._when = sure, when
        self.now = now
        self.confirmed = usual(sure[one.belief].confirmed for one in now)

    def of(self, same: Sequence[Remembered]) -> Sure:
        """The surest of those that say the same."""
        return max((self._sure[one.belief] for one in same), key=lambda one: one.confidence)

    def head(self) -> str:
        """When most of it was confirmed."""
        return f"; confirmed {self._ago(self.confirmed)}" if self.confirmed is not None else ""

    def said(self, same: Sequence[Remembered]) -> str:
        """What is told of those that say the same."""
        one = self.of(same)
        parts = [confidence.spoken(one.confidence)] if one.confidence < _SURE else []
        if self._ago(one.confirmed) != self._ago(self.confirmed or one.confirmed):
            parts.append(f"confirmed {self._ago(one.confirmed)}")
        return f"; {', '.join(parts)}" if parts else ""

    def _ago(self, at: datetime) -> str:
        return say.ago(from_datetime(at), self._when.moment)


def news_of(edits: Sequence[Edit], since: Moment) -> list[Edit]:
    """The edits that became known after a moment; several that led to a version as one, from what was held then."""
    found = [edit for edit in edits if _known_at(edit) > since]
    if len(found) < 2 or found[-1].after is None:
        return found[-1:]
    first, last = found[0], found[-1]
    assert last.after is not None
    form = ASPECTS[last.after.aspect].canonical
    is_back = first.before is not None and form(loads(first.before.value)) == form(loads(last.after.value))
    return [last if is_back else last._replace(before=first.before, impact=max(edit.impact for edit in found))]


def _known_at(edit: Edit) -> Moment:
    """When an edit was recorded."""
    if edit.after is not None:
        return edit.after.recorded_at
    ended = edit.version
    return ended.closed_at if ended.closed_at is not None else ended.recorded_at


def _last_edit(edits: Sequence[Edit], version: Remembered) -> Edit | None:
    """The last edit that is not quiet and led to a current version."""
    for edit in reversed(edits):
        if edit.after is not None and edit.after.number <= version.number and edit.impact > Impact.QUIET:
            return edit
    return None


def _said(version: Remembered, edit: Edit | None, chain: Sequence[Remembered]) -> str:
    """What is held, since when; and where it superseded something, what was, by whom it was changed, and why."""
    now = quoted(_statement(version))
    if version.source == NOTES and edit is None:
        return f"{now} {held.since_text(version)} by {as_author(held.author(version.founded))}"
    if edit is None or edit.after is None:
        return f"{now} {held.since_text(chain[0] if chain[0].successor else version)}"
    by = f" by {as_author(edit.by)}" if edit.by else ""
    since = f"{held.since_text(edit.after)}{by}"
    if edit.before is None:
        return f"{now} {since}; {_why(edit.after.reason, edit.after.judge)}"
    why = _why(edit.before.ended_reason or edit.after.reason, edit.after.judge)
    return f"now {now}, was {quoted(_statement(edit.before))}; {since}; {why}"


def gone_units(
    chains: Mapping[BeliefId, Sequence[Remembered]],
    edits: Mapping[BeliefId, Sequence[Edit]],
    endings: Mapping[tuple[BeliefId, int], Seen],
    when: When,
) -> list[Ranked]:
    """One unit for each belief that has ended."""
    found = []
    for belief, chain in chains.items():
        last = edits[belief][-1] if edits[belief] else None
        if last is None or last.after is not None or last.before is None or last.impact is Impact.QUIET:
            continue
        seen = endings.get((belief, last.before.number))
        after = seen.after_at if seen is not None and seen.observed_at == last.at else None
        who = held.author(seen) if seen is not None else ""
        since = say.since(last.at, after) + (f" by {as_author(who)}" if who else "")
        why = _why(last.before.ended_reason, last.before.judge)
        text = f"- gone: {quoted(_statement(last.before))}; {since}; {why}{_ref(chain[0])}"
        stale = when.moment - last.at > _STALE_AFTER
        order = (2 if stale else 0, -last.at, ASPECTS[chain[0].aspect].rank, chain[0].aspect, chain[0].key)
        unit = Unit(text=text, refs=(short_ref(belief),), versions=(_named(last.before),))
        found.append(Ranked(order, unit, last.impact))
    return found


def last_units(versions: Sequence[Remembered], when: When) -> list[Ranked]:
    """What was held when the entity went away."""
    found = []
    for one in versions:
        is_held = when.knows(one) and when.holds(one) and held.state_then(one) is State.CURRENT
        if one.aspect != EXISTENCE and is_held:
            text = f"- not current, last held: {quoted(_statement(one))} {held.since_text(one)}{_ref(one)}"
            order = (1, 0, ASPECTS[one.aspect].rank, one.aspect, one.key)
            unit = Unit(text=text, refs=(short_ref(one.belief),), versions=(_named(one),))
            found.append(Ranked(order, unit))
    return found


def readers_of(connection: Connection, ids: Ids, named: Sequence[Named], when: When) -> dict[bytes, list[Unit]]:
    """One unit for each entity that others are made from, with the beliefs that say so."""
    below: dict[bytes, dict[bytes, BeliefId]] = {}
    for edge in lineage.edges_below(connection, ids, named, when):
        if edge.downstream != edge.upstream:
            below.setdefault(edge.upstream, {}).setdefault(edge.downstream, edge.belief)
    around = [one for readers in below.values() for one in readers]
    here = lineage.existing(connection, ids, around, when)  # type: ignore[arg-type]
    names = answers.entities_by_id(connection, sorted(here))
    found = {}
    for upstream, readers in below.items():
        known = sorted((names[one].urn, belief) for one, belief in readers.items() if one in names)  # type: ignore[index]
        if known:
            shown = known[:_MOST_READERS]
            more = f" and {len(known) - len(shown)} more" if len(known) > len(shown) else ""
            said = ", ".join(quoted(short_name(urn)) for urn, _ in shown)
            refs = tuple(short_ref(belief) for _, belief in shown)
            text = f"- read by {len(known)}: {said}{more}" + "".join(f" [{ref}]" for ref in refs)
            found[upstream] = [Unit(text=text, refs=refs)]
    return found


def _why(reason: str, judge: str) -> str:
    """A reason: in quotes where a model worded it, by what it read."""
    return plain(reason) if judge == _RULES else quoted(reason)


def _statement(version: Remembered) -> str:
    return held.statement(version)


def _named(version: Remembered) -> str:
    """A version as deliveries name it."""
    return f"{version.belief.hex()}:{version.number}"


def _ref(version: Remembered) -> str:
    return f" [{short_ref(version.belief)}]"
