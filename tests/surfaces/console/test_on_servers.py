"""Every page on every kind of database: the same view, whatever holds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.building import Memory
from tests.surfaces.console.reading import ORDERS, belief_path, client_of, desk_of, entity_path, shop

pytestmark = pytest.mark.usefixtures("dialect")


def test_every_page_and_its_twin_open(tmp_path: Path) -> None:
    memory = shop(Memory(tmp_path))
    desk = desk_of(memory)
    client = client_of(desk)
    run = client.get("/runs.json").json()["data"]["runs"][0]["id"]
    entity, belief = entity_path(desk.store, ORDERS), belief_path(desk.store, ORDERS, "ownership")
    for path in ("/", "/entities", entity, belief, "/changes", "/search", "/runs", f"/run/{run}", "/inbox", "/rules"):
        twin = ("/index" if path == "/" else path) + ".json"
        for asked in ("", "?as_of=2026-03-03", "?known_at=2026-03-03", "?q=who+owns+orders"):
            assert (path, asked, client.get(path + asked).status_code) == (path, asked, 200)
            assert (twin, asked, client.get(twin + asked).status_code) == (twin, asked, 200)
    found = client.get("/changes.json?page=1").json()["data"]
    assert found["readings"][0]["groups"][0]["impact"] == "breaking"
    after = client.get("/changes.json", params={"page": 1, "after": found["next"]}).json()["data"]
    assert after["readings"][0]["continued"]
    assert client.get("/readyz").status_code == 200
    desk.store.dispose()
