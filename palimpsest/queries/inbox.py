"""inbox: what waits for a person to decide: contested and proposed versions, each beside what is current."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.belief import State
from palimpsest.core.ids import BeliefId, short_ref
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import to_datetime
from palimpsest.core.observer import NOTES, said_by
from palimpsest.queries import held
from palimpsest.queries.held import When
from palimpsest.queries.lineage import presence_of
from palimpsest.store import answers
from palimpsest.store import notes as store_notes
from palimpsest.store.answers import Listing, Remembered
from palimpsest.store.engine import Connection, Store
from palimpsest.store.notes import WaitingDecision

_PAGE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentView:
    """What is current on the matter, and whoever said it."""

    version: int
    statement: str
    text: str
    by: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """One item: a version that is contested or proposed, by whom and since when, why, and what is current beside it.

    `item` is its name when it is decided; `decided` says in words that a decision about it waits to be consolidated.
    """

    item: str
    state: str
    urn: str
    aspect: str
    key: str
    statement: str
    text: str
    by: str
    since: datetime
    reason: str
    judge: str
    current: CurrentView | None
    decided: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxView:
    """All items, by entity, aspect and matter."""

    items: tuple[ItemView, ...]


def inbox(store: Store, when: When) -> InboxView:
    """What waits for a decision, or waited at the time of the question."""
    ids = store.ids

    def work(connection: Connection) -> InboxView:
        found: list[Remembered] = []
        for state in (State.CONTESTED, State.PROPOSED) if when.is_now else (None,):
            listing = Listing(source=NOTES, state=state, as_of=when.as_of, known_at=when.known_at)
            for page in answers.list_versions(connection, listing, _PAGE):
                presence = presence_of(connection, ids, list(dict.fromkeys(one.entity for one in page)), when)
                found += held.beside(page, when, presence)
        beliefs = sorted({one.belief for one in found})
        chains = held.by_belief(answers.versions_of_beliefs(connection, beliefs))
        decisions = store_notes.waiting_decisions(connection, beliefs) if when.is_now else {}
        named = answers.entities_by_id(connection, list(dict.fromkeys(one.entity for one in found)))
        items = [_item(one, named[one.entity].urn, chains[one.belief], decisions, when) for one in found]
        return InboxView(items=tuple(sorted(items, key=lambda item: (item.urn, item.aspect, item.key, item.item))))

    return store.read(work)


def _item(
    one: Remembered,
    urn: str,
    chain: list[Remembered],
    decisions: dict[BeliefId, WaitingDecision],
    when: When,
) -> ItemView:
    now = next((other for other in chain if _is_current(other, when)), None)
    return ItemView(
        item=f"{short_ref(one.belief)}@{one.number}",
        state=held.state_at(one, when).value,
        urn=urn,
        aspect=one.aspect,
        key=one.key,
        statement=held.statement(one),
        text=_text(one),
        by=held.author(one.founded),
        since=to_datetime(one.valid_from),
        reason=one.reason,
        judge=one.judge,
        current=_current(when.worded(now)) if now is not None else None,
        decided=_decided(decisions.get(one.belief)),
    )


def _is_current(version: Remembered, when: When) -> bool:
    """Whether a version was current on its matter; that its entity exists is known of the item beside it."""
    return when.knows(version) and when.holds(version) and held.state_then(version) is State.CURRENT


def _current(version: Remembered) -> CurrentView:
    return CurrentView(
        version=version.number,
        statement=held.statement(version),
        text=_text(version),
        by=held.author(version.founded),
        since=to_datetime(version.valid_from),
    )


def _text(version: Remembered) -> str:
    value = loads(version.value)
    return value if isinstance(value, str) else ""


def _decided(decision: WaitingDecision | None) -> str:
    if decision is None:
        return ""
    value: Json = loads(decision.value)
    word = str(value.get("decision", "decide")) if isinstance(value, dict) else "say"
    told = {"reject": "rejected", "withdraw": "withdrawn", "say": "decided"}.get(word, "decided")
    return f"{told} by {said_by(decision.observer)}, not consolidated yet"
