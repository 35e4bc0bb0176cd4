"""Several consolidators at once come to what one comes to: nothing twice, nothing lost, order kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from palimpsest.adapters.clock import SystemClock
from palimpsest.core.belief import Version
from palimpsest.core.cluster import Cluster
from palimpsest.core.ids import EntityId
from palimpsest.core.reconcile import Judged, RulesJudge
from palimpsest.jobs.consolidate import consolidate
from palimpsest.jobs.consolidate_together import consolidate_together, start_of
from palimpsest.jobs.verify import verify
from palimpsest.store import pending
from palimpsest.testing import NoProgress
from tests.building import Memory, dataset, mcp, owners, schema

pytestmark = pytest.mark.usefixtures("dialect")


def filled(folder: Path, name: str) -> Memory:
    """A memory of sixty datasets with three readings, none of them consolidated."""
    memory = Memory(folder, name=name)
    for day, (owner, kind) in enumerate([("ana", "INT"), ("bo", "BIGINT"), ("ana", "TEXT")], start=1):
        records = []
        for number in range(60):
            urn = dataset(f"t{number}")
            records += [mcp(urn, "ownership", owners(owner)), mcp(urn, "schemaMetadata", schema(("id", kind)))]
        memory.scan(records, at=f"2026-03-0{day}")
    return memory


def told(memory: Memory) -> list[tuple[Any, ...]]:
    """Every version, without who judged it when."""
    statement = sa.text(
        "SELECT belief_id, number, state, cell_id, episode, valid_from, valid_after, valid_to, reason, reverts_to, "
        "successor, ended_reason FROM version ORDER BY belief_id, number"
    )
    return [tuple(row) for row in memory.store.read(lambda connection: connection.execute(statement).all())]


def test_three_consolidators_come_to_what_one_comes_to(tmp_path: Path) -> None:
    one, three = filled(tmp_path, "one.db"), filled(tmp_path, "three.db")
    single = consolidate(one.store, clock=SystemClock(), progress=NoProgress(), holder="one")
    shared = consolidate_together(three.store, workers=3, clock=SystemClock(), progress=NoProgress(), holder="three")

    assert told(three) == told(one)
    assert (shared.left, shared.verdicts, shared.founded) == (0, single.verdicts, single.founded)
    assert (shared.clusters, shared.episodes, shared.entities) == (single.clusters, single.episodes, single.entities)
    assert verify(three.store, clock=SystemClock(), progress=NoProgress()).broken == 0


@pytest.mark.parametrize("start", [start_of(1, 3), start_of(2, 3), EntityId(b"\xff" * 16)])
def test_wherever_a_consolidator_begins_it_comes_round(tmp_path: Path, start: EntityId) -> None:
    memory = filled(tmp_path, "memory.db")
    done = consolidate(memory.store, clock=SystemClock(), progress=NoProgress(), holder="one", start=start, at_once=50)
    assert (done.left, done.entities) == (0, 60)


def test_a_lease_that_runs_out_is_taken_over(tmp_path: Path) -> None:
    memory = filled(tmp_path, "memory.db")
    everything = {"after": EntityId(bytes(16)), "until": EntityId(b"\xff" * 16), "most": 1_000_000}
    now = memory.clock.now()
    held = memory.store.write(lambda c: pending.claim(c, holder="elsewhere:1:1", now=now, **everything))
    assert len(held) == 60
    assert memory.store.write(lambda c: pending.claim(c, holder="here:2:2", now=now, **everything)) == []

    later = type(now)(now + pending.LEASE_MS + 1)
    assert memory.store.write(lambda c: pending.claim(c, holder="here:2:2", now=later, **everything)) == held


class Hesitant:
    """Judges every other cluster, and leaves the rest."""

    name = "hesitant"

    def judge(self, clusters: list[tuple[Cluster, list[Version]]]) -> list[Judged]:
        """Half of the verdicts."""
        return RulesJudge().judge(clusters[::2])


def test_what_the_judge_leaves_stays_pending_and_is_judged_the_next_time(tmp_path: Path) -> None:
    one, two = filled(tmp_path, "one.db"), filled(tmp_path, "two.db")
    whole = consolidate(one.store, clock=SystemClock(), progress=NoProgress(), holder="one")

    half = consolidate(two.store, clock=SystemClock(), progress=NoProgress(), holder="two", judge=Hesitant())
    assert (half.clusters, half.episodes + half.left) == (whole.clusters // 2, whole.episodes)
    assert verify(two.store, clock=SystemClock(), progress=NoProgress()).broken == 0
    rest = consolidate(two.store, clock=SystemClock(), progress=NoProgress(), holder="two")
    assert (rest.left, rest.clusters) == (0, whole.clusters - half.clusters)
    assert told(two) == told(one)
