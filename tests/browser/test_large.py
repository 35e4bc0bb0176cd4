"""The console in a real browser on a memory of 10,000 datasets that changed once, filled by the real jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from playwright.sync_api import Browser, expect

from benchmarks.console.filling import fill
from palimpsest.store.engine import Store
from palimpsest.store.schema import cell, entity, version
from tests.browser.watching import faults, opened, violations
from tests.surfaces.console.running import console, fetch

pytestmark = pytest.mark.long
DATASETS = 10_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """10,000 datasets with few columns; the second reading found 70,000 cells changed."""
    store = fill(tmp_path_factory.mktemp("large"), DATASETS, columns=6, readings=2)
    yield store
    store.dispose()


@pytest.fixture(scope="module")
def front(large: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the console on it answers."""
    with console(large.url.render_as_string(), tmp_path_factory.mktemp("home")) as found:
        yield found


def superseded(store: Store) -> tuple[str, str]:
    """The paths of an entity and of its owner's belief, which was superseded."""
    found = store.read(
        lambda c: c.execute(
            sa.select(version.c.belief_id, cell.c.entity_id)
            .join(cell, cell.c.id == version.c.cell_id)
            .join(entity, entity.c.id == cell.c.entity_id)
            .where(cell.c.aspect == "ownership", version.c.number == 2, entity.c.kind == "dataset")
            .order_by(version.c.belief_id)
            .limit(1)
        ).one()
    )
    return f"/entity/{found.entity_id[:8].hex()}", f"/belief/{found.belief_id.hex()}"


def paths(address: str, store: Store) -> list[str]:
    """A page of each kind."""
    shown, belief = superseded(store)
    run = json.loads(fetch(f"{address}/runs.json")[2])["data"]["runs"][0]["id"]
    return [
        "/", "/entities", "/entities?sort=revisions", "/entities?q=order", shown, f"{shown}?as_of=2026-03-02", belief,
        "/changes", "/changes?impact=breaking", "/changes?aspect=ownership", "/search", "/search?q=who+owns+orders",
        "/runs", f"/run/{run}", "/inbox", "/rules",
    ]  # fmt: skip


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_each_page_opens_without_a_complaint_and_without_a_serious_fault(
    browser: Browser, front: str, large: Store, dark: bool
) -> None:
    assert json.loads(fetch(f"{front}/index.json")[2])["data"]["entities"] >= DATASETS
    with opened(browser, front, dark=dark) as (page, complaints):
        for path in paths(front, large):
            answer = page.goto(front + path)
            assert answer is not None
            assert (path, answer.status) == (path, 200)
            assert (path, faults(page)) == (path, [])
            assert (path, violations(page)) == (path, [])
        assert complaints == []


def test_the_way_from_datahub_to_the_evidence(browser: Browser, front: str, large: Store) -> None:
    shown, belief = superseded(large)
    with opened(browser, front) as (page, complaints):
        page.goto(f"{front}{shown}?from=palimpsest-memory")
        expect(page.locator(f"a[href='{belief}']").first).to_be_visible()
        page.locator(f"a[href='{belief}']").first.click()
        expect(page.locator("h1")).to_have_text("owner")
        expect(page.locator(".layer")).to_have_count(2)
        page.get_by_text("The value as it was observed").first.click()
        expect(page.get_by_text("urn:li:corpuser:").first).to_be_visible()
        page.get_by_role("link", name="run ").first.click()
        expect(page.locator("h1")).to_contain_text("Run")
        assert complaints == []


def test_every_entity_is_reached_from_page_to_page(browser: Browser, front: str) -> None:
    with opened(browser, front) as (page, complaints):
        page.goto(f"{front}/entities")
        first = page.locator("table a").first.inner_text()
        page.get_by_role("link", name="Next page").click()
        expect(page.locator("table a").first).not_to_have_text(first)
        assert complaints == []


def test_questions_and_other_days_are_answered(browser: Browser, front: str, large: Store) -> None:
    shown, _ = superseded(large)
    with opened(browser, front) as (page, complaints):
        page.goto(front)
        page.get_by_label("Ask the memory").fill("who owns orders")
        page.keyboard.press("Enter")
        expect(page.locator("ol.answers li").first).to_be_visible()
        page.goto(front + shown)
        page.get_by_label("what held on").fill("2026-03-02")
        page.get_by_role("button", name="Read that time").click()
        expect(page.get_by_text("You are reading the past")).to_be_visible()
        assert complaints == []


@pytest.mark.parametrize("script", [True, False], ids=["with JavaScript", "without"])
def test_on_a_phone_no_page_scrolls_sideways(browser: Browser, front: str, large: Store, script: bool) -> None:
    with opened(browser, front, width=390, height=800, script=script) as (page, _):
        for path in paths(front, large):
            page.goto(front + path)
            expect(page.locator("h1")).to_be_visible()
            wide = page.locator("html").evaluate("one => one.scrollWidth") if script else 390
            assert (path, wide) == (path, 390)
