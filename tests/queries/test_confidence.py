"""How sure current beliefs are: confirmed by readings that covered them, raised by another origin, stored nowhere."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palimpsest.core.confidence import PRIOR, RATE, alone, corroborated, rates_of, still_true, weighed
from palimpsest.core.moment import parse, to_datetime
from palimpsest.jobs.note import note
from palimpsest.queries.beliefs import BeliefsRequest, beliefs
from palimpsest.queries.brief import brief
from palimpsest.queries.held import BeliefView, When
from palimpsest.queries.history import history, why
from palimpsest.queries.show import show
from palimpsest.store.confidence import learned_in
from palimpsest.store.schema import metadata, run
from palimpsest.testing import FixedClock
from tests.building import Memory, Record, dataset, mcp, owners, schema, status, tags

pytestmark = pytest.mark.usefixtures("dialect")

ORDERS, CARTS = dataset("shop.public.orders"), dataset("shop.carts")
MARCH_2, MARCH_12, MARCH_22 = "2026-03-02T08:00:00Z", "2026-03-12T08:00:00Z", "2026-03-22T08:00:00Z"
NOW = When(now=parse("2026-04-01T08:00:00Z"))
OWNED = [mcp(ORDERS, "status", status()), mcp(ORDERS, "ownership", owners("jonas"))]
TAGGED = [*OWNED, mcp(ORDERS, "globalTags", tags("gold"))]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path)


def told(memory: Memory, when: When = NOW, source: str = "file") -> dict[str, BeliefView]:
    return {one.aspect: one for one in show(memory.store, ORDERS, when).beliefs if one.source == source}


def confirmed(memory: Memory, when: When = NOW) -> dict[str, str]:
    return {aspect: _day(one.confirmed) for aspect, one in told(memory, when).items()}


def _day(at: datetime | None) -> str:
    assert at is not None
    return f"{at:%m-%d}"


def rows(memory: Memory) -> dict[str, list[tuple[object, ...]]]:
    with memory.store.engine.connect() as connection:
        return {
            table.name: sorted((tuple(row) for row in connection.execute(sa.select(table))), key=repr)
            for table in metadata.sorted_tables
        }


def last_counts(memory: Memory) -> str:
    with memory.store.engine.connect() as connection:
        statement = sa.select(run.c.counts).where(run.c.source.is_not(None)).order_by(run.c.started_at.desc())
        return str(connection.execute(statement).scalars().first())


def test_a_reading_without_change_confirms_what_it_covered(memory: Memory) -> None:
    memory.remember(TAGGED, at=MARCH_2)
    assert confirmed(memory) == {"ownership": "03-02", "tags": "03-02"}
    memory.remember(OWNED, at=MARCH_12)
    assert confirmed(memory) == {"ownership": "03-12", "tags": "03-02"}
    assert told(memory)["ownership"].confidence > told(memory)["tags"].confidence  # type: ignore[operator]


def test_the_number_is_what_the_model_gives_for_the_days_since(memory: Memory) -> None:
    memory.remember(OWNED, at=MARCH_2)
    # Nothing was watched yet: the prior. Neither the owner nor the dataset was looked at for 30 days, both are new.
    doubt = RATE * weighed("ownership", 0, 30) + RATE * 30
    assert told(memory)["ownership"].confidence == pytest.approx(2.718281828459045**-doubt)
    memory.remember(OWNED, at=MARCH_12)
    learned = learned_in(last_counts(memory))
    assert learned is not None
    one = learned["ownership"]["ownership"]
    assert (one.cells, one.watched.changes) == (1, 0)
    assert one.watched.days == pytest.approx(weighed("ownership", 0, 10), abs=1e-3)
    rates = rates_of({"ownership": one.watched, "existence": learned["status"]["existence"].watched})
    expected = still_true(rates, "ownership", age=10, days=20, unseen=20)
    assert told(memory)["ownership"].confidence == pytest.approx(expected, abs=1e-6)


def test_a_dataset_that_was_seen_later_than_its_owner_is_less_doubted(memory: Memory) -> None:
    memory.remember(OWNED, at=MARCH_2)
    memory.remember([mcp(ORDERS, "status", status())], at=MARCH_22)
    learned = learned_in(last_counts(memory))
    assert learned is not None
    rates = rates_of({part: one.watched for kinds in learned.values() for part, one in kinds.items()})
    expected = still_true(rates, "ownership", age=0, days=30, unseen=10)
    assert told(memory)["ownership"].confidence == pytest.approx(expected, abs=1e-6)
    # The owner was not read at the second reading: no day was watched.
    assert learned["ownership"]["ownership"].watched.days == 0
    assert learned["status"]["existence"].watched.days == 20


def test_a_change_that_nobody_judged_yet_confirms_nothing(memory: Memory) -> None:
    memory.remember(OWNED, at=MARCH_2)
    memory.remember(OWNED, at=MARCH_12)
    memory.scan([OWNED[0], mcp(ORDERS, "ownership", owners("lena"))], at=MARCH_22)
    assert (told(memory)["ownership"].statement, confirmed(memory)["ownership"]) == ("owner: jonas", "03-12")
    memory.consolidate()
    assert (told(memory)["ownership"].statement, confirmed(memory)["ownership"]) == ("owner: lena", "03-22")


def test_then_only_what_was_read_by_then_confirms(memory: Memory) -> None:
    for at in (MARCH_2, MARCH_12, MARCH_22):
        memory.remember(OWNED, at=at)
    then = When(now=NOW.now, as_of=parse("2026-03-15T00:00:00Z"))
    assert confirmed(memory, then) == {"ownership": "03-12"}
    # What was recorded by then: the readings' clock runs with them.
    known = When(now=NOW.now, known_at=parse("2026-03-15T00:00:00Z"))
    assert confirmed(memory, known) == {"ownership": "03-12"}
    assert told(memory, then)["ownership"].confidence > told(memory)["ownership"].confidence  # type: ignore[operator]
    # Between two readings that differ, what held then is known only by the earlier one.
    memory.remember([OWNED[0], mcp(ORDERS, "ownership", owners("lena"))], at="2026-03-30T08:00:00Z")
    before = When(now=NOW.now, as_of=parse("2026-03-29T00:00:00Z"))
    assert (told(memory, before)["ownership"].statement, confirmed(memory, before)["ownership"]) == (
        "owner: jonas",
        "03-22",
    )


def test_what_is_known_only_by_a_stamp_was_true_when_it_began(memory: Memory) -> None:
    memory.remember(OWNED, at=MARCH_2)
    stamped = mcp(ORDERS, "ownership", owners("lena", at="2026-03-20T08:00:00Z", by="mira"))
    memory.remember([OWNED[0], stamped], at=MARCH_22)
    then = When(now=NOW.now, as_of=parse("2026-03-21T08:00:00Z"))
    one = told(memory, then)["ownership"]
    assert (one.statement, _day(one.confirmed)) == ("owner: lena", "03-20")
    assert one.confidence is not None
    assert one.confidence < 1


def test_the_same_by_another_origin_raises_it_and_by_the_same_origin_does_not(memory: Memory) -> None:
    memory.remember(OWNED, at=MARCH_2, source="one")
    alone = told(memory, source="one")["ownership"].confidence
    assert alone is not None
    memory.remember(OWNED, at=MARCH_2, source="again")  # the same kind of file source: the same origin
    memory.remember([OWNED[0], mcp(ORDERS, "ownership", owners("lena"))], at=MARCH_2, source="third")
    assert told(memory, source="one")["ownership"].confidence == pytest.approx(alone)
    with memory.store.engine.begin() as connection:
        connection.execute(sa.text("UPDATE source SET origin = 'another server' WHERE name IN ('again', 'third')"))
    both = told(memory, source="one")["ownership"].confidence
    assert both == pytest.approx(corroborated([alone, alone]))
    assert told(memory, source="again")["ownership"].confidence == pytest.approx(both)
    assert told(memory, source="third")["ownership"].confidence == pytest.approx(alone)


def test_every_answer_tells_the_same_of_a_belief(memory: Memory) -> None:
    for source in ("one", "two"):
        memory.remember(TAGGED, at=MARCH_2, source=source)
    with memory.store.engine.begin() as connection:
        connection.execute(sa.text("UPDATE source SET origin = 'another server' WHERE name = 'two'"))
    memory.remember([OWNED[0]], at=MARCH_12, source="one")
    shown = told(memory, source="one")["tags"]
    sure = (shown.confidence, shown.confirmed)
    listed = beliefs(memory.store, BeliefsRequest(aspect="tags", source="one"), NOW).beliefs[0].belief
    assert (listed.confidence, listed.confirmed) == sure
    explained = why(memory.store, shown.id, NOW).belief
    assert (explained.confidence, explained.confirmed) == sure
    told_of = history(memory.store, ORDERS, "tags", None, NOW).beliefs[0]
    assert (told_of.confidence, told_of.confirmed) == sure


def test_what_is_not_current_has_none(memory: Memory) -> None:
    memory.remember(TAGGED, at=MARCH_2)
    memory.remember([mcp(ORDERS, "status", status(removed=True))], at=MARCH_12)
    page = show(memory.store, ORDERS, NOW)
    assert [(one.confidence, one.confirmed) for one in page.last_held] == [(None, None), (None, None)]
    listed = beliefs(memory.store, BeliefsRequest(aspect="tags", state=None), NOW).beliefs
    assert [(one.is_current, one.belief.confidence) for one in listed] == [(False, None)]


def test_a_brief_tells_doubt_and_what_was_confirmed_at_another_time(memory: Memory) -> None:
    memory.remember(TAGGED, at=MARCH_2)
    both = [OWNED[0], OWNED[1], mcp(ORDERS, "schemaMetadata", schema(("id", "bigint")))]
    memory.remember(both, at="2026-03-31T08:00:00Z")
    view = brief(memory.store, [ORDERS], 2_000, NOW)
    lines = {line.split('"')[1]: line for line in view.text.split("\n") if line.startswith("- ")}
    assert view.text.split("\n")[1] == f"dataset {ORDERS}; confirmed 1 day ago"
    assert re.search(r"; 9\d %, confirmed 30 days ago \[", lines["tag: gold"])
    assert "%" not in lines["owner: jonas"]
    assert view.entities[0].confirmed == to_datetime(parse("2026-03-31T08:00:00Z"))
    assert all(one.confidence is not None for one in view.entities[0].statements)


def test_a_note_fades_by_the_prior_from_when_it_was_said_or_said_again(memory: Memory) -> None:
    memory.remember(OWNED, at=MARCH_2)
    said = {"urn": ORDERS, "text": "Only complete after nine in the morning", "kind": "usage"}
    note(memory.store, **said, observer="person:mira", clock=FixedClock(memory.now(MARCH_2)), holder="test:1:")
    memory.consolidate()
    one = told(memory, source="notes")["usage"]
    assert (_day(one.confirmed), one.confidence) == ("03-02", pytest.approx(alone(age=0, days=30)))
    note(memory.store, **said, observer="agent:kim", clock=FixedClock(memory.now(MARCH_22)), holder="test:1:")
    memory.consolidate()
    one = told(memory, source="notes")["usage"]
    assert (one.version, _day(one.confirmed)) == (1, "03-22")
    assert one.confidence == pytest.approx(alone(age=20, days=10))


def test_columns_tell_theirs(memory: Memory) -> None:
    memory.remember([OWNED[0], mcp(ORDERS, "schemaMetadata", schema(("id", "bigint")))], at=MARCH_2)
    column = show(memory.store, ORDERS, NOW).columns[0]
    doubt = RATE * weighed("column", 0, 30) + RATE * 30
    assert column.confidence == pytest.approx(2.718281828459045**-doubt)
    assert column.confirmed == to_datetime(parse(MARCH_2))


def test_a_failed_scan_is_made_up_for_by_counting_the_cells(memory: Memory) -> None:
    memory.remember(OWNED, at=MARCH_2)
    with memory.store.engine.begin() as connection:
        broke = {"state": "failed", "counts": '{"failure":"lost"}', "written": 1}
        connection.execute(sa.update(run).where(run.c.source == "file").values(broke))
    memory.remember(OWNED, at=MARCH_12)
    learned = learned_in(last_counts(memory))
    assert learned is not None
    assert learned["ownership"]["ownership"].cells == 1
    assert learned["ownership"]["ownership"].watched.days == 10


_readings = st.lists(
    st.tuples(st.booleans(), st.booleans(), st.sampled_from(("jonas", "lena"))), min_size=1, max_size=4
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(readings=_readings)
def test_asking_changes_nothing_that_is_stored(tmp_path_factory: pytest.TempPathFactory, readings: object) -> None:
    memory = Memory(tmp_path_factory.mktemp("asked"))
    assert isinstance(readings, list)
    for day, (owned, tagged, owner) in enumerate(readings):
        records: list[Record] = [mcp(ORDERS, "status", status())]
        records += [mcp(ORDERS, "ownership", owners(owner))] if owned else []
        records += [mcp(ORDERS, "globalTags", tags("gold"))] if tagged else []
        memory.remember(records, at=f"2026-03-0{day + 1}T08:00:00Z")
    before = rows(memory)
    for when in (NOW, When(now=NOW.now, as_of=parse(MARCH_2)), When(now=NOW.now, known_at=parse(MARCH_2))):
        page = show(memory.store, ORDERS, when)
        assert all(one.confidence is not None and 0 < one.confidence <= 1 for one in page.beliefs)
        brief(memory.store, [ORDERS], 500, when)
        beliefs(memory.store, BeliefsRequest(), when)
    assert rows(memory) == before
    memory.store.dispose()


def test_the_prior_is_one_for_all() -> None:
    assert (PRIOR.of("tags"), PRIOR.of("existence")) == (RATE, RATE)
