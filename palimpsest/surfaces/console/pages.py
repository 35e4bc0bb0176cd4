"""The table of pages: path, what may be asked, the view and its template. The server and the export both read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.errors import UsageError
from palimpsest.core.moment import parse
from palimpsest.ports import Clock
from palimpsest.queries.belief_page import BeliefPageView, belief_page
from palimpsest.queries.change_feed import MOST_CHANGES, FeedRequest, FeedView, change_feed
from palimpsest.queries.entity_page import EntityPageView, entity_page
from palimpsest.queries.held import When
from palimpsest.queries.inbox import InboxView, inbox
from palimpsest.queries.listing import MOST_LISTED, ListingPage, Shown, Sort, Wanted, listing
from palimpsest.queries.overview import KeptWeights, OverviewView, overview
from palimpsest.queries.recall import Meaning, RecallRequest
from palimpsest.queries.run_page import MOST_RUNS, RunPageView, RunsPageView, run_page, runs_page
from palimpsest.queries.runs import run
from palimpsest.queries.search_page import SearchPageView, search_page
from palimpsest.store.engine import Store
from palimpsest.surfaces.console.rules import RulesKeeper, RulesView

_IMPACTS = {impact.word: impact for impact in Impact}
_LONGEST = 300  # characters of what a page is asked
_MOST_ANSWERS = 20


@dataclass(frozen=True, kw_only=True)
class Desk:
    """What pages are made from. `meaning` gives a question as a vector, None where words alone are searched."""

    store: Store
    clock: Clock
    rules: RulesKeeper
    meaning: Callable[[str], Meaning | None]
    weights: KeptWeights = field(default_factory=KeptWeights)


class Asked(BaseModel):
    """What a page may be asked; what else an address carries is nothing to it."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Timed(Asked):
    """A question about a time."""

    as_of: str = Field(default="", max_length=40, description="What held then, as known now: 2026-01-31.")
    known_at: str = Field(default="", max_length=40, description="What would have been answered then.")


class EntitiesAsked(Asked):
    """Which entities."""

    q: str = Field(default="", max_length=_LONGEST, description="A part of a URN.")
    platform: str = Field(default="", max_length=_LONGEST)
    kind: str = Field(default="", max_length=_LONGEST)
    tag: str = Field(default="", max_length=_LONGEST, description="A URN, or the name in one.")
    term: str = Field(default="", max_length=_LONGEST)
    domain: str = Field(default="", max_length=_LONGEST)
    owner: str = Field(default="", max_length=_LONGEST)
    shown: Shown = Shown.ALL
    sort: Sort = Sort.NAME
    reverse: bool = False
    after: str = Field(default="", max_length=2_000, description="The `next` of the page before.")
    page: int = Field(default=50, ge=1, le=MOST_LISTED)


class EntityAsked(Timed):
    """Which columns of an entity."""

    after: str = Field(default="", max_length=2_000, description="The column after which to begin.")


class BeliefAsked(Timed):
    """Which layers of a belief."""

    before: int = Field(default=0, ge=0, le=2**31 - 1, description="The layer before which to begin; 0: the newest.")


class ChangesAsked(Timed):
    """Which changes."""

    since: str = Field(default="", max_length=40, description="A date, a time, 7d, or `last`.")
    until: str = Field(default="", max_length=40)
    source: str = Field(default="", max_length=_LONGEST)
    aspect: str = Field(default="", max_length=_LONGEST)
    platform: str = Field(default="", max_length=_LONGEST)
    impact: Literal["minor", "notable", "breaking"] = "minor"
    after: str = Field(default="", max_length=100, description="The `next` of the page before.")
    page: int = Field(default=50, ge=1, le=MOST_CHANGES)


class SearchAsked(Timed):
    """What is sought."""

    q: str = Field(default="", max_length=500, description="A question, in words.")
    aspect: str = Field(default="", max_length=_LONGEST)
    platform: str = Field(default="", max_length=_LONGEST)
    past: bool = Field(default=False, description="Whether what is no longer held is looked through too.")


class RunsAsked(Asked):
    """Which runs, or changes of a run."""

    after: str = Field(default="", max_length=100, description="The `next` of the page before.")
    page: int = Field(default=50, ge=1, le=MOST_RUNS)


@dataclass(frozen=True, kw_only=True)
class Page:
    """One kind of page. `path` may hold `{id}`, of the form `id_form`; `view` gives None where there is no such page.

    `menu` is its name in the menu of all pages, empty for one that is not in it.
    """

    name: str
    path: str
    title: str
    view_type: type
    view: Callable[[Desk, Any, str], object | None]
    asked: type[Asked] = Asked
    id_form: str = ""
    menu: str = ""

    @property
    def template(self) -> str:
        """Of the same name."""
        return f"{self.name}.html"

    @property
    def json_path(self) -> str:
        """Its twin."""
        return ("/index" if self.path == "/" else self.path) + ".json"


def when_of(desk: Desk, asked: Asked) -> When:
    """The times of a question. Raises UsageError."""
    as_of, known_at = getattr(asked, "as_of", ""), getattr(asked, "known_at", "")
    return When(
        now=desk.clock.now(),
        as_of=parse(as_of, end_of_day=True) if as_of.strip() else None,
        known_at=parse(known_at, end_of_day=True) if known_at.strip() else None,
    )


def times_of(asked: Asked) -> dict[str, str]:
    """The times that a page is asked about, as they were written."""
    return {name: getattr(asked, name, "").strip() for name in ("as_of", "known_at")}


def context_of(
    page: Page, asked: Asked, place: str, *, twin: str = "", rules: RulesView | None = None
) -> dict[str, object]:
    """What every template needs beside its view and its links. `place` is the id in the page's path."""
    given = asked.model_dump(mode="json", exclude_defaults=True)
    times = times_of(asked)
    return {
        "page": page.name,
        "title": page.title,
        "menu": MENU,
        "asked": asked,
        "times": times,
        "is_timed": any(times.values()),
        "here": page.path.replace("{id}", place),
        "again": {name: value for name, value in given.items() if name != "after"},
        "twin": twin,
        "rules": rules,
    }


def _entities(desk: Desk, asked: EntitiesAsked, _: str) -> ListingPage:
    return listing(
        desk.store,
        Wanted(
            search=asked.q.strip(),
            platform=asked.platform,
            kind=asked.kind,
            tag=asked.tag.strip(),
            term=asked.term.strip(),
            domain=asked.domain.strip(),
            owner=asked.owner.strip(),
            shown=asked.shown,
            sort=asked.sort,
            reverse=asked.reverse,
            after=asked.after,
            page=asked.page,
        ),
        desk.clock.now(),
    )


def _belief(desk: Desk, asked: BeliefAsked, belief: str) -> BeliefPageView | None:
    when = when_of(desk, asked)
    try:
        return belief_page(desk.store, belief, when, asked.before)
    except UsageError:  # none, or several
        return None


def _changes(desk: Desk, asked: ChangesAsked, _: str) -> FeedView:
    request = FeedRequest(
        since=asked.since.strip(),
        until=asked.until.strip(),
        source=asked.source,
        aspect=asked.aspect,
        platform=asked.platform,
        impact=_IMPACTS[asked.impact],
        after=asked.after,
        page=asked.page,
    )
    return change_feed(desk.store, request, when_of(desk, asked))


def _search(desk: Desk, asked: SearchAsked, _: str) -> SearchPageView:
    request = RecallRequest(
        question=asked.q,
        aspect=asked.aspect or None,
        platform=asked.platform or None,
        include_superseded=asked.past,
        limit=_MOST_ANSWERS,
    )
    when = when_of(desk, asked)
    return search_page(desk.store, request, when, desk.meaning(asked.q) if asked.q.strip() else None)


def _run(desk: Desk, asked: RunsAsked, text: str) -> RunPageView | None:
    try:
        found = run(desk.store, text)
    except UsageError:  # none, or several
        return None
    return run_page(desk.store, found.id, when_of(desk, asked), FeedRequest(after=asked.after, page=asked.page))


PAGES = (
    Page(
        name="overview", path="/", title="Overview", menu="Overview", view_type=OverviewView,
        view=lambda desk, asked, _: overview(desk.store, when_of(desk, asked), desk.weights),
    ),
    Page(
        name="entities", path="/entities", title="Entities", menu="Entities", view_type=ListingPage, view=_entities,
        asked=EntitiesAsked,
    ),
    Page(
        name="entity", path="/entity/{id}", title="", view_type=EntityPageView, asked=EntityAsked,
        id_form=r"^[0-9a-f]{16}$",
        view=lambda desk, asked, entity: entity_page(desk.store, entity, when_of(desk, asked), asked.after),
    ),
    Page(
        name="belief", path="/belief/{id}", title="", view_type=BeliefPageView, view=_belief, asked=BeliefAsked,
        id_form=r"^[0-9a-f]{6,32}$",
    ),
    Page(
        name="changes", path="/changes", title="Changes", menu="Changes", view_type=FeedView, view=_changes,
        asked=ChangesAsked,
    ),
    Page(
        name="search", path="/search", title="Search", menu="Search", view_type=SearchPageView, view=_search,
        asked=SearchAsked,
    ),
    Page(
        name="runs", path="/runs", title="Runs", menu="Runs", view_type=RunsPageView, asked=RunsAsked,
        view=lambda desk, asked, _: runs_page(desk.store, asked.after, asked.page),
    ),
    Page(
        name="run", path="/run/{id}", title="", view_type=RunPageView, view=_run, asked=RunsAsked,
        id_form=r"^[0-9a-f]{4,32}$",
    ),
    Page(
        name="inbox", path="/inbox", title="Inbox", menu="Inbox", view_type=InboxView, asked=Timed,
        view=lambda desk, asked, _: inbox(desk.store, when_of(desk, asked)),
    ),
    Page(
        name="rules", path="/rules", title="Rules", menu="Rules", view_type=RulesView,
        view=lambda desk, asked, _: desk.rules.view(),
    ),
)  # fmt: skip
BY_NAME = {page.name: page for page in PAGES}
MENU = tuple((page.menu, page.path, page.name) for page in PAGES if page.menu)
