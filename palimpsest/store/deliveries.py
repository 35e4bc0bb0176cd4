"""What agents were handed, written down: who asked, which versions were told, what it cost. Statements only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from palimpsest.core.ids import EntityId, Ids
from palimpsest.core.jsontext import dumps, loads
from palimpsest.core.moment import Moment
from palimpsest.core.observer import NOTES
from palimpsest.store.schema import cell, delivery, episode

_MOST_LOOKED_AT = 500  # deliveries of one agent, the newest


class NewDelivery(NamedTuple):
    """One delivery: `entities` it was about, `versions` in it as `id:number` with a score for each, or with none."""

    agent: str
    session: str
    surface: str
    kind: str
    entities: Sequence[EntityId]
    versions: Sequence[str]
    scores: Sequence[float]
    tokens: int


class Delivered(NamedTuple):
    """A delivery as it is looked back at."""

    at: Moment
    session: str
    entities: tuple[EntityId, ...]


def log(connection: sa.Connection, ids: Ids, new: NewDelivery, *, now: Moment, holder: str, nth: int = 0) -> None:
    """Write one delivery down. `nth` tells those of one process and one moment apart."""
    row_id = ids.run("delivery", f"{new.surface}\x1f{new.agent}\x1f{new.session}\x1f{new.kind}\x1f{nth}", now, holder)
    if connection.execute(sa.select(delivery.c.at).where(delivery.c.id == row_id)).first() is not None:
        return
    row = new._asdict() | {
        "id": row_id,
        "at": now,
        "entities": _listed([one.hex() for one in new.entities]),
        "versions": _listed(new.versions),
        "scores": _listed(new.scores),
    }
    connection.execute(sa.insert(delivery), row)


def of_agent(connection: sa.Connection, agent: str) -> list[Delivered]:
    """What was delivered to an agent, the newest first; as much as is looked back at."""
    rows = connection.execute(
        sa.select(delivery.c.at, delivery.c.session, delivery.c.entities)
        .where(delivery.c.agent == agent)
        .order_by(delivery.c.at.desc())
        .limit(_MOST_LOOKED_AT)
    )
    return [Delivered(Moment(at), session, _entities(listed)) for at, session, listed in rows]


def noted_on(connection: sa.Connection, observer: str, most: int) -> list[tuple[EntityId, Moment]]:
    """The entities that an observer said something of, with when it last did, the newest first."""
    last = sa.func.max(episode.c.observed_at)
    rows = connection.execute(
        sa.select(cell.c.entity_id, last)
        .join(episode, episode.c.cell_id == cell.c.id)
        .where(cell.c.observer == observer, cell.c.observer != sa.literal_column("''"), cell.c.source == NOTES)
        .group_by(cell.c.entity_id)
        .order_by(last.desc(), cell.c.entity_id)
        .limit(most)
    )
    return [(EntityId(bytes(row[0])), Moment(row[1])) for row in rows]


def prune(connection: sa.Connection, before: Moment) -> int:
    """Forget deliveries of earlier than a moment."""
    return connection.execute(sa.delete(delivery).where(delivery.c.at < before)).rowcount


def _listed(values: Sequence[object]) -> str:
    return dumps(list(values)).decode()  # type: ignore[arg-type]


def _entities(listed: str) -> tuple[EntityId, ...]:
    found = loads(listed)
    return tuple(EntityId(bytes.fromhex(str(one))) for one in found) if isinstance(found, list) else ()
