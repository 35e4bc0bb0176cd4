"""What a publication needs: each dataset's label as counted from rows, and what was published. Statements only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from palimpsest.core.ids import EntityId
from palimpsest.core.moment import Moment
from palimpsest.store.schema import cell, entity, episode, publication, version


class Candidate(NamedTuple):
    """A dataset that exists, and what its label counts: current beliefs, revisions, the time of the latest."""

    entity: EntityId
    urn: str
    beliefs: int
    revisions: int
    latest: Moment | None


class Published(NamedTuple):
    """A link as it was last published. Without a label: a person took it away, and it stays away."""

    url: str
    label: str
    revisions: int


def candidates(connection: sa.Connection, *, all_datasets: bool) -> list[Candidate]:
    """The datasets to publish a link on: those with a revision, or every one."""
    revisions = (
        sa.select(cell.c.entity_id, sa.func.count().label("count"), sa.func.max(episode.c.observed_at).label("latest"))
        .join(cell, cell.c.id == episode.c.cell_id)
        .where(episode.c.baseline.is_(False), episode.c.impact > 0, episode.c.verdict.is_not(None))
        .where(sa.or_(cell.c.aspect != "existence", episode.c.kind != "first"))
        .group_by(cell.c.entity_id)
        .subquery("revisions")
    )
    beliefs = (
        sa.select(cell.c.entity_id, sa.func.count().label("count"))
        .join(version, version.c.cell_id == cell.c.id)
        .where(version.c.state == "current")
        .group_by(cell.c.entity_id)
        .subquery("beliefs")
    )
    exists = (
        sa.select(cell.c.entity_id)
        .join(version, version.c.cell_id == cell.c.id)
        .join(episode, sa.and_(episode.c.cell_id == version.c.cell_id, episode.c.number == version.c.episode))
        .where(cell.c.aspect == "existence", version.c.state == "current", episode.c.value.like('%"exists":true%'))
    )
    statement = (
        sa.select(
            entity.c.id, entity.c.urn, beliefs.c.count, sa.func.coalesce(revisions.c.count, 0), revisions.c.latest
        )
        .join(beliefs, beliefs.c.entity_id == entity.c.id)
        .join(revisions, revisions.c.entity_id == entity.c.id, isouter=all_datasets)
        .where(entity.c.kind == "dataset", entity.c.id.in_(exists))
        .order_by(entity.c.id)
    )
    return [Candidate(EntityId(row[0]), row[1], row[2], row[3], row[4]) for row in connection.execute(statement)]


def published(connection: sa.Connection, target: str) -> dict[EntityId, Published]:
    """What was published to a target, by entity."""
    rows = connection.execute(
        sa.select(publication.c.entity_id, publication.c.url, publication.c.label, publication.c.revisions).where(
            publication.c.target == target
        )
    )
    return {EntityId(row[0]): Published(row[1], row[2], row[3]) for row in rows}


def remember(connection: sa.Connection, target: str, rows: Sequence[dict[str, object]]) -> None:
    """Note what was published, in place of what was."""
    if rows:
        forget(connection, target, [row["entity_id"] for row in rows])
        connection.execute(sa.insert(publication), [{"target": target, **row} for row in rows])


def urns_published(connection: sa.Connection, target: str) -> dict[str, EntityId]:
    """The datasets with a publication on a target, by URN, in order."""
    rows = connection.execute(
        sa.select(entity.c.urn, entity.c.id)
        .join(publication, publication.c.entity_id == entity.c.id)
        .where(publication.c.target == target)
        .order_by(entity.c.id)
    )
    return {row[0]: EntityId(row[1]) for row in rows}


def note(
    connection: sa.Connection,
    target: str,
    *,
    rows: Sequence[dict[str, object]],
    found_again: Sequence[EntityId],
    at: Moment,
) -> None:
    """Note what was published, and which publications a re-read found as they were."""
    remember(connection, target, rows)
    if found_again:
        statement = (
            sa.update(publication)
            .where(publication.c.target == target, publication.c.entity_id == sa.bindparam("of_entity"))
            .values(reread_at=at)
        )
        connection.execute(statement, [{"of_entity": each} for each in found_again])


def forget(connection: sa.Connection, target: str, entities: Sequence[object]) -> None:
    """Note that nothing of ours is published there any more."""
    if entities:
        gone = sa.delete(publication).where(
            publication.c.target == target, publication.c.entity_id == sa.bindparam("of_entity")
        )
        connection.execute(gone, [{"of_entity": each} for each in entities])
