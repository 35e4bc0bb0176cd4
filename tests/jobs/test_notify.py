"""notify: each change once to each who is to be told, whatever is late, down, or broken off in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.errors import LeaseHeldError
from palimpsest.core.moment import Moment, parse
from palimpsest.core.notice import Message, Rule
from palimpsest.core.patience import Failure
from palimpsest.jobs import notify as job
from palimpsest.jobs.notify import NotifyReport, NotifyRequest
from palimpsest.queries.notices import news_since
from palimpsest.store import notices, runs
from palimpsest.store.engine import Store
from palimpsest.store.schema import cell, episode, metadata, notice_sent, run
from palimpsest.testing import FixedClock, NoProgress
from tests.building import Memory, Record, dataset, mcp, owners, schema, siblings, status, tags, text

ORDERS, REFUNDS = dataset("shop.orders"), dataset("shop.refunds")
TO_OWNERS = Rule(
    name="owners", to="mail", recipient="owners", impact=Impact.MINOR,
    addresses={"ann": "ann@example.org", "bob": "bob@example.org", "eve": "eve@example.org"},
)  # fmt: skip
TEAM = Rule(name="team", to="slack", recipient="TEAM_URL", impact=Impact.MINOR)
DAY = 86_400_000


class Post:
    """Takes messages, but not those for who is `down`."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, Message]] = []
        self.down: dict[str, Failure] = {}
        self.before: Callable[[str], None] = lambda address: None

    def send(self, message: Message, address: str) -> Failure | None:
        """Take one."""
        self.before(address)
        if address in self.down:
            return self.down[address]
        self.taken.append((address, message))
        return None

    def close(self) -> None:
        """Nothing is open."""

    def lines(self) -> dict[str, list[str]]:
        """What came for each, and is cleared."""
        found: dict[str, list[str]] = {}
        for address, message in self.taken:
            found.setdefault(address, []).extend(line.text.partition(", between")[0] for line in message.lines)
        self.taken.clear()
        return found


class Telling:
    """A memory, and who is told of it."""

    def __init__(self, folder: Path) -> None:
        self.memory = Memory(folder)
        self.post = Post()

    @property
    def store(self) -> Store:
        """Its store."""
        return self.memory.store

    def remember(self, *records: Record, day: int, consolidate: bool = True) -> None:
        """Scan and consolidate what is read that day of March."""
        at = f"2026-03-{day:02}T08:00:00Z"
        (self.memory.remember if consolidate else self.memory.scan)(list(records), at=at)

    def notify(self, *rules: Rule, since: str = "", at: int | None = None, holder: str = "test:1:") -> NotifyReport:
        """Tell what is new, now or at a time."""
        clock = self.memory._tick() if at is None else FixedClock(Moment(at))
        request = NotifyRequest(rules=rules or (TO_OWNERS,), since=parse(since) if since else None)
        ways = {"mail": self.post, "slack": self.post}
        return job.notify(self.store, request, self.read, ways, clock=clock, progress=NoProgress(), holder=holder)

    def read(self, since: Moment) -> Sequence[Any]:
        """The news since a time."""
        return news_since(self.store, since, self.memory.clock.at)


@pytest.fixture
def telling(tmp_path: Path) -> Telling:
    """A memory of two tables of Ann's, whose rules have begun."""
    made = Telling(tmp_path)
    made.remember(
        mcp(ORDERS, "status", status()), mcp(REFUNDS, "status", status()),
        mcp(ORDERS, "ownership", owners("ann")), mcp(REFUNDS, "ownership", owners("ann")),
        mcp(ORDERS, "schemaMetadata", schema(("id", "int"), ("total", "int"))),
        day=1,
    )  # fmt: skip
    made.notify(TO_OWNERS, TEAM)
    assert made.post.lines() == {}
    return made


def tagged(urn: str, *names: str) -> Record:
    """A table with tags."""
    return mcp(urn, "globalTags", tags(*names))


def test_a_rule_that_is_new_begins_now_and_tells_nothing_of_the_past(telling: Telling) -> None:
    telling.remember(mcp(ORDERS, "ownership", owners("bob")), day=2)
    new = Rule(name="new", to="mail", recipient="new@example.org", impact=Impact.MINOR)
    assert telling.notify(new).begun == ("new",)
    assert telling.post.lines() == {}
    telling.remember(mcp(ORDERS, "ownership", owners("eve")), day=3)
    assert telling.notify(new).begun == ()
    assert telling.post.lines() == {"new@example.org": ["orders: owner was bob, now eve"]}


def test_a_new_rule_tells_of_the_past_where_it_is_told_since_when(telling: Telling) -> None:
    telling.remember(mcp(ORDERS, "ownership", owners("bob")), day=2)
    telling.remember(mcp(ORDERS, "ownership", owners("eve")), day=3)
    new = Rule(name="new", to="mail", recipient="new@example.org", impact=Impact.MINOR)
    telling.notify(new, since="2026-03-03")
    assert telling.post.lines() == {"new@example.org": ["orders: owner was bob, now eve"]}
    telling.notify(new, since="2026-03-01")
    assert telling.post.lines() == {}


def test_a_rule_may_begin_before_a_scan_and_tells_what_that_finds(telling: Telling) -> None:
    new = Rule(name="new", to="mail", recipient="new@example.org", impact=Impact.MINOR)
    assert job.begin(telling.store, [new], clock=telling.memory._tick()) == ["new"]
    assert job.begin(telling.store, [new], clock=telling.memory._tick()) == []
    telling.remember(mcp(ORDERS, "ownership", owners("bob")), day=2)
    telling.notify(new)
    assert telling.post.lines() == {"new@example.org": ["orders: owner was ann, now bob"]}


def test_each_change_is_told_once_by_each_rule_and_both_owners_hear_of_a_change_of_owner(telling: Telling) -> None:
    telling.remember(mcp(ORDERS, "ownership", owners("bob")), day=2)
    said = ["orders: owner was ann, now bob"]
    telling.notify(TO_OWNERS, TEAM)
    assert telling.post.lines() == {"ann@example.org": said, "bob@example.org": said, "TEAM_URL": said}
    for _ in range(2):
        assert telling.notify(TO_OWNERS, TEAM).notices == ()
    assert telling.post.lines() == {}


def test_a_recipient_gets_one_message_however_much_changed(telling: Telling) -> None:
    telling.remember(mcp(ORDERS, "ownership", owners("bob")), tagged(REFUNDS, "pii"), day=2)
    telling.remember(tagged(REFUNDS, "pii", "gold"), tagged(ORDERS, "gold"), day=3)
    telling.notify(TEAM)
    assert len(telling.post.taken) == 1
    assert telling.post.lines() == {
        "TEAM_URL": ["orders: owner was ann, now bob", "refunds: tag gold added"],
    }  # fmt: skip


def test_first_readings_and_quiet_changes_are_told_to_nobody(telling: Telling) -> None:
    telling.memory.remember([tagged(ORDERS, "pii")], at="2026-03-02T08:00:00Z", source="another")
    telling.remember(tagged(ORDERS, "pii"), day=3)
    telling.notify(TO_OWNERS, TEAM)
    assert telling.post.lines() == {}


def test_what_breaks_is_told_to_the_owners_of_what_is_gone(telling: Telling) -> None:
    telling.remember(
        mcp(ORDERS, "ownership", owners()), mcp(ORDERS, "status", status(removed=True)),
        mcp(REFUNDS, "status", status(removed=True)), day=2,
    )  # fmt: skip
    telling.notify()
    (address, told) = telling.post.taken[0]
    assert (len(telling.post.taken), address, told.breaking) == (1, "ann@example.org", 2)
    assert [line.text.partition(",")[0] for line in told.lines] == [
        "orders: gone (soft-deleted) (breaking", "refunds: gone (soft-deleted) (breaking", "orders: owner ann removed",
    ]  # fmt: skip


def test_owners_who_were_taken_away_before_it_went_are_told_still_where_none_came_after(telling: Telling) -> None:
    telling.remember(mcp(ORDERS, "ownership", owners()), day=2)
    telling.notify()
    telling.post.lines()
    telling.remember(mcp(ORDERS, "status", status(removed=True)), day=4)
    telling.notify()
    assert list(telling.post.lines()) == ["ann@example.org"]


def test_who_is_down_gets_it_the_next_time_and_the_others_at_once(telling: Telling) -> None:
    telling.post.down["ann@example.org"] = Failure(status=500, text="down")
    telling.remember(mcp(ORDERS, "ownership", owners("bob")), day=2)
    report = telling.notify(TO_OWNERS, TEAM)
    said = ["orders: owner was ann, now bob"]
    assert telling.post.lines() == {"bob@example.org": said, "TEAM_URL": said}
    assert [(one.address, one.failure) for one in report.notices if one.failure] == [
        ("ann@example.org", "did not accept it (500): down")
    ]
    telling.remember(tagged(ORDERS, "x"), tagged(REFUNDS, "x"), day=5)
    telling.notify(TO_OWNERS, TEAM)
    telling.post.lines()
    telling.remember(tagged(ORDERS, "y"), tagged(REFUNDS, "y"), day=9)
    telling.post.down.clear()
    telling.notify(TO_OWNERS, TEAM)
    assert telling.post.lines() == {
        "ann@example.org": ["orders: owner was ann, now bob", "refunds: tag was x, now y"],
        "bob@example.org": ["orders: tag was x, now y"],
        "TEAM_URL": ["orders: tag was x, now y", "refunds: tag was x, now y"],
    }
    assert telling.notify(TO_OWNERS, TEAM).notices == ()


def test_what_is_judged_late_is_told_late_and_what_came_meanwhile_once(telling: Telling) -> None:
    telling.remember(mcp(ORDERS, "ownership", owners("bob")), day=2, consolidate=False)
    telling.notify(TEAM)
    assert telling.post.lines() == {}
    telling.memory.scan([tagged(REFUNDS, "pii")], at="2026-03-10T08:00:00Z", source="another")
    telling.notify(TEAM, at=parse("2026-03-20"))
    telling.memory.consolidate(at="2026-03-21T08:00:00Z")
    telling.notify(TEAM)
    assert telling.post.lines() == {"TEAM_URL": ["orders: owner was ann, now bob"]}
    assert telling.notify(TEAM).notices == ()


def test_a_run_that_is_at_work_holds_the_position_back(telling: Telling) -> None:
    store, at = telling.store, parse("2026-03-02")
    lease = runs.acquire(store, job="scan", source_name="slow", rules="", now=at, holder="elsewhere:1:")
    assert store.read(lambda connection: notices.settled(connection, parse("2026-03-09"))) == at
    runs.release(store, lease, state="done", now=at, counts={})
    assert store.read(lambda connection: notices.settled(connection, parse("2026-03-09"))) == parse("2026-03-09")


def test_a_machine_whose_clock_is_half_an_hour_behind_is_heard(telling: Telling) -> None:
    telling.notify(TEAM, at=parse("2026-03-05T09:00:00Z"))
    telling.memory.remember([mcp(ORDERS, "ownership", owners("bob"))], at="2026-03-05T08:30:00Z")
    telling.notify(TEAM, at=parse("2026-03-05T09:01:00Z"))
    assert telling.post.lines() == {"TEAM_URL": ["orders: owner was ann, now bob"]}


def test_what_was_told_is_held_by_name_only_as_long_as_it_may_be_looked_over_again(telling: Telling) -> None:
    def held() -> int:
        counted = sa.select(sa.func.count()).select_from(notice_sent)
        return int(telling.store.read(lambda connection: connection.scalar(counted)) or 0)

    telling.remember(mcp(ORDERS, "ownership", owners("bob")), day=2)
    telling.notify(TO_OWNERS, TEAM)
    assert held() == 3
    telling.notify(TO_OWNERS, TEAM, at=parse("2026-03-04"))
    assert held() == 0


def test_what_a_catalog_kept_from_before_it_was_read_is_no_news(telling: Telling) -> None:
    telling.remember(mcp(ORDERS, "ownership", owners("bob")), day=2)
    telling.store.write(lambda connection: connection.execute(sa.update(run).values(job="backfill")))
    assert telling.notify(TEAM).notices == ()


def test_siblings_that_changed_alike_are_one_line_and_both_owners_are_told(tmp_path: Path) -> None:
    telling = Telling(tmp_path)
    model, table = dataset("shop.orders", "dbt"), dataset("shop.orders", "snowflake")
    both = [mcp(model, "siblings", siblings(table)), mcp(table, "siblings", siblings(model))]
    telling.remember(
        *both, mcp(model, "ownership", owners("ann")), mcp(table, "ownership", owners("bob")), tagged(model, "a"),
        tagged(table, "a"), day=1,
    )  # fmt: skip
    telling.notify()
    telling.remember(tagged(model, "b"), tagged(table, "b"), day=2)
    telling.notify()
    said = ["orders (dbt and snowflake): tag was a, now b"]
    assert telling.post.lines() == {"ann@example.org": said, "bob@example.org": said}


def test_what_waits_for_a_person_to_decide_is_one_line_once(telling: Telling) -> None:
    memory = telling.memory
    memory.note(ORDERS, "Refunds are left out of totals", by="person:mira", at="2026-03-02T08:00:00Z", kind="decision")
    memory.consolidate()
    memory.note(
        ORDERS, "Refunds are not left out of totals", by="agent:bot", at="2026-03-03T08:00:00Z", kind="decision"
    )
    memory.consolidate()
    items = memory.inbox()
    assert len(items) == 1
    telling.notify(TO_OWNERS, TEAM)
    said = [f"orders: {items[0].state}: decision: Refunds are not left out of totals"]
    assert telling.post.lines() == {"ann@example.org": said, "TEAM_URL": said}
    telling.notify(TO_OWNERS, TEAM)
    assert telling.post.lines() == {}


def test_what_nobody_can_be_told_is_counted_once(telling: Telling) -> None:
    telling.remember(mcp(ORDERS, "ownership", owners("nobody")), day=2)
    telling.notify()
    telling.post.lines()
    telling.remember(tagged(ORDERS, "a"), day=3)
    telling.remember(tagged(ORDERS, "b"), day=4)
    assert dict(telling.notify().unreached) == {"owners": 1}
    assert dict(telling.notify().unreached) == {}


def test_a_preview_says_the_same_and_writes_nothing(telling: Telling) -> None:
    telling.remember(mcp(ORDERS, "ownership", owners("bob")), day=2)

    def rows() -> list[object]:
        with telling.store.engine.connect() as connection:
            return [connection.execute(sa.select(table)).all() for table in metadata.sorted_tables]

    before = rows()
    request = NotifyRequest(rules=(TO_OWNERS, TEAM))
    preview = job.preview(telling.store, request, telling.read, clock=telling.memory.clock)
    assert rows() == before
    sent = telling.notify(TO_OWNERS, TEAM)
    assert preview.notices == sent.notices
    assert [message for _, message in telling.post.taken] == [one.message for one in sent.notices]


def test_what_broke_off_after_a_message_was_taken_repeats_none_that_was_written_down(telling: Telling) -> None:
    telling.remember(mcp(ORDERS, "ownership", owners("bob")), day=2)

    def before(address: str) -> None:
        if address == "bob@example.org":
            raise RuntimeError("the power went")

    telling.post.before = before
    with pytest.raises(RuntimeError, match="power"):
        telling.notify()
    telling.post.before = lambda address: None
    telling.notify()
    assert [address for address, _ in telling.post.taken] == ["ann@example.org", "bob@example.org"]


def test_a_message_that_is_sent_again_has_the_same_key(telling: Telling) -> None:
    telling.remember(mcp(ORDERS, "ownership", owners("bob")), day=2)
    telling.post.down["TEAM_URL"] = Failure(status=500, text="down")
    first = telling.notify(TEAM).notices[0].message
    assert telling.notify(TEAM).notices[0].message == first


def test_two_do_not_notify_at_once(telling: Telling) -> None:
    telling.remember(mcp(ORDERS, "ownership", owners("bob")), day=2)
    raised: list[LeaseHeldError] = []

    def before(address: str) -> None:
        telling.post.before = lambda address: None
        with pytest.raises(LeaseHeldError) as caught:
            telling.notify(TEAM, holder="another:2:")
        raised.append(caught.value)

    telling.post.before = before
    telling.notify(TEAM)
    assert (len(raised), len(telling.post.taken)) == (1, 1)


def test_no_address_and_no_person_is_held(telling: Telling) -> None:
    telling.post.down["ann@example.org"] = Failure(status=500, text="down")
    telling.remember(mcp(ORDERS, "ownership", owners("bob")), day=2)
    telling.notify(TO_OWNERS, TEAM)
    with telling.store.engine.connect() as connection:
        held = [connection.execute(sa.text(f"SELECT * FROM {name}")).all() for name in ("notice_cursor", "notice_sent")]
        told = connection.execute(sa.select(run.c.counts).where(run.c.job == "notify")).all()
    assert all(held)
    assert not any(name in repr((held, told)) for name in ("ann", "bob", "example.org", "TEAM_URL"))


def test_every_change_that_is_held_was_told_by_a_rule_for_all(telling: Telling) -> None:
    for day in range(2, 12):
        telling.remember(
            mcp(ORDERS, "ownership", owners("ann" if day % 2 else "bob")), tagged(REFUNDS, f"t{day}"),
            mcp(ORDERS, "datasetProperties", text(f"Orders, as of day {day // 3}")), day=day,
        )  # fmt: skip
        telling.notify(TEAM)
    with telling.store.engine.connect() as connection:
        changes = connection.scalar(
            sa.select(sa.func.count()).select_from(episode).join(cell, cell.c.id == episode.c.cell_id)
            .where(sa.not_(episode.c.baseline), episode.c.impact > 0)
        )  # fmt: skip
    assert sum(message.changes for _, message in telling.post.taken) == changes
