"""Publishing to a proposals file: our link once a dataset, no other touched, nothing written for nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from palimpsest.adapters.datahub.proposals import ProposalsFile
from palimpsest.adapters.page_probe import NoPageProbe
from palimpsest.core.errors import CatalogError, ConfigError
from palimpsest.core.link import url_of
from palimpsest.core.moment import Moment, parse
from palimpsest.jobs.publish import LinkChange, LinkFailure, PublishReport, publish
from palimpsest.jobs.verify import verify
from palimpsest.store.schema import publication
from palimpsest.testing import FixedClock, NoProgress
from tests.building import Memory, Record, dataset, mcp, owners, status

pytestmark = pytest.mark.usefixtures("dialect")

PUBLIC = "https://memory.example.org"
ORDERS, USERS = dataset("orders"), dataset("users")
MONDAY, TUESDAY, WEDNESDAY = "2026-03-02T08:00:00Z", "2026-03-03T08:00:00Z", "2026-03-04T08:00:00Z"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """Two datasets; one has got another owner."""
    memory = Memory(tmp_path)
    memory.remember([mcp(urn, "ownership", owners("jonas")) for urn in (ORDERS, USERS)], at=MONDAY)
    memory.remember([mcp(ORDERS, "ownership", owners("ana"))], at=TUESDAY)
    return memory


class CountingProbe:
    """Takes every page for granted, and remembers which were asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def check(self, url: str) -> None:
        """Note it."""
        self.asked.append(url)


class SilentPage:
    """No page answers."""

    def check(self, url: str) -> None:
        """Raise as the real one does."""
        raise CatalogError(f"the page {url} does not answer")


class LosingWriter:
    """A catalog that forgets what is written to it."""

    target = "losing"

    def write(self, links: Iterable[tuple[str, str, str, Moment]]) -> set[str]:
        """Find nothing again."""
        return set() if list(links) else {""}


def published(memory: Memory, **asked: Any) -> PublishReport:
    """Publish to links.json."""
    writer = asked.pop("writer", None) or ProposalsFile(memory.folder / "links.json")
    probe = asked.pop("probe", None) or NoPageProbe()
    asked = {"public_url": PUBLIC, "clock": FixedClock(parse("2026-03-05"))} | asked
    return publish(memory.store, writer, probe, **asked)


def url(memory: Memory, urn: str, public: str = PUBLIC) -> str:
    """The permalink of an entity."""
    return url_of(public, memory.store.ids.entity(urn))


def records(memory: Memory, name: str = "links.json") -> list[Record]:
    """What the proposals file holds."""
    found: list[Record] = json.loads((memory.folder / name).read_text())
    return found


def rows(memory: Memory) -> list[tuple[Any, ...]]:
    """Which URLs are noted as published."""
    return memory.store.read(lambda c: [tuple(row) for row in c.execute(sa.select(publication.c.url).order_by("url"))])


def test_a_dataset_with_a_revision_gets_one_link_labelled_from_rows(memory: Memory) -> None:
    report = published(memory)
    label = "Agent memory: 2 beliefs, 1 revision (latest 2026-03-03)"
    assert report.changes == (LinkChange(urn=ORDERS, url=url(memory, ORDERS), before=None, label=label),)
    assert (report.unchanged, report.lost, report.dry_run) == (0, (), False)
    path = "/elements/" + url(memory, ORDERS).replace("/", "~1")
    element = {
        "url": url(memory, ORDERS),
        "description": label,
        "createStamp": {"time": int(parse("2026-03-05")), "actor": "urn:li:corpuser:palimpsest"},
    }
    assert records(memory) == [
        {
            "entityType": "dataset",
            "entityUrn": ORDERS,
            "changeType": "PATCH",
            "aspectName": "institutionalMemory",
            "aspect": {
                "json": {
                    "arrayPrimaryKeys": {"elements": ["url"]},
                    "patch": [{"op": "add", "path": path, "value": element}],
                }
            },
        }
    ]


def test_all_datasets_get_one_where_asked_for(memory: Memory) -> None:
    report = published(memory, all_datasets=True)
    assert {change.urn: change.label for change in report.changes} == {
        ORDERS: "Agent memory: 2 beliefs, 1 revision (latest 2026-03-03)",
        USERS: "Agent memory: 2 beliefs, no revision yet",
    }


def test_a_dataset_that_is_gone_gets_none(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "status", status(removed=True))], at=WEDNESDAY)
    assert published(memory).changes == ()


def test_nothing_is_written_and_no_page_asked_for_when_nothing_changed(memory: Memory) -> None:
    published(memory)
    file = memory.folder / "links.json"
    file.touch()
    before = (file.read_bytes(), file.stat().st_ino, rows(memory))
    probe = CountingProbe()
    report = published(memory, probe=probe)
    assert (report.changes, report.unchanged, probe.asked) == ((), 1, [])
    assert (file.read_bytes(), file.stat().st_ino, rows(memory)) == before


def test_the_label_moves_when_the_number_of_revisions_does_and_not_with_the_beliefs(memory: Memory) -> None:
    published(memory)
    memory.remember([mcp(ORDERS, "globalTags", {"tags": [{"tag": "urn:li:tag:a"}]})], at=WEDNESDAY)
    assert published(memory).changes == ()
    memory.remember([mcp(ORDERS, "ownership", owners("lea"))], at="2026-03-04T09:00:00Z")
    (change,) = published(memory).changes
    assert change.before == "Agent memory: 2 beliefs, 1 revision (latest 2026-03-03)"
    assert change.label == "Agent memory: 3 beliefs, 2 revisions (latest 2026-03-04)"
    assert [record["entityUrn"] for record in records(memory)] == [ORDERS]


def test_a_new_public_address_moves_the_link(memory: Memory) -> None:
    published(memory)
    report = published(memory, public_url="https://elsewhere.example.org/memory/")
    assert [change.url for change in report.changes] == [url(memory, ORDERS, "https://elsewhere.example.org/memory")]
    assert len(records(memory)) == 1
    assert rows(memory) == [(url(memory, ORDERS, "https://elsewhere.example.org/memory"),)]


def test_links_that_the_file_holds_stay_in_it(memory: Memory) -> None:
    published(memory, all_datasets=True)
    memory.remember([mcp(ORDERS, "ownership", owners("lea"))], at=WEDNESDAY)
    before = {record["entityUrn"]: record for record in records(memory)}
    published(memory)
    after = {record["entityUrn"]: record for record in records(memory)}
    assert after.keys() == before.keys() == {ORDERS, USERS}
    assert (after[USERS], after[ORDERS] != before[ORDERS]) == (before[USERS], True)


def test_files_of_one_name_in_two_folders_are_two_targets(memory: Memory) -> None:
    published(memory)
    (memory.folder / "other").mkdir()
    report = published(memory, writer=ProposalsFile(memory.folder / "other" / "links.json"))
    assert len(report.changes) == 1
    assert len(records(memory, "other/links.json")) == 1


def test_a_dry_run_writes_nothing(memory: Memory) -> None:
    report = published(memory, dry_run=True, probe=SilentPage())
    assert (len(report.changes), rows(memory)) == (1, [])
    assert not (memory.folder / "links.json").exists()


def test_a_page_that_does_not_answer_stops_everything_before_a_link_is_written(memory: Memory) -> None:
    with pytest.raises(CatalogError, match="does not answer"):
        published(memory, probe=SilentPage())
    assert rows(memory) == []
    assert not (memory.folder / "links.json").exists()


def test_one_page_is_asked_for(memory: Memory) -> None:
    probe = CountingProbe()
    published(memory, all_datasets=True, probe=probe)
    assert len(probe.asked) == 1
    assert probe.asked[0] in {url(memory, ORDERS), url(memory, USERS)}


def test_a_link_that_is_not_found_again_is_reported_and_verify_counts_it(memory: Memory) -> None:
    report = published(memory, writer=LosingWriter())
    assert (report.failed, report.lost) == (
        (LinkFailure(urn=ORDERS, why="not found again after writing"),),
        (ORDERS,),
    )
    found = verify(memory.store, clock=FixedClock(parse(TUESDAY)), progress=NoProgress())
    assert [rule.rule for rule in found.rules if rule.broken] == ["R11"]


def test_an_address_is_needed(memory: Memory) -> None:
    with pytest.raises(ConfigError, match=r"console\.public_url is not set"):
        published(memory, public_url=None)


LOCAL = [
    "http://localhost:8000",
    "http://127.0.0.1",
    "http://127.8.8.8/x",
    "http://[::1]:80",
    "http://0.0.0.0",
    "http://a.localhost",
]


@pytest.mark.parametrize("address", LOCAL)
def test_an_address_of_this_machine_needs_leave(memory: Memory, address: str) -> None:
    with pytest.raises(ConfigError, match="nobody else reaches this machine's own address"):
        published(memory, public_url=address)
    assert len(published(memory, public_url=address, allow_local=True).changes) == 1


@pytest.mark.parametrize("address", ["http://localhost.example.org", "https://127.example.org", "http://10.0.0.1"])
def test_any_other_address_needs_none(memory: Memory, address: str) -> None:
    assert len(published(memory, public_url=address).changes) == 1


@pytest.mark.parametrize("applied", ["as the catalog states it", "as the proposal itself"])
def test_our_own_link_is_never_observed(memory: Memory, applied: str) -> None:
    theirs = {"url": "https://wiki.example.org/orders", "description": "Wiki", "createStamp": {"time": 1, "actor": "a"}}
    memory.remember([mcp(ORDERS, "institutionalMemory", {"elements": [theirs]})], at=WEDNESDAY)
    published(memory)
    (proposal,) = records(memory)
    ours = proposal["aspect"]["json"]["patch"][0]["value"]
    back = (
        [mcp(ORDERS, "institutionalMemory", {"elements": [ours, theirs]})]
        if applied.startswith("as the c")
        else [proposal]
    )
    report = memory.scan(back, at="2026-03-05")
    assert (report.written, report.records_failed) == (0, 0)
    nothing_else = memory.scan([mcp(USERS, "institutionalMemory", {"elements": [ours]})], at="2026-03-06")
    assert nothing_else.by_aspect.get("links", 0) == 0


def test_reports_are_values(memory: Memory) -> None:
    report = published(memory, dry_run=True)
    assert replace(report, dry_run=False).changes == report.changes
