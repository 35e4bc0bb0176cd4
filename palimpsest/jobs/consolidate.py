"""consolidate: turn pending episodes into versions of beliefs, entity by entity, by the rules' judgement.

Several consolidators can work at once: each leases entities, and checks its leases again in the commit. An episode counts
as consolidated only in the transaction that writes the verdict on it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from palimpsest.core.aspects import ASPECTS, RULES
from palimpsest.core.belief import State, Version
from palimpsest.core.episode import Kind
from palimpsest.core.ids import EntityId, Ids
from palimpsest.core.jsontext import loads
from palimpsest.core.lineage import LINEAGE_ASPECTS, upstreams_named
from palimpsest.core.moment import Moment
from palimpsest.core.reconcile import Verdict, VerdictKind, reconcile
from palimpsest.ports import Clock, Progress
from palimpsest.store import pending, runs, versions
from palimpsest.store.engine import Connection, Store
from palimpsest.store.pending import Cluster
from palimpsest.store.runs import Lease

_EPISODES_AT_ONCE = 20_000
JUDGE = "rules"


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
    store: Store, *, clock: Clock, progress: Progress, holder: str, dry_run: bool = False
) -> ConsolidateReport:
    """Consolidate everything that is pending, under a run of its own; nothing pending writes nothing."""
    waiting = store.read(pending.count_pending)
    if dry_run or not waiting:
        return _Consolidation(store, clock, progress, holder, None).run(dry_run=dry_run)
    lease = runs.acquire(store, job="consolidate", source_name=None, rules=RULES, now=clock.now(), holder=holder)
    try:
        report = consolidate_under(store, clock=clock, progress=progress, lease=lease)
    except BaseException as error:
        counts = {"failure": str(error) or type(error).__name__}
        runs.release_quietly(store, lease, now=clock.now(), counts=counts)
        raise
    runs.release(store, lease, state="done", now=clock.now(), counts=counts_of(report))
    return report


def consolidate_under(store: Store, *, clock: Clock, progress: Progress, lease: Lease) -> ConsolidateReport:
    """Consolidate under a run that the caller holds and ends."""
    return _Consolidation(store, clock, progress, lease.holder, lease).run(dry_run=False)


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

    def __init__(self, store: Store, clock: Clock, progress: Progress, holder: str, lease: Lease | None) -> None:
        self.store, self.clock, self.progress, self.holder, self.lease = store, clock, progress, holder, lease
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
            after = EntityId(b"\x00" * 16)
            while entities := self.claim(after):
                self.commit(entities)
                after = EntityId(entities[-1][:8] + b"\xff" * 8)
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

    def claim(self, after: EntityId) -> list[EntityId]:
        """The next leased entities."""
        now, holder = self.clock.now(), self.holder
        return self.store.write(
            lambda connection: pending.claim(connection, holder=holder, now=now, after=after, most=_EPISODES_AT_ONCE)
        )

    def judge(self, entities: list[EntityId]) -> list[tuple[Cluster, list[Verdict], Version | None]]:
        """The verdicts on every cluster of leased entities."""
        return self.store.read(lambda connection: self._judge(connection, entities))

    def _judge(
        self, connection: Connection, entities: list[EntityId]
    ) -> list[tuple[Cluster, list[Verdict], Version | None]]:
        found = pending.clusters(connection, entities)
        later = [cluster.belief for cluster in found if cluster.episodes[0].kind is not Kind.FIRST]
        so_far = pending.versions_so_far(connection, later)
        judged = []
        for cluster in found:
            earlier = so_far.get(cluster.belief, [])
            current = next((version for version in earlier if version.state is State.CURRENT), None)
            last = earlier[-1].number if earlier else 0
            values = [(version.number, version.value) for version in earlier]
            judged.append((cluster, reconcile(cluster.aspect, current, last, values, cluster.episodes), current))
        return judged

    def commit(self, entities: list[EntityId]) -> None:
        """Judge leased entities, and write the verdicts in one transaction."""
        assert self.lease is not None
        judged = self.judge(entities)
        now, lease = self.clock.now(), self.lease
        rows = versions.Verdicts()
        for cluster, verdicts, _ in judged:
            add_rows(rows, cluster, verdicts, run=lease.run, now=now, ids=self.ids)
        founded = self.counts["founded"] + len(rows.opened)

        def work(connection: Connection) -> None:
            runs.beat(connection, lease, now, founded=founded)
            versions.commit(connection, rows, entities=entities, holder=self.holder, now=now)

        self.store.write(work)
        self.counts["founded"] = founded
        self.counts["entities"] += len(entities)
        self.count(judged)
        self.progress.advance(len(rows.decided))

    def plan_only(self) -> None:
        """Judge everything that is pending, and write nothing."""
        after = EntityId(b"\x00" * 16)
        while entities := self.store.read(lambda c, a=after: pending.entities_after(c, a, _EPISODES_AT_ONCE)):  # type: ignore[misc]
            judged = self.judge(entities)
            self.counts["entities"] += len(entities)
            self.count(judged)
            for cluster, verdicts, current in judged:
                self.say(cluster, verdicts, current)
            after = EntityId(entities[-1][:8] + b"\xff" * 8)

    def count(self, judged: list[tuple[Cluster, list[Verdict], Version | None]]) -> None:
        """Count clusters, episodes and verdicts."""
        self.counts["clusters"] += len(judged)
        for _, verdicts, _ in judged:
            self.counts["episodes"] += len(verdicts)
            for verdict in verdicts:
                self.verdicts[verdict.kind.value] += 1

    def say(self, cluster: Cluster, verdicts: list[Verdict], current: Version | None) -> None:
        """Keep what would be written as lines, the first thousand."""
        before = loads(current.value) if current is not None and current.value is not None else None
        for verdict in verdicts:
            value = verdict.episode.value
            after = loads(value) if value is not None else None
            if verdict.kind is not VerdictKind.OPEN and len(self.planned) < 1_000:
                said = ASPECTS[cluster.aspect].say_change(cluster.key, before, after)
                self.planned.append(f"{verdict.kind.value}: {said}")
            before = after


def add_rows(
    rows: versions.Verdicts, cluster: Cluster, verdicts: list[Verdict], *, run: bytes, now: Moment, ids: Ids
) -> None:
    """The rows that the verdicts on one belief come to. A version opened and closed in one pass is written closed."""
    opened: dict[int, dict[str, object]] = {}
    for verdict in verdicts:
        episode = verdict.episode
        rows.decided.append({"of_cell": episode.cell, "of_number": episode.number, "new_verdict": verdict.kind.value})
        closed = verdict.closed
        if closed is not None:
            state = State.SUPERSEDED if closed.successor is not None else State.RETRACTED
            ending = {
                "state": state.value,
                "valid_to": closed.valid_to,
                "closed_at": now,
                "successor": closed.successor,
                "ended_reason": closed.reason,
            }
            if closed.number in opened:
                opened[closed.number].update(ending)
            else:
                rows.closed.append(
                    {
                        "of_belief": cluster.belief,
                        "of_number": closed.number,
                        "new_state": state.value,
                        "new_valid_to": closed.valid_to,
                        "new_closed_at": now,
                        "new_successor": closed.successor,
                        "new_reason": closed.reason,
                    }
                )
            if closed.successor is None:
                rows.evidence.append(
                    {
                        "belief_id": cluster.belief,
                        "number": closed.number,
                        "cell_id": episode.cell,
                        "episode": episode.number,
                        "role": "ended",
                    }
                )
        if verdict.opened is not None:
            opened[verdict.opened.number] = _version_row(cluster, verdict, run, now)
    rows.opened.extend(opened.values())
    if cluster.aspect in LINEAGE_ASPECTS:
        _add_edges(rows, cluster, verdicts[-1], ids)


def _version_row(cluster: Cluster, verdict: Verdict, run: bytes, now: Moment) -> dict[str, object]:
    opened = verdict.opened
    assert opened is not None
    return {
        "belief_id": cluster.belief,
        "number": opened.number,
        "state": State.CURRENT.value,
        "cell_id": opened.episode.cell,
        "episode": opened.episode.number,
        "valid_from": opened.valid_from,
        "valid_after": opened.valid_after,
        "valid_to": None,
        "recorded_at": now,
        "closed_at": None,
        "run_id": run,
        "judge": JUDGE,
        "reason": opened.reason,
        "reverts_to": opened.reverts_to,
        "successor": None,
        "ended_reason": None,
    }


def _add_edges(rows: versions.Verdicts, cluster: Cluster, last: Verdict, ids: Ids) -> None:
    """The lineage that the belief states from now on, in place of what it stated before."""
    if cluster.episodes[0].kind is not Kind.FIRST:
        rows.edges_of.append(cluster.belief)
    if last.episode.value is None:
        return
    for urn, column in upstreams_named(cluster.aspect, loads(last.episode.value)):
        rows.edges.append(
            {
                "upstream_id": ids.entity(urn),
                "column": column,
                "belief_id": cluster.belief,
                "downstream_column": cluster.key,
            }
        )
