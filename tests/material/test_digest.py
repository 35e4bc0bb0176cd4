"""The digest and stale knowledge on six years of one company's catalog: word limits, quiet weeks, the table in docs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from palimpsest.core.digest import as_html, as_markdown, as_text
from palimpsest.core.moment import Moment, parse
from palimpsest.queries.digest import DigestRequest, DigestView, digest
from palimpsest.queries.held import When
from palimpsest.queries.stale import StaleRequest, StaleView, stale

pytestmark = [pytest.mark.needs_shared("replays the checkpoints of a real catalog"), pytest.mark.xdist_group("replay")]

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "stale.md"
DAY = 86_400_000


@pytest.fixture(scope="module")
def times(shared: Path, document: Callable[[Path], Any]) -> list[Moment]:
    """When each checkpoint was read."""
    return [
        parse(one["time"]) for one in document(shared / "data" / "replay" / "mcp_checkpoints" / "CHECKPOINTS.json.gz")
    ]


@pytest.fixture(scope="module")
def replayed(shared: Path, document: Callable[[Path], Any], new_memory_in: Callable[[str], Any]) -> Iterator[Any]:
    """A memory that read and consolidated every checkpoint at its own time."""
    folder = shared / "data" / "replay" / "mcp_checkpoints"
    memory = new_memory_in("sqlite")
    for entry in document(folder / "CHECKPOINTS.json.gz"):
        memory.remember(folder / f"{entry['file']}.gz", at=parse(entry["time"]))
    return memory


@pytest.fixture(scope="module")
def found(replayed: Any, times: list[Moment]) -> StaleView:
    return stale(replayed.store, StaleRequest(most=1_000), When(now=times[-1]))


def of(memory: Any, until: int, days: int, limit: int) -> DigestView:
    request = DigestRequest(since=Moment(until - days * DAY), until=Moment(until), limit=limit)
    return digest(memory.store, request)


def test_no_day_and_no_week_of_the_replay_has_more_words_than_allowed_and_the_first_is_empty(
    replayed: Any, times: list[Moment]
) -> None:
    told = 0
    for number, at in enumerate(times):
        for days, limit in ((1, 150), (7, 250)):
            view = of(replayed, at + 1, days, limit)
            assert view.empty == (number == 0), number
            if view.empty:
                continue
            text = as_text(view.packed)
            plain = re.sub(r"<[^>]*>", " ", as_html(view.packed))
            assert max(len(one.split()) for one in (text, as_markdown(view.packed), plain)) <= view.words <= limit
            lines = [line for line in text.splitlines() if line.startswith("- ")]
            assert lines
            assert all(re.search(r"\[[0-9a-f]{12}\]$", line) for line in lines)
            told += len(lines)
    assert told > 300


def test_a_week_in_which_nothing_was_read_is_empty(replayed: Any, times: list[Moment]) -> None:
    quiet = [before + 8 * DAY for before, after in pairwise(times) if after - before > 9 * DAY]
    assert len(quiet) >= 20
    assert all(of(replayed, until, 7, 250).empty for until in quiet)


def test_the_document_counts_the_findings(found: StaleView) -> None:
    counts = {one.kind: one.found for one in found.kinds}
    text = " ".join(DOCUMENT.read_text().split())
    total = sum(counts.values())
    strong = sum(1 for one in found.findings if one.kind == "description" and not one.weak)
    assert (
        f"{total} findings, {counts['read']} `read`, {counts['owner']} `owner`, {counts['description']} `description` "
        f"({strong} of them not weak), {counts['lacking']} `lacking`"
    ) in text


def test_each_finding_of_the_document_is_found_and_its_sums_are_those_of_the_table(found: StaleView) -> None:
    rows = re.findall(r"^\| `([a-z0-9_.]+)` \| (.+?) \| (right|wrong)(, weak)? \|", DOCUMENT.read_text(), re.MULTILINE)
    assert len(rows) == 20
    news = []
    for name, said, judged, weak in rows:
        one = next(one for one in found.findings if one.name.endswith(f".{name}") and one.said.startswith(said))
        assert one.weak == bool(weak), name
        news += [judged] if one.at is not None and not one.weak else []
    right = sum(1 for row in rows if row[2] == "right")
    text = " ".join(DOCUMENT.read_text().split())
    assert f"Right: {right} of 20." in text
    assert f"was right in {news.count('right')} of {len(news)};" in text
