"""Form is no fact: new stamps, another order, other empty spellings, other canonical rules write no episode."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from palimpsest.core.aspects import ASPECTS, SAID, Json
from palimpsest.core.aspects.sets import members_of
from palimpsest.core.moment import Moment

CATALOG = Path(__file__).resolve().parents[2] / "demo" / "catalog"
MONDAY, TUESDAY, FRIDAY = (
    CATALOG / f"{day}.json" for day in ("2026-03-02-monday", "2026-03-03-tuesday", "2026-03-06-friday")
)
DAY = 86_400_000
SEED = 20260302


def restamped(records: Json, *, seed: int = SEED) -> list[Json]:
    """The same catalog as another run would write it: every stamp new, every list in another order, nulls added."""
    chance = random.Random(seed)

    def rewrite(value: Json) -> Json:
        if isinstance(value, list):
            return chance.sample([rewrite(part) for part in value], len(value))
        if not isinstance(value, dict):
            return value
        if {"time", "actor"} <= value.keys():
            return {"actor": "urn:li:corpuser:night-run", "time": int(str(value["time"])) + DAY, "impersonator": None}
        parts = {name: rewrite(part) for name, part in value.items()}
        if "lastObserved" in parts:
            return {"lastObserved": int(str(parts["lastObserved"])) + DAY, "runId": "night-run", "properties": None}
        if "fieldPath" in parts or "owner" in parts or "dataset" in parts:
            parts["attribution"] = None
            parts["jsonPath"] = None
        return dict(chance.sample(list(parts.items()), len(parts)))

    rewritten = rewrite(records)
    assert isinstance(rewritten, list)
    return rewritten


def _records(path: Path) -> Json:
    return json.loads(path.read_bytes())


def _moment_of(path: Path) -> Moment:
    return Moment(max(record["systemMetadata"]["lastObserved"] for record in json.loads(path.read_bytes())))


# --- the demo's catalog -----------------------------------------------------------------------------------------


def test_a_first_reading_is_no_change(memory):
    report = memory.remember(MONDAY)
    assert (report.is_first, report.read_at_from, report.changes) == (True, "lastObserved", {})
    assert report.written == report.baseline == memory.count("version") > 0
    assert memory.changes() == []


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_same_catalog_with_new_stamps_and_shuffled_changes_no_table_but_run(memory, seed):
    memory.remember(MONDAY)
    before, runs = memory.dump(), memory.count("run")

    report = memory.scan(restamped(_records(MONDAY), seed=seed))
    memory.consolidate()

    assert (report.written, report.unchanged, report.unchanged_share) == (0, report.observations, 1.0)
    assert memory.dump() == before
    assert memory.count("run") == runs + 1


def test_tuesday_changes_no_table_but_run(memory):
    first = memory.remember(MONDAY)
    before = memory.dump()

    tuesday = memory.remember(TUESDAY)

    assert (tuesday.written, tuesday.observations, tuesday.unchanged) == (0, first.written, first.written)
    assert memory.dump() == before


def test_friday_is_exactly_what_the_demo_changed(memory):
    for path in (MONDAY, TUESDAY):
        memory.remember(path)

    friday = memory.remember(FRIDAY)

    truth = json.loads((CATALOG.parent / "truth.json").read_bytes())
    changes = {(one.urn, one.aspect, one.key): one for one in memory.changes(friday.run)}
    assert changes.keys() == {(one["urn"], one["aspect"], one["key"]) for one in truth}
    for told in truth:
        found = changes[told["urn"], told["aspect"], told["key"]]
        assert found.kind == _kind_of(found, told["op"]), told
        assert _as_told(found.aspect, found.before, told["before"]), told
        assert _as_told(found.aspect, found.value, told["after"]), told
    assert friday.contradicting == sum(one.before is not None for one in changes.values())
    assert friday.changes == {"breaking": 3, "minor": 2, "notable": 5}


def _kind_of(found, op: str) -> str:
    """What the truth calls removed of an entity is a changed existence; what said nothing before is stated first."""
    if found.before is None:
        return "first"
    return "changed" if found.aspect == "existence" and op == "removed" else op


def _as_told(aspect: str, value: Json, told: Json) -> bool:
    """Whether a held value is what the demo's truth says in its own words."""
    if value is None:
        return told in (None, {"deprecated": False})  # what says nothing is not held
    if told is None:
        return False
    match aspect:
        case "ownership":
            return members_of(value) == {(one["owner"], one["role"]) for one in told}
        case "tags" | "upstreams":
            return {member[0] for member in members_of(value)} == set(told)
        case "existence":
            return value["exists"] is told
        case "column":
            return told.items() <= value.items()
        case "deprecation":
            plain = {name: part for name, part in told.items() if name != "decommission"}
            return plain.items() <= value.items() and bool(value.get("decommission_time")) == ("decommission" in told)
        case _:
            return value == told


# --- other canonical rules --------------------------------------------------------------------------------------


def _coarser(canonical):
    """Letter case and the ends of words do not count."""

    def fold(value: Json) -> Json:
        if isinstance(value, str):
            return value.casefold()[:40]
        if isinstance(value, list):
            return [fold(part) for part in value]
        if isinstance(value, dict):
            return {name: fold(part) for name, part in value.items()}
        return value

    return lambda value: fold(canonical(value))


def _finer(canonical):
    """White space counts, and every empty spelling."""
    return lambda value: ["as read", value]


@contextmanager
def canonical_form(aspect: str, change) -> Iterator[None]:
    """Another canonical form of one aspect, for a while: as a new version of the rules would have it."""
    rules = ASPECTS[aspect]
    ASPECTS[aspect] = replace(rules, canonical=change(rules.canonical))
    try:
        yield
    finally:
        ASPECTS[aspect] = rules


@pytest.mark.needs_shared("reads a genuine metadata file")
@pytest.mark.parametrize("change", [_coarser, _finer])
def test_another_canonical_form_of_any_aspect_forges_no_change(shared, new_memory, change):
    catalogs = (FRIDAY, shared / "data" / "mce" / "datahub__mi__examples__mce_files__bootstrap_mce.json")
    tried = set()
    for path in catalogs:
        memory = new_memory()
        memory.remember(path, at="2026-10-01T00:00:00Z")
        held = {one.aspect for one in memory.episodes()}
        episodes = memory.count("episode")
        for number, aspect in enumerate(sorted(held)):
            records = restamped(_records(path), seed=number)
            with canonical_form(aspect, change):
                report = memory.scan(records, at=f"2026-10-02T00:{number:02}:00Z")
                assert (report.written, memory.count("episode")) == (0, episodes), aspect
                assert memory.scan(records, at=f"2026-10-02T00:{number:02}:30Z").written == 0, aspect
            assert memory.scan(records, at=f"2026-10-02T00:{number:02}:45Z").written == 0, aspect
        tried |= held
    assert tried == set(ASPECTS) - {"note", *SAID}  # a catalog says nothing of these


def test_a_real_change_is_seen_under_other_canonical_rules(memory):
    memory.remember(MONDAY)
    with canonical_form("description", _coarser):
        friday = memory.remember(FRIDAY)
    assert [one.key for one in memory.changes(friday.run) if one.aspect == "description"] == ["edited"]


def test_what_was_ignored_is_held_from_the_reading_that_no_longer_ignores_it(memory):
    record = {
        "entityType": "dataset",
        "entityUrn": "urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD)",
        "changeType": "UPSERT",
        "aspectName": "datasetProperties",
        "aspect": {"json": {"customProperties": {"numRows": "12", "team": "shop"}}},
    }
    memory.remember([record], at="2026-01-01")
    assert memory.scan([record], at="2026-01-02").written == 0

    report = memory.scan([record], at="2026-01-03", ignore=())

    assert (report.written, report.baseline, report.changes) == (1, 1, {})
    assert memory.scan([record], at="2026-01-04", ignore=()).written == 0
    assert memory.scan([record], at="2026-01-05").written == 0
