"""brief --session: what changed since an agent was last handed something, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from palimpsest.core.brief import FRAME, tokens_of
from palimpsest.core.ids import Ids
from palimpsest.core.moment import parse
from palimpsest.jobs.deliver import Delivery, deliver
from palimpsest.jobs.note import note
from palimpsest.jobs.prune import prune
from palimpsest.queries.held import When
from palimpsest.queries.session import SessionRequest, SessionView, session_brief
from palimpsest.testing import FixedClock
from tests.building import Memory, dataset, mcp, owners, schema, status, tags, text

pytestmark = pytest.mark.usefixtures("dialect")

ORDERS, CARTS, FACTS = dataset("shop.orders"), dataset("shop.carts"), dataset("shop.facts")
MONDAY, TUESDAY, FRIDAY = "2026-03-02T08:00:00Z", "2026-03-03T08:00:00Z", "2026-03-06T08:00:00Z"
AGENT = "agent:codex"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = Memory(tmp_path)
    memory.remember(
        [
            mcp(ORDERS, "ownership", owners("jonas")),
            mcp(ORDERS, "schemaMetadata", schema(("id", "bigint"), ("discount", "numeric"))),
            mcp(CARTS, "globalTags", tags("gold")),
            mcp(FACTS, "datasetProperties", text("One row a day.")),
        ],
        at=MONDAY,
    )
    return memory


def handed(memory: Memory, at: str, *urns: str, session: str = "", agent: str = "codex") -> None:
    """An agent was handed something about entities."""
    delivery = Delivery(agent=agent, surface="cli", kind="brief", tokens=9, urns=urns, session=session)
    assert deliver(memory.store, delivery, clock=FixedClock(parse(at), step=0), holder="test:1:") == ""


def since_last(memory: Memory, at: str = "2026-03-07T08:00:00Z", budget: int = 2000, **asked: Any) -> SessionView:
    request = SessionRequest(agent=AGENT, **asked)
    return session_brief(memory.store, request, budget, When(now=parse(at)))


def lines_of(view: SessionView) -> list[str]:
    """The lines, ids made alike."""
    return [re.sub(r"\[[0-9a-f]{12}\]", "[ID]", line) for line in view.text.split("\n")]


def test_without_an_earlier_session_one_line_says_so(memory: Memory) -> None:
    handed(memory, TUESDAY, ORDERS, agent="another")
    view = since_last(memory)
    assert view.text == "no earlier session of codex is remembered: nothing to compare with"
    assert (view.since, view.news, view.left_out, view.tokens) == (None, (), 0, tokens_of(view.text))


def test_what_changed_is_told_with_what_was_and_why_and_nothing_else(memory: Memory) -> None:
    handed(memory, TUESDAY, ORDERS, CARTS)
    memory.remember(
        [
            mcp(ORDERS, "ownership", owners("lena", at="2026-03-05T14:20:00Z", by="mira")),
            mcp(ORDERS, "schemaMetadata", schema(("id", "bigint"))),
            mcp(FACTS, "datasetProperties", text("One row an hour.")),
        ],
        at=FRIDAY,
    )
    view = since_last(memory)
    assert lines_of(view) == [
        "orders: column discount gone 1 day ago; owner changed 1 day ago; your last session ended 4 days ago, "
        "2026-03-03 08:00",
        "1 of 2 entities that you work with",
        FRAME,
        '- "orders": gone: "column discount numeric, nullable"; between 2026-03-02 08:00 and 2026-03-06 08:00; its raw '
        "aspect was read whole and no longer lists it [ID]",
        '- "orders": now "owner: lena", was "owner: jonas"; since 2026-03-05 14:20 by mira; the catalog says otherwise '
        "now [ID]",
    ]
    assert ({one.urn for one in view.news}, view.looked_at, view.changed) == ({ORDERS}, 2, 1)


def test_nothing_changed_is_one_line(memory: Memory) -> None:
    handed(memory, TUESDAY, ORDERS)
    memory.remember([mcp(FACTS, "globalTags", tags("gold"))], at=FRIDAY)
    assert since_last(memory).text == (
        "nothing changed in 1 entity that you work with; your last session ended 4 days ago, 2026-03-03 08:00"
    )


def test_two_changes_are_told_as_one_from_what_the_agent_knew(memory: Memory) -> None:
    handed(memory, TUESDAY, ORDERS)
    memory.remember([mcp(ORDERS, "ownership", owners("lena"))], at="2026-03-04T08:00:00Z")
    memory.remember([mcp(ORDERS, "ownership", owners("amara"))], at=FRIDAY)
    (news,) = since_last(memory).news
    assert 'now "owner: amara", was "owner: jonas"' in news.statement.text
    assert "lena" not in news.statement.text


def test_an_entity_is_compared_with_when_it_was_last_handed_over(memory: Memory) -> None:
    handed(memory, TUESDAY, ORDERS)
    memory.remember([mcp(ORDERS, "ownership", owners("lena"))], at="2026-03-04T08:00:00Z")
    handed(memory, "2026-03-05T08:00:00Z", CARTS)
    memory.remember([mcp(ORDERS, "globalTags", tags("pii"))], at=FRIDAY)
    assert len(since_last(memory).news) == 1  # a first tag is stated first: no change
    handed(memory, "2026-03-06T09:00:00Z", ORDERS)
    assert since_last(memory).news == ()


def test_what_was_handed_over_in_this_session_is_no_earlier_session(memory: Memory) -> None:
    handed(memory, TUESDAY, ORDERS, session="one")
    memory.remember([mcp(ORDERS, "ownership", owners("lena"))], at=FRIDAY)
    handed(memory, "2026-03-06T09:00:00Z", ORDERS, session="two")
    assert [one.urn for one in since_last(memory, session="two").news] == [ORDERS]
    assert since_last(memory, session="three").news == ()


def test_what_went_away_is_told_once_and_its_beliefs_not_as_current(memory: Memory) -> None:
    handed(memory, TUESDAY, ORDERS)
    memory.remember([mcp(ORDERS, "status", status(removed=True))], at=FRIDAY)
    view = since_last(memory)
    assert view.text.startswith("orders: gone, between 2026-03-02 08:00 and 2026-03-06 08:00; your last session")
    (news,) = view.news
    assert news.statement.text.startswith('- "orders": now "soft-deleted", was "exists"; ')
    assert "jonas" not in view.text


def test_what_it_noted_on_is_what_it_works_with_and_what_others_note_is_news(memory: Memory) -> None:
    clock = FixedClock(parse(TUESDAY), step=1)
    note(memory.store, urn=FACTS, text="Loaded at night.", observer=AGENT, clock=clock, holder="test:1:")
    handed(memory, "2026-03-03T09:00:00Z")
    memory.consolidate(at="2026-03-03T10:00:00Z")
    own = since_last(memory)
    assert [one.urn for one in own.news] == [FACTS]
    assert own.text.startswith("facts: 1 note more; your last session")
    handed(memory, "2026-03-04T09:00:00Z", FACTS)
    clock.at, said = parse("2026-03-05T08:00:00Z"), "Refunds are missing in May."
    note(
        memory.store,
        urn=FACTS,
        text=said,
        observer="person:mira",
        clock=clock,
        holder="test:1:",
    )
    memory.consolidate(at=FRIDAY)
    (news,) = since_last(memory).news
    assert said in news.statement.text
    assert "by mira" in news.statement.text


def test_entities_can_be_named(memory: Memory) -> None:
    handed(memory, TUESDAY)
    memory.remember([mcp(ORDERS, "ownership", owners("lena")), mcp(CARTS, "globalTags", tags("silver"))], at=FRIDAY)
    assert {one.urn for one in since_last(memory, texts=(CARTS,)).news} == {CARTS}
    assert since_last(memory).looked_at == 0


def test_at_every_budget_it_is_within_it_and_counts_what_it_leaves_out(memory: Memory) -> None:
    handed(memory, TUESDAY, ORDERS, CARTS, FACTS)
    memory.remember(
        [
            mcp(ORDERS, "ownership", owners("lena")),
            mcp(ORDERS, "schemaMetadata", schema(("id", "int"))),
            mcp(CARTS, "globalTags", tags("silver")),
            mcp(FACTS, "datasetProperties", text("One row an hour.")),
        ],
        at=FRIDAY,
    )
    whole = [one.statement.text for one in since_last(memory).news]
    assert len(whole) == 5
    for budget in range(1, 400):
        view = since_last(memory, budget=budget)
        assert tokens_of(view.text) == view.tokens <= budget
        told = [one.statement.text for one in view.news]
        assert [one for one in whole if one in told] == told
        assert all(one in view.text.split("\n") for one in told)
        assert len(told) + view.left_out == 5
        if told and view.left_out:
            assert view.text.endswith(
                f"not shown: {view.left_out}; they are in: palimpsest changes --since 2026-03-03T08:00:00Z"
            )


def test_deliveries_are_forgotten_in_time(memory: Memory) -> None:
    handed(memory, MONDAY, ORDERS)
    handed(memory, FRIDAY, CARTS)
    clock = FixedClock(parse("2026-06-02T08:00:00Z"), step=0)
    kept = prune(memory.store, recalls_days=0, runs_days=0, deliveries_days=0, clock=clock)
    gone = prune(memory.store, recalls_days=0, runs_days=0, deliveries_days=90, clock=clock)
    assert (kept.deliveries, gone.deliveries) == (0, 1)
    assert since_last(memory).looked_at == 1


def test_the_same_delivery_told_twice_is_one(memory: Memory) -> None:
    for _ in range(2):
        handed(memory, TUESDAY, ORDERS)
    with memory.store.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM delivery").scalar() == 1


def test_a_delivery_is_of_an_agent_whatever_it_calls_itself(memory: Memory) -> None:
    handed(memory, TUESDAY, ORDERS, agent="person:mira")
    with memory.store.engine.connect() as connection:
        row = connection.exec_driver_sql("SELECT agent, entities FROM delivery").one()
    ids: Ids = memory.store.ids
    assert tuple(row) == ("agent:person:mira", f'["{ids.entity(ORDERS).hex()}"]')
