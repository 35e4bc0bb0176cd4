"""The digest, stale knowledge and impact of a catalog of 10,000 datasets with 30,000 changes in one week."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.generate import write_catalog
from palimpsest.core.digest import as_html, as_markdown, as_text
from palimpsest.core.moment import parse
from palimpsest.queries.digest import DigestRequest, digest
from palimpsest.queries.held import When
from palimpsest.queries.stale import StaleRequest, stale
from tests.building import Memory

pytestmark = pytest.mark.long

MONDAY, WEDNESDAY = "2026-03-02T08:00:00Z", "2026-03-04T08:00:00Z"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    folder: Path = tmp_path_factory.mktemp("large")
    memory = Memory(folder)
    for day, changes, at in ((0, 0, MONDAY), (2, 30_000, WEDNESDAY)):
        path = folder / f"day-{day}.json"
        write_catalog(path, datasets=10_000, columns=4, day=day, changes=changes)
        memory.remember(path, at=at)
    yield memory
    memory.store.dispose()


@pytest.mark.parametrize(("since", "limit"), [("2026-03-03T12:00:00Z", 150), ("2026-03-01", 250)])
def test_the_words_of_its_busiest_week_are_as_few_and_every_change_is_counted(
    memory: Memory, since: str, limit: int
) -> None:
    view = digest(memory.store, DigestRequest(since=parse(since), until=parse("2026-03-05"), limit=limit))
    assert not view.empty
    plain = re.sub(r"<[^>]*>", " ", as_html(view.packed))
    forms = (as_text(view.packed), as_markdown(view.packed), plain)
    assert limit - 40 < max(len(one.split()) for one in forms) <= view.words <= limit
    assert re.match(r"Not shown: \d{3,} breaking, \d{4,} changes", view.left_out)


def test_its_quiet_week_is_empty(memory: Memory) -> None:
    request = DigestRequest(since=parse("2026-03-05"), until=parse("2026-03-12"), limit=250)
    assert digest(memory.store, request).empty


def test_stale_knowledge_is_found_in_seconds(memory: Memory) -> None:
    began = time.process_time()
    view = stale(memory.store, StaleRequest(), When(now=parse("2026-03-05")))
    assert time.process_time() - began < 15
    assert sum(one.found for one in view.kinds) > 1_000
    assert len(view.findings) <= 80
