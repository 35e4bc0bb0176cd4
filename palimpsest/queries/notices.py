"""notices: what runs changed, as news with whom it concerns: owners, tags and domains, the last of what is gone.

First readings are no news (R14), nor what is quiet; siblings that changed alike are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

from palimpsest.core import say
from palimpsest.core.aspects import ASPECTS, existence
from palimpsest.core.aspects.aspect import Impact, Json
from palimpsest.core.aspects.sets import members_of
from palimpsest.core.belief import State
from palimpsest.core.entity import short_name
from palimpsest.core.ids import EntityId, Ids, RunId, belief_ref
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import Moment
from palimpsest.core.notice import EpisodeId, News
from palimpsest.queries.change_row import ChangeRow, ChangeView, alike, weight
from palimpsest.queries.changes import Changes, ChangesRequest
from palimpsest.queries.held import EXISTENCE, When
from palimpsest.store import answers, answers_changes, notices
from palimpsest.store.answers import Remembered
from palimpsest.store.answers_changes import Wanted
from palimpsest.store.engine import Connection, Store
from palimpsest.store.notices import Contested

OWNERSHIP, TAGS, DOMAIN = "ownership", "tags", "domain"
_NAMED = (OWNERSHIP, TAGS, DOMAIN)
_EVER = "1970-01-01"

Members = dict[str, set[str]]


def news_since(store: Store, since: Moment, now: Moment, console: str = "") -> list[News]:
    """What the runs that began at a time or later changed, as far as it was judged, the weightiest first.

    Then what they brought that is contested or proposed, and waits for a person.

    `console` is the address under which people reach the console; empty: there is none.
    """
    ids = store.ids
    return store.read(lambda connection: _Notices(connection, ids, now, console).news(since))


class _Notices(Changes):
    """News at work: it folds, hints, counts and words as the answer about changes does."""

    def __init__(self, connection: Connection, ids: Ids, now: Moment, console: str) -> None:
        super().__init__(connection, ids, ChangesRequest(since=_EVER), When(now=now))
        self.console = console

    def news(self, since: Moment) -> list[News]:
        """Load, fold, hint, count, word, and find whom it concerns."""
        began = notices.runs_since(self.connection, since)
        rows = [self.row(row) for row in answers_changes.changes_of(self.connection, sorted(began), Wanted())]
        beside = notices.contested(self.connection, sorted(began))
        rows = self.folded(rows)
        self.hint_columns(rows)
        self.hint_tables(rows)
        self.count_downstream(rows)
        rows.sort(key=weight)
        entities = {one.entity for row in rows for one in (row.row, *row.siblings)}
        whom = _Concerned(self.members(entities | {one.entity for one in beside}), rows, began)
        found = [
            self.one(row, view, began[row.row.seen.run], whom)
            for row, view in zip(rows, self.worded(rows), strict=True)
        ]
        return found + [self.beside(one, began[one.run], whom) for one in beside]

    def one(self, row: ChangeRow, view: ChangeView, at: Moment, whom: _Concerned) -> News:
        """A change as news."""
        every = (row.row, *row.siblings)
        named = {aspect: whom.members([one.entity for one in every], aspect, at) for aspect in _NAMED}
        was, now = _holds(view.aspect, row.before), _holds(view.aspect, row.after)
        what = say.what(view.aspect, view.key) if ASPECTS[view.aspect].paths else ""
        urns = (view.urn, *view.siblings)
        return News(
            episodes=tuple(EpisodeId(one.seen.cell, one.seen.number) for one in every),
            at=at,
            run=view.run,
            urns=urns,
            names=tuple(short_name(urn) for urn in urns),
            aspect=view.aspect,
            impact=row.row.seen.impact,
            line=view.line,
            said=f"{what}: {view.said.removeprefix('column ')}" if what else view.said,
            short=say.edited(view.aspect, view.key, was=was, now=now),
            edit=say.edited(view.aspect, "", was=was, now=now),
            alike=_alike(row),
            by=view.by,
            link=f"{self.console}/belief/{belief_ref(row.row.belief)}" if self.console else "",
            below=row.below or frozenset(),
            owners=named[OWNERSHIP],
            tags=named[TAGS],
            domains=named[DOMAIN],
        )

    def beside(self, one: Contested, at: Moment, whom: _Concerned) -> News:
        """A statement that was put beside what is held, as news: a person is to decide."""
        named = {aspect: whom.members([one.entity], aspect, at) for aspect in _NAMED}
        said = f"{one.state}: {say.statement(one.aspect, one.key, loads(one.value))}"
        return News(
            episodes=(one.episode,),
            at=at,
            run=one.run.hex(),
            urns=(one.urn,),
            names=(short_name(one.urn),),
            aspect=one.aspect,
            impact=Impact.NOTABLE,
            line=say.line(what=say.subject(one.urn, one.aspect, one.key), said=said),
            said=said,
            short=f"{one.aspect} {one.state}",
            edit=f"{one.aspect} {one.state}",
            alike=repr(one.episode),
            by="",
            link=f"{self.console}/belief/{belief_ref(one.belief)}" if self.console else "",
            owners=named[OWNERSHIP],
            tags=named[TAGS],
            domains=named[DOMAIN],
        )

    def members(self, concerned: Iterable[EntityId]) -> dict[EntityId, Members]:
        """Entity → aspect → the members that are held."""
        entities = sorted(concerned)
        sources = answers.source_names(self.connection)
        beliefs = [
            self.ids.belief(entity, source, aspect, "")
            for entity in entities
            for source in sources
            for aspect in (*_NAMED, EXISTENCE)
        ]
        chains: dict[EntityId, list[Remembered]] = {}
        for version in answers.versions_of_beliefs(self.connection, beliefs):
            chains.setdefault(version.entity, []).append(version)
        return {entity: _members(chain) for entity, chain in chains.items()}


class _Concerned:
    """Whom changes concern: who is held now, and, for what changed until then, whom one of the changes took away."""

    def __init__(
        self, held: Mapping[EntityId, Members], rows: Sequence[ChangeRow], began: Mapping[RunId, Moment]
    ) -> None:
        self._held = held
        self._taken: dict[tuple[EntityId, str], list[tuple[Moment, set[str]]]] = {}
        for row in rows:
            if row.row.aspect in _NAMED and row.before is not None:
                taken = (began[row.row.seen.run], {member[0] for member in members_of(row.before)})
                for one in (row.row, *row.siblings):
                    self._taken.setdefault((one.entity, one.aspect), []).append(taken)

    def members(self, entities: Iterable[EntityId], aspect: str, at: Moment) -> frozenset[str]:
        """The owners, tags or domains of entities that a change of a run that began then concerns."""
        found: set[str] = set()
        for entity in entities:
            found |= self._held.get(entity, {}).get(aspect, set())
            for until, members in self._taken.get((entity, aspect), ()):
                found |= members if at <= until else set()
        return frozenset(found)


def _members(chain: Sequence[Remembered]) -> Members:
    """The members that the versions about one entity give: the current ones, or the last ones where it is gone."""
    found: Members = {}
    said = [existence.exists(loads(one.value)) for one in _current(chain, EXISTENCE)]
    is_gone = bool(said) and not any(said)
    for aspect in _NAMED:
        members = {member[0] for one in _current(chain, aspect) for member in members_of(loads(one.value))}
        if not members and is_gone:
            held = [one for one in chain if one.aspect == aspect and members_of(loads(one.value))]
            last = max(held, key=lambda one: (one.valid_from, one.number), default=None)
            members = {member[0] for member in members_of(loads(last.value))} if last else set()
        found[aspect] = members
    return found


def _current(chain: Sequence[Remembered], aspect: str) -> list[Remembered]:
    return [one for one in chain if one.aspect == aspect and one.state is State.CURRENT]


def _holds(aspect: str, value: Json) -> bool:
    """Whether something is there, for telling in few words what was done: an entity that is gone is not."""
    if aspect == EXISTENCE:
        return existence.exists(value)
    return value is not None


def _alike(row: ChangeRow) -> str:
    """A name for what makes two changes the same one."""
    made = repr((*alike(row), row.said)).encode("utf-8", "surrogatepass")
    return blake2b(made, digest_size=16).hexdigest()
