"""Six years of one company's catalog, 150 datasets in 30 checkpoints, against the exact truth.

What must be held is derived here from the plain JSON of the checkpoints, without the code under test: a value holds
from the checkpoint that first states it to the one that states another, while the dataset exists. A checkpoint that
does not state a raw aspect of a dataset says nothing of it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from palimpsest.core.errors import UsageError

pytestmark = [pytest.mark.needs_shared("replays the checkpoints of a real catalog"), pytest.mark.xdist_group("replay")]

Slot = tuple[str, str, str]
Span = tuple[Any, int, int | None]
END = 10**15
SCHEMA_NAME = ("attribute", "schemaMetadata.schemaName")

# What the truth calls a change that is form, unknown or a hint, and therefore no episode.
NO_EPISODE = {
    "whitespace_only",
    "description_whitespace_only",
    "reordered",
    "no_longer_stated",
    "rename_hint",
}
ASPECT_OF = {
    "friendly_name": "name",
    "description": "description",
    "owners": "ownership",
    "tags": "tags",
    "upstreams": "upstreams",
    "deprecation": "deprecation",
    "columns": "column",
    "existence": "existence",
}


@dataclass(frozen=True)
class Checkpoint:
    """One checkpoint as its plain JSON states it: which datasets exist, and the cells of each stated raw aspect."""

    path: Any
    at: int
    exists: dict[str, bool]
    stated: dict[tuple[str, str], dict[Slot, Any]]


@dataclass(frozen=True)
class Replay:
    """The checkpoints, the memory that read them one by one, and the run of each."""

    checkpoints: list[Checkpoint]
    memory: Any
    runs: list[Any]
    repeats: list[Any]
    unchanged_by_repeat: list[bool]


def _moment(text: str) -> int:
    return int(datetime.fromisoformat(text).astimezone(UTC).timestamp() * 1000)


def _squeezed(text: str | None) -> str:
    return " ".join((text or "").split())


def _cells(urn: str, part: str, body: dict[str, Any]) -> dict[Slot, Any]:
    """The facts of one raw aspect, in a plain form of this test's own; what says nothing is left out."""
    cells: dict[Slot, Any] = {}
    if part == "datasetProperties":
        cells[urn, "name", "source"] = _squeezed(body.get("name"))
        cells[urn, "description", "source"] = _squeezed(body.get("description"))
    elif part == "ownership":
        cells[urn, "ownership", ""] = frozenset((one["owner"], one["type"]) for one in body["owners"])
    elif part == "globalTags":
        cells[urn, "tags", ""] = frozenset((one["tag"],) for one in body["tags"])
    elif part == "upstreamLineage":
        cells[urn, "upstreams", ""] = frozenset((one["dataset"], one["type"]) for one in body["upstreams"])
    elif part == "deprecation":
        cells[urn, "deprecation", ""] = body["note"] if body["deprecated"] else ""
    elif part == "schemaMetadata":
        cells[urn, *SCHEMA_NAME] = body["schemaName"]
        for field in body["fields"]:
            (logical,) = field["type"]["type"]
            cells[urn, "column", field["fieldPath"]] = (
                field["nativeDataType"],
                logical.rsplit(".", 1)[-1].removesuffix("Type"),
                field["nullable"],
                _squeezed(field.get("description")),
            )
    return {slot: value for slot, value in cells.items() if value}


def _plain(aspect: str, value: Any) -> Any:
    """A held value in the same plain form."""
    if aspect in {"name", "description"}:
        return _squeezed(value)
    if aspect in {"ownership", "tags", "upstreams"}:
        return frozenset(tuple(member) for member in value)
    if aspect == "deprecation":
        return value.get("note", "") if value.get("deprecated") else ""
    if aspect == "column":
        return (
            value["native_type"],
            value["type"],
            value.get("nullable", False),
            _squeezed(value.get("description")),
        )
    return value


def _read(path, at: int, document) -> Checkpoint:
    exists: dict[str, bool] = {}
    stated: dict[tuple[str, str], dict[Slot, Any]] = {}
    for record in document(path):
        urn, part, body = record["entityUrn"], record["aspectName"], record["aspect"]["json"]
        if part == "status":
            exists[urn] = not body["removed"]
        else:
            stated[urn, part] = _cells(urn, part, body)
    return Checkpoint(path, at, exists, stated)


@pytest.fixture(scope="session")
def replay(shared, document, new_memory) -> Replay:
    """Every checkpoint scanned, scanned again, and consolidated, in order, at its own time."""
    folder = shared / "data" / "replay" / "mcp_checkpoints"
    memory = new_memory()
    told = Replay([], memory, [], [], [])
    for entry in document(folder / "CHECKPOINTS.json.gz"):
        path, at = folder / f"{entry['file']}.gz", _moment(entry["time"])
        told.checkpoints.append(_read(path, at, document))
        told.runs.append(memory.scan(path, at=at))
        memory.consolidate()
        before = memory.dump() if entry["checkpoint"] % 10 == 9 else None
        told.repeats.append(memory.scan(path, at=at))
        told.unchanged_by_repeat.append(before is None or memory.dump() == before)
    return told


@pytest.fixture(scope="session")
def expected(replay) -> dict[Slot, list[Span]]:
    """(URN, aspect, key) → (value, from, to) of every span in which the checkpoints say that it held."""
    parts: dict[Slot, str] = {}
    held: dict[Slot, Any] = {}
    spans: dict[Slot, list[Span]] = defaultdict(list)
    for checkpoint in replay.checkpoints:
        for (urn, part), cells in checkpoint.stated.items():
            for slot in [slot for slot, of in parts.items() if of == part and slot[0] == urn]:
                if slot not in cells:
                    held.pop(slot, None)
            for slot, value in cells.items():
                parts[slot] = part
                held[slot] = value
        now = {slot: value for slot, value in held.items() if checkpoint.exists.get(slot[0])}
        for slot in parts:
            before = spans[slot][-1] if spans[slot] and spans[slot][-1][2] is None else None
            if before is not None and (slot not in now or now[slot] != before[0]):
                spans[slot][-1] = (before[0], before[1], checkpoint.at)
                before = None
            if before is None and slot in now:
                spans[slot].append((now[slot], checkpoint.at, None))
    return {slot: found for slot, found in spans.items() if found}


@pytest.fixture(scope="session")
def held(replay) -> dict[Slot, list[Span]]:
    """The same spans as the versions tell them, split where one was worded anew, clipped by their dataset's existence.

    A text that only says the same in other words founds no version; when it was worded how is told all the same.
    """
    existence: dict[str, list[tuple[int, int]]] = defaultdict(list)
    versions = replay.memory.versions()
    for one in versions:
        if one.aspect == "existence" and one.value["exists"]:
            existence[one.urn].append((one.valid_from, one.valid_to or END))
    spans: dict[Slot, list[Span]] = defaultdict(list)
    for one in replay.memory.worded():
        if one.aspect == "existence":
            continue
        value = _plain(one.aspect, one.value)
        for start, end in existence[one.urn]:
            first, last = max(start, one.valid_from), min(end, one.valid_to or END)
            if value and first < last:
                spans[one.urn, one.aspect, one.key].append((value, first, None if last == END else last))
    return {slot: sorted(found, key=lambda span: span[1]) for slot, found in spans.items()}


def test_a_the_live_set_and_every_current_belief_are_the_last_checkpoint(replay, expected, held, shared, document):
    last = replay.checkpoints[-1]
    existing = {
        urn for (urn, aspect, _), value in replay.memory.current().items() if aspect == "existence" and value["exists"]
    }
    assert existing == {urn for urn, exists in last.exists.items() if exists}
    assert len(existing) == 89

    current = {
        (urn, aspect, key): _plain(aspect, value)
        for (urn, aspect, key), value in replay.memory.current().items()
        if urn in existing and aspect != "existence" and _plain(aspect, value)
    }
    stated = {slot: value for cells in last.stated.values() for slot, value in cells.items()}
    of_schema = {slot for slot in current if slot[1] == "column" or slot[1:] == SCHEMA_NAME}
    unstated = {slot for slot in of_schema if (slot[0], "schemaMetadata") not in last.stated}
    assert {slot: value for slot, value in current.items() if slot not in unstated} == stated
    assert len({slot[0] for slot in unstated}) == 6

    truth = document(shared / "data" / "replay" / "truth_final.json.gz")
    assert {urn.split(",")[1] for urn in existing} == truth.keys()
    for name, facts in truth.items():
        urn = f"urn:li:dataset:(urn:li:dataPlatform:bigquery,{name},PROD)"
        assert current.get((urn, "name", "source"), "") == _squeezed(facts["friendly_name"])
        assert current.get((urn, "description", "source"), "") == _squeezed(facts["description"])
        owners = current.get((urn, "ownership", ""), ())
        assert {owner for owner, _ in owners} == {f"urn:li:corpuser:{owner}" for owner in facts["owners"]}
        tags = current.get((urn, "tags", ""), ())
        assert {tag for (tag,) in tags} == {f"urn:li:tag:{tag}" for tag in facts["tags"]}
        upstreams = current.get((urn, "upstreams", ""), ())
        assert {of.split(",")[1] for of, _ in upstreams} == set(facts["upstreams"] or ())
        assert current.get((urn, "deprecation", ""), "") == (facts["deprecation"] or "")
        if facts["columns"] is not None:
            columns = {
                key: (value[0], value[3])
                for (of, aspect, key), value in current.items()
                if (of, aspect) == (urn, "column")
            }
            assert columns == {
                column["name"]: (column["type"], _squeezed(column["description"])) for column in facts["columns"]
            }


def test_b_the_versions_are_the_checkpoints_history_interval_by_interval(expected, held):
    assert held == expected
    assert sum(len(spans) for spans in expected.values()) == 4248


def test_b_every_change_of_the_truth_is_an_episode_of_its_run_and_nothing_else_is(replay, shared, lines):
    truth = lines(shared / "data" / "replay" / "mcp_checkpoints" / "checkpoint_changes.jsonl.gz")
    changes = defaultdict(set)
    created = defaultdict(set)
    unknown = 0
    for change in truth:
        unknown += change["op"] == "no_longer_stated"
        if change["op"] in {"created", "resurrected"}:
            created[change["checkpoint"]].add(change["urn"])
        if change["op"] not in NO_EPISODE:
            aspect = ASPECT_OF[change["aspect"]]
            key = {"name": "source", "description": "source", "column": change["key"]}.get(aspect, "")
            changes[change["checkpoint"]].add((change["urn"], aspect, key))
    for number, run in enumerate(replay.runs):
        if number == 0:
            continue
        written = {(one.urn, one.aspect, one.key) for one in replay.memory.episodes(run.run)}
        first_stated = {slot for slot in changes[number] if slot[1] == "column" and slot[2] is None}
        for urn, _, _ in first_stated:
            assert any(slot[:2] == (urn, "column") for slot in written), (number, urn)
        assert changes[number] - first_stated - written == set(), number
        stated_anew = {urn for urn, _, _ in first_stated}
        extra = {
            slot
            for slot in written - changes[number]
            if slot[0] not in created[number]
            and not (slot[0] in stated_anew and (slot[1] == "column" or slot[1:] == SCHEMA_NAME))
        }
        assert extra == set(), number
    assert unknown == 15


def test_b_what_is_no_longer_stated_ends_nothing(replay, shared, lines):
    truth = lines(shared / "data" / "replay" / "mcp_checkpoints" / "checkpoint_changes.jsonl.gz")
    for change in truth:
        if change["op"] == "no_longer_stated":
            run = replay.runs[change["checkpoint"]]
            episodes = replay.memory.episodes(run.run)
            assert not [one for one in episodes if one.urn == change["urn"] and one.aspect == "column"]


def test_c_a_second_pass_over_a_checkpoint_writes_nothing(replay):
    assert [run.written for run in replay.repeats] == [0] * 30
    assert all(replay.unchanged_by_repeat)


def test_c_going_back_to_an_older_checkpoint_is_refused_and_writes_nothing(replay):
    before = replay.memory.dump()
    first = replay.checkpoints[0]
    with pytest.raises(UsageError, match="older than the last reading"):
        replay.memory.scan(first.path, at=first.at)
    assert replay.memory.dump() == before


def test_c_consolidating_only_at_the_end_gives_the_same_versions_in_the_same_order(replay, new_memory):
    memory = new_memory()
    for checkpoint in replay.checkpoints:
        memory.scan(checkpoint.path, at=checkpoint.at)
    report = memory.consolidate()
    assert report.left == 0
    assert memory.versions() == replay.memory.versions()


def test_e_who_owned_a_dataset_on_a_date_is_answered_from_the_versions(replay):
    ownership = defaultdict(list)
    existence = defaultdict(list)
    for one in replay.memory.versions():
        if one.aspect == "ownership":
            ownership[one.urn].append(one)
        elif one.aspect == "existence":
            existence[one.urn].append(one)

    def at(versions, moment: int):
        found = [one for one in versions if one.valid_from <= moment < (one.valid_to or END)]
        assert len(found) <= 1
        return found[0].value if found else None

    def owners_on(urn: str, moment: int) -> frozenset[str]:
        exists = at(existence[urn], moment)
        if not exists or not exists["exists"]:
            return frozenset()
        return frozenset(owner for owner, _ in at(ownership[urn], moment) or ())

    asked = 0
    known: dict[str, frozenset[str]] = {}
    for number, checkpoint in enumerate(replay.checkpoints):
        for (urn, part), cells in checkpoint.stated.items():
            if part == "ownership":
                known[urn] = frozenset(owner for owner, _ in cells.get((urn, "ownership", ""), ()))
        later = replay.checkpoints[number + 1].at if number < 29 else checkpoint.at + 86_400_000
        for moment in (checkpoint.at, (checkpoint.at + later) // 2, later - 1):
            for urn, exists in checkpoint.exists.items():
                assert owners_on(urn, moment) == (known.get(urn, frozenset()) if exists else frozenset()), (urn, moment)
                asked += 1
    assert asked == 9753


def test_a_reading_of_the_same_state_at_a_later_time_writes_nothing(replay):
    before = replay.memory.dump()
    last = replay.checkpoints[-1]
    report = replay.memory.scan(last.path, at=last.at + 86_400_000)
    assert (report.written, report.unchanged_share) == (0, 1.0)
    assert replay.memory.dump() == before


def test_every_rule_holds_on_what_the_replay_left(replay):
    assert replay.memory.broken() == []
