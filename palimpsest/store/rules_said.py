"""Counting the rules on what was said: choices of notes, decisions, and versions that stand beside. Reads only."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from palimpsest.core.observer import NOTES
from palimpsest.store.pending import UNSORTED
from palimpsest.store.schema import cell, choice, episode, version


def hex_of(value: bytes) -> str:
    """An id as a message names it."""
    return bytes(value).hex()


def named(what: str, rows: Iterable[sa.Row[tuple[object, ...]]]) -> list[str]:
    """One message for each row."""
    return [
        f"{what} " + " ".join(hex_of(value) if isinstance(value, bytes) else str(value) for value in row)
        for row in rows
    ]


def unchosen(connection: sa.Connection) -> list[str]:
    """Notes whose place nobody chose, and choices of what is no note, or has no place yet.

    A decision of a person is said in its place from the first, and has no choice: its ground tells it.
    """
    chosen = sa.and_(choice.c.cell_id == episode.c.cell_id, choice.c.episode == episode.c.number)
    is_placed = sa.and_(episode.c.kind == "said", cell.c.aspect != UNSORTED)
    is_decision = sa.func.coalesce(episode.c.ground, "") == "decision"
    without = connection.execute(
        sa.select(episode.c.cell_id, episode.c.number)
        .join(cell, cell.c.id == episode.c.cell_id)
        .outerjoin(choice, chosen)
        .where(is_placed, sa.not_(is_decision), choice.c.cell_id.is_(None))
    )
    astray = connection.execute(
        sa.select(choice.c.cell_id, choice.c.episode)
        .outerjoin(episode, chosen)
        .outerjoin(cell, cell.c.id == choice.c.cell_id)
        .where(sa.or_(episode.c.cell_id.is_(None), cell.c.source != NOTES, sa.not_(is_placed), is_decision))
    )
    impersonal = connection.execute(
        sa.select(episode.c.cell_id, episode.c.number)
        .join(cell, cell.c.id == episode.c.cell_id)
        .where(
            is_decision,
            sa.or_(episode.c.kind != "said", cell.c.source != NOTES),
        )
    )
    return [
        *named("note whose place nobody chose: episode", without),
        *named("choice that is of no note in its place: episode", astray),
        *named("decision about what nobody said: episode", impersonal),
    ]


def beside(connection: sa.Connection) -> list[str]:
    """Versions that are current although opened beside, or stand beside although they were not, or have ended."""
    founded = sa.and_(episode.c.cell_id == version.c.cell_id, episode.c.number == version.c.episode)
    was_beside = sa.func.coalesce(episode.c.verdict, "") == "contest"
    is_beside = version.c.state.in_(["contested", "proposed"])
    rows = connection.execute(
        sa.select(version.c.belief_id, version.c.number, version.c.state)
        .join(episode, founded)
        .where(
            sa.or_(
                sa.and_(version.c.state == "current", was_beside),
                sa.and_(is_beside, sa.not_(was_beside)),
                sa.and_(is_beside, version.c.closed_at.is_not(None)),
            )
        )
    )
    return named("state that the verdict on its episode does not give: version", rows)
