"""What the consolidator reads: pending episodes by entity, the leases on entities, and the versions so far."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from palimpsest.core.aspects import note
from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.belief import State, Version
from palimpsest.core.cluster import Cluster, in_time
from palimpsest.core.episode import Episode, Ground, Kind
from palimpsest.core.ids import BeliefId, CellId, EntityId
from palimpsest.core.moment import Moment
from palimpsest.core.observer import rank_of
from palimpsest.store.readings import LAST_REST
from palimpsest.store.schema import cell, entity, episode, evidence, version

LEASE_MS = 5 * 60 * 1000
UNSORTED = note.ASPECT.name
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

    About `most` episodes' worth; the last of them with all that it has pending. Unsorted notes wait for their choice.
    """
    free = sa.or_(entity.c.holder.is_(None), entity.c.held_until < now, entity.c.holder == holder)
    pending = (
        sa.select(cell.c.entity_id)
        .join(episode, episode.c.cell_id == cell.c.id)
        .join(entity, entity.c.id == cell.c.entity_id)
        .where(
            episode.c.verdict.is_(None),
            episode.c.cell_id > after,
            episode.c.cell_id <= until,
            cell.c.aspect != UNSORTED,
            free,
        )
        .order_by(episode.c.cell_id)
        .limit(most)
        .cte("pending")
        .prefix_with("MATERIALIZED")  # a server without statistics would look for them again for each entity
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


def renew(connection: sa.Connection, entities: Sequence[EntityId], *, holder: str, now: Moment) -> list[EntityId]:
    """Prolong leases on entities; those that are still held, even if they had run out. Nobody else may have them."""
    renewed = connection.execute(
        sa.update(entity)
        .where(entity.c.id.in_(entities), entity.c.holder == holder)
        .values(held_until=now + LEASE_MS)
        .returning(entity.c.id)
    )
    return sorted(EntityId(row[0]) for row in renewed)


def entities_after(connection: sa.Connection, after: EntityId, most: int) -> list[EntityId]:
    """The next entities with pending episodes, whoever holds them; about `most` episodes' worth, in id order."""
    rows = connection.execute(
        sa.select(cell.c.entity_id)
        .join(episode, episode.c.cell_id == cell.c.id)
        .where(episode.c.verdict.is_(None), episode.c.cell_id > after, cell.c.aspect != UNSORTED)
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
            cell.c.observer,
        )
        .join(cell, cell.c.id == episode.c.cell_id)
        .where(
            episode.c.verdict.is_(None),
            episode.c.cell_id.between(entities[0], entities[-1][:8] + LAST_REST),
            cell.c.aspect != UNSORTED,
        )
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
                row[14],
            )
        )
    return [in_time(cluster) for cluster in found.values()]


def versions_so_far(connection: sa.Connection, beliefs: Sequence[BeliefId]) -> dict[BeliefId, list[Version]]:
    """Every version of the given beliefs, by number. Ask only for beliefs that can have some."""
    found: dict[BeliefId, list[Version]] = {}
    for start in range(0, len(beliefs), 2_000):
        some = beliefs[start : start + 2_000]
        borne_out = _borne_out(connection, some)
        rows = connection.execute(
            sa.select(
                version.c.belief_id,
                version.c.number,
                version.c.state,
                version.c.cell_id,
                version.c.episode,
                sa.case((episode.c.forgotten_at.is_(None), episode.c.value)),  # what was forgotten equals nothing
                version.c.valid_from,
                version.c.valid_to,
                cell.c.observer,
            )
            .join(episode, sa.and_(episode.c.cell_id == version.c.cell_id, episode.c.number == version.c.episode))
            .join(cell, cell.c.id == version.c.cell_id)
            .where(version.c.belief_id.in_(some))
            .order_by(version.c.belief_id, version.c.number)
        )
        for row in rows:
            belief = BeliefId(row[0])
            wording, observers = borne_out.get((belief, row[1]), (None, ()))
            by = max((row[8], *observers), key=rank_of) if observers else row[8]
            found.setdefault(belief, []).append(
                Version(
                    belief, row[1], State(row[2]), CellId(row[3]), row[4], row[5], Moment(row[6]), row[7], wording, by
                )
            )
    return found


def _borne_out(
    connection: sa.Connection, beliefs: Sequence[BeliefId]
) -> dict[tuple[BeliefId, int], tuple[str | None, tuple[str, ...]]]:
    """(belief, number) → the newest wording of a version that was restated, and who restated it, in order."""
    rows = connection.execute(
        sa.select(evidence.c.belief_id, evidence.c.number, episode.c.value, cell.c.observer)
        .join(episode, sa.and_(episode.c.cell_id == evidence.c.cell_id, episode.c.number == evidence.c.episode))
        .join(cell, cell.c.id == evidence.c.cell_id)
        .where(evidence.c.role == "bears_out", evidence.c.belief_id.in_(beliefs), episode.c.forgotten_at.is_(None))
        .order_by(episode.c.observed_at, evidence.c.cell_id, evidence.c.episode)
    )
    found: dict[tuple[BeliefId, int], tuple[str | None, tuple[str, ...]]] = {}
    for belief, number, value, observer in rows:
        named = (BeliefId(belief), int(number))
        _, observers = found.get(named, (None, ()))
        found[named] = (value, (*observers, observer))
    return found
