"""Six years of one company's catalog, told to its owners: one message a checkpoint at most, nothing breaking left out.

The table in docs/notify.md is what comes of it here.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import sqlalchemy as sa

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.moment import Moment, parse
from palimpsest.core.notice import Message, News, Rule
from palimpsest.core.notice_lines import MOST_LINES
from palimpsest.core.patience import Failure
from palimpsest.jobs.index import index
from palimpsest.jobs.notify import NotifyRequest, notify
from palimpsest.queries.notices import news_since
from palimpsest.store.schema import cell, episode
from palimpsest.testing import NoProgress

pytestmark = [
    pytest.mark.long,
    pytest.mark.needs_shared("replays the checkpoints of a real catalog"),
    pytest.mark.xdist_group("replay"),
]

DOCS = Path(__file__).resolve().parents[2] / "docs" / "notify.md"
DAY = 86_400_000
EVERYBODY = "everybody"


@dataclass
class Told:
    """What one recipient got: message by checkpoint."""

    messages: dict[int, Message] = field(default_factory=dict)


@dataclass
class Replay:
    """What everybody got by a rule, and the news of each checkpoint."""

    told: dict[str, dict[str, Told]]
    news: dict[int, dict[tuple[object, ...], News]]
    changes: dict[int, Counter[int]]
    failed: list[str]


class Post:
    """Takes messages of one checkpoint after another, and notes a second one to the same."""

    def __init__(self, replay: Replay, rule: str) -> None:
        self.replay, self.rule, self.checkpoint = replay, rule, -1

    def send(self, message: Message, address: str) -> Failure | None:
        """Take one."""
        told = self.replay.told[self.rule].setdefault(address, Told())
        if self.checkpoint in told.messages:
            self.replay.failed.append(f"{address} got two in {self.checkpoint}")
        told.messages[self.checkpoint] = message
        return None

    def close(self) -> None:
        """Nothing is open."""


def owners_in(store) -> list[str]:
    """Every owner that was ever held."""
    with store.engine.connect() as connection:
        values = connection.execute(
            sa.select(episode.c.value).join(cell, cell.c.id == episode.c.cell_id).where(cell.c.aspect == "ownership")
        )
        return sorted({urn for (value,) in values if value for urn in _urns(value)})


def reached(owner: str) -> str:
    """Where an owner of the catalog is reached here."""
    return f"{owner.rpartition(':')[2].partition('@')[0].replace('/', '-')}@example.org"


def _urns(value: str) -> list[str]:
    return re.findall(r"urn:li:corp(?:user|[Gg]roup):[^\"]+", value)


@pytest.fixture(scope="session")
def replay(shared, document, new_memory) -> Replay:
    """Every checkpoint scanned and consolidated, a day apart by the clock, and told by two rules."""
    folder = shared / "data" / "replay" / "mcp_checkpoints"
    memory = new_memory()
    result = Replay({"owners": {}, EVERYBODY: {}}, defaultdict(dict), {}, [])
    posts = {name: Post(result, name) for name in result.told}
    entries = document(folder / "CHECKPOINTS.json.gz")
    for number, entry in enumerate(entries):
        began = memory.clock.at = Moment(parse("2030-01-01") + number * DAY)
        at = parse(entry["time"].replace("Z", "+00:00"))
        report = memory.scan(folder / f"{entry['file']}.gz", at=at)
        memory.consolidate()
        index(memory.store, clock=memory.clock, progress=NoProgress())
        result.changes[number] = _changes(memory.store, bytes.fromhex(report.run))
        names = owners_in(memory.store)
        addresses = {urn: reached(urn) for urn in names}
        rules = {
            "owners": Rule(name="owners", to="mail", recipient="owners", addresses=addresses),
            EVERYBODY: Rule(name=EVERYBODY, to="mail", recipient="team@example.org", impact=Impact.MINOR),
        }

        def read(since: Moment, number: int = number, began: Moment = began) -> list[News]:
            found = news_since(memory.store, since, memory.clock.at)
            result.news[number].update({one.episodes: one for one in found if one.at >= began})
            return found

        for name, post in posts.items():
            post.checkpoint = number
            request = NotifyRequest(rules=[rules[name]], since=parse("2029-12-31"))
            notify(
                memory.store, request, read, {"mail": post}, clock=memory.clock, progress=NoProgress(),
                holder="a test",
            )  # fmt: skip
    return result


def _changes(store, run_id: bytes) -> Counter[int]:
    """How many episodes of a run are changes, by impact; to say the same in other words is none."""
    with store.engine.connect() as connection:
        rows = connection.execute(
            sa.select(episode.c.impact, sa.func.count())
            .where(episode.c.run_id == run_id, sa.not_(episode.c.baseline), episode.c.verdict != "reinforce")
            .group_by(episode.c.impact)
        )
        return Counter({row[0]: row[1] for row in rows})


def test_nobody_gets_two_messages_of_one_checkpoint_and_none_of_the_first(replay):
    assert replay.failed == []
    for told in (*replay.told["owners"].values(), *replay.told[EVERYBODY].values()):
        assert 0 not in told.messages
        assert all(2 <= len(one.lines) + 1 <= MOST_LINES for one in told.messages.values())


def test_everybody_is_told_every_change_that_is_not_quiet_and_nothing_else(replay):
    (team,) = replay.told[EVERYBODY].values()
    told = {number: sum(len(one.episodes) for one in replay.news[number].values()) for number in replay.changes}
    expected = {
        number: sum(count for impact, count in changes.items() if impact > Impact.QUIET)
        for number, changes in replay.changes.items()
    }
    assert told == expected
    assert {number for number, count in expected.items() if count} == set(team.messages)
    assert {number: one.changes for number, one in team.messages.items()} == {
        number: len(news) for number, news in replay.news.items() if news
    }


def test_nothing_that_breaks_is_left_out(replay):
    (team,) = replay.told[EVERYBODY].values()
    seen = 0
    for number, changes in replay.changes.items():
        breaking = [one for one in replay.news[number].values() if one.impact is Impact.BREAKING]
        assert sum(len(one.episodes) for one in breaking) == changes[Impact.BREAKING]
        if breaking:
            seen += len(breaking)
            message = team.messages[number]
            assert message.breaking == len(breaking)
            assert message.lines[0].impact is Impact.BREAKING
        for one in breaking:
            for owner in one.owners:
                told = replay.told["owners"][reached(owner)].messages[number]
                assert told.lines[0].impact is Impact.BREAKING
                assert any(name in line.text or one.edit in line.text for line in told.lines for name in one.names)
    assert seen > 100


def test_the_table_of_the_documentation_is_what_came_of_it(replay):
    assert table(replay) in DOCS.read_text(encoding="utf-8")


def table(replay: Replay) -> str:
    """Messages and lines by recipient, those who got most first, the rest of them together."""
    rows = [
        "| who | messages | checkpoints | lines | most in one | changes | of them breaking |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    checkpoints = len(replay.changes)
    (team,) = replay.told[EVERYBODY].values()
    rows.append(_row("a channel that is told everything, minor changes too", [team], checkpoints))
    owners = sorted(replay.told["owners"].items(), key=lambda one: (-len(one[1].messages), one[0]))
    rows += [_row(f"owner {name.partition('@')[0]}", [told], checkpoints) for name, told in owners[:8]]
    rows.append(_row(f"the other {len(owners) - 8} owners, on average", [told for _, told in owners[8:]], checkpoints))
    return "\n".join(rows)


def _row(who: str, told: list[Told], checkpoints: int) -> str:
    messages = [one for each in told for one in each.messages.values()]
    count = len(told)

    def mean(total: int) -> str:
        return f"{total:,}" if count == 1 else f"{total / count:,.1f}"

    lines = [len(one.lines) for one in messages]
    return (
        f"| {who} | {mean(len(messages))} | {checkpoints} | {mean(sum(lines))} | {max(lines)} |"
        f" {mean(sum(one.changes for one in messages))} | {mean(sum(one.breaking for one in messages))} |"
    )
