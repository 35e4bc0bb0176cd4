"""digest: what happened in a time, for everybody or one owner; nothing of a first reading, nothing of a quiet week."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from palimpsest.core.digest import MOST_WORDS_A_WEEK, as_text
from palimpsest.core.errors import UsageError
from palimpsest.core.moment import parse
from palimpsest.queries.digest import DigestRequest, DigestView, digest
from palimpsest.store.schema import version
from tests.building import Memory, dataset, lineage, mcp, owners, schema, status, tags, text

pytestmark = pytest.mark.usefixtures("dialect")

ORDERS, FACTS = dataset("shop.orders"), dataset("shop.facts")
MONDAY, TUESDAY, FRIDAY = "2026-03-02T08:00:00Z", "2026-03-03T08:00:00Z", "2026-03-06T08:00:00Z"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = Memory(tmp_path)
    memory.remember(
        [
            mcp(ORDERS, "datasetProperties", text("Every order")),
            mcp(ORDERS, "schemaMetadata", schema(("id", "int"), ("discount", "numeric"))),
            mcp(ORDERS, "ownership", owners("mira")),
            mcp(FACTS, "ownership", owners("jonas")),
            mcp(FACTS, "upstreamLineage", lineage([ORDERS])),
        ],
        at=MONDAY,
    )
    return memory


def of(memory: Memory, since: str, until: str = "2026-03-08", owner: str | None = None) -> DigestView:
    request = DigestRequest(since=parse(since), until=parse(until), limit=MOST_WORDS_A_WEEK, owner=owner)
    return digest(memory.store, request)


def told(view: DigestView) -> dict[str, list[str]]:
    """Head → sentences."""
    return {section.head: [one.text for one in section.sentences] for section in view.sections}


def test_a_first_reading_is_no_news(memory: Memory) -> None:
    view = of(memory, "2026-03-01")
    assert (view.empty, view.words, view.sections, view.title) == (True, 0, (), "")


def test_a_quiet_week_is_empty_whatever_was_before_it(memory: Memory) -> None:
    for day, name in enumerate(("gold", "pii", "gold", "pii", "gold", "pii"), start=3):
        memory.remember([mcp(ORDERS, "globalTags", tags(name))], at=f"2026-03-{day:02}T08:00:00Z")
    memory.remember([mcp(ORDERS, "schemaMetadata", schema(("id", "int")))], at="2026-03-08T08:00:00Z")
    memory.note(ORDERS, "Loaded every hour", by="agent:codex", kind="decision", at="2026-03-08T09:00:00Z")
    memory.consolidate()
    memory.remember([mcp(ORDERS, "globalTags", tags("pii"))], at="2026-03-12T08:00:00Z")
    assert len(told(of(memory, "2026-03-01", "2026-03-09"))) == 4
    assert of(memory, "2026-03-09T00:00:00Z", "2026-03-16").empty


def test_what_changed_and_grew_stale_is_told_once_the_breaking_first(memory: Memory) -> None:
    memory.remember(
        [
            mcp(ORDERS, "ownership", owners("lena", at="2026-03-02T20:00:00Z", by="mira")),
            mcp(ORDERS, "schemaMetadata", schema(("id", "int"))),
        ],
        at=TUESDAY,
    )
    memory.remember([mcp(ORDERS, "schemaMetadata", schema(("id", "bigint")))], at=FRIDAY)
    assert told(of(memory, TUESDAY, "2026-03-04")) == {
        "Changed": [
            "orders.discount: column gone (breaking, 1 downstream)",
            "orders: owner was mira, now lena, by mira",
        ],
        "Grew stale": [
            "orders: description since 2026-03-02 is older than 2 later changes: "
            "column id changed 2026-03-06, column discount gone 2026-03-03"
        ],
    }
    assert told(of(memory, "2026-03-05")) == {"Changed": ["orders.id: type was int, now bigint"]}


def test_every_sentence_names_a_belief_that_is_held(memory: Memory) -> None:
    many = [dataset(f"shop.t{number}") for number in range(5)]
    memory.remember([mcp(one, "globalTags", tags("old")) for one in many], at=TUESDAY)
    memory.remember(
        [*(mcp(one, "globalTags", tags("new")) for one in many), mcp(ORDERS, "status", status(removed=True))], at=FRIDAY
    )
    memory.note(ORDERS, "Loaded every hour", by="agent:codex", kind="decision")
    memory.consolidate()
    view = of(memory, TUESDAY)
    with memory.store.engine.connect() as connection:
        held = {row[:3].hex() + row[8:11].hex() for row in connection.scalars(sa.select(version.c.belief_id))}
    sentences = [one for section in view.sections for one in section.sentences]
    assert "tag was old, now new on 5 datasets: t0, t1, t2 and 2 more" in told(view)["Changed"]
    assert all(one.refs and set(one.refs) <= held for one in sentences)
    assert all(f"[{one.refs[0]}]" in as_text(view.packed) for one in sentences)


def test_what_is_contested_or_proposed_is_told_while_nobody_has_decided(memory: Memory) -> None:
    memory.note(ORDERS, "Orders are loaded hourly", by="person:mira", kind="quality", at=TUESDAY)
    memory.consolidate()
    memory.note(ORDERS, "Orders are loaded daily", by="agent:codex", kind="quality", at="2026-03-04T08:00:00Z")
    memory.note(FACTS, "Facts are kept for two years", by="agent:codex", kind="decision")
    memory.consolidate()
    view = of(memory, "2026-03-04")
    assert told(view) == {
        "Contested": ["orders: quality: Orders are loaded daily, by agent codex; mira said otherwise"],
        "Waits in the inbox": ["facts: decision: Facts are kept for two years, by agent codex"],
    }
    assert of(memory, "2026-03-05").empty
    memory.decide(memory.inbox()[0].item, "reject", by="person:mira")
    assert len(told(of(memory, "2026-03-04"))) == 1


def test_what_keeps_changing_is_told_with_how_often(memory: Memory) -> None:
    for day, name in enumerate(("gold", "pii", "gold", "pii", "gold"), start=2):
        memory.remember([mcp(ORDERS, "globalTags", tags(name))], at=f"2026-03-{day:02}T09:00:00Z")
    assert told(of(memory, "2026-03-06"))["Keeps changing"] == ["orders: tags changed 4 times so far"]
    assert "Keeps changing" not in told(of(memory, "2026-03-05", "2026-03-06T07:00:00Z"))


def test_an_owner_is_told_what_is_his_or_was_in_that_time_and_nothing_else(memory: Memory) -> None:
    memory.remember(
        [
            mcp(ORDERS, "ownership", owners("lena")),
            mcp(FACTS, "globalTags", tags("gold")),
            mcp(FACTS, "status", status(removed=True)),
        ],
        at=TUESDAY,
    )
    lost = "orders: owner was mira, now lena"
    gone = "facts: gone (soft-deleted) (breaking, 0 downstream)"
    assert told(of(memory, TUESDAY, owner="mira")) == {"Changed": [lost]}
    assert told(of(memory, TUESDAY, owner="urn:li:corpuser:lena"))["Changed"] == [lost]
    assert told(of(memory, TUESDAY, owner="Jonas"))["Changed"] == [gone]
    assert of(memory, TUESDAY, owner="mira").title.endswith(", for mira")
    memory.remember([mcp(ORDERS, "globalTags", tags("pii"))], at=FRIDAY)
    memory.remember([mcp(ORDERS, "globalTags", tags("gold"))], at="2026-03-07T08:00:00Z")
    assert of(memory, FRIDAY, owner="mira").empty
    assert not of(memory, FRIDAY, owner="lena").empty


def test_somebody_who_never_owned_anything_is_a_usage_error(memory: Memory) -> None:
    with pytest.raises(UsageError, match="never did"):
        of(memory, TUESDAY, owner="nobody")
