"""A brief at every budget, of whole catalogs: within it, no unit split, counts right, nothing superseded as current."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from palimpsest.core.brief import FRAME, tokens_of
from palimpsest.core.moment import Moment, parse
from palimpsest.queries.brief import Told, gathered, packed
from palimpsest.queries.held import When
from palimpsest.queries.history import history
from palimpsest.store.engine import Store, open_store
from palimpsest.surfaces.cli.demo import demo
from tests.building import Memory

MOST = 8_000
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The store of the demo."""
    file = tmp_path_factory.mktemp("shop") / "demo.db"
    demo(keep=file, serve_gms=False, port=0)
    store = open_store(f"sqlite:///{file}", writing=False)
    yield store
    store.dispose()


def urns_of(store: Store, most: int) -> list[str]:
    """The entities with most versions that a change founded."""
    with store.engine.connect() as connection:
        rows = connection.exec_driver_sql(
            "SELECT e.urn FROM entity e JOIN version v ON substr(v.belief_id, 1, 8) = substr(e.id, 1, 8) "
            "GROUP BY e.urn ORDER BY sum(v.number > 1) DESC, e.urn LIMIT ?",
            (most,),
        )
        return [row[0] for row in rows]


def superseded_of(store: Store, urn: str, when: When) -> set[str]:
    """What the versions of an entity state that are current of no belief of it, quoted as a brief quotes."""
    versions = [one for belief in history(store, urn, None, None, when).beliefs for one in belief.versions]
    now = {one.statement for one in versions if one.current}
    return {json.dumps(one.statement, ensure_ascii=False) for one in versions if one.statement not in now}


def looked_over(everything: Sequence[Told], budgets: Iterable[int]) -> None:
    """A brief at each budget is what it should be."""
    units = [[one.unit for one in told.ranked] for told in everything]
    for budget in budgets:
        view = packed(everything, budget)
        lines = view.text.split("\n")
        assert tokens_of(view.text) == view.tokens <= budget
        for own, part in zip(units, view.entities, strict=True):
            told = [statement.text for statement in part.statements]
            assert [unit.text for unit in own if unit.text in told] == told
            assert set(told) <= set(lines)
            assert len(told) + part.left_out == len(own)
            if told and part.left_out:
                assert f"not shown: {part.left_out}; they are in: {part.command}" in lines
        if any(part.statements for part in view.entities):
            assert FRAME in lines


def shown_as_current(everything: Sequence[Told]) -> set[str]:
    """What the units of a brief say is held now: what is quoted, but not after `was`, and in no unit of what is not."""
    found: set[str] = set()
    for told in everything:
        for one in told.ranked:
            for part in one.unit.text.removeprefix("- ").removeprefix("sources differ: ").split(" | "):
                if not part.startswith(("gone: ", "not current, ", "read by ")):
                    found.update(_QUOTED.findall(re.sub(r", was \"(?:[^\"\\]|\\.)*\"", "", part))[:1])
    return found


def test_every_budget_on_the_demo(shop: Store) -> None:
    when = When(now=parse("2026-03-08T08:00:00Z"))
    urns = urns_of(shop, 100)
    assert len(urns) == 20
    everything = gathered(shop, urns, when)
    looked_over(everything, range(50, MOST + 1, 5))
    for told in everything:
        looked_over([told], range(50, 1_500))
        looked_over([told], (MOST,))
        assert not shown_as_current([told]) & superseded_of(shop, told.entity.urn, when), told.entity.urn


def test_what_is_current_is_told_at_all(shop: Store) -> None:
    """So that the test before could fail."""
    when = When(now=parse("2026-03-08T08:00:00Z"))
    shown = shown_as_current(gathered(shop, ["shop.public.orders"], when))
    assert {'"owner: lena"', '"domain: sales"', '"tag: gold"'} <= shown
    assert '"owner: jonas"' in superseded_of(shop, "shop.public.orders", when)


@pytest.mark.long
@pytest.mark.needs_shared("replays the checkpoints of a real catalog")
def test_every_budget_on_the_fifty_most_changed_datasets_of_a_real_history(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data" / "replay" / "mcp_checkpoints"
    memory = Memory(tmp_path)
    with gzip.open(folder / "CHECKPOINTS.json.gz", "rt", encoding="utf-8") as file:
        checkpoints = json.load(file)
    for entry in checkpoints:
        memory.remember(folder / f"{entry['file']}.gz", at=entry["time"])
    when = When(now=Moment(memory.clock.at + 86_400_000))
    urns = urns_of(memory.store, 50)
    assert len(urns) == 50
    largest = 0
    for urn in urns:
        everything = gathered(memory.store, [urn], when)
        whole = packed(everything, 1_000_000)
        assert whole.entities[0].left_out == 0
        largest = max(largest, whole.tokens)
        looked_over(everything, range(50, min(MOST, whole.tokens + 2) + 1))
        looked_over(everything, (MOST,))
        assert not shown_as_current(everything) & superseded_of(memory.store, urn, when), urn
    assert largest > 2_000
    looked_over(gathered(memory.store, urns, when), range(50, MOST + 1, 50))
