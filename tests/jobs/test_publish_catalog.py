"""Publishing in a running catalog: looked after in every run, taken away again, remembered as last found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import stamina

from palimpsest.adapters.datahub.links import GmsLinks
from palimpsest.adapters.page_probe import NoPageProbe
from palimpsest.core.errors import CatalogError, ConfigError
from palimpsest.core.link import url_of
from palimpsest.core.moment import parse
from palimpsest.jobs.publish import LinkFailure, PublishReport, publish_in_catalog
from palimpsest.jobs.unpublish import UnpublishReport, unpublish
from palimpsest.jobs.verify import verify
from palimpsest.store.schema import publication
from palimpsest.testing import FixedClock, NoProgress
from palimpsest.testing.gms import GmsDouble
from tests.building import Memory, dataset, mcp, owners

pytestmark = pytest.mark.usefixtures("dialect")

ASPECT = "institutionalMemory"
PUBLIC = "https://memory.example.org"
ORDERS, USERS = dataset("orders"), dataset("users")
LABEL = "Agent memory: 2 beliefs, 1 revision (latest 2026-03-03)"
PERSON = "urn:li:corpuser:ana"
WIKI = {"url": "https://wiki.example.org", "description": "Wiki", "createStamp": {"time": 1, "actor": PERSON}}


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """Two datasets; one has got another owner."""
    memory = Memory(tmp_path)
    memory.remember([mcp(urn, "ownership", owners("jonas")) for urn in (ORDERS, USERS)], at="2026-03-02")
    memory.remember([mcp(ORDERS, "ownership", owners("ana"))], at="2026-03-03")
    return memory


@pytest.fixture
def gms() -> Iterator[GmsDouble]:
    """Both in a running DataHub, with a link of somebody else."""
    with GmsDouble.serving() as double, stamina.set_testing(True, attempts=2):
        for urn in (ORDERS, USERS):
            double.store.put(urn, ASPECT, {"elements": [WIKI]})
        yield double


class NoPage:
    """No page answers."""

    def check(self, url: str) -> None:
        """Raise as the real one does."""
        raise CatalogError(f"the page {url} does not answer")


def published(memory: Memory, gms: GmsDouble, **asked: Any) -> PublishReport:
    """Publish."""
    links = GmsLinks(gms.url, gms.token, timeout=5, attempts=2, pause=lambda _: None)
    probe = asked.pop("probe", None) or NoPageProbe()
    asked = {"public_url": PUBLIC, "clock": FixedClock(parse("2026-03-05"))} | asked
    try:
        return publish_in_catalog(memory.store, links, probe, **asked)
    finally:
        links.close()


def unpublished(memory: Memory, gms: GmsDouble, *urns: str, **asked: Any) -> UnpublishReport:
    """Unpublish, everywhere if no URN is given."""
    links = GmsLinks(gms.url, gms.token, timeout=5, attempts=2, pause=lambda _: None)
    report = unpublish(memory.store, links, urns or None, clock=FixedClock(parse("2026-03-06")), **asked)
    links.close()
    return report


def rows(memory: Memory) -> list[tuple[Any, ...]]:
    """What is noted as published: label, and whether the last look found it so."""
    columns = sa.select(publication.c.label, publication.c.reread_at.is_not(None)).order_by(publication.c.url)
    return memory.store.read(lambda connection: [tuple(row) for row in connection.execute(columns)])


def labels(gms: GmsDouble, urn: str = ORDERS) -> list[Any]:
    """The labels in a list."""
    return [element["description"] for element in gms.store.links(urn)]


def broken_rules(memory: Memory) -> list[str]:
    """The rules that verify counts as broken."""
    found = verify(memory.store, clock=FixedClock(parse("2026-03-07")), progress=NoProgress())
    return [rule.rule for rule in found.rules if rule.broken]


def test_a_dataset_with_a_revision_gets_one_link_and_a_second_run_writes_nothing(
    memory: Memory, gms: GmsDouble
) -> None:
    first = published(memory, gms)
    (change,) = first.changes
    assert (change.urn, change.before, change.label, change.restored) == (ORDERS, None, LABEL, False)
    assert [link.label for link in change.list_after] == ["Wiki", LABEL]
    assert (labels(gms), labels(gms, USERS)) == (["Wiki", LABEL], ["Wiki"])
    versions, writes, noted = gms.store.versions(ORDERS, ASPECT), list(gms.writes), rows(memory)
    second = published(memory, gms, probe=NoPage())
    assert (second.changes, second.unchanged, second.failed) == ((), 1, ())
    assert (gms.store.versions(ORDERS, ASPECT), gms.writes, rows(memory)) == (versions, writes, noted)
    assert broken_rules(memory) == []


def test_only_links_are_ever_written(memory: Memory, gms: GmsDouble) -> None:
    published(memory, gms, all_datasets=True)
    published(memory, gms, public_url="https://elsewhere.example.org")
    unpublished(memory, gms)
    assert {write.aspect for write in gms.writes} == {ASPECT}
    assert len(gms.writes) == 6


def test_a_changed_console_address_moves_the_link(memory: Memory, gms: GmsDouble) -> None:
    published(memory, gms)
    (change,) = published(memory, gms, public_url="https://elsewhere.example.org").changes
    assert change.before == LABEL
    moved = url_of("https://elsewhere.example.org", memory.store.ids.entity(ORDERS))
    assert [element["url"] for element in gms.store.links(ORDERS)] == [WIKI["url"], moved]


def test_those_published_with_all_are_looked_after_without_it(memory: Memory, gms: GmsDouble) -> None:
    published(memory, gms, all_datasets=True)
    gms.store.put(USERS, ASPECT, {"elements": [WIKI]}, run_id="dbt-1")
    report = published(memory, gms)
    assert ([change.urn for change in report.changes if change.restored], report.unchanged) == ([USERS], 1)


def test_the_label_moves_only_when_the_number_of_revisions_does(memory: Memory, gms: GmsDouble) -> None:
    published(memory, gms)
    memory.remember([mcp(ORDERS, "globalTags", {"tags": [{"tag": "urn:li:tag:a"}]})], at="2026-03-04")
    assert published(memory, gms).changes == ()
    memory.remember([mcp(ORDERS, "ownership", owners("lea"))], at="2026-03-04T09:00:00Z")
    (change,) = published(memory, gms).changes
    assert (change.before, change.label) == (LABEL, "Agent memory: 3 beliefs, 2 revisions (latest 2026-03-04)")


def test_what_a_person_took_away_stays_away_also_when_datahub_no_longer_tells_who(
    memory: Memory, gms: GmsDouble
) -> None:
    published(memory, gms)
    gms.store.put(ORDERS, ASPECT, {"elements": [WIKI]}, actor=PERSON)
    assert published(memory, gms).kept_deleted == (ORDERS,)
    gms.store.retention = 0
    gms.store.put(ORDERS, ASPECT, {"elements": []}, run_id="dbt-1")
    memory.remember([mcp(ORDERS, "ownership", owners("lea"))], at="2026-03-04T09:00:00Z")
    assert published(memory, gms).kept_deleted == (ORDERS,)
    assert (labels(gms), broken_rules(memory)) == ([], [])
    (change,) = published(memory, gms, force=True).changes
    assert (change.restored, labels(gms)) == (True, [change.label])
    assert published(memory, gms).unchanged == 1


def test_what_a_person_put_back_is_looked_after_again(memory: Memory, gms: GmsDouble) -> None:
    published(memory, gms)
    held = gms.store.value(ORDERS, ASPECT)
    gms.store.put(ORDERS, ASPECT, {"elements": [WIKI]}, actor=PERSON)
    published(memory, gms)
    gms.store.put(ORDERS, ASPECT, held, actor=PERSON)
    assert (published(memory, gms).unchanged, rows(memory)) == (1, [(LABEL, True)])


def test_what_an_ingestion_wiped_is_put_back(memory: Memory, gms: GmsDouble) -> None:
    published(memory, gms)
    gms.store.put(ORDERS, ASPECT, {"elements": [WIKI]}, run_id="dbt-1")
    (change,) = published(memory, gms).changes
    assert (change.restored, labels(gms)) == (True, ["Wiki", LABEL])


def test_a_link_that_does_not_stay_is_reported_and_verify_counts_it_until_it_does(
    memory: Memory, gms: GmsDouble
) -> None:
    wipe = {"elements": [WIKI]}
    gms.faults.after_write(lambda store, urn, aspect: store.put(urn, aspect, wipe, run_id="dbt-1") and None, times=None)
    report = published(memory, gms)
    assert report.failed == (LinkFailure(urn=ORDERS, why="not found again after writing"),)
    assert broken_rules(memory) == ["R11"]
    gms.faults.clear()
    assert published(memory, gms).failed == ()
    assert broken_rules(memory) == []


def test_a_change_that_was_written_over_is_put_back_and_told(memory: Memory, gms: GmsDouble) -> None:
    other = WIKI | {"url": "https://other.example.org", "description": "Other"}
    gms.faults.ignores_version_match = True
    gms.faults.before_write(lambda store, urn, aspect: store.put(urn, aspect, {"elements": [WIKI, other]}) and None)
    (note,) = published(memory, gms).notes
    assert note.startswith(f"{ORDERS}: DataHub ignored If-Version-Match")
    assert labels(gms) == ["Wiki", "Other", LABEL]


def test_a_dataset_that_fails_is_named_and_the_others_are_published(memory: Memory, gms: GmsDouble) -> None:
    gms.faults.fail(403, match=f'"urn": "{ORDERS}", "{ASPECT}": {{"value"')
    report = published(memory, gms, all_datasets=True)
    assert [(failure.urn, "(403)" in failure.why) for failure in report.failed] == [(ORDERS, True)]
    assert [change.urn for change in report.changes] == [USERS]
    assert (len(rows(memory)), broken_rules(memory)) == (1, [])


def test_what_was_written_before_datahub_fails_is_remembered_and_the_next_run_completes(
    memory: Memory, gms: GmsDouble
) -> None:
    gms.faults.fail(401, match="batchGet", after=3)
    with pytest.raises(CatalogError, match="refuses the token"):
        published(memory, gms, all_datasets=True)
    assert (len(rows(memory)), broken_rules(memory)) == (1, [])
    gms.faults.clear()
    versions = [gms.store.versions(urn, ASPECT) for urn in (ORDERS, USERS)]
    report = published(memory, gms, all_datasets=True)
    assert (report.changes, report.unchanged, len(rows(memory))) == ((), 2, 2)
    assert [gms.store.versions(urn, ASPECT) for urn in (ORDERS, USERS)] == versions


def test_a_dry_run_shows_both_lists_and_writes_nothing(memory: Memory, gms: GmsDouble) -> None:
    (change,) = published(memory, gms, dry_run=True, probe=NoPage()).changes
    assert [link.label for link in change.list_before] == ["Wiki"]
    assert [link.label for link in change.list_after] == ["Wiki", LABEL]
    assert (gms.writes, rows(memory)) == ([], [])


def test_without_a_page_or_an_address_nothing_is_written(memory: Memory, gms: GmsDouble) -> None:
    with pytest.raises(CatalogError, match="does not answer"):
        published(memory, gms, probe=NoPage())
    with pytest.raises(ConfigError, match=r"console\.public_url is not set"):
        published(memory, gms, public_url=None)
    assert (gms.writes, rows(memory)) == ([], [])


def test_unpublish_leaves_the_lists_as_before(memory: Memory, gms: GmsDouble) -> None:
    before = [gms.store.value(urn, ASPECT) for urn in (ORDERS, USERS)]
    published(memory, gms, all_datasets=True)
    assert len(unpublished(memory, gms, dry_run=True).removed) == 2
    assert len(rows(memory)) == 2
    assert [removal.urn for removal in unpublished(memory, gms, ORDERS).removed] == [ORDERS]
    report = unpublished(memory, gms)
    assert ([removal.urn for removal in report.removed], report.unchanged, report.failed) == ([USERS], 0, ())
    assert [gms.store.value(urn, ASPECT) for urn in (ORDERS, USERS)] == before
    assert (rows(memory), broken_rules(memory)) == ([], [])


def test_unpublish_that_fails_somewhere_can_be_run_again(memory: Memory, gms: GmsDouble) -> None:
    published(memory, gms, all_datasets=True)
    gms.faults.fail(500, match=f'"urn": "{ORDERS}", "{ASPECT}": {{"value"')
    assert [failure.urn for failure in unpublished(memory, gms).failed] == [ORDERS]
    assert len(rows(memory)) == 1
    gms.faults.clear()
    assert [removal.urn for removal in unpublished(memory, gms).removed] == [ORDERS]
