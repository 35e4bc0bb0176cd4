"""Each page opens, says what it should, and has a twin that keeps to its description."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import jsonschema
import pytest
from starlette.testclient import TestClient

from palimpsest.core.link import url_of
from palimpsest.store.engine import Store
from palimpsest.surfaces.console.pages import PAGES, Desk
from tests.building import Memory, dataset, mcp, owners
from tests.surfaces.console.reading import (
    BOOK,
    CARTS,
    ORDERS,
    Seen,
    belief_path,
    client_of,
    desk_of,
    entity_path,
)


def paths(store: Store, client: TestClient) -> list[str]:
    """A page of each kind."""
    run = client.get("/runs.json").json()["data"]["runs"][-1]["id"]
    made = {
        "entity": entity_path(store, ORDERS),
        "belief": belief_path(store, ORDERS, "ownership"),
        "run": f"/run/{run}",
        "search": "/search?q=orders",
    }
    return [made.get(page.name, page.path) for page in PAGES]


def twin(path: str) -> str:
    """The path of a page's JSON."""
    place, mark, asked = path.partition("?")
    return ("/index" if place == "/" else place) + ".json" + mark + asked


def test_every_page_opens(desk: Desk, client: TestClient) -> None:
    for path in paths(desk.store, client):
        answer = client.get(path)
        assert (path, answer.status_code) == (path, 200)
        assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_every_page_answers_head_with_the_headers_of_get(desk: Desk, client: TestClient) -> None:
    for path in [*paths(desk.store, client), "/static/console.css", "/healthz", "/readyz", "/openapi.json"]:
        asked, got = client.head(path), client.get(path)
        assert (path, asked.status_code) == (path, 200)
        assert asked.headers["content-type"] == got.headers["content-type"]


def test_every_twin_keeps_to_its_description(desk: Desk, client: TestClient) -> None:
    described = client.get("/openapi.json").json()
    for path, page in zip(paths(desk.store, client), PAGES, strict=True):
        answer = client.get(twin(path))
        assert (path, answer.status_code) == (path, 200)
        operation = described["paths"][page.json_path]["get"]
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.validate(answer.json(), {**schema, "components": described["components"]})
        assert answer.json()["kind"] == page.name


def test_the_twin_of_a_missing_page_keeps_to_its_description_too(client: TestClient) -> None:
    described = client.get("/openapi.json").json()
    answer = client.get("/entity/00112233445566aa.json")
    responses = described["paths"]["/entity/{id}.json"]["get"]["responses"]
    schema = responses["404"]["content"]["application/json"]["schema"]
    jsonschema.validate(answer.json(), {**schema, "components": described["components"]})
    assert answer.json()["data"]["status"] == answer.status_code == 404


def test_every_page_opens_on_an_empty_memory_and_says_what_to_do(empty: TestClient) -> None:
    for path, hint in {
        "/": "palimpsest run",
        "/entities": "palimpsest run",
        "/changes": "palimpsest run",
        "/search": "who owns orders",
        "/runs": "palimpsest run",
        "/inbox": "palimpsest note",
        "/rules": "broken",
    }.items():
        answer = empty.get(path)
        assert answer.status_code == 200, path
        assert hint in answer.text, path


def test_the_link_that_publish_writes_opens_the_page_of_its_entity(desk: Desk, client: TestClient) -> None:
    url = url_of("https://memory.example.org/", desk.store.ids.entity(ORDERS))
    answer = client.get(url.removeprefix("https://memory.example.org"))
    assert answer.status_code == 200
    assert ORDERS in Seen(answer.text).text


def test_the_page_of_an_entity_sets_what_was_held_under_what_is(desk: Desk, client: TestClient) -> None:
    html = client.get(entity_path(desk.store, ORDERS)).text
    assert "<del>jonas</del>" in html
    assert "<strong>each order</strong>" in html  # the current text, as Markdown
    assert "Prices are in <del>cents</del>." in html  # the one below it, with the word that was written over
    assert html.index("lena") < html.index("<del>jonas</del>")
    assert "2026-01-05" in Seen(html).text
    assert "since 2026-03-03 14:20" in Seen(html).text


def test_the_page_of_an_entity_shows_an_erased_column_as_erased(desk: Desk, client: TestClient) -> None:
    html = client.get(entity_path(desk.store, ORDERS)).text
    assert '<del class="code" dir="auto">total</del>' in html


def test_the_page_of_an_entity_tells_what_changed_around_it(desk: Desk, client: TestClient) -> None:
    said = Seen(client.get(entity_path(desk.store, BOOK)).text)
    assert "Made from" in said.text
    assert "shop.orders postgres 2026-03-04: column total: gone" in said.text


def test_nothing_of_what_is_gone_is_shown_as_current(desk: Desk, client: TestClient) -> None:
    html = client.get(entity_path(desk.store, CARTS)).text
    assert "Nothing of it is current." in html
    assert 'class="layer current' not in html
    assert "What is held" not in html


def test_a_page_about_the_past_shows_what_held_then_and_says_so(desk: Desk, client: TestClient) -> None:
    html = client.get(entity_path(desk.store, ORDERS) + "?as_of=2026-03-02").text
    said = Seen(html)
    assert "You are reading the past" in said.text
    assert "jonas" in said.text
    assert "lena" not in said.text
    assert '<del class="code" dir="auto">total' not in html


def test_links_of_a_page_about_the_past_stay_in_it(desk: Desk, client: TestClient) -> None:
    html = client.get(entity_path(desk.store, ORDERS) + "?as_of=2026-03-02").text
    to_beliefs = [link["href"] for link in Seen(html).all("a") if "/belief/" in link["href"]]
    assert to_beliefs
    assert all("as_of=2026-03-02" in href for href in to_beliefs)


def test_what_was_not_known_yet_is_not_shown(desk: Desk, client: TestClient) -> None:
    said = Seen(client.get(belief_path(desk.store, ORDERS, "ownership") + "?known_at=2026-03-03").text)
    assert "jonas" in said.text
    assert "lena" not in said.text


def test_the_page_of_a_belief_has_each_layer_with_its_evidence_and_raw_value(desk: Desk, client: TestClient) -> None:
    html = client.get(belief_path(desk.store, ORDERS, "ownership")).text
    said = Seen(html).text
    assert "2 layers" in said
    assert "<ins>lena</ins>" in html
    assert "urn:li:corpuser:jonas" in said
    assert "urn:li:corpuser:lena" in said
    assert "episode 2: changed in file, read 2026-03-04 08:00, not so at 2026-03-02 08:00" in said


def test_changes_come_by_reading_and_weight(client: TestClient) -> None:
    said = Seen(client.get("/changes").text).text
    places = [said.index(word) for word in ("2026-03-04 08:00", "breaking", "column gone", "notable", "now lena")]
    first = said.index("breaking", said.index("2026-03-04 08:00"))
    assert first < said.index("column gone") < said.index("now lena")
    assert len(places) == 5


@pytest.mark.parametrize(
    ("asked", "found", "missing"),
    [
        ("impact=breaking", "column gone", "now lena"),
        ("aspect=ownership", "now lena", "column gone"),
        ("until=2026-03-03", "Nothing changed", "now lena"),
        ("since=2026-03-04", "now lena", "Nothing changed"),
        ("platform=snowflake", "Nothing changed", "now lena"),
        ("source=file&impact=notable", "now lena", "euros"),
    ],
)
def test_changes_are_narrowed(client: TestClient, asked: str, found: str, missing: str) -> None:
    said = Seen(client.get(f"/changes?{asked}").text).text
    assert found in said
    assert missing not in said


def test_changes_are_paged_without_loss_or_repetition(client: TestClient) -> None:
    whole = client.get("/changes.json").json()["data"]["readings"]
    every = [one["ref"] for reading in whole for group in reading["groups"] for one in group["changes"]]
    paged, after = [], ""
    while True:
        data = client.get("/changes.json", params={"page": 1, "after": after}).json()["data"]
        paged += [one["ref"] for reading in data["readings"] for group in reading["groups"] for one in group["changes"]]
        after = data["next"]
        if not after:
            break
    assert sorted(paged) == sorted(every)
    assert len(set(paged)) == len(paged) == 4


def test_the_same_edit_of_many_entities_is_one_group(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    many = [dataset(f"shop.t{number}") for number in range(5)]
    for who, day in (("jonas", "02"), ("lena", "03")):
        memory.remember([mcp(urn, "ownership", owners(who)) for urn in many], at=f"2026-03-{day}T08:00:00Z")
    desk = desk_of(memory)
    reading = client_of(desk).get("/changes.json").json()["data"]["readings"][0]
    assert [len(group["changes"]) for group in reading["groups"]] == [5]
    assert "on 5 entities" in Seen(client_of(desk).get("/changes").text).text
    desk.store.dispose()


def test_entities_are_found_by_a_part_of_their_name(client: TestClient) -> None:
    said = Seen(client.get("/entities?q=ORD").text).text
    assert "shop.orders" in said
    assert "shop.carts" not in said


def test_entities_are_paged_by_key(client: TestClient) -> None:
    seen, path = [], "/entities?page=1"
    while path:
        page = Seen(client.get(path).text)
        seen += [link["title"] for link in page.all("a") if "title" in link]
        path = next((link["href"] for link in page.all("a") if link.get("rel") == "next"), "")
    assert sorted(seen) == sorted([ORDERS, CARTS, BOOK])


def test_a_question_is_answered_with_what_is_held(client: TestClient) -> None:
    said = Seen(client.get("/search?q=who+owns+orders").text).text
    assert "owner: lena" in said


def test_a_question_that_nothing_answers_is_told_so(client: TestClient) -> None:
    said = Seen(client.get("/search?q=zebra+quantum").text).text
    assert "Nothing that is remembered answers that." in said


def test_an_unknown_entity_belief_run_or_path_is_not_here(client: TestClient) -> None:
    for path in ("/entity/0011223344556677", "/belief/" + "ab" * 16, "/run/abcdef", "/nothing", "/entity/x y", "/run/"):
        answer = client.get(path)
        assert (path, answer.status_code) == (path, 404)
        assert "Nothing is remembered under this address." in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/changes?impact=huge",
        "/changes?since=yesterday",
        "/changes?aspect=nothing",
        "/changes?after=x",
        "/entities?sort=size",
        "/entities?after=x",
        "/runs?after=x",
        "/search?q=a&as_of=31.1.2026",
        "/entities?page=201",
        "/entities?page=0",
        "/search?q=" + "a" * 501,
    ],
)
def test_a_question_that_cannot_be_asked_is_refused_with_422(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 422
    place, mark, asked = path.partition("?")
    assert client.get(f"{place}.json{mark}{asked}").json()["kind"] == "problem"


def test_the_rules_are_counted_and_their_health_is_on_the_overview(client: TestClient) -> None:
    assert "0 broken" in Seen(client.get("/rules").text).text
    assert "rules broken 0" in Seen(client.get("/").text).text


def test_the_chart_of_days_has_a_title_a_description_and_a_table(client: TestClient) -> None:
    page = Seen(client.get("/").text)
    assert page.all("svg")[0]["role"] == "img"
    assert "4 changes in the 28 days to 2026-03-04; most on 2026-03-04: 4." in page.text
    assert "The same as a table" in page.text


def test_every_page_says_what_its_readers_see(desk: Desk, client: TestClient) -> None:
    for path in [*paths(desk.store, client), "/nothing"]:
        assert "sees what the token that scanned the catalog saw" in client.get(path).text, path


def test_every_page_has_one_first_heading_a_language_and_a_way_past_the_menu(desk: Desk, client: TestClient) -> None:
    for path in [*paths(desk.store, client), "/nothing"]:
        page = Seen(client.get(path).text)
        assert len(page.all("h1")) == 1, path
        assert page.all("html") == [{"lang": "en"}]
        assert page.all("a")[0]["href"] == "#content"
        levels = [int(name[1]) for name, _ in page.elements if name in ("h1", "h2", "h3", "h4", "h5")]
        assert all(now - before <= 1 for before, now in pairwise(levels)), (path, levels)


def test_a_page_asks_nothing_of_another_host(desk: Desk, client: TestClient) -> None:
    for path in paths(desk.store, client):
        page = Seen(client.get(path).text)
        asked = [attributes.get(name) or "" for _, attributes in page.elements for name in ("src", "srcset", "action")]
        asked += [link["href"] for link in page.all("link")]
        assert [one for one in asked if one and not one.startswith("/")] == [], path
        assert [attributes for _, attributes in page.elements if "style" in attributes] == [], path
