"""consolidate: turn pending episodes into versions of beliefs, entity by entity, by the rules' judgement.

Several consolidators can work at once: each leases entities, and checks its leases again in the commit. An episode
counts as consolidated only in the transaction that writes the verdict on it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from palimpsest.core.aspects import ASPECTS, RULES
from palimpsest.core.belief import State, Version
from palimpsest.core.cluster import Cluster
from palimpsest.core.entity import short_name
from palimpsest.core.episode import Kind
from palimpsest.core.ids import EntityId, Ids
from palimpsest.core.jsontext import loads
from palimpsest.core.lineage import LINEAGE_ASPECTS, upstreams_named
from palimpsest.core.moment import Moment
from palimpsest.core.reconcile import Closed, Judged, Opened, RulesJudge, Verdict, VerdictKind
from palimpsest.jobs.leased import released_on_failure
from palimpsest.ports import Clock, Judge, Progress
from palimpsest.store import pending, readings, runs, versions
from palimpsest.store.engine import Connection, Store
from palimpsest.store.runs import Lease

_EPISODES_AT_ONCE = 20_000
_FIRST, _LAST = EntityId(bytes(16)), EntityId(b"\xff" * 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidateReport:
    """What a consolidation did. `verdicts` counts the verdicts on episodes by kind; `left` those still pending."""

    run: str
    dry_run: bool
    clusters: int
    episodes: int
    entities: int
    verdicts: dict[str, int]
    founded: int
    left: int
    milliseconds: int
    planned: list[str] = field(default_factory=list)


def consolidate(
    store: Store,
    *,
    clock: Clock,
    progress: Progress,
    holder: str,
    dry_run: bool = False,
    judge: Judge | None = None,
    start: EntityId = _FIRST,
    at_once: int | None = None,
) -> ConsolidateReport:
    """Consolidate everything that is pending, under a run of its own; nothing pending writes nothing.

    `start` is where among the ids of the entities the work begins, so that several consolidators seldom meet; `at_once`
    is about how many episodes are judged and committed together.
    """
    if not dry_run:
        runs.end_lost(store, job="consolidate", now=clock.now())
    waiting = store.read(pending.count_pending)
    if dry_run or not waiting:
        return _Consolidation(store, clock, progress, holder, None, judge).run(dry_run=dry_run)
    lease = runs.acquire(store, job="consolidate", source_name=None, rules=RULES, now=clock.now(), holder=holder)
    with released_on_failure(store, lease, clock):
        work = _Consolidation(store, clock, progress, holder, lease, judge, start=start, at_once=at_once)
        report = work.run(dry_run=False)
    runs.release(store, lease, state="done", now=clock.now(), counts=counts_of(report))
    return report


def consolidate_under(store: Store, *, clock: Clock, progress: Progress, lease: Lease) -> ConsolidateReport:
    """Consolidate under a run that the caller holds and ends."""
    return _Consolidation(store, clock, progress, lease.holder, lease, None).run(dry_run=False)


def counts_of(report: ConsolidateReport) -> dict[str, object]:
    """The counters of a report as its run keeps them."""
    return {
        "clusters": report.clusters,
        "episodes": report.episodes,
        "verdicts": report.verdicts,
        "founded": report.founded,
        "left": report.left,
    }


class _Consolidation:
    """One consolidation at work."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        progress: Progress,
        holder: str,
        lease: Lease | None,
        judge: Judge | None,
        *,
        start: EntityId = _FIRST,
        at_once: int | None = None,
    ) -> None:
        self.store, self.clock, self.progress, self.holder, self.lease = store, clock, progress, holder, lease
        self.judge: Judge = judge or RulesJudge()
        self.start, self.at_once = start, at_once or _EPISODES_AT_ONCE
        self.ids = store.ids
        self.started_at = clock.now()
        self.counts: Counter[str] = Counter()
        self.verdicts: Counter[str] = Counter()
        self.planned: list[str] = []

    def run(self, *, dry_run: bool) -> ConsolidateReport:
        """Lease, judge and commit until nothing is left to lease."""
        self.progress.start("consolidating", self.store.read(pending.count_pending))
        if dry_run:
            self.plan_only()
        elif self.lease is not None:
            self.take_over()
            self.walk(self.start, _LAST)
            if self.start > _FIRST:
                self.walk(_FIRST, self.start)
        self.progress.done()
        return ConsolidateReport(
            run=self.lease.run.hex() if self.lease else "",
            dry_run=dry_run,
            clusters=self.counts["clusters"],
            episodes=self.counts["episodes"],
            entities=self.counts["entities"],
            verdicts=dict(sorted(self.verdicts.items())),
            founded=self.counts["founded"],
            left=self.store.read(pending.count_pending),
            milliseconds=self.clock.now() - self.started_at,
            planned=self.planned,
        )

    def take_over(self) -> None:
        """Free the entities that dead consolidators of this machine hold; other leases run out by themselves."""
        gone = [holder for holder in self.store.read(pending.holders) if runs.is_dead(holder)]
        if gone:
            self.store.write(lambda connection: pending.release(connection, gone))

    def walk(self, after: EntityId, until: EntityId) -> None:
        """Consolidate what is pending between two ids, stretch by stretch."""
        while entities := self.claim(after, until):
            self.commit(entities)
            after = EntityId(entities[-1][:8] + b"\xff" * 8)

    def claim(self, after: EntityId, until: EntityId) -> list[EntityId]:
        """The next leased entities."""
        now, holder, most = self.clock.now(), self.holder, self.at_once
        return self.store.write_leased(
            lambda connection: pending.claim(connection, holder=holder, now=now, after=after, until=until, most=most)
        )

    def judged(self, entities: list[EntityId]) -> list[Judged]:
        """The verdicts on every cluster of entities. No transaction is open while the judge thinks."""

        def ask(connection: Connection) -> list[tuple[Cluster, list[Version]]]:
            found = pending.clusters(connection, entities)
            later = [cluster.belief for cluster in found if not cluster.opens_a_belief]
            so_far = pending.versions_so_far(connection, later)
            return [(cluster, so_far.get(cluster.belief, [])) for cluster in found]

        return self.judge.judge(self.store.read(ask))

    def commit(self, entities: list[EntityId]) -> None:
        """Judge leased entities, and write the verdicts in one transaction."""
        assert self.lease is not None
        judged = self.judged(entities)
        now, lease = self.clock.now(), self.lease
        rows = versions.Verdicts()
        for one in judged:
            add_rows(rows, one, run=lease.run, now=now, ids=self.ids, judge=self.judge.name)
        founded = self.counts["founded"] + len(rows.opened)

        def work(connection: Connection) -> None:
            runs.beat(connection, lease, now, founded=founded)
            versions.commit(connection, rows, entities=entities, holder=self.holder, now=now)

        self.store.write_leased(work)
        self.counts["founded"] = founded
        self.counts["entities"] += len(entities)
        self.count(judged)
        self.progress.advance(len(rows.decided))

    def plan_only(self) -> None:
        """Judge everything that is pending, and write nothing."""
        after = _FIRST
        while entities := self.store.read(lambda c, a=after: pending.entities_after(c, a, _EPISODES_AT_ONCE)):  # type: ignore[misc]
            judged = self.judged(entities)
            self.counts["entities"] += len(entities)
            self.count(judged)
            urns = self.store.read(lambda c, e=entities: readings.urns_of(c, e))  # type: ignore[misc]
            for one in judged:
                self.say(short_name(urns[one.cluster.entity]), one.cluster, one.verdicts, one.current)
            after = EntityId(entities[-1][:8] + b"\xff" * 8)

    def count(self, judged: list[Judged]) -> None:
        """Count clusters, episodes and verdicts."""
        self.counts["clusters"] += len(judged)
        for one in judged:
            self.counts["episodes"] += len(one.every)
            self.verdicts.update(verdict.kind.value for verdict in one.every)

    def say(self, name: str, cluster: Cluster, verdicts: list[Verdict], current: Version | None) -> None:
        """Keep what would be written as lines, the first thousand."""
        before = loads(current.value) if current is not None and current.value is not None else None
        for verdict in verdicts:
            value = verdict.episode.value
            after = loads(value) if value is not None else None
            if verdict.kind is not VerdictKind.OPEN and len(self.planned) < 1_000:
                said = ASPECTS[cluster.aspect].say_change(cluster.key, before, after)
                self.planned.append(f"{name}: {said} ({verdict.kind.value})")
            before = after


def add_rows(rows: versions.Verdicts, judged: Judged, *, run: bytes, now: Moment, ids: Ids, judge: str) -> None:
    """The rows that the verdicts on one belief come to. A version opened and closed in one pass is written closed."""
    cluster = judged.cluster
    opened: dict[int, Opened] = {}
    ends: dict[int, Closed] = {judged.tail.number: judged.tail} if judged.tail is not None else {}
    for verdict in judged.every:
        episode, closed = verdict.episode, verdict.closed
        rows.decided.append((verdict.kind.value, episode.cell, episode.number))
        if closed is not None:
            ends[closed.number] = closed
            if closed.successor is None:
                rows.evidence.append((cluster.belief, closed.number, episode.cell, episode.number, "ended"))
        if verdict.opened is not None:
            opened[verdict.opened.number] = verdict.opened
    for number, closed in ends.items():
        if number not in opened:
            rows.closed.append((*_end_of(closed, now), cluster.belief, number))
    for number, version in opened.items():
        end = ends.get(number)
        state, valid_to, closed_at, successor, ended = _end_of(end, now) if end is not None else _OPEN
        founding = version.episode
        rows.opened.append(
            (
                cluster.belief,
                number,
                state,
                founding.cell,
                founding.number,
                version.valid_from,
                version.valid_after,
                valid_to,
                now,
                closed_at,
                run,
                judge,
                version.reason,
                version.reverts_to,
                successor,
                ended,
            )
        )
    if cluster.aspect in LINEAGE_ASPECTS and judged.verdicts:
        _add_edges(rows, cluster, judged.verdicts, ids)


_OPEN = (State.CURRENT.value, None, None, None, None)


def _end_of(closed: Closed, now: Moment) -> tuple[str, Moment | None, Moment | None, int | None, str | None]:
    """(state, valid to, closed at, successor, reason) of a version that has ended."""
    state = State.SUPERSEDED if closed.successor is not None else State.RETRACTED
    return state.value, closed.valid_to, now, closed.successor, closed.reason


def _add_edges(rows: versions.Verdicts, cluster: Cluster, verdicts: list[Verdict], ids: Ids) -> None:
    """The lineage that the belief states from now on, in place of what it stated before."""
    last = verdicts[-1]
    if verdicts[0].episode.kind is not Kind.FIRST:
        rows.edges_of.append(cluster.belief)
    if last.episode.value is None:
        return
    for urn, column in upstreams_named(cluster.aspect, loads(last.episode.value)):
        rows.edges.append((ids.entity(urn), column, cluster.belief, cluster.key))
