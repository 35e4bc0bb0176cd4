"""search_page: what answers a question, and the entities whose names have it."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.queries.held import When
from palimpsest.queries.listing import ListedEntity, Wanted, listing
from palimpsest.queries.recall import Meaning, RecallRequest, RecallView, recall
from palimpsest.store.engine import Store

_MOST_ENTITIES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPageView:
    """The answers, None where nothing was asked, and some entities with the question in their URN."""

    question: str
    recall: RecallView | None
    entities: tuple[ListedEntity, ...]


def search_page(store: Store, request: RecallRequest, when: When, meaning: Meaning | None) -> SearchPageView:
    """Answer a question, empty or not. Raises UsageError for an unknown aspect."""
    question = request.question.strip()
    if not question:
        return SearchPageView(question="", recall=None, entities=())
    named = listing(store, Wanted(search=question, page=_MOST_ENTITIES), when.now).entities
    return SearchPageView(question=question, recall=recall(store, request, when, meaning), entities=named)
