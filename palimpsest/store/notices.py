"""What was told to whom: how far each rule is, who is behind, and the episodes told since. Statements only.

Positions are times at which runs began, by the clock of who ran them. Everything that a run which began earlier wrote
was judged and told: a run that is at work, or whose changes nobody has judged yet, holds the position back. From a
position MARGIN_MS are looked over again, for machines whose clocks differ; what was told in that time is held by name.
Recipients are held as keyed digests: no address and no person is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from palimpsest.core.ids import BeliefId, EntityId, RunId
from palimpsest.core.moment import Moment
from palimpsest.core.notice import EpisodeId
from palimpsest.store.bulk import Row, execute_many
from palimpsest.store.schema import cell, entity, episode, notice_cursor, notice_sent, run, version

MARGIN_MS = 3_600_000
RULE = bytes(16)  # in place of a recipient: the rule itself
JOB = "notify"
_AT_ONCE = 2_000
_SENT = ("rule", "recipient", "cell_id", "number", "at")


class Cursor(NamedTuple):
    """How far a rule, or a recipient of it who is behind, is. Nothing from before `since` is told."""

    since: Moment
    position: Moment

    @property
    def floor(self) -> Moment:
        """From where on is looked."""
        return Moment(max(self.since, self.position - MARGIN_MS))


Cursors = Mapping[tuple[str, bytes], Cursor]


class Told(NamedTuple):
    """An episode that was told by a rule to a recipient."""

    rule: str
    recipient: bytes
    episode: EpisodeId


def cursors(connection: sa.Connection) -> dict[tuple[str, bytes], Cursor]:
    """Every cursor by rule and recipient; that of a rule itself under RULE."""
    rows = connection.execute(sa.select(notice_cursor))
    return {(row.rule, bytes(row.recipient)): Cursor(row.since, row.position) for row in rows}


def begin(connection: sa.Connection, rules: Iterable[str], since: Moment) -> list[str]:
    """Have rules that are new begin at a time. Returns which are."""
    held = {rule for rule, _ in cursors(connection)}
    new = [rule for rule in dict.fromkeys(rules) if rule not in held]
    for rule in new:
        row = {"rule": rule, "recipient": RULE, "since": since, "position": since}
        connection.execute(sa.insert(notice_cursor), row)
    return new


def runs_since(connection: sa.Connection, since: Moment) -> dict[RunId, Moment]:
    """The runs that began at a time or later, with when; not those that filled in what was before any reading."""
    rows = connection.execute(
        sa.select(run.c.id, run.c.started_at).where(run.c.started_at >= since, run.c.job.not_in(("backfill", JOB)))
    )
    return {RunId(bytes(row[0])): row[1] for row in rows}


class Contested(NamedTuple):
    """A statement that is contested or proposed still: its episode and run, what it is about, and what it says."""

    episode: EpisodeId
    run: RunId
    entity: EntityId
    urn: str
    aspect: str
    key: str
    belief: BeliefId
    state: str
    value: str


def contested(connection: sa.Connection, run_ids: Sequence[RunId]) -> list[Contested]:
    """What runs brought that is put beside what is held, and waits for a person; by entity."""
    found: list[Contested] = []
    for start in range(0, len(run_ids), _AT_ONCE):
        statement = (
            sa.select(
                cell.c.id, episode.c.number, episode.c.run_id, cell.c.entity_id, entity.c.urn, cell.c.aspect,
                cell.c.key, cell.c.belief_id, version.c.state, episode.c.value,
            )
            .select_from(episode)
            .join(cell, cell.c.id == episode.c.cell_id)
            .join(entity, entity.c.id == cell.c.entity_id)
            .join(version, sa.and_(version.c.cell_id == episode.c.cell_id, version.c.episode == episode.c.number))
            .where(
                episode.c.run_id.in_(run_ids[start : start + _AT_ONCE]), sa.not_(episode.c.baseline),
                version.c.state.in_(("contested", "proposed")), episode.c.forgotten_at.is_(None),
            )
            .order_by(cell.c.id, episode.c.number)
        )  # fmt: skip
        for cell_id, number, *rest in connection.execute(statement):
            found.append(Contested(EpisodeId(cell_id, number), *rest))
    return found


def settled(connection: sa.Connection, now: Moment) -> Moment:
    """Up to when every run has ended, and its changes are judged: nothing more can come from before."""
    pending = sa.select(episode.c.run_id).where(episode.c.verdict.is_(None), sa.not_(episode.c.baseline))
    waits = sa.or_(run.c.state == "running", run.c.id.in_(pending))
    first = connection.scalar(sa.select(sa.func.min(run.c.started_at)).where(waits, run.c.job != JOB))
    return now if first is None else min(now, first)


def told(connection: sa.Connection, rules: Sequence[str]) -> frozenset[Told]:
    """What was told by rules, as far as it may be looked over again."""
    rows = connection.execute(
        sa.select(notice_sent.c.rule, notice_sent.c.recipient, notice_sent.c.cell_id, notice_sent.c.number).where(
            notice_sent.c.rule.in_(rules)
        )
    )
    return frozenset(Told(row[0], bytes(row[1]), EpisodeId(bytes(row[2]), row[3])) for row in rows)  # type: ignore[arg-type]


def tell(connection: sa.Connection, found: Iterable[tuple[Told, Moment]]) -> None:
    """Write down what was told, and was not before."""
    rows: list[Row] = [
        (one.rule, one.recipient, one.episode.cell, one.episode.number, at) for one, at in sorted(dict(found).items())
    ]
    execute_many(connection, sa.insert(notice_sent), _SENT, rows)


def move(
    connection: sa.Connection, positions: Mapping[str, Moment], behind: Mapping[tuple[str, bytes], Cursor]
) -> None:
    """Move rules on, never back; `behind` are the recipients that are not: those that were and are no more go."""
    held = cursors(connection)
    for rule, position in positions.items():
        at = (notice_cursor.c.rule == rule, notice_cursor.c.recipient == RULE)
        connection.execute(
            sa.update(notice_cursor).where(*at, notice_cursor.c.position < position).values(position=position)
        )
        connection.execute(
            sa.delete(notice_cursor).where(notice_cursor.c.rule == rule, notice_cursor.c.recipient != RULE)
        )
        floors = [cursor.floor for (name, _), cursor in behind.items() if name == rule]
        floors.append(Cursor(held[rule, RULE].since, max(position, held[rule, RULE].position)).floor)
        connection.execute(sa.delete(notice_sent).where(notice_sent.c.rule == rule, notice_sent.c.at < min(floors)))
    rows: list[Row] = [(rule, recipient, *cursor) for (rule, recipient), cursor in sorted(behind.items())]
    execute_many(connection, sa.insert(notice_cursor), ("rule", "recipient", "since", "position"), rows)
