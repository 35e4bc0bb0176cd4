"""What the consolidator reads: pending episodes by entity, the leases on entities, and the versions so far."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.belief import State, Version
from palimpsest.core.cluster import Cluster
from palimpsest.core.episode import Episode, Ground, Kind
from palimpsest.core.ids import BeliefId, CellId, EntityId
from palimpsest.core.moment import Moment
from palimpsest.store.readings import LAST_REST
from palimpsest.store.schema import cell, entity, episode, version

LEASE_MS = 5 * 60 * 1000
_KINDS = {kind.value: kind for kind in Kind}
_IMPACTS = {int(impact): impact for impact in Impact}


def count_pending(connection: sa.Connection) -> int:
    """How many episodes wait for a verdict."""
    return int(
        connection.scalar(sa.select(sa.func.count()).select_from(episode).where(episode.c.verdict.is_(None))) or 0
    )


def claim(
    connection: sa.Connection, *, holder: str, now: Moment, after: EntityId, until: EntityId, most: int
) -> list[EntityId]:
    """Lease the next entities between two ids with pending episodes that nobody else holds, in the order of their ids.

    About `most` episodes' worth; the last of them with all that it has pending.
    """
    free = sa.or_(entity.c.holder.is_(None), entity.c.held_until < now, entity.c.holder == holder)
    pending = (
        sa.select(cell.c.entity_id)
        .join(episode, episode.c.cell_id == cell.c.id)
        .join(entity, entity.c.id == cell.c.entity_id)
        .where(episode.c.verdict.is_(None), episode.c.cell_id > after, episode.c.cell_id <= until, free)
        .order_by(episode.c.cell_id)
        .limit(most)
        .subquery("pending")
    )
    claimed = connection.execute(
        sa.update(entity)
        .where(entity.c.id.in_(sa.select(pending.c.entity_id)), free)
        .values(holder=holder, held_until=now + LEASE_MS)
        .returning(entity.c.id)
    )
    return sorted(EntityId(row[0]) for row in claimed)


def holders(connection: sa.Connection) -> list[str]:
    """Who holds entities."""
    rows = connection.execute(sa.select(entity.c.holder).where(entity.c.holder.is_not(None)).distinct())
    return [row[0] for row in rows]


def release(connection: sa.Connection, holders_gone: Sequence[str]) -> None:
    """Give back what holders that are no more have leased."""
    connection.execute(sa.update(entity).where(entity.c.holder.in_(holders_gone)).values(holder=None, held_until=None))


def entities_after(connection: sa.Connection, after: EntityId, most: int) -> list[EntityId]:
    """The next entities with pending episodes, whoever holds them; about `most` episodes' worth, in id order."""
    rows = connection.execute(
        sa.select(cell.c.entity_id)
        .join(episode, episode.c.cell_id == cell.c.id)
        .where(episode.c.verdict.is_(None), episode.c.cell_id > after)
        .order_by(episode.c.cell_id)
        .limit(most)
    )
    return list(dict.fromkeys(EntityId(row[0]) for row in rows))


def clusters(connection: sa.Connection, entities: Sequence[EntityId]) -> list[Cluster]:
    """The pending episodes of entities, by belief. The entities come in the order of their ids, as `claim` gives them.

    All of the stretch is read, in one walk, and what others hold in it is passed over: a condition for each entity
    would cost more parameters than SQLite takes, and a plan that looks each episode up among all entities.
    """
    wanted = frozenset(entities)
    rows = connection.execute(
        sa.select(
            cell.c.belief_id,
            cell.c.entity_id,
            cell.c.aspect,
            cell.c.key,
            episode.c.cell_id,
            episode.c.number,
            episode.c.kind,
            episode.c.impact,
            episode.c.baseline,
            episode.c.value,
            episode.c.observed_at,
            episode.c.after_at,
            episode.c.stamped_at,
            episode.c.ground,
        )
        .join(cell, cell.c.id == episode.c.cell_id)
        .where(episode.c.verdict.is_(None), episode.c.cell_id.between(entities[0], entities[-1][:8] + LAST_REST))
        .order_by(episode.c.cell_id, episode.c.number)
    ).all()
    found: dict[BeliefId, Cluster] = {}
    for row in rows:
        if row[1] not in wanted:
            continue
        belief = BeliefId(row[0])
        cluster = found.get(belief)
        if cluster is None:
            cluster = found[belief] = Cluster(belief, EntityId(row[1]), row[2], row[3], [])
        cluster.episodes.append(
            Episode(
                CellId(row[4]),
                row[5],
                _KINDS[row[6]],
                _IMPACTS[row[7]],
                row[8],
                row[9],
                Moment(row[10]),
                row[11],
                row[12],
                Ground(row[13]) if row[13] else None,
            )
        )
    return list(found.values())


def versions_so_far(connection: sa.Connection, beliefs: Sequence[BeliefId]) -> dict[BeliefId, list[Version]]:
    """Every version of the given beliefs, by number. Ask only for beliefs that can have some."""
    found: dict[BeliefId, list[Version]] = {}
    for start in range(0, len(beliefs), 2_000):
        rows = connection.execute(
            sa.select(
                version.c.belief_id,
                version.c.number,
                version.c.state,
                version.c.cell_id,
                version.c.episode,
                episode.c.value,
                version.c.valid_from,
                version.c.valid_to,
            )
            .join(episode, sa.and_(episode.c.cell_id == version.c.cell_id, episode.c.number == version.c.episode))
            .where(version.c.belief_id.in_(beliefs[start : start + 2_000]))
            .order_by(version.c.belief_id, version.c.number)
        )
        for row in rows:
            belief = BeliefId(row[0])
            found.setdefault(belief, []).append(
                Version(belief, row[1], State(row[2]), CellId(row[3]), row[4], row[5], Moment(row[6]), row[7])
            )
    return found
