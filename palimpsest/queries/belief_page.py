"""belief_page: every layer of one belief, in pages, the newest first."""

from __future__ import annotations

from dataclasses import dataclass, replace

from palimpsest.queries.held import When
from palimpsest.queries.history import WhyView, why
from palimpsest.store.engine import Store

MOST_LAYERS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefPageView:
    """A belief and its layers, the newest first. `older`: the number before which the next page begins, 0 at the end.

    `layers` is how many there are.
    """

    why: WhyView
    layers: int
    older: int


def belief_page(store: Store, belief: str, when: When, before: int = 0) -> BeliefPageView:
    """The page of a belief, by its id or an unambiguous beginning of it. Raises UsageError."""
    found = why(store, belief, when)
    every = found.belief.versions
    lying = [version for version in every if not before or version.number < before]
    shown = lying[:MOST_LAYERS]
    return BeliefPageView(
        why=replace(found, belief=replace(found.belief, versions=tuple(shown))),
        layers=len(every),
        older=shown[-1].number if len(lying) > len(shown) else 0,
    )
