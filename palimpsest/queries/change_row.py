"""A change at work: an episode with its values read, what it is compared by, and how it is worded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from palimpsest.core import say
from palimpsest.core.aspects import ASPECTS, existence
from palimpsest.core.aspects.aspect import Impact, Json
from palimpsest.core.entity import platform_of, short_name
from palimpsest.core.episode import Kind
from palimpsest.core.ids import EntityId, belief_ref, short_ref
from palimpsest.core.jsontext import dumps, loads
from palimpsest.core.moment import Moment, to_datetime
from palimpsest.queries import held
from palimpsest.queries.held import EXISTENCE
from palimpsest.queries.lineage import Node
from palimpsest.store.answers_changes import Changed


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeView:
    """One change. `said` tells it without its subject, `line` whole; `siblings` are other URNs that changed alike.

    `since` is the catalog's own time or the reading's, `not_yet_at` the last reading that did not show it.
    """

    urn: str
    siblings: tuple[str, ...]
    source: str
    aspect: str
    key: str
    kind: str
    impact: str
    before: Json
    after: Json
    said: str
    line: str
    since: datetime
    not_yet_at: datetime | None
    by: str
    actor: str
    catalog_run: str
    run: str
    belief: str
    ref: str
    downstream: int | None
    hint: str
    baseline: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """The same change in one run on several entities, as one line."""

    line: str
    impact: str
    aspect: str
    key: str
    urns: tuple[str, ...]
    downstream: int | None


@dataclass(slots=True)
class ChangeRow:
    """A change at work."""

    row: Changed
    before: Json
    after: Json
    said: str
    valid_from: Moment
    valid_after: Moment | None
    siblings: list[Changed]
    below: frozenset[EntityId] | None = None
    hint: str = ""


def change_view(row: ChangeRow, *, among: Mapping[str, int], many_sources: bool) -> ChangeView:
    """A change as it is shown. `among` counts the short names of all that are shown: shared ones get their platform."""
    one, seen = row.row, row.row.seen
    by = held.author(seen)
    when = "" if seen.baseline else say.since(row.valid_from, row.valid_after)
    line = say.line(
        what=_subject(row, among),
        said=row.said,
        is_breaking=seen.impact is Impact.BREAKING,
        downstream=len(row.below) if row.below is not None else None,
        when=when,
        by=by,
        hint=row.hint,
    )
    return ChangeView(
        urn=one.urn,
        siblings=tuple(sibling.urn for sibling in row.siblings),
        source=one.source,
        aspect=one.aspect,
        key=one.key,
        kind=seen.kind.value,
        impact=seen.impact.word,
        before=row.before,
        after=row.after,
        said=row.said,
        line=f"{line} [{one.source}]" if many_sources else line,
        since=to_datetime(row.valid_from),
        not_yet_at=held.moment_view(row.valid_after),
        by=by,
        actor=seen.actor,
        catalog_run=seen.catalog_run,
        run=seen.run.hex(),
        belief=belief_ref(one.belief),
        ref=short_ref(one.belief),
        downstream=len(row.below) if row.below is not None else None,
        hint=row.hint,
        baseline=seen.baseline,
    )


def _subject(row: ChangeRow, among: Mapping[str, int]) -> str:
    """What a line is about. Siblings are named together, and names that several have by their platform too."""
    one = row.row
    said = say.subject(one.urn, one.aspect, one.key)
    if row.siblings:
        names = {short_name(urn) for urn in (one.urn, *(sibling.urn for sibling in row.siblings))}
        if len(names) == 1:
            platforms = [platform_of(urn) for urn in (one.urn, *(sibling.urn for sibling in row.siblings))]
            return f"{said} ({' and '.join(platforms)})"
        others = [say.subject(sibling.urn, one.aspect, one.key) for sibling in row.siblings]
        return " and ".join([said, *others])
    platform = platform_of(one.urn)
    return f"{said} ({platform})" if platform and among.get(short_name(one.urn), 0) > 1 else said


def group_view(rows: Sequence[ChangeRow], views: Sequence[ChangeView]) -> GroupView:
    """The same change on several entities as one line."""
    first = views[0]
    urns = tuple(dict.fromkeys(urn for view in views for urn in (view.urn, *view.siblings)))
    what = say.what(first.aspect, first.key) if ASPECTS[first.aspect].paths else ""
    said = f"{what}: {first.said.removeprefix('column ')}" if what else first.said
    downstream: int | None = None
    if first.impact == Impact.BREAKING.word:
        own = {one.entity for row in rows for one in (row.row, *row.siblings)}
        downstream = len(frozenset().union(*(row.below or () for row in rows)) - own)
        said += f" (breaking, {downstream} downstream)"
    line = f"{said} on {say.entities(len(urns), urns)}: {say.list_of([short_name(urn) for urn in urns])}"
    if first.by and len({view.by for view in views}) == 1:
        line += f", by {first.by}"
    return GroupView(
        line=line, impact=first.impact, aspect=first.aspect, key=first.key, urns=urns, downstream=downstream
    )


def weight(row: ChangeRow) -> tuple[object, ...]:
    """The order of changes: what breaks first, first statements last, then by entity."""
    one = row.row
    return (
        one.seen.baseline,
        -int(one.seen.impact),
        short_name(one.urn),
        one.urn,
        ASPECTS[one.aspect].rank,
        one.aspect,
        one.key,
        one.source,
        one.seen.observed_at,
        one.seen.number,
    )


def alike(row: ChangeRow) -> tuple[object, ...]:
    """What two changes must have in common to be the same change."""
    rules = ASPECTS[row.row.aspect]
    before, after = (dumps(rules.canonical(value)) if value is not None else b"" for value in (row.before, row.after))
    return row.row.seen.run, row.row.aspect, row.row.key, before, after


def seeds(row: ChangeRow) -> list[Node]:
    """Where to start looking for what is downstream of a change."""
    column = row.row.key if row.row.aspect == "column" else ""
    return [(one.entity, column) for one in (row.row, *row.siblings)]


def is_new(row: Changed) -> bool:
    """Whether a change is an entity seen for the first time."""
    if row.aspect != EXISTENCE or row.seen.kind is not Kind.FIRST or row.seen.baseline or row.after is None:
        return False
    return existence.exists(loads(row.after))
