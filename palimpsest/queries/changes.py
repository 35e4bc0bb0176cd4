"""changes: what the readings of a time changed, in words. First readings are no changes (R14); quiet ones are counted.

Each line says what was and what is now; breaking ones count what is downstream; possible renames are hints, no merges.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from palimpsest.core import forgetting, say
from palimpsest.core.aspects import existence
from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.aspects.sets import members_of
from palimpsest.core.baseline import renamed_columns
from palimpsest.core.entity import kind_of, name_of, platform_of, short_name
from palimpsest.core.episode import Kind, credible
from palimpsest.core.errors import UsageError
from palimpsest.core.ids import EntityId, Ids, RunId
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import Moment, parse
from palimpsest.queries import entities, held
from palimpsest.queries.change_row import (
    ChangeRow,
    ChangeView,
    GroupView,
    alike,
    change_view,
    group_view,
    is_new,
    seeds,
    weight,
)
from palimpsest.queries.held import EXISTENCE, When
from palimpsest.queries.lineage import Downstream
from palimpsest.store import answers, answers_changes, pending
from palimpsest.store.answers_changes import Changed, Reading, Wanted
from palimpsest.store.engine import Connection, Store

LAST = "last"
_SPAN = re.compile(r"(\d{1,5})([dhw])")
_SPANS = {"h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
_GROUPED_FROM = 3
_RENAMED_FROM = 2
_MOST_ENTITIES = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesRequest:
    """What is asked. `since` is a date, a time, a span before now (`7d`), or `last`: the newest reading.

    `impact` is the least that is shown.
    """

    since: str
    until: str | None = None
    source: str | None = None
    aspect: str | None = None
    platform: str | None = None
    entity: str | None = None
    impact: Impact = Impact.MINOR
    grouped: bool = False
    quiet_too: bool = False
    first_stated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesView:
    """The changes of a time, the weightiest first, and how many are not shown: quiet, stated first, not yet judged.

    `lines` is what a person reads: the changes, or groups of them.
    """

    since: datetime | None
    until: datetime | None
    readings: int
    changes: tuple[ChangeView, ...]
    groups: tuple[GroupView, ...]
    lines: tuple[str, ...]
    quiet: int
    first_stated: int
    pending: int


def changes(store: Store, request: ChangesRequest, when: When) -> ChangesView:
    """The changes of the readings in a time. Raises UsageError."""
    ids = store.ids
    return store.read(lambda connection: Changes(connection, ids, request, when).view())


def since_of(text: str, now: Moment) -> Moment | None:
    """The moment that `--since` means; None for `last`. Raises UsageError."""
    wanted = text.strip().casefold()
    if wanted == LAST:
        return None
    span = _SPAN.fullmatch(wanted)
    if span is not None:
        return Moment(max(0, now - int(span[1]) * _SPANS[span[2]]))
    try:
        return parse(text)
    except UsageError as error:
        raise UsageError(
            f"{text!r} is no time to look back to", "write 2026-01-31, 2026-01-31T08:00:00Z, 7d, 24h or last"
        ) from error


class Changes:
    """One answer at work. The order of its steps is the order of its methods."""

    def __init__(self, connection: Connection, ids: Ids, request: ChangesRequest, when: When) -> None:
        self.connection, self.ids, self.request, self.when = connection, ids, request, when
        self.since = since_of(request.since, when.now)
        self.until = parse(request.until, end_of_day=True) if request.until else None
        self.readings, self.before_reading = self.choose_readings()
        self.runs = [reading.run for reading in self.readings]

    def choose_readings(self) -> tuple[list[Reading], dict[RunId, Moment]]:
        """The readings asked for, and for each the time of the finished one before it, of the same source."""
        every = [
            reading
            for reading in answers_changes.readings_between(self.connection, None, self.until)
            if self.request.source in (None, reading.source)
        ]
        if self.request.source is not None and not every:
            known = answers.source_names(self.connection)
            if self.request.source not in known:
                raise UsageError(f"no source {self.request.source!r}", f"known: {', '.join(known) or 'none yet'}")
        before: dict[RunId, Moment] = {}
        last: dict[str, Moment] = {}
        chosen: dict[str, list[Reading]] = {}
        for reading in every:
            if reading.source in last:
                before[reading.run] = last[reading.source]
            chosen.setdefault(reading.source, []).append(reading)
            if reading.finished:
                last[reading.source] = reading.read_at
        found = []
        for of_source in chosen.values():
            if self.since is not None:
                found += [reading for reading in of_source if reading.read_at >= self.since]
                continue
            done = [position for position, reading in enumerate(of_source) if reading.finished]
            found += of_source[done[-2] + 1 :] if len(done) > 1 else of_source
        return found, before

    def view(self) -> ChangesView:
        """Load, fold, hint, count, word."""
        request = self.request
        wanted = Wanted(
            aspect=request.aspect,
            platform=request.platform,
            entities=self.entities(),
            least=Impact.QUIET,
            known_at=self.when.known_at,
        )
        everything = answers_changes.changes_of(self.connection, self.runs, wanted) + self.filled_in(wanted)
        quiet = sum(1 for row in everything if row.seen.impact is Impact.QUIET)
        shown = [row for row in everything if row.seen.impact > Impact.QUIET or request.quiet_too]
        new = {(row.entity, row.seen.run) for row in shown if is_new(row)}
        if request.first_stated:
            later = [reading.run for reading in self.readings if not reading.is_first]
            stated = answers_changes.first_stated(self.connection, later, wanted)
            shown += [row for row in stated if (row.entity, row.seen.run) not in new]
        rows = [self.row(row) for row in shown]
        if self.when.as_of is not None:
            rows = [row for row in rows if row.valid_from <= self.when.as_of]
        rows = self.folded(rows)
        self.hint_columns(rows)
        self.hint_tables(rows)
        floor = Impact.QUIET if request.quiet_too and request.impact is Impact.MINOR else request.impact
        rows = [row for row in rows if row.row.seen.impact >= floor]
        self.count_downstream(rows)
        rows.sort(key=weight)
        views = self.worded(rows)
        groups, lines = self.lines(rows, views)
        return ChangesView(
            since=held.moment_view(self.since),
            until=held.moment_view(self.until),
            readings=len(self.readings),
            changes=tuple(views),
            groups=tuple(groups),
            lines=tuple(lines),
            quiet=0 if request.quiet_too else quiet,
            first_stated=0 if request.first_stated else self.count_first_stated(new, wanted),
            pending=pending.count_pending(self.connection),
        )

    def filled_in(self, wanted: Wanted) -> list[Changed]:
        """The changes of that time that the catalog itself kept, from before it was first read."""
        if self.since is None:
            return []
        runs = answers_changes.backfills(self.connection, self.request.source)
        return answers_changes.changes_of(self.connection, runs, wanted._replace(seen=(self.since, self.until)))

    def entities(self) -> tuple[EntityId, ...]:
        """The entities asked for; none means all."""
        if self.request.entity is None:
            return ()
        found = entities.matching(self.connection, self.request.entity, _MOST_ENTITIES)
        return tuple(entity.id for entity in found)

    def row(self, row: Changed) -> ChangeRow:
        """A change with its values read and worded."""
        before = loads(row.before) if row.before is not None else None
        after = loads(row.after) if row.after is not None else None
        seen = row.seen
        stamped = credible(seen.stamped_at, seen.after_at, seen.observed_at)
        earlier = seen.after_at if seen.after_at is not None else self.before_reading.get(seen.run)
        return ChangeRow(
            row=row,
            before=before,
            after=after,
            said=say.stated(row.aspect, row.key, after)
            if seen.baseline and seen.forgotten_at is None
            else forgetting.change(
                row.aspect, row.key, before, after, seen.kind, was=row.before_forgotten_at, now=seen.forgotten_at
            ),
            valid_from=stamped or seen.observed_at,
            valid_after=None if stamped is not None or seen.baseline or seen.kind is Kind.SAID else earlier,
            siblings=[],
        )

    def folded(self, rows: list[ChangeRow]) -> list[ChangeRow]:
        """The rows, with the same change of siblings in one run as one."""
        by_change: dict[tuple[object, ...], list[ChangeRow]] = {}
        for row in rows:
            by_change.setdefault(alike(row), []).append(row)
        several = [same for same in by_change.values() if len(same) > 1]
        if not several:
            return rows
        siblings = self.siblings({(row.row.entity, row.row.source) for same in several for row in same})
        gone: set[int] = set()
        for same in several:
            kept: list[ChangeRow] = []
            for row in sorted(same, key=lambda one: one.row.urn):
                one = row.row
                own = siblings.get(one.entity, set())
                first = next(
                    (k for k in kept if k.row.urn in own or one.urn in siblings.get(k.row.entity, set())), None
                )
                if first is None:
                    kept.append(row)
                else:
                    first.siblings.append(one)
                    gone.add(id(row))
        return [row for row in rows if id(row) not in gone]

    def siblings(self, of: Iterable[tuple[EntityId, str]]) -> dict[EntityId, set[str]]:
        """The URNs of the siblings of entities, as they are held."""
        beliefs = [self.ids.belief(entity, source, "siblings", "") for entity, source in of]
        found: dict[EntityId, set[str]] = {}
        for version in answers.versions_of_beliefs(self.connection, beliefs):
            if self.when.knows(version) and self.when.holds(version):
                found.setdefault(version.entity, set()).update(member[0] for member in members_of(loads(version.value)))
        return found

    def hint_columns(self, rows: Sequence[ChangeRow]) -> None:
        """Say where a new column may be a column that went away, under another name."""
        places: dict[tuple[EntityId, str, RunId], list[ChangeRow]] = {}
        for row in rows:
            if row.row.aspect == "column" and (row.before is None or row.after is None):
                places.setdefault((row.row.entity, row.row.source, row.row.seen.run), []).append(row)
        for place in places.values():
            gone = {row.row.key: row for row in place if row.after is None}
            come = {row.row.key: row for row in place if row.before is None}
            renamed = renamed_columns(
                {key: row.before for key, row in gone.items()}, {key: row.after for key, row in come.items()}
            )
            for new, old in renamed.items():
                come[new].hint = f"possible rename of {old}"
                gone[old].hint = f"possibly renamed to {new}"

    def hint_tables(self, rows: Sequence[ChangeRow]) -> None:
        """Say where a new entity may be one that went away in the same run: the same platform, the same columns."""
        new = [row for row in rows if is_new(row.row)]
        gone = [row for row in rows if row.row.aspect == EXISTENCE and not existence.exists(row.after)]
        if not new or not gone:
            return
        columns = answers_changes.column_keys(self.connection, [row.row.entity for row in (*new, *gone)])

        def shape(row: ChangeRow) -> tuple[object, ...] | None:
            own = columns.get(row.row.entity, frozenset())
            return (row.row.seen.run, kind_of(row.row.urn), platform_of(row.row.urn), own) if own else None

        gone_by, new_by = _by(gone, shape), _by(new, shape)
        for likeness, come in new_by.items():
            left = gone_by.get(likeness, [])
            if len(come) == 1 and len(left) == 1 and len(columns[come[0].row.entity]) >= _RENAMED_FROM:
                come[0].hint = f"possible rename of {name_of(left[0].row.urn)}"
                left[0].hint = f"possibly renamed to {name_of(come[0].row.urn)}"

    def count_downstream(self, rows: Sequence[ChangeRow]) -> None:
        """Count what is downstream of everything that broke."""
        breaking = [row for row in rows if row.row.seen.impact is Impact.BREAKING]
        if not breaking:
            return
        nodes = [node for row in breaking for node in seeds(row)]
        below = Downstream(self.connection, self.ids, nodes, self.when)
        for row in breaking:
            own = {row.row.entity, *(sibling.entity for sibling in row.siblings)}
            row.below = frozenset().union(*(below.of(node) for node in seeds(row))) - own

    def worded(self, rows: Sequence[ChangeRow]) -> list[ChangeView]:
        """The rows as they are shown."""
        named = Counter(short_name(urn) for urn in {row.row.urn for row in rows})
        sources = {row.row.source for row in rows}
        return [change_view(row, among=named, many_sources=len(sources) > 1) for row in rows]

    def lines(self, rows: Sequence[ChangeRow], views: Sequence[ChangeView]) -> tuple[list[GroupView], list[str]]:
        """The lines: one for each change, or for each group of the same change."""
        if not self.request.grouped:
            return [], [view.line for view in views]
        by_change: dict[tuple[object, ...], list[int]] = {}
        for position, row in enumerate(rows):
            by_change.setdefault((*alike(row), row.said), []).append(position)
        groups, lines = [], []
        for positions in by_change.values():
            if len(positions) < _GROUPED_FROM:
                lines += [(positions[0], views[position].line) for position in positions]
                continue
            group = group_view([rows[position] for position in positions], [views[position] for position in positions])
            groups.append(group)
            lines.append((positions[0], group.line))
        return groups, [line for _, line in sorted(lines, key=lambda one: one[0])]

    def count_first_stated(self, new: set[tuple[EntityId, RunId]], wanted: Wanted) -> int:
        """How many cells were first stated after a source's first reading, those of new entities left out."""
        later = [reading for reading in self.readings if not reading.is_first]
        if not later:
            return 0
        runs = [reading.run for reading in later]
        if wanted.aspect or wanted.platform or wanted.entities or wanted.known_at is not None:
            rows = answers_changes.first_stated(self.connection, runs, wanted)
            return sum(1 for row in rows if (row.entity, row.seen.run) not in new)
        counted = answers_changes.count_changes(self.connection, runs)
        total = sum(reading.written - counted.get(reading.run, 0) for reading in later)
        fresh = [entity for entity, run in new if run in set(runs)]
        return total - answers_changes.count_baseline_of(self.connection, runs, fresh)


def _by(
    rows: Iterable[ChangeRow], shape: Callable[[ChangeRow], tuple[object, ...] | None]
) -> dict[tuple[object, ...], list[ChangeRow]]:
    found: dict[tuple[object, ...], list[ChangeRow]] = {}
    for row in rows:
        key = shape(row)
        if key is not None:
            found.setdefault(key, []).append(row)
    return found
