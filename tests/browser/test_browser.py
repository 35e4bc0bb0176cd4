"""The console in a real browser: nothing breaks, nothing is asked of others, and it can be read by everybody."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from palimpsest.ports import NoProgress
from palimpsest.store.engine import Store
from palimpsest.surfaces.console.export import export
from tests.browser.watching import ORDERS, faults, opened, violations
from tests.building import Memory
from tests.surfaces.console.reading import belief_path, desk_of, entity_path
from tests.surfaces.console.running import console, fetch

pytestmark = pytest.mark.long


def paths(address: str, store: Store) -> list[str]:
    """A page of each kind, with some of its states."""
    run = json.loads(fetch(f"{address}/runs.json")[2])["data"]["runs"][0]["id"]
    return [
        "/", "/entities", entity_path(store, ORDERS), entity_path(store, ORDERS) + "?as_of=2026-03-04",
        entity_path(store, ORDERS.replace("orders", "legacy_carts")),
        belief_path(store, ORDERS, "ownership", "", "shop"),
        "/changes", "/changes?impact=breaking", "/changes?until=2020-01-01", "/search", "/search?q=who+owns+orders",
        "/search?q=zebra", "/runs", f"/run/{run}", "/inbox", "/rules", "/nothing", "/changes?since=soon",
    ]  # fmt: skip


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_each_page_opens_without_a_complaint_and_without_a_serious_fault(
    browser: Browser, address: str, store: Store, dark: bool
) -> None:
    with opened(browser, address, dark=dark) as (page, complaints):
        for path in paths(address, store):
            answer = page.goto(address + path)
            assert answer is not None
            expected = {"/nothing": 404, "/changes?since=soon": 422}.get(path, 200)
            assert (path, answer.status) == (path, expected)
            for details in page.locator("details").all():
                details.evaluate("one => { one.open = true }")
            assert (path, faults(page)) == (path, [])
            assert (path, violations(page)) == (path, [])
        missing = [one for one in complaints if "404 (Not Found)" not in one and "422 (Unprocessable" not in one]
        assert missing == []


def test_the_way_from_datahub_to_the_evidence_is_three_clicks(browser: Browser, address: str, store: Store) -> None:
    with opened(browser, address) as (page, complaints):
        page.goto(f"{address}{entity_path(store, ORDERS)}?from=palimpsest-memory")
        expect(page.locator("h1")).to_have_text("shop.public.orders")
        expect(page.locator("del", has_text="jonas")).to_be_visible()
        page.get_by_role("link", name="owner", exact=True).click()
        expect(page.locator("h1")).to_have_text("owner")
        expect(page.get_by_text("stamped 2026-03-05 14:20").first).to_be_visible()
        page.get_by_text("The value as it was observed").first.click()
        expect(page.get_by_text("urn:li:corpuser:lena").first).to_be_visible()
        page.get_by_role("link", name="run ").first.click()
        expect(page.locator("h1")).to_contain_text("Run")
        assert complaints == []


def test_a_question_from_any_page_is_answered(browser: Browser, address: str) -> None:
    with opened(browser, address) as (page, complaints):
        page.goto(address)
        page.get_by_label("Ask the memory").fill("who owns orders")
        page.keyboard.press("Enter")
        expect(page.get_by_text("owner: lena")).to_be_visible()
        assert complaints == []


def test_another_day_is_read_by_its_date(browser: Browser, address: str, store: Store) -> None:
    with opened(browser, address) as (page, complaints):
        page.goto(address + entity_path(store, ORDERS))
        page.get_by_label("what held on").fill("2026-03-04")
        page.get_by_role("button", name="Read that time").click()
        expect(page.get_by_text("You are reading the past")).to_be_visible()
        expect(page.locator(".layer.current .words").first).to_have_text("jonas")
        expect(page.get_by_text("discount", exact=True)).to_be_visible()
        page.get_by_role("link", name="Back to now").click()
        expect(page.locator(".layer.current .words").first).to_have_text("lena")
        assert complaints == []


@pytest.mark.parametrize("width", [320, 390, 768])
def test_on_a_narrow_screen_no_page_scrolls_sideways(browser: Browser, address: str, store: Store, width: int) -> None:
    with opened(browser, address, width=width, height=800) as (page, _):
        for path in paths(address, store):
            page.goto(address + path)
            wide = page.evaluate("document.scrollingElement.scrollWidth")
            assert (path, wide) == (path, width)


def ground(page: Page) -> str:
    """The colour of the paper."""
    found: str = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    return found


def test_the_page_is_dark_where_the_system_is_and_where_the_reader_says_so(browser: Browser, address: str) -> None:
    with opened(browser, address) as (page, _):
        page.goto(address)
        light = ground(page)
        page.get_by_label("night").check()
        dark = ground(page)
        assert dark != light
        page.goto(f"{address}/changes")
        assert ground(page) == dark  # the script keeps it
        page.get_by_label("as the system").check()
        assert ground(page) == light
    with opened(browser, address, dark=True) as (page, _):
        page.goto(address)
        assert ground(page) == dark
        page.get_by_label("day", exact=True).check()
        assert ground(page) == light


def test_everything_works_without_javascript(browser: Browser, address: str, store: Store) -> None:
    with opened(browser, address, script=False) as (page, _):
        for path in paths(address, store):
            page.goto(address + path)
            expect(page.locator("h1")).to_be_visible()
        page.goto(address + entity_path(store, ORDERS))
        page.locator("summary").first.click()
        expect(page.get_by_text("episode 2: changed in shop").first).to_be_visible()
        page.get_by_label("what held on").fill("2026-03-04")
        page.get_by_role("button", name="Read that time").click()
        expect(page.get_by_text("You are reading the past")).to_be_visible()
        page.get_by_label("Ask the memory").fill("orders")
        page.keyboard.press("Enter")
        expect(page.locator("ol.answers li").first).to_be_visible()
        before = page.screenshot()
        page.get_by_label("night").check()
        assert page.screenshot() != before


def test_the_keyboard_reaches_the_content_past_the_menu(browser: Browser, address: str) -> None:
    with opened(browser, address) as (page, _):
        page.goto(f"{address}/entities")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        box = page.locator(".skip").bounding_box()
        assert box is not None
        assert box["y"] >= 0
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.name") == "q"
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"


def test_an_export_opens_from_disk_and_is_searched(browser: Browser, shop: str, tmp_path: Path) -> None:
    from tests.surfaces.console.test_serving import palimpsest

    site = tmp_path / "site"
    assert palimpsest(shop, tmp_path, "export", str(site)).returncode == 0
    with opened(browser, "file://") as (page, complaints):
        page.goto((site / "index.html").as_uri())
        page.get_by_role("link", name="Search").click()
        page.get_by_label("part of a name").fill("orders lena")
        expect(page.locator("#found-count")).to_have_text("1 found")
        page.locator("#found a").first.click()
        expect(page.locator("h1")).to_have_text("shop.public.orders")
        page.get_by_role("link", name="owner", exact=True).click()
        expect(page.locator("h1")).to_have_text("owner")
        assert faults(page) == []
        assert complaints == []
    with opened(browser, "file://", script=False) as (page, _):
        page.goto((site / "search" / "index.html").as_uri())
        page.get_by_role("link", name="the list").click()
        expect(page.get_by_role("link", name="shop.public.orders")).to_be_visible()


def test_a_hostile_catalog_runs_nothing_and_breaks_no_page(browser: Browser, tmp_path: Path) -> None:
    from tests.surfaces.console.test_hostile import HOSTILE, LONG, remembered

    memory = Memory(tmp_path)
    remembered(memory)
    with console(memory.url, tmp_path) as address, opened(browser, address, width=390) as (page, complaints):
        for path in ("/", "/entities", "/changes", entity_path(memory.store, HOSTILE), entity_path(memory.store, LONG),
                     belief_path(memory.store, HOSTILE, "description", "source", "<b>file</b>"),
                     "/search?q=%3Cscript%3Ealert(1)%3C/script%3E"):  # fmt: skip
            page.goto(address + path)
            assert (path, page.evaluate("document.scrollingElement.scrollWidth")) == (path, 390)
            expect(page.locator("footer.site")).to_be_visible()
            assert violations(page) == [], path
            assert faults(page) == [], path
        assert complaints == []
    site = tmp_path / "site"
    desk = desk_of(memory)
    export(desk, site, NoProgress())
    desk.store.dispose()
    with opened(browser, "file://") as (page, complaints):
        page.goto((site / "search" / "index.html").as_uri())
        page.get_by_label("part of a name").fill("alert")
        page.locator("#found a").first.click()
        expect(page.locator("h1")).to_contain_text("<script>alert(1)</script>")
        assert complaints == []
    memory.store.dispose()


def test_ten_thousand_datasets_are_paged_and_every_page_opens(browser: Browser, tmp_path: Path) -> None:
    from benchmarks.scale_store import write_catalog

    memory = Memory(tmp_path)
    catalog = tmp_path / "catalog.json"
    write_catalog(catalog, 110_000)
    memory.remember(catalog, at="2026-03-02T08:00:00Z")
    memory.index()
    with console(memory.url, tmp_path) as address, opened(browser, address) as (page, complaints):
        for path in ("/", "/changes", "/search?q=orders", "/runs", "/rules", "/inbox", "/entities?sort=revisions"):
            answer = page.goto(address + path)
            assert answer is not None
            assert (path, answer.status) == (path, 200)
        page.goto(f"{address}/entities")
        seen = set(page.locator("tbody a").all_inner_texts())
        page.get_by_role("link", name="Next page").click()
        assert not seen & set(page.locator("tbody a").all_inner_texts())
        page.locator("tbody a").first.click()
        expect(page.get_by_text("What is held")).to_be_visible()
        assert complaints == []
    memory.store.dispose()
