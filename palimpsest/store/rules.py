"""Counting the rules on the live database: for each, how many rows were checked and which are broken. Reads only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa

from palimpsest.core.coverage import Coverage
from palimpsest.core.ids import EntityId
from palimpsest.core.link import is_ours
from palimpsest.store import rules_index, rules_said
from palimpsest.store.engine import Store
from palimpsest.store.rules_said import hex_of as _hex
from palimpsest.store.rules_said import named as _name
from palimpsest.store.schema import cell, choice, edge, episode, evidence, part, publication, run, version

MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCount:
    """One rule, counted. `checked` None: not countable, for the reason in `note`."""

    rule: str
    title: str
    checked: int | None
    broken: int
    examples: tuple[str, ...] = ()
    note: str = ""


def count_rules(store: Store, advance: Callable[[], None] = lambda: None) -> list[RuleCount]:
    """Every rule, in order."""
    counted = []
    for rule, title, count in _RULES:
        if count is None:
            counted.append(RuleCount(rule=rule, title=title, checked=None, broken=0, note="import contract"))
        else:
            checked, broken = store.read(lambda connection, count=count: count(connection, store))  # type: ignore[misc]
            counted.append(
                RuleCount(
                    rule=rule, title=title, checked=checked, broken=len(broken), examples=tuple(broken[:MOST_NAMED])
                )
            )
        advance()
    return counted


Counted = tuple[int, list[str]]


def _total(connection: sa.Connection, table: sa.Table, *where: sa.ColumnElement[bool]) -> int:
    return int(connection.scalar(sa.select(sa.func.count()).select_from(table).where(*where)) or 0)


def _r1(connection: sa.Connection, store: Store) -> Counted:
    """A run's counters equal its episodes and versions."""
    episodes = (
        sa.select(episode.c.run_id, sa.func.count().label("rows")).group_by(episode.c.run_id).subquery("episodes")
    )
    versions = (
        sa.select(version.c.run_id, sa.func.count().label("rows")).group_by(version.c.run_id).subquery("versions")
    )
    written, founded = sa.func.coalesce(episodes.c.rows, 0), sa.func.coalesce(versions.c.rows, 0)
    rows = connection.execute(
        sa.select(run.c.id, run.c.written, written, run.c.founded, founded)
        .outerjoin(episodes, episodes.c.run_id == run.c.id)
        .outerjoin(versions, versions.c.run_id == run.c.id)
        .where(sa.or_(run.c.written != written, run.c.founded != founded))
    )
    return _total(connection, run), _name("run (id, written, episodes, founded, versions)", rows)


def _mismatched(connection: sa.Connection) -> list[tuple[bytes, int, bytes, str]]:
    """Versions whose belief is not that of their founding cell: (belief, number, cell, source of the cell)."""
    rows = connection.execute(
        sa.select(version.c.belief_id, version.c.number, version.c.cell_id, cell.c.source)
        .join(cell, cell.c.id == version.c.cell_id)
        .where(version.c.belief_id != cell.c.belief_id)
    )
    return [(row[0], row[1], row[2], row[3]) for row in rows]


def _r2(connection: sa.Connection, store: Store) -> Counted:
    """A version's source equals its episodes'."""
    broken = []
    for belief, number, _, source in _mismatched(connection):
        other = connection.scalar(sa.select(cell.c.source).where(cell.c.belief_id == belief))
        if other is not None and other != source:
            broken.append(f"version {_hex(belief)} {number} is of {other}, its episode of {source}")
    founding = cell.alias("founding")
    rows = connection.execute(
        sa.select(evidence.c.belief_id, evidence.c.number, cell.c.source)
        .join(cell, cell.c.id == evidence.c.cell_id)
        .join(
            version,
            sa.and_(version.c.belief_id == evidence.c.belief_id, version.c.number == evidence.c.number),
        )
        .join(founding, founding.c.id == version.c.cell_id)
        .where(founding.c.source != cell.c.source)
    )
    return _total(connection, version), broken + _name("evidence (belief, number, source)", rows)


def _r3(connection: sa.Connection, store: Store) -> Counted:
    """A version's entity, aspect and key equal its episode's: ids are what their slots hash to."""
    broken = [
        f"version {_hex(belief)} {number} is not of its episode's cell"
        for belief, number, _, _ in _mismatched(connection)
    ]
    ids = store.ids
    rows = connection.execute(
        sa.select(
            cell.c.id, cell.c.belief_id, cell.c.entity_id, cell.c.source, cell.c.observer, cell.c.aspect, cell.c.key
        ).execution_options(yield_per=5_000)
    )
    for row in rows:
        owner = EntityId(row.entity_id)
        if row.id != ids.cell(owner, row.source, row.observer, row.aspect, row.key) or row.belief_id != ids.belief(
            owner, row.source, row.aspect, row.key
        ):
            broken.append(f"cell {_hex(row.id)} is not what {row.aspect} {row.key!r} hashes to")
    broken += rules_said.unchosen(connection)
    return _total(connection, version) + _total(connection, choice), broken


def _r4(connection: sa.Connection, store: Store) -> Counted:
    """No verdict without its version or evidence row, none the other way."""
    founded = sa.and_(version.c.cell_id == episode.c.cell_id, version.c.episode == episode.c.number)
    witnessed = sa.and_(evidence.c.cell_id == episode.c.cell_id, evidence.c.episode == episode.c.number)
    without = connection.execute(
        sa.select(episode.c.cell_id, episode.c.number, episode.c.verdict)
        .outerjoin(version, founded)
        .where(episode.c.verdict.in_(["open", "supersede", "contest"]), version.c.belief_id.is_(None))
    )
    unwitnessed = connection.execute(
        sa.select(episode.c.cell_id, episode.c.number, episode.c.verdict)
        .outerjoin(evidence, witnessed)
        .where(episode.c.verdict.in_(["retract", "reinforce"]), evidence.c.belief_id.is_(None))
    )
    pending = connection.execute(
        sa.select(episode.c.cell_id, episode.c.number).join(version, founded).where(episode.c.verdict.is_(None))
    )
    pending_evidence = connection.execute(
        sa.select(episode.c.cell_id, episode.c.number).join(evidence, witnessed).where(episode.c.verdict.is_(None))
    )
    misread = connection.execute(
        sa.select(evidence.c.belief_id, evidence.c.number, evidence.c.role, episode.c.verdict)
        .join(episode, witnessed)
        .where(
            sa.or_(
                sa.and_(evidence.c.role == "bears_out", episode.c.verdict != "reinforce"),
                sa.and_(evidence.c.role == "ended", episode.c.verdict != "retract"),
            )
        )
    )
    broken = _name("evidence (belief, number, role) against the verdict", misread)
    broken += _name("verdict without a version: episode", without)
    broken += _name("verdict without evidence: episode", unwitnessed)
    broken += _name("version on a pending episode", pending) + _name("evidence on a pending episode", pending_evidence)
    return _total(connection, episode), broken


def _r5(connection: sa.Connection, store: Store) -> Counted:
    """A founding episode founds one version."""
    rows = connection.execute(
        sa.select(version.c.cell_id, version.c.episode, sa.func.count())
        .group_by(version.c.cell_id, version.c.episode)
        .having(sa.func.count() > 1)
    )
    return _total(connection, version), _name("episode that founded several versions", rows)


def _r6(connection: sa.Connection, store: Store) -> Counted:
    """Every version and all evidence rests on an episode that still exists."""
    broken = []
    for table, what in ((version, "version"), (evidence, "evidence")):
        rows = connection.execute(
            sa.select(table.c.belief_id, table.c.number)
            .outerjoin(episode, sa.and_(episode.c.cell_id == table.c.cell_id, episode.c.number == table.c.episode))
            .where(episode.c.cell_id.is_(None))
        )
        broken += _name(f"{what} without its episode:", rows)
    return _total(connection, version) + _total(connection, evidence), broken


def _r7(connection: sa.Connection, store: Store) -> Counted:
    """One current version a belief; numbers without gaps; a superseded one names its successor and why; no cycle."""
    several = connection.execute(
        sa.select(version.c.belief_id, sa.func.count())
        .where(version.c.state == "current")
        .group_by(version.c.belief_id)
        .having(sa.func.count() > 1)
    )
    lowest, highest = sa.func.min(version.c.number), sa.func.max(version.c.number)
    gaps = connection.execute(
        sa.select(version.c.belief_id, sa.func.count(), lowest, highest)
        .group_by(version.c.belief_id)
        .having(sa.or_(sa.func.count(sa.distinct(version.c.number)) != highest - lowest + 1, lowest > 1, highest < 1))
    )
    successor = version.alias("successor")
    unnamed = connection.execute(
        sa.select(version.c.belief_id, version.c.number)
        .outerjoin(
            successor,
            sa.and_(successor.c.belief_id == version.c.belief_id, successor.c.number == version.c.successor),
        )
        .where(
            version.c.state == "superseded",
            sa.or_(successor.c.belief_id.is_(None), version.c.ended_reason.is_(None)),
        )
    )
    cyclic = connection.execute(
        sa.select(version.c.belief_id, version.c.number, version.c.successor).where(
            version.c.successor <= version.c.number
        )
    )
    broken = _name("several current versions: belief", several) + _name("gap in the numbers: belief", gaps)
    broken += _name("superseded without successor or reason: version", unnamed)
    broken += _name("cycle: version", cyclic)
    return _total(connection, version), broken


def _r8(connection: sa.Connection, store: Store) -> Counted:
    """Every ended version names its ground, and a run that covered the raw aspect whole."""
    coverages: dict[bytes, Coverage] = {}

    def covered(run_id: bytes, ordinal: int | None) -> bool:
        if run_id not in coverages:
            packed = connection.scalar(sa.select(run.c.coverage).where(run.c.id == run_id))
            coverages[run_id] = Coverage(bytes(packed) if packed else None)
        return ordinal is not None and ordinal in coverages[run_id]

    ended = sa.and_(
        evidence.c.belief_id == version.c.belief_id,
        evidence.c.number == version.c.number,
        evidence.c.role == "ended",
    )
    rows = connection.execute(
        sa.select(
            version.c.belief_id, version.c.number, episode.c.kind, episode.c.ground, episode.c.run_id, part.c.ordinal
        )
        .outerjoin(evidence, ended)
        .outerjoin(episode, sa.and_(episode.c.cell_id == evidence.c.cell_id, episode.c.number == evidence.c.episode))
        .outerjoin(cell, cell.c.id == evidence.c.cell_id)
        .outerjoin(
            part,
            sa.and_(part.c.entity_id == cell.c.entity_id, part.c.source == cell.c.source, part.c.part == cell.c.part),
        )
        .where(version.c.state == "retracted")
    ).all()
    broken = []
    for row in rows:
        named = f"version {_hex(row.belief_id)} {row.number}"
        if row.ground == "decision":
            if row.kind != "said":
                broken.append(f"{named} ended by a decision that nobody said")
        elif row.kind != "removed" or row.ground is None:
            broken.append(f"{named} ended without a ground")
        elif row.ground == "unlisted" and not covered(row.run_id, row.ordinal):
            broken.append(f"{named} ended by a run that did not cover its raw aspect")
    gone = connection.execute(
        sa.select(
            episode.c.cell_id, episode.c.number, episode.c.value, episode.c.run_id, run.c.complete, part.c.ordinal
        )
        .join(cell, cell.c.id == episode.c.cell_id)
        .join(run, run.c.id == episode.c.run_id)
        .outerjoin(
            part,
            sa.and_(part.c.entity_id == cell.c.entity_id, part.c.source == cell.c.source, part.c.part == cell.c.part),
        )
        .where(cell.c.aspect == "existence", episode.c.kind == "changed", episode.c.value.like('%"exists":false%'))
    ).all()
    for row in gone:
        by_listing = '"listing"' in row.value
        if by_listing and not row.complete:
            broken.append(
                f"episode {_hex(row.cell_id)} {row.number} ended an entity by a listing that was not complete"
            )
        elif not by_listing and not covered(row.run_id, row.ordinal):
            broken.append(f"episode {_hex(row.cell_id)} {row.number} ended an entity without its status")
    return len(rows) + len(gone), broken


def _r9(connection: sa.Connection, store: Store) -> Counted:
    """One episode for a cell and a reading: of a run, or of each stored version that a backfill relives."""
    several = sa.func.count(sa.distinct(episode.c.observed_at))
    rows = connection.execute(
        sa.select(episode.c.cell_id, episode.c.run_id, sa.func.count())
        .join(run, run.c.id == episode.c.run_id)
        .group_by(episode.c.cell_id, episode.c.run_id, run.c.job)
        .having(sa.and_(sa.func.count() > 1, sa.or_(run.c.job != "backfill", sa.func.count() > several)))
    )
    return _total(connection, episode), _name("several episodes of one cell in one run:", rows)


def _r11(connection: sa.Connection, store: Store) -> Counted:
    """Every publication is ours, is the page of its entity, and was found again by a re-read."""
    rows = connection.execute(
        sa.select(publication.c.target, publication.c.entity_id, publication.c.url, publication.c.reread_at)
    ).all()
    broken = []
    for row in rows:
        if not is_ours(row.url) or bytes(row.entity_id)[:8].hex() not in row.url:
            broken.append(f"publication on {row.target}: {row.url} is no page of ours for its entity")
        elif row.reread_at is None:
            broken.append(f"publication on {row.target}: {row.url} was not found again")
    return len(rows), broken


def _r12(connection: sa.Connection, store: Store) -> Counted:
    """What is current is open, and what is projected of it (lineage, passages, labels) rests on a current version."""
    ended = connection.execute(
        sa.select(version.c.belief_id, version.c.number).where(
            version.c.state == "current",
            sa.or_(version.c.valid_to.is_not(None), version.c.closed_at.is_not(None)),
        )
    )
    current = sa.and_(version.c.belief_id == edge.c.belief_id, version.c.state == "current")
    stale = connection.execute(
        sa.select(edge.c.upstream_id, edge.c.column, edge.c.belief_id)
        .outerjoin(version, current)
        .where(version.c.belief_id.is_(None))
    )
    passages, not_current = rules_index.not_current(connection)
    labelled, not_labelled_so = rules_index.not_labelled_so(connection)
    checked = _total(connection, version, version.c.state == "current") + _total(connection, edge) + passages + labelled
    broken = _name("current although ended: version", ended) + _name("lineage that is not current: edge", stale)
    broken += rules_said.beside(connection)
    return checked, broken + not_current + not_labelled_so


def _r13(connection: sa.Connection, store: Store) -> Counted:
    """The numbers that are kept beside the rows equal the rows, and what is searched and listed is what is held."""
    last = (
        sa.select(episode.c.cell_id, sa.func.max(episode.c.number).label("number"))
        .group_by(episode.c.cell_id)
        .subquery("last")
    )
    cells = connection.execute(
        sa.select(cell.c.id, cell.c.last, last.c.number)
        .outerjoin(last, last.c.cell_id == cell.c.id)
        .where(sa.or_(last.c.number.is_(None), last.c.number != cell.c.last))
    )
    live = (
        sa.select(cell.c.entity_id, cell.c.source, cell.c.part, sa.func.count().label("rows"))
        .where(sa.func.length(cell.c.digest) > 0)
        .group_by(cell.c.entity_id, cell.c.source, cell.c.part)
        .subquery("live")
    )
    fed = sa.func.coalesce(live.c.rows, 0)
    parts = connection.execute(
        sa.select(part.c.entity_id, part.c.source, part.c.part, part.c.cells, fed)
        .outerjoin(
            live,
            sa.and_(live.c.entity_id == part.c.entity_id, live.c.source == part.c.source, live.c.part == part.c.part),
        )
        .where(part.c.cells != fed)
    )
    broken = _name("cell (id, last, newest episode)", cells)
    broken += _name("raw aspect (entity, source, name, cells, counted)", parts)
    indexed, not_as_held = rules_index.not_as_held(connection)
    return _total(connection, cell) + _total(connection, part) + indexed, broken + not_as_held


def _is_preceded() -> sa.ColumnElement[bool]:
    """Whether anything of an episode's entity was seen before it, in what a catalog kept of it."""
    own, other, before = cell.alias("own"), cell.alias("other"), episode.alias("before")
    return (
        sa.select(before.c.cell_id)
        .select_from(own)
        .join(other, sa.and_(other.c.entity_id == own.c.entity_id, other.c.source == own.c.source))
        .join(before, before.c.cell_id == other.c.id)
        .where(own.c.id == episode.c.cell_id, before.c.observed_at < episode.c.observed_at)
        .exists()
    )


def _r14(connection: sa.Connection, store: Store) -> Counted:
    """Nothing of a source's first reading counts as a change."""
    earlier = run.alias("earlier")
    has_earlier = (
        sa.select(earlier.c.id)
        .where(
            earlier.c.source == run.c.source,
            earlier.c.read_at.is_not(None),
            earlier.c.id != run.c.id,
            earlier.c.started_at < run.c.started_at,
        )
        .exists()
    )
    rows = connection.execute(
        sa.select(episode.c.cell_id, episode.c.number, run.c.source)
        .join(run, run.c.id == episode.c.run_id)
        .where(episode.c.baseline.is_(False), episode.c.kind == "first", ~has_earlier)
        .where(sa.or_(run.c.job != "backfill", ~_is_preceded()))
    )
    return _total(connection, episode, episode.c.kind == "first"), _name(
        "first reading counted as a change: episode", rows
    )


_RULES: tuple[tuple[str, str, Callable[[sa.Connection, Store], Counted] | None], ...] = (
    ("R1", "a run's counters equal its rows", _r1),
    ("R2", "a version's source is its episodes'", _r2),
    ("R3", "a version's entity, aspect and key are its episode's", _r3),
    ("R4", "a verdict has its version or evidence, and none stands without", _r4),
    ("R5", "an episode founds one version", _r5),
    ("R6", "what is held rests on episodes that exist", _r6),
    ("R7", "one current version a belief, no gap, no cycle, a reason for each end", _r7),
    ("R8", "what ended was read whole, or ended by name", _r8),
    ("R9", "one episode for a cell and a run", _r9),
    ("R10", "agents and people write episodes, never beliefs", None),
    ("R11", "a published link is ours and was found again", _r11),
    ("R12", "what is shown as current is current", _r12),
    ("R13", "kept numbers equal the rows", _r13),
    ("R14", "a first reading is no change", _r14),
)
