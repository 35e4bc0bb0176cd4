"""deliver: write down what an agent was handed: which versions, with which scores, how many tokens.

Never in the way of the answer: what cannot be written is left, and the caller is told why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.core.errors import StoreError
from palimpsest.core.ids import EntityId
from palimpsest.core.observer import Rank, observer, rank_of
from palimpsest.ports import Clock
from palimpsest.store import deliveries
from palimpsest.store.deliveries import NewDelivery
from palimpsest.store.engine import Connection, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What was handed to an agent by a surface, in a session where it has a name; `kind` is the command's.

    `urns` are the entities that it was about; `versions` those that it told, as `id:number`, `scores` theirs if any.
    """

    agent: str
    surface: str
    kind: str
    tokens: int
    urns: Sequence[str] = ()
    versions: Sequence[str] = ()
    scores: Sequence[float] = ()
    session: str = ""


def agent_of(name: str) -> str:
    """An agent's name as it is written everywhere: `agent:codex`. Raises UsageError for one that is none."""
    return name if rank_of(name) is Rank.AGENT else observer("agent", name)


def deliver(store: Store, delivery: Delivery, *, clock: Clock, holder: str, nth: int = 0) -> str:
    """Record one delivery. Returns why it was not, where the store cannot be written; else nothing."""
    now = clock.now()
    try:
        ids = store.ids
        new = NewDelivery(
            agent=agent_of(delivery.agent),
            session=delivery.session,
            surface=delivery.surface,
            kind=delivery.kind,
            entities=[EntityId(ids.entity(urn)) for urn in dict.fromkeys(delivery.urns)],
            versions=list(delivery.versions),
            scores=list(delivery.scores),
            tokens=delivery.tokens,
        )

        def work(connection: Connection) -> None:
            deliveries.log(connection, ids, new, now=now, holder=holder, nth=nth)

        store.write(work)
    except StoreError as error:
        return error.message
    return ""
