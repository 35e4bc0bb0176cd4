"""Our links in a running DataHub: every other link stays as it is, whoever writes meanwhile and whatever goes wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Barrier
from typing import Any

import pytest
import stamina

from palimpsest.adapters.datahub.links import GmsLinks
from palimpsest.adapters.datahub.links_client import ConflictError, LinksClient
from palimpsest.core.errors import CatalogError
from palimpsest.core.link_list import LinkOutcome, LinkResult, ShownLink, WantedLink
from palimpsest.core.moment import parse
from palimpsest.testing.gms import READER_TOKEN, AspectStore, GmsDouble
from tests.building import dataset

ASPECT = "institutionalMemory"
ORDERS = dataset("shop.orders")
URL = "https://memory.example.org/entity/0011223344556677?from=palimpsest-memory"
LABEL = "Agent memory: 2 beliefs, 1 revision (latest 2026-03-03)"
AT = parse("2026-03-05")
PERSON = "urn:li:corpuser:ana"


def link(url: str, label: str = "Wiki", **more: Any) -> dict[str, Any]:
    """Somebody's link, with whatever DataHub keeps of it."""
    return {"url": url, "description": label, "createStamp": {"time": 1, "actor": PERSON}, **more}


WIKI = link("https://wiki.example.org/заказы?x=~1", settings={"showInAssetPreview": True})
WIKI_AGAIN = link("https://wiki.example.org/заказы?x=~1", "The same page, other words 🎉")
RUNBOOK = link("https://runbooks.example.org/orders", "Runbook", unheardOf=[1, {"z": None, "a": 2.50}])
STAMP = {"time": int(AT), "actor": "urn:li:corpuser:palimpsest"}
OURS = {"url": URL, "description": LABEL, "createStamp": STAMP}


@pytest.fixture
def gms() -> Iterator[GmsDouble]:
    """A DataHub with one dataset that has two links."""
    with GmsDouble.serving() as double:
        put(double, WIKI, RUNBOOK)
        yield double


@pytest.fixture
def links(gms: GmsDouble) -> Iterator[GmsLinks]:
    """Our side. No retry waits."""
    made = GmsLinks(gms.url, gms.token, timeout=5, attempts=3, pause=lambda _: None)
    with stamina.set_testing(True, attempts=3):
        yield made
    made.close()


def put(gms: GmsDouble, *elements: Any, urn: str = ORDERS, **how: Any) -> None:
    """Somebody writes the whole list."""
    gms.store.put(urn, ASPECT, {"elements": list(elements)}, **how)


def wanted(urn: str = ORDERS, **more: Any) -> WantedLink:
    """Our link as it shall stand."""
    return WantedLink(**({"urn": urn, "url": URL, "label": LABEL, "at": AT} | more))


def apply(links: GmsLinks, *asked: WantedLink) -> list[LinkOutcome]:
    """Bring them about."""
    return list(links.apply(asked or [wanted()]))


def one(links: GmsLinks, **more: Any) -> LinkOutcome:
    """Bring one about."""
    (outcome,) = apply(links, wanted(**more))
    return outcome


def text(gms: GmsDouble, urn: str = ORDERS) -> str:
    """The list byte for byte: the order of the links, and of the fields in them."""
    return json.dumps(gms.store.value(urn, ASPECT))


def test_ours_comes_to_the_end_and_the_others_stay_byte_for_byte(gms: GmsDouble, links: GmsLinks) -> None:
    outcome = one(links)
    assert outcome == LinkOutcome(
        urn=ORDERS,
        result=LinkResult.WRITTEN,
        before=(ShownLink(url=WIKI["url"], label="Wiki"), ShownLink(url=RUNBOOK["url"], label="Runbook")),
        after=(
            ShownLink(url=WIKI["url"], label="Wiki"),
            ShownLink(url=RUNBOOK["url"], label="Runbook"),
            ShownLink(url=URL, label=LABEL),
        ),
    )
    assert text(gms) == json.dumps({"elements": [WIKI, RUNBOOK, OURS]})


def test_a_second_time_nothing_is_written_and_no_version_made(gms: GmsDouble, links: GmsLinks) -> None:
    one(links)
    versions, writes = gms.store.versions(ORDERS, ASPECT), len(gms.writes)
    assert one(links).result is LinkResult.UNCHANGED
    assert one(links, settled=True, label="newer words").result is LinkResult.UNCHANGED
    assert (gms.store.versions(ORDERS, ASPECT), len(gms.writes)) == (versions, writes)


def test_a_dataset_without_the_aspect_gets_it_on_condition_that_it_has_none(gms: GmsDouble, links: GmsLinks) -> None:
    users = dataset("users")
    gms.store.put(users, "status", {"removed": False})
    gms.faults.before_write(lambda store, urn, aspect: put(gms, WIKI, urn=users))
    assert one(links, urn=users).result is LinkResult.WRITTEN
    assert gms.store.links(users) == [WIKI, OURS]
    assert [write["headers"] for write in written(gms)] == [{"If-Version-Match": "-1"}, {"If-Version-Match": "1"}]


def written(gms: GmsDouble) -> list[Any]:
    """What was sent as the aspect, in each write."""
    bodies: list[Any] = [each.body for each in gms.requests if "async=false" in each.path]
    return [body[0][ASPECT] for body in bodies]


def test_a_write_has_the_form_of_the_datahub_emitter_s(gms: GmsDouble, links: GmsLinks) -> None:
    one(links)
    assert [(each.method, each.path) for each in gms.requests] == [
        ("POST", "/openapi/v3/entity/dataset/batchGet?systemMetadata=true"),
        ("POST", "/openapi/v3/entity/dataset?async=false"),
        ("POST", "/openapi/v3/entity/dataset/batchGet?systemMetadata=true"),
    ]
    run = "no-run-id-provided"
    assert gms.requests[1].body == [
        {
            "urn": ORDERS,
            ASPECT: {
                "value": {"elements": [WIKI, RUNBOOK, OURS]},
                "systemMetadata": {"lastObserved": int(AT), "runId": run, "lastRunId": run},
                "headers": {"If-Version-Match": "1"},
            },
        }
    ]


def test_a_dataset_that_is_not_there_is_not_made(gms: GmsDouble, links: GmsLinks) -> None:
    assert one(links, urn=dataset("nowhere")).problem == "DataHub has no such dataset"
    assert (gms.store.exists(dataset("nowhere")), gms.writes) == (False, [])


def test_a_changed_address_or_label_moves_ours_where_it_stands(gms: GmsDouble, links: GmsLinks) -> None:
    put(gms, WIKI, OURS | {"settings": {"showInAssetPreview": False}}, RUNBOOK)
    elsewhere = URL.replace("memory.example.org", "elsewhere.example.org/x")
    assert one(links, url=elsewhere, label="other", settled=True).result is LinkResult.WRITTEN
    moved = OURS | {"url": elsewhere, "description": "other", "settings": {"showInAssetPreview": False}}
    assert gms.store.links(ORDERS) == [WIKI, moved, RUNBOOK]


def test_ours_twice_becomes_once(gms: GmsDouble, links: GmsLinks) -> None:
    put(gms, OURS, WIKI, OURS | {"description": "older"}, RUNBOOK)
    assert one(links, settled=True).result is LinkResult.WRITTEN
    assert gms.store.links(ORDERS) == [OURS, WIKI, RUNBOOK]


def test_links_of_one_url_with_two_labels_stay_two(gms: GmsDouble, links: GmsLinks) -> None:
    put(gms, WIKI, WIKI_AGAIN, WIKI)
    one(links)
    assert gms.store.links(ORDERS) == [WIKI, WIKI_AGAIN, WIKI, OURS]


def test_taking_ours_away_leaves_the_list_as_before_byte_for_byte(gms: GmsDouble, links: GmsLinks) -> None:
    before = text(gms)
    one(links)
    assert one(links, url="").result is LinkResult.REMOVED
    assert text(gms) == before
    assert one(links, url="").result is LinkResult.UNCHANGED
    assert one(links, url="", urn=dataset("nowhere")).result is LinkResult.UNCHANGED


# --- other writers ----------------------------------------------------------------------------------------------------


def test_twelve_writers_at_once_keep_all_their_links_and_ours() -> None:
    with GmsDouble.serving() as gms:
        put(gms, WIKI)
        all_have_read = Barrier(12)  # so that of their first writes one at most can be taken

        def write(number: int) -> None:
            client = LinksClient(gms.url, gms.token, timeout=20)
            for attempt in count():
                held = client.read([ORDERS])[ORDERS]
                if attempt == 0:
                    all_have_read.wait(60)
                try:
                    client.write(ORDERS, held, [*held.links, link(f"https://w.example.org/{number}")], AT)
                    break
                except ConflictError:
                    continue
            client.close()

        links = GmsLinks(gms.url, gms.token)
        with ThreadPoolExecutor(13) as pool:
            ours = pool.submit(lambda: apply(links))
            list(pool.map(write, range(12)))
            assert ours.result()[0].result is LinkResult.WRITTEN
        links.close()
        assert [each.status for each in gms.requests].count(412) >= 11
        urls = [each["url"] for each in gms.store.links(ORDERS)]
        assert sorted(map(str, urls)) == sorted([WIKI["url"], URL, *(f"https://w.example.org/{n}" for n in range(12))])


def test_another_writer_between_read_and_write_is_kept(gms: GmsDouble, links: GmsLinks) -> None:
    other = link("https://other.example.org")
    gms.faults.before_write(lambda store, urn, aspect: put(gms, WIKI, other))
    outcome = one(links)
    assert (outcome.result, outcome.note) == (LinkResult.WRITTEN, "")
    assert gms.store.links(ORDERS) == [WIKI, other, OURS]


@pytest.mark.parametrize("later", [False, True], ids=["nobody after us", "one more after us"])
def test_where_the_condition_is_ignored_what_was_written_over_is_put_back_and_reported(
    gms: GmsDouble, links: GmsLinks, later: bool
) -> None:
    other, last = link("https://other.example.org"), link("https://last.example.org")
    gms.faults.ignores_version_match = True
    # Another writer adds a link, and takes the runbook away; we know nothing of either.
    gms.faults.before_write(lambda store, urn, aspect: put(gms, WIKI, other))
    if later:
        gms.faults.after_write(lambda store, urn, aspect: put(gms, *gms.store.links(urn), last))
    outcome = one(links)
    assert outcome.result is LinkResult.WRITTEN
    assert outcome.note.startswith("DataHub ignored If-Version-Match")
    assert gms.store.links(ORDERS) == ([WIKI, OURS, last, other] if later else [WIKI, other, OURS])


def test_ours_that_another_writer_wrote_over_is_seen_by_the_re_read_and_put_back(
    gms: GmsDouble, links: GmsLinks
) -> None:
    gms.faults.after_write(lambda store, urn, aspect: put(gms, WIKI, link("https://other.example.org")))
    assert one(links).result is LinkResult.WRITTEN
    assert gms.store.links(ORDERS) == [WIKI, link("https://other.example.org"), OURS]


def test_ours_that_vanishes_while_we_write_was_lost_and_not_taken_away(gms: GmsDouble, links: GmsLinks) -> None:
    put(gms, WIKI, OURS)
    gms.faults.after_write(lambda store, urn, aspect: put(gms, WIKI, actor=PERSON))
    assert one(links, label="newer words", published=True).result is LinkResult.WRITTEN
    assert gms.store.links(ORDERS) == [WIKI, OURS | {"description": "newer words"}]


def test_ours_that_does_not_stay_is_reported(gms: GmsDouble, links: GmsLinks) -> None:
    gms.faults.after_write(lambda store, urn, aspect: put(gms, WIKI), times=None)
    outcome = one(links)
    assert (outcome.result, outcome.missing) == (LinkResult.FAILED, True)
    assert outcome.problem == "not found again after writing"
    assert gms.store.links(ORDERS) == [WIKI]


def test_conflicts_without_end_are_a_failure_of_that_dataset(gms: GmsDouble, links: GmsLinks) -> None:
    def write(store: AspectStore, urn: str, aspect: str) -> None:
        put(gms, link(f"https://w.example.org/{len(gms.requests)}"), urn=urn)

    gms.store.put(dataset("users"), "status", {"removed": False})
    gms.faults.before_write(write, match=ORDERS, times=None)
    busy, other = apply(links, wanted(), wanted(dataset("users")))
    assert busy.problem.startswith("others wrote to the same links")
    assert (busy.result, other.result) == (LinkResult.FAILED, LinkResult.WRITTEN)


def test_where_datahub_tells_no_version_ours_is_added_by_its_url(gms: GmsDouble, links: GmsLinks) -> None:
    held = gms.store.get(ORDERS, ASPECT)
    assert held is not None
    held.system.pop("version")
    gms.faults.before_write(lambda store, urn, aspect: held.value.update(elements=[WIKI, RUNBOOK]))
    assert one(links).result is LinkResult.WRITTEN
    assert gms.store.links(ORDERS) == [WIKI, RUNBOOK, OURS]
    assert [each.change for each in gms.writes] == ["PATCH"]


def test_a_change_by_url_that_would_merge_links_is_not_made(gms: GmsDouble, links: GmsLinks) -> None:
    put(gms, WIKI, WIKI_AGAIN)
    held = gms.store.get(ORDERS, ASPECT)
    assert held is not None
    held.system.pop("version")
    assert "two links in it have one URL" in one(links).problem
    assert gms.writes == []


# --- who took it away -------------------------------------------------------------------------------------------------


def gone(gms: GmsDouble, links: GmsLinks, *elements: Any, **how: Any) -> None:
    """Ours is published, and then somebody writes the list without it."""
    one(links)
    put(gms, *elements, **how)
    gms.writes.clear()


def test_what_a_person_took_away_stays_away_until_it_is_forced(gms: GmsDouble, links: GmsLinks) -> None:
    gone(gms, links, WIKI, RUNBOOK, actor=PERSON)
    assert one(links, published=True, settled=True).result is LinkResult.KEPT_DELETED
    assert gms.writes == []
    assert one(links, published=True, settled=True, force=True).result is LinkResult.RESTORED
    assert gms.store.links(ORDERS) == [WIKI, RUNBOOK, OURS]


def test_what_a_person_took_away_stays_away_whoever_writes_later(gms: GmsDouble, links: GmsLinks) -> None:
    gone(gms, links, WIKI, RUNBOOK, actor=PERSON)
    put(gms, WIKI, run_id="dbt-2026")
    assert one(links, published=True).result is LinkResult.KEPT_DELETED
    put(gms, RUNBOOK, run_id="dbt-2026")
    assert one(links, kept_deleted=True).result is LinkResult.KEPT_DELETED


@pytest.mark.parametrize(
    ("elements", "how"),
    [
        ([WIKI, RUNBOOK], {"actor": "urn:li:corpuser:__ingestion"}),
        ([WIKI, RUNBOOK], {"actor": PERSON, "run_id": "dbt-2026_03_04"}),
        ([WIKI, RUNBOOK], {"actor": "urn:li:corpuser:service_0f3a"}),
        ([WIKI], {"actor": PERSON}),
        ([], {"actor": PERSON}),
    ],
    ids=["ingestion", "ingestion with a person's token", "service account", "other links too", "every link"],
)
def test_what_an_ingestion_or_a_new_list_wiped_is_put_back(
    gms: GmsDouble, links: GmsLinks, elements: list[Any], how: dict[str, Any]
) -> None:
    gone(gms, links, *elements, **how)
    assert one(links, published=True, settled=True).result is LinkResult.RESTORED
    assert gms.store.links(ORDERS) == [*elements, OURS]


def test_a_whole_aspect_that_is_gone_is_put_back(gms: GmsDouble, links: GmsLinks) -> None:
    one(links)
    gms.store.drop(ORDERS, ASPECT)
    assert one(links, published=True).result is LinkResult.RESTORED


def test_where_the_version_with_ours_is_no_longer_kept_the_last_writer_tells(gms: GmsDouble, links: GmsLinks) -> None:
    gms.store.retention = 0
    gone(gms, links, WIKI, RUNBOOK, actor=PERSON)
    assert one(links, published=True).result is LinkResult.KEPT_DELETED
    put(gms, WIKI, run_id="dbt-2026")
    assert one(links, published=True).result is LinkResult.RESTORED


# --- faults -----------------------------------------------------------------------------------------------------------

NAMES = ["café (2), ünï 🎉", "a%2Cb+c d/e", "orders,v2", "x'\"\\y"]


def test_names_of_every_kind_get_their_own_link_and_nothing_else_is_written(gms: GmsDouble, links: GmsLinks) -> None:
    urns = [dataset(name) for name in NAMES]
    for urn in urns:
        gms.store.put(urn, "status", {"removed": False})
    assert {each.result for each in apply(links, *map(wanted, urns))} == {LinkResult.WRITTEN}
    assert [gms.store.links(urn) for urn in urns] == [[OURS]] * len(urns)
    assert {(write.urn, write.aspect) for write in gms.writes} == {(urn, ASPECT) for urn in urns}
    assert sorted(gms.store.urns()) == sorted([ORDERS, *urns])


@pytest.mark.parametrize("status", [403, 500, 429, 503])
@pytest.mark.parametrize("part", ["{}", '{"value"'], ids=["reading", "writing"])
def test_one_dataset_that_fails_costs_itself(gms: GmsDouble, links: GmsLinks, status: int, part: str) -> None:
    urns = [dataset(name) for name in ("a", "b", "c")]
    for urn in urns:
        gms.store.put(urn, "status", {"removed": False})
    gms.faults.fail(status, match=f'"urn": "{urns[1]}", "{ASPECT}": {part}')
    outcomes = apply(links, *map(wanted, urns))
    assert [each.result for each in outcomes] == [LinkResult.WRITTEN, LinkResult.FAILED, LinkResult.WRITTEN]
    assert str(status) in outcomes[1].problem
    assert gms.token not in repr(outcomes)
    assert not gms.store.links(urns[1])


def test_what_passes_is_tried_again(gms: GmsDouble, links: GmsLinks) -> None:
    gms.faults.fail(429, match="batchGet", times=1, retry_after="0")
    gms.faults.fail(503, match="async=false", times=1)
    gms.faults.cut(match="async=false", after=1, times=1)
    assert one(links).result is LinkResult.WRITTEN
    assert gms.store.links(ORDERS) == [WIKI, RUNBOOK, OURS]


def test_a_write_whose_answer_is_lost_is_found_by_the_re_read(gms: GmsDouble, links: GmsLinks) -> None:
    gms.faults.cut(match="async=false", within=True, times=1)
    assert one(links).result is LinkResult.WRITTEN
    assert len([write for write in gms.writes if write.made]) == 1


def test_an_answer_that_never_comes_is_cut_off(gms: GmsDouble) -> None:
    links = GmsLinks(gms.url, gms.token, timeout=0.2, attempts=2, pause=lambda _: None)
    gms.faults.delay(30, match="async=false")
    assert one(links).problem == "no answer in time"
    links.close()


def test_a_token_that_is_refused_stops_everything_and_is_not_shown(gms: GmsDouble) -> None:
    links = GmsLinks(gms.url, "wrong-token", pause=lambda _: None)
    with pytest.raises(CatalogError, match=r"refuses the token \(401\)") as caught:
        one(links)
    assert "wrong-token" not in caught.value.message + caught.value.hint
    links.close()


def test_a_token_that_may_only_read_fails_each_dataset_and_writes_nothing(gms: GmsDouble) -> None:
    links = GmsLinks(gms.url, READER_TOKEN, pause=lambda _: None)
    problem = one(links).problem
    assert "the token may not do this (403)" in problem
    assert "publish.token" in problem
    assert gms.store.links(ORDERS) == [WIKI, RUNBOOK]
    links.close()


@pytest.mark.parametrize("count", [1, 3])
def test_a_datahub_that_is_away_is_one_error(links: GmsLinks, gms: GmsDouble, count: int) -> None:
    gms.stop()
    with pytest.raises(CatalogError, match="gives no answer"):
        apply(links, *(wanted(dataset(f"t{number}")) for number in range(count)))


def test_a_datahub_that_goes_away_is_not_waited_for_once_a_dataset(gms: GmsDouble, links: GmsLinks) -> None:
    urns = [dataset(f"t{number}") for number in range(20)]
    for urn in urns:
        gms.store.put(urn, "status", {"removed": False})
    gms.faults.fail(500, match="async=false")
    outcomes = apply(links, *map(wanted, urns))
    assert {each.result for each in outcomes} == {LinkResult.FAILED}
    assert outcomes[-1].problem == "not tried: DataHub failed too often in a row"
    assert len(gms.asked("async=false")) == 15


def test_a_plan_says_the_lists_and_writes_nothing(gms: GmsDouble, links: GmsLinks) -> None:
    (outcome,) = links.plan([wanted()])
    assert (outcome.result, outcome.after[-1]) == (LinkResult.WRITTEN, ShownLink(url=URL, label=LABEL))
    assert gms.writes == []


def test_many_datasets_are_read_a_hundred_at_a_time(gms: GmsDouble, links: GmsLinks) -> None:
    urns = [dataset(f"t{number}") for number in range(250)]
    for urn in urns:
        gms.store.put(urn, "status", {"removed": False})
    list(links.plan(map(wanted, urns)))
    assert len(gms.asked("batchGet")) == 3
