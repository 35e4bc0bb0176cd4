"""consolidate: turn pending episodes into versions of beliefs, entity by entity.

The rules judge what they can, in long stretches; where a language model is given, it judges the matters of text that
they leave, a few at a time. Several consolidators can work at once: each leases entities, and checks its leases again
in the commit. An episode counts as consolidated only in the transaction that writes the verdict on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace

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
from palimpsest.jobs.choose import choose
from palimpsest.jobs.judging.asking import ITEMS_AT_ONCE, Asked, Left
from palimpsest.jobs.judging.judging import Judging, together
from palimpsest.jobs.leased import released_on_failure
from palimpsest.ports import Clock, Judge, Progress
from palimpsest.store import pending, readings, runs, versions
from palimpsest.store.engine import Connection, Store
from palimpsest.store.runs import Lease

_EPISODES_AT_ONCE = 20_000
_FIRST, _LAST = EntityId(bytes(16)), EntityId(b"\xff" * 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidateReport:
    """What a consolidation did. `verdicts` counts the verdicts on episodes by kind; `left` those still pending.

    `chosen` notes were given their place before it. `asked` tells what was asked of a model, None where none was given;
    of a dry run, what would be.
    """

    run: str
    dry_run: bool
    clusters: int
    episodes: int
    entities: int
    verdicts: dict[str, int]
    founded: int
    left: int
    milliseconds: int
    chosen: int = 0
    asked: Asked | None = None
    planned: list[str] = field(default_factory=list)


def consolidate(
    store: Store,
    *,
    clock: Clock,
    progress: Progress,
    holder: str,
    dry_run: bool = False,
    judge: Judge | None = None,
    judging: Judging | None = None,
    start: EntityId = _FIRST,
    at_once: int | None = None,
) -> ConsolidateReport:
    """Consolidate everything that is pending, under a run of its own; nothing pending writes nothing.

    `judge` takes the place of the rules; `judging` is a model for what the rules leave. `start` is where among the ids
    of the entities the work begins, so that several consolidators seldom meet; `at_once` is about how many episodes are
    judged and committed together.
    """
    if not dry_run:
        runs.end_lost(store, job="consolidate", now=clock.now())
    if dry_run or not store.read(pending.count_pending):
        return _Consolidation(store, clock, progress, holder, None, judge, judging).run(dry_run=dry_run)
    chosen = _prepared(store, clock, progress, holder, judging)
    lease = runs.acquire(store, job="consolidate", source_name=None, rules=RULES, now=clock.now(), holder=holder)
    with released_on_failure(store, lease, clock):
        work = _Consolidation(store, clock, progress, holder, lease, judge, judging, start=start, at_once=at_once)
        report = replace(work.run(dry_run=False), chosen=chosen)
    runs.release(store, lease, state="done", now=clock.now(), counts=counts_of(report))
    return report


def consolidate_under(
    store: Store, *, clock: Clock, progress: Progress, lease: Lease, judging: Judging | None = None
) -> ConsolidateReport:
    """Consolidate under a run that the caller holds and ends."""
    chosen = _prepared(store, clock, progress, lease.holder, judging)
    work = _Consolidation(store, clock, progress, lease.holder, lease, None, judging)
    return replace(work.run(dry_run=False), chosen=chosen)


def _prepared(store: Store, clock: Clock, progress: Progress, holder: str, judging: Judging | None) -> int:
    """Free what dead consolidators hold, and give notes their place; how many got one.

    Dead are processes of this machine that are no more; leases of other machines run out by themselves.
    """
    gone = [one for one in store.read(pending.holders) if runs.is_dead(one)]
    if gone:
        store.write(lambda connection: pending.release(connection, gone))
    chooser = judging.chooser if judging is not None else None
    return choose(store, clock=clock, progress=progress, holder=holder, chooser=chooser).chosen


def counts_of(report: ConsolidateReport) -> dict[str, object]:
    """The counters of a report as its run keeps them."""
    counts: dict[str, object] = {
        "clusters": report.clusters,
        "episodes": report.episodes,
        "verdicts": report.verdicts,
        "founded": report.founded,
        "left": report.left,
    }
    if report.chosen:
        counts["chosen"] = report.chosen
    if report.asked is not None and report.asked.items:
        counts["asked"] = asdict(report.asked)
    return counts


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
        judging: Judging | None = None,
        *,
        start: EntityId = _FIRST,
        at_once: int | None = None,
    ) -> None:
        self.store, self.clock, self.progress, self.holder, self.lease = store, clock, progress, holder, lease
        self.judge: Judge = judge or (judging.rules if judging is not None else RulesJudge())
        self.judging = judging
        self.start, self.at_once = start, at_once or _EPISODES_AT_ONCE
        self.ids = store.ids
        self.started_at = clock.now()
        self.counts: Counter[str] = Counter()
        self.verdicts: Counter[str] = Counter()
        self.planned: list[str] = []
        self.would_ask: list[Asked] = []
        self.met: set[EntityId] = set()  # entities of which the rules decided something, and left something

    def run(self, *, dry_run: bool) -> ConsolidateReport:
        """Lease, judge and commit until nothing is left to lease."""
        self.progress.start("consolidating", self.store.read(pending.count_pending))
        if dry_run:
            self.plan_only()
        elif self.lease is not None:
            for entities in self.stretches(self.at_once):
                self.commit(entities)
            if self.judging is not None:
                self.ask(self.judging)
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
            asked=self.asked(),
            planned=self.planned,
        )

    def ask(self, judging: Judging) -> None:
        """Have the model judge what is left, a few entities at a time, while it can be asked."""
        for entities in self.stretches(ITEMS_AT_ONCE):
            self.commit_asked(entities, judging)
            if judging.asking.problem is not None:
                break

    def stretches(self, most: int) -> Iterator[list[EntityId]]:
        """Entities with something pending, leased, about so many episodes' worth at a time, from the start round."""
        for begin, until in ((self.start, _LAST), (_FIRST, self.start)):
            after = begin
            while after < until and (entities := self.claim(after, until, most)):
                yield entities
                after = EntityId(entities[-1][:8] + b"\xff" * 8)

    def claim(self, after: EntityId, until: EntityId, most: int) -> list[EntityId]:
        """The next leased entities."""
        now, holder = self.clock.now(), self.holder
        return self.store.write_leased(
            lambda connection: pending.claim(connection, holder=holder, now=now, after=after, until=until, most=most)
        )

    def given(self, entities: list[EntityId]) -> list[tuple[Cluster, list[Version]]]:
        """The clusters of entities, each with the versions of its belief so far."""

        def ask(connection: Connection) -> list[tuple[Cluster, list[Version]]]:
            found = pending.clusters(connection, entities)
            later = [cluster.belief for cluster in found if not cluster.opens_a_belief]
            so_far = pending.versions_so_far(connection, later)
            return [(cluster, so_far.get(cluster.belief, [])) for cluster in found]

        return self.store.read(ask)

    def commit(self, entities: list[EntityId]) -> None:
        """Judge leased entities, and write the verdicts in one transaction."""
        assert self.lease is not None
        given = self.given(entities)
        judged = self.judge.judge(given)
        now, lease = self.clock.now(), self.lease
        rows = versions.Verdicts()
        for one in judged:
            add_rows(rows, one, run=lease.run, now=now, ids=self.ids)
        founded = self.counts["founded"] + len(rows.opened)

        def work(connection: Connection) -> None:
            runs.beat(connection, lease, now, founded=founded)
            versions.commit(connection, rows, entities=entities, holder=self.holder, now=now)

        self.store.write_leased(work)
        self.counts["founded"] = founded
        self.count(judged)
        if len(judged) < len(given):
            decided = {one.cluster.belief for one in judged}
            left = {cluster.entity for cluster, _ in given if cluster.belief not in decided}
            self.met |= left & {one.cluster.entity for one in judged}
        self.progress.advance(len(rows.decided))

    def commit_asked(self, entities: list[EntityId], judging: Judging) -> None:
        """Have the model judge leased entities, and write the verdicts on those that are still leased in the end.

        A model may take minutes, so the leases are renewed before each request; no transaction is open meanwhile.
        """
        assert self.lease is not None
        lease = self.lease
        judging.asking.before = lambda: self.store.write_leased(lambda c: self.renew(c, lease, entities))
        judged = judging.judge.judge(self.given(entities))
        now = self.clock.now()

        def work(connection: Connection) -> tuple[list[Judged], int]:
            kept = self.renew(connection, lease, entities)
            ours = [one for one in judged if one.cluster.entity in kept]
            rows = versions.Verdicts()
            for one in ours:
                add_rows(rows, one, run=lease.run, now=now, ids=self.ids)
            founded = self.counts["founded"] + len(rows.opened)
            runs.beat(connection, lease, now, founded=founded)
            versions.commit(connection, rows, entities=kept, holder=self.holder, now=now)
            return ours, founded

        ours, founded = self.store.write_leased(work)
        judging.asking.left[Left.LEASE] += len(judged) - len(ours)
        self.counts["founded"] = founded
        self.count(ours)
        self.progress.advance(sum(len(one.every) for one in ours))

    def renew(self, connection: Connection, lease: Lease, entities: list[EntityId]) -> list[EntityId]:
        """Renew the run's lease and those on entities; the entities that are still ours."""
        now = self.clock.now()
        runs.beat(connection, lease, now)
        return pending.renew(connection, entities, holder=self.holder, now=now)

    def plan_only(self) -> None:
        """Judge everything that is pending, and write nothing."""
        after = _FIRST
        while entities := self.store.read(lambda c, a=after: pending.entities_after(c, a, _EPISODES_AT_ONCE)):  # type: ignore[misc]
            given = self.given(entities)
            judged = self.judge.judge(given)
            if self.judging is not None:
                self.would_ask.append(self.judging.would_ask(given))
            self.count(judged)
            urns = self.store.read(lambda c, e=entities: readings.urns_of(c, e))  # type: ignore[misc]
            for one in judged:
                self.say(short_name(urns[one.cluster.entity]), one.cluster, one.verdicts, one.current)
            after = EntityId(entities[-1][:8] + b"\xff" * 8)

    def asked(self) -> Asked | None:
        """What the model was asked, or would be."""
        if self.would_ask:
            return together(self.would_ask)
        return self.judging.asked if self.judging is not None else None

    def count(self, judged: list[Judged]) -> None:
        """Count clusters, episodes and verdicts."""
        self.counts["clusters"] += len(judged)
        self.counts["entities"] += len({one.cluster.entity for one in judged} - self.met)
        kinds = Counter(verdict.kind for one in judged for verdict in one.every)
        self.counts["episodes"] += kinds.total()
        self.verdicts.update({kind.value: count for kind, count in kinds.items()})

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


# A dictionary tells the word of a kind quicker than the kind does, and there is one for each episode.
_VERDICTS = {kind: kind.value for kind in VerdictKind}
_STATES = {state: state.value for state in State}


def add_rows(rows: versions.Verdicts, judged: Judged, *, run: bytes, now: Moment, ids: Ids) -> None:
    """The rows that the verdicts on one belief come to. A version opened and closed in one pass is written closed."""
    cluster = judged.cluster
    opened: dict[int, Opened] = {}
    ends: dict[int, Closed] = {judged.tail.number: judged.tail} if judged.tail is not None else {}
    for verdict in judged.every:
        episode = verdict.episode
        rows.decided.append((_VERDICTS[verdict.kind], episode.cell, episode.number))
        for closed in verdict.every_closed:
            ends[closed.number] = closed
            if closed.successor is None:
                rows.evidence.append((cluster.belief, closed.number, episode.cell, episode.number, "ended", None, now))
        if verdict.witness is not None:
            is_restated = verdict.kind is VerdictKind.REINFORCE
            role, by = ("bears_out", judged.judge) if is_restated else ("ended", None)
            rows.evidence.append((cluster.belief, verdict.witness, episode.cell, episode.number, role, by, now))
        if verdict.opened is not None:
            opened[verdict.opened.number] = verdict.opened
    for number, closed in ends.items():
        if number not in opened:
            rows.closed.append((*_end_of(closed, now), cluster.belief, number))
    for number, version in opened.items():
        end = ends.get(number)
        still_open = (_STATES[version.state], None, None, None, None)
        state, valid_to, closed_at, successor, ended = _end_of(end, now) if end is not None else still_open
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
                judged.judge,
                version.reason,
                version.reverts_to,
                successor,
                ended,
            )
        )
    if cluster.aspect in LINEAGE_ASPECTS and judged.verdicts:
        _add_edges(rows, cluster, judged.verdicts, ids)


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
