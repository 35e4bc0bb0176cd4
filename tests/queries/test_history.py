"""history and why: every version with its interval, reason and evidence; beliefs found by the beginning of their id."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from palimpsest.core.errors import UsageError
from palimpsest.core.moment import parse
from palimpsest.queries.held import When
from palimpsest.queries.history import BeliefHistory, IntervalView, history, why
from tests.building import Memory, dataset, mcp, owners, schema, status, tags

pytestmark = pytest.mark.usefixtures("dialect")

ORDERS = dataset("shop.public.orders")
MONDAY, TUESDAY, FRIDAY = "2026-03-02T08:00:00Z", "2026-03-03T08:00:00Z", "2026-03-06T08:00:00Z"
NOW = When(now=parse("2026-03-09T00:00:00Z"))


def day(number: int, hour: int = 8, minute: int = 0) -> datetime:
    return datetime(2026, 3, number, hour, minute, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path)


def of(memory: Memory, aspect: str, key: str | None = None, when: When = NOW) -> BeliefHistory:
    (found,) = history(memory.store, ORDERS, aspect, key, when).beliefs
    return found


def test_an_owner_change_has_both_owners_the_reason_and_the_evidence(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "ownership", owners("jonas"))], at=MONDAY)
    report = memory.remember(
        [mcp(ORDERS, "ownership", owners("lena", at="2026-03-05T14:20:00Z", by="mira"))], at=FRIDAY
    )
    now, was = of(memory, "ownership").versions
    assert [(v.number, v.state, v.current, v.statement, v.since, v.until) for v in (now, was)] == [
        (2, "current", True, "owner: lena", day(5, 14, 20), None),
        (1, "superseded", False, "owner: jonas", day(2), day(5, 14, 20)),
    ]
    assert (was.ended_reason, was.successor) == ("the catalog says otherwise now", 2)
    assert (now.evidence.by, now.evidence.run, now.evidence.observed) == ("mira", report.run, day(6))
    assert was.ended_by == now.evidence


def test_a_revert_says_so(memory: Memory) -> None:
    for owner, at in (("jonas", MONDAY), ("lena", TUESDAY), ("jonas", FRIDAY)):
        memory.remember([mcp(ORDERS, "ownership", owners(owner))], at=at)
    assert [version.reverts_to for version in of(memory, "ownership").versions] == [1, None, None]


def test_a_quiet_version_is_marked(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "schemaMetadata", schema(("id", "varchar")))], at=MONDAY)
    memory.remember([mcp(ORDERS, "schemaMetadata", schema(("id", "text")))], at=TUESDAY)
    assert [version.quiet for version in of(memory, "column", "id").versions] == [True, False]


def test_a_retraction_names_its_ground_and_its_episode(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "schemaMetadata", schema(("id", "int"), ("discount", "int")))], at=MONDAY)
    report = memory.remember([mcp(ORDERS, "schemaMetadata", schema(("id", "int")))], at=TUESDAY)
    (version,) = of(memory, "column", "discount").versions
    assert (version.state, version.until) == ("retracted", day(3))
    assert version.ended_reason == "its raw aspect was read whole and no longer lists it"
    assert version.ended_by is not None
    assert (version.ended_by.kind, version.ended_by.run) == ("removed", report.run)


def test_history_is_clipped_by_existence(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "ownership", owners("jonas"))], at=MONDAY)
    memory.remember([mcp(ORDERS, "status", status(removed=True))], at=TUESDAY)
    assert [version.current for version in of(memory, "ownership").versions] == [False]
    memory.remember([mcp(ORDERS, "status", status())], at=FRIDAY)
    (version,) = of(memory, "ownership").versions
    assert version.current
    assert version.held == (IntervalView(start=day(2), end=day(3)), IntervalView(start=day(6), end=None))
    gone = When(now=NOW.now, as_of=parse("2026-03-04T00:00:00Z"))
    assert [version.current for version in of(memory, "ownership", when=gone).versions] == [False]


def test_members_of_a_set_have_their_own_since(memory: Memory) -> None:
    for names, at in ((("gold",), MONDAY), (("gold", "pii"), TUESDAY), (("pii", "raw"), FRIDAY)):
        memory.remember([mcp(ORDERS, "globalTags", tags(*names))], at=at)
    assert [(one.label, one.since) for one in of(memory, "tags").members] == [("pii", day(3)), ("raw", day(6))]


def test_known_at_shows_what_was_recorded_by_then(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "ownership", owners("jonas"))], at=MONDAY)
    memory.scan([mcp(ORDERS, "ownership", owners("lena"))], at=TUESDAY)
    memory.consolidate(at=FRIDAY)
    then = When(now=NOW.now, known_at=parse("2026-03-04T00:00:00Z"))
    (only,) = of(memory, "ownership", when=then).versions
    assert (only.statement, only.state, only.current, only.until) == ("owner: jonas", "current", True, None)


def test_an_unknown_aspect_or_key_names_those_there_are(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "schemaMetadata", schema(("id", "int")))], at=MONDAY)
    with pytest.raises(UsageError, match="'owner' is no aspect"):
        history(memory.store, ORDERS, "owner", None, NOW)
    with pytest.raises(UsageError, match="nothing is remembered of column 'x'") as wrong:
        history(memory.store, ORDERS, "column", "x", NOW)
    assert wrong.value.hint == "its keys: id"


def test_a_belief_is_found_by_its_id_its_beginning_and_its_short_name(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "ownership", owners("jonas")), mcp(ORDERS, "globalTags", tags("gold"))], at=MONDAY)
    belief = of(memory, "ownership")
    for text in (belief.id, belief.id.upper(), belief.id[:20], belief.ref, belief.ref[:9]):
        assert why(memory.store, text, NOW).belief == belief
    with pytest.raises(UsageError, match="can mean any of") as several:
        why(memory.store, belief.id[:6], NOW)
    assert "(owner: jonas)" in several.value.message
    with pytest.raises(UsageError, match="no belief 'ffffffffffff'"):
        why(memory.store, "ffffffffffff", NOW)
    with pytest.raises(UsageError, match="'12345' is no belief"):
        why(memory.store, "12345", NOW)
