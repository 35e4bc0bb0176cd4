"""What was recalled, written down: the log of questions, how strongly beliefs were recalled, how long both are kept."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from palimpsest.core.ids import BeliefId, Ids
from palimpsest.core.moment import Moment
from palimpsest.core.strength import recalled
from palimpsest.store import dumps_made
from palimpsest.store.schema import choice, recall_log, run, strength
from palimpsest.store.search import strengths

_MOST_RUNS = 20  # in one pass: for each the database looks whether anything names it


def log(
    connection: sa.Connection,
    ids: Ids,
    *,
    now: Moment,
    holder: str,
    question: str,
    surface: str,
    answer: str,
    versions: str,
    scores: str,
) -> None:
    """Write one recall down. The same question by the same process at one moment is one recall."""
    row_id = ids.run("recall", f"{surface}\x1f{question}", now, holder)
    if connection.execute(sa.select(recall_log.c.at).where(recall_log.c.id == row_id)).first() is None:
        row = {"id": row_id, "at": now, "question": question, "surface": surface, "answer": answer}
        connection.execute(sa.insert(recall_log), row | {"versions": versions, "scores": scores})


def strengthen(connection: sa.Connection, beliefs: Sequence[BeliefId], now: Moment) -> None:
    """Let beliefs be recalled at a moment; those that were at that moment already stay as they are."""
    held = strengths(connection, beliefs)
    new = {belief: recalled(held.get(belief), now) for belief in dict.fromkeys(beliefs)}
    changed = {belief: one for belief, one in new.items() if one != held.get(belief)}
    if changed:
        connection.execute(sa.delete(strength).where(strength.c.belief_id.in_(list(changed))))
        rows = [{"belief_id": belief, "base": one.base, "at": one.at} for belief, one in sorted(changed.items())]
        connection.execute(sa.insert(strength), rows)


def prune_log(connection: sa.Connection, before: Moment) -> int:
    """Forget recalls of earlier than a moment. Strengths stay: they fade by themselves."""
    return connection.execute(sa.delete(recall_log).where(recall_log.c.at < before)).rowcount


def prune_runs(connection: sa.Connection, before: Moment) -> int:
    """Forget some of the ended runs of earlier than a moment that wrote nothing, and made no dump.

    The first and the newest reading of each source stay: they tell what is a change, and how old what is held is.
    """
    kept = (
        sa.select(sa.func.min(run.c.started_at), sa.func.max(run.c.started_at), run.c.source, run.c.state)
        .where(run.c.read_at.is_not(None))
        .group_by(run.c.source, run.c.state)
    )
    ends = {(row[2], moment) for row in connection.execute(kept) for moment in row[:2]}
    rows = connection.execute(
        sa.select(run.c.id, run.c.source, run.c.started_at, run.c.read_at)
        .where(
            run.c.started_at < before,
            run.c.state != "running",
            run.c.written == 0,
            run.c.founded == 0,
            run.c.job != dumps_made.JOB,
            run.c.id.not_in(sa.select(choice.c.run_id)),
        )
        .order_by(run.c.started_at)
        .limit(_MOST_RUNS + 2 * len(ends))
    )
    gone = [row.id for row in rows if row.read_at is None or (row.source, row.started_at) not in ends][:_MOST_RUNS]
    if gone:
        connection.execute(sa.delete(run).where(run.c.id.in_(gone)))
    return len(gone)
