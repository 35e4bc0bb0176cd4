"""What people and agents said: beside what is current while it is contested or proposed, and in the inbox."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.building import Memory, dataset, mcp, tags
from tests.surfaces.console.reading import Seen, client_of, desk_of, entity_path

ORDERS = dataset("shop.orders")
PERSON = "Refunded orders keep their total; subtract refunds yourself."
AGENT = "Refunded orders keep their total; subtract refunds from it yourself."
DECISION = "Revenue is counted in euros."


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    """A console on a dataset of which a person said one thing, and an agent another, and decided a third."""
    memory = Memory(tmp_path)
    memory.remember([mcp(ORDERS, "globalTags", tags("gold"))], at="2026-03-02T08:00:00Z")
    said = [("person:mira", "usage", PERSON), ("agent:coder", "usage", AGENT), ("agent:coder", "decision", DECISION)]
    for hour, (observer, kind, text) in enumerate(said, start=9):
        memory.note(ORDERS, text, by=observer, kind=kind, at=f"2026-03-02T{hour:02}:00:00Z")
        memory.consolidate()
    desk = desk_of(memory)
    made = client_of(desk)
    made.path = entity_path(desk.store, ORDERS)  # type: ignore[attr-defined]
    return made


def test_what_is_contested_or_proposed_stands_beside_what_is_current_and_not_as_current(client: TestClient) -> None:
    html = client.get(client.path).text  # type: ignore[attr-defined]
    said = Seen(html).text
    assert "No longer held" not in said
    assert all(text in said for text in (PERSON, AGENT, DECISION))
    assert html.count('class="layer open') == 2
    assert [word in said for word in ("contested", "proposed")] == [True, True]
    current = html.split('class="layer current')[1:]
    assert any(PERSON in one.partition("</li>")[0] for one in current)
    assert not any(AGENT in one.partition("</li>")[0] or DECISION in one.partition("</li>")[0] for one in current)


def test_the_inbox_shows_each_item_with_what_is_current_and_cannot_be_written_to(client: TestClient) -> None:
    html = client.get("/inbox").text
    said = Seen(html).text
    assert said.index(AGENT) < said.index(PERSON)
    assert DECISION in said
    assert "palimpsest inbox accept" in said
    assert 'method="post"' not in html
