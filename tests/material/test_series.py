"""Three genuine DataHub files through their git history: noise writes nothing, every real change is written once.

The truth beside them classes every changed raw aspect. What a file no longer states is unknown, and no change.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from palimpsest.adapters.datahub.cells import READERS, read_part
from palimpsest.adapters.datahub.file import FileReader
from palimpsest.adapters.datahub.wire import part_of_class
from palimpsest.core.aspects import ASPECTS
from palimpsest.core.moment import parse
from palimpsest.core.noise import Scope
from palimpsest.core.observation import RawAspect
from palimpsest.core.paths import simple_path
from palimpsest.core.reconcile import Reason

pytestmark = [
    pytest.mark.needs_shared("reads genuine metadata files through their history"),
    pytest.mark.xdist_group("series"),
]

SERIES = ("bootstrap_mce", "golden_glue", "golden_dbt_enabled_with_schemas")

# Real changes of a raw aspect in which no fact of ours changes: (raw aspect, what differs, why it is no fact).
NO_FACT = {
    ("upstreamLineage", "fineGrainedLineages"): "a column's lineage that names no downstream column is about none",
    ("upstreamLineage", "downstreamType"): "one column is one column, as FIELD and as FIELD_SET of one",
    ("dataJobInfo", "type"): "one text in two union wrappers: an enumeration's and a string's",
    ("schemaMetadata", "nestedType"): "the native type says what an array holds; it did not change",
    ("ownership", "source"): "who owns it is the fact; how DataHub learnt it is provenance",
    ("viewProperties", "formattedViewLogic"): "the same definition, laid out",
}


@dataclass(frozen=True)
class Told:
    """One series as it was remembered: the memory, and what became of each change of the truth."""

    memory: Any
    runs: list[Any]
    outcomes: Counter[tuple[str, str, str]]
    faults: list[str]
    without_fact: Counter[tuple[str, str]]
    files: list[Any]


@pytest.fixture(scope="session")
def told(shared, document, lines, new_memory):
    """Every series, scanned and consolidated version by version at its commit's time, and compared with its truth."""
    return {name: _tell(shared / "data" / "series" / name, document, lines, new_memory()) for name in SERIES}


def _tell(folder, document, lines, memory) -> Told:
    truth = defaultdict(list)
    for change in lines(folder / "changes.jsonl.gz"):
        truth[change["version"]].append(change)
    story = Told(memory, [], Counter(), [], Counter(), [])
    for step in document(folder / "versions.json.gz"):
        path = folder / f"{step['file']}.gz"
        run = memory.remember(path, at=parse(step["time"]))
        story.runs.append(run)
        story.files.append(path)
        if step["version"] > 0:
            _compare(story, step["version"], truth[step["version"]], memory.episodes(run.run), path)
    return story


def _compare(story: Told, version: int, changes, episodes, path) -> None:
    """Judge the episodes of one run by what the truth says of each raw aspect."""
    fed = defaultdict(list)
    for one in episodes:
        fed[one.urn, one.part].append(one)
    claimed = set()
    for change in changes:
        part = _part(change["aspect"])
        claimed.add((change["urn"], part))
        found = fed[change["urn"], part]
        loud = any(one.impact > 0 for one in found)
        outcome = "loud" if loud else "quiet" if found else "nothing"
        if part not in READERS:
            outcome = "not remembered"
        story.outcomes[change["op"], change["noise"], outcome] += 1
        where = f"version {version}: {change['urn']} {part}"
        if change["op"] == "aspect_changed" and change["noise"] != "none" and found:
            story.faults.append(f"{where}: {change['noise']} wrote {found}")
        if change["op"] == "aspect_absent" and found:
            story.faults.append(f"{where}: absent, and wrote {found}")
        if change["op"] == "aspect_changed" and change["noise"] == "none" and outcome == "nothing":
            reasons = {(part, name) for name in _differing(change["before"], change["after"])}
            story.without_fact.update(reasons & NO_FACT.keys())
            if not reasons <= NO_FACT.keys():
                story.faults.append(f"{where}: wrote nothing of {reasons - NO_FACT.keys()}")
    patched = {(found.urn, found.part) for found in FileReader(path).records() if _is_patch(found)}
    for (urn, part), found in fed.items():
        is_listing = part == "status" and all(one.kind == "first" and one.value["exists"] for one in found)
        if (urn, part) not in claimed and (urn, part) not in patched and not is_listing:
            story.faults.append(f"version {version}: {urn} {part}: nothing changed, and wrote {found}")


def _is_patch(found) -> bool:
    return isinstance(found, RawAspect) and found.is_patch


def _part(name: str) -> str:
    """DataHub's name of a raw aspect; the truth spells ML models after their class."""
    return name if name in READERS else part_of_class(name[0].upper() + name[1:])


def _differing(before, after) -> set[str]:
    """The names of the innermost fields in which two JSON values differ; a field that only one has counts as one."""
    if isinstance(before, dict) and isinstance(after, dict):
        names = before.keys() | after.keys()
        if before.keys() != after.keys() and all(isinstance(before.get(n) or after.get(n), str) for n in names):
            return {""}  # a union under another name
        found = set()
        for name in names:
            if before.get(name) != after.get(name):
                inner = _differing(before.get(name), after.get(name))
                found |= {name} if "" in inner else inner or {name}
        return found
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return set().union(*(_differing(b, a) for b, a in zip(before, after, strict=True)))
    return set() if before == after else {""} if before and after and isinstance(before, list) else set()


def test_noise_writes_nothing_and_no_real_change_is_missing_and_nothing_else_is_written(told):
    assert {name: story.faults for name, story in told.items()} == {name: [] for name in SERIES}


def test_what_became_of_every_change_of_the_truth(told):
    assert told["bootstrap_mce"].outcomes == {
        ("aspect_changed", "none", "loud"): 33,
        ("aspect_changed", "none", "nothing"): 1,
        ("aspect_changed", "none", "not remembered"): 37,
        ("aspect_changed", "audit_only", "nothing"): 38,
        ("aspect_changed", "audit_only", "not remembered"): 7,
        ("aspect_changed", "null_default_only", "nothing"): 1,
        ("aspect_appeared", "none", "loud"): 92,
        ("aspect_appeared", "none", "nothing"): 57,
        ("aspect_appeared", "none", "not remembered"): 61,
        ("aspect_absent", "none", "nothing"): 8,
        ("aspect_absent", "none", "not remembered"): 10,
    }
    assert told["golden_glue"].outcomes == {
        ("aspect_changed", "none", "loud"): 43,
        ("aspect_changed", "none", "nothing"): 11,
        ("aspect_changed", "audit_only", "nothing"): 6,
        ("aspect_changed", "null_default_only", "nothing"): 60,
        ("aspect_changed", "order_only", "nothing"): 15,
        ("aspect_appeared", "none", "loud"): 40,
        ("aspect_appeared", "none", "nothing"): 18,
        ("aspect_appeared", "none", "not remembered"): 6,
        ("aspect_absent", "none", "nothing"): 21,
    }
    assert told["golden_dbt_enabled_with_schemas"].outcomes == {
        ("aspect_changed", "none", "loud"): 158,
        ("aspect_changed", "none", "quiet"): 2,  # VARCHAR became TEXT, and TEXT VARCHAR again
        ("aspect_changed", "none", "nothing"): 12,
        ("aspect_changed", "none", "not remembered"): 9,
        ("aspect_changed", "audit_only", "nothing"): 10,
        ("aspect_changed", "mixed_noise", "nothing"): 17,
        ("aspect_changed", "null_default_only", "nothing"): 94,
        ("aspect_changed", "order_only", "nothing"): 2,
        ("aspect_appeared", "none", "loud"): 18,
        ("aspect_appeared", "none", "nothing"): 23,
        ("aspect_appeared", "none", "not remembered"): 3,
        ("aspect_absent", "none", "nothing"): 15,
    }


def test_what_a_file_no_longer_states_ends_no_belief(told):
    absent = {
        name: sum(count for (op, _, _), count in told[name].outcomes.items() if op == "aspect_absent")
        for name in SERIES
    }
    assert absent == {"bootstrap_mce": 18, "golden_glue": 21, "golden_dbt_enabled_with_schemas": 15}
    ended = {name: [one for one in told[name].memory.versions() if one.state == "retracted"] for name in SERIES}
    assert {one.ended_reason for found in ended.values() for one in found} == {Reason.UNLISTED}


def test_real_changes_without_a_fact_are_these(told):
    assert {name: dict(told[name].without_fact) for name in SERIES} == {
        "bootstrap_mce": {("upstreamLineage", "fineGrainedLineages"): 1},
        "golden_glue": {("dataJobInfo", "type"): 10, ("schemaMetadata", "nestedType"): 1},
        "golden_dbt_enabled_with_schemas": {
            ("ownership", "source"): 4,
            ("upstreamLineage", "downstreamType"): 4,
            ("viewProperties", "formattedViewLogic"): 4,
        },
    }


def test_a_cell_that_comes_twice_in_a_file_makes_one_version_and_the_last_wins(told):
    story = told["golden_glue"]
    twice = Counter()
    last = {}
    for found in FileReader(story.files[-1]).records():
        if isinstance(found, RawAspect) and not found.is_patch:
            twice[found.urn, found.part] += 1
            last[found.urn, found.part] = found.payload
    repeated = [slot for slot, count in twice.items() if count > 1]
    assert repeated
    current = story.memory.current()
    for urn, part in repeated:
        for seen in read_part(urn, part, last[urn, part]).observations:
            if not ASPECTS[seen.aspect].paths and (urn, seen.aspect, seen.key) in current:
                assert current[urn, seen.aspect, seen.key] == seen.value
    for name in SERIES:
        for run in told[name].runs:
            episodes = told[name].memory.episodes(run.run)
            assert len({(one.urn, one.aspect, one.key) for one in episodes}) == len(episodes) == run.written


def test_what_is_held_in_the_end_is_what_was_stated_last(told):
    """Compared change by change, or read once from the last statement of each raw aspect: the same."""
    for name in SERIES:
        story = told[name]
        stated: dict[tuple[str, str], bytes] = {}
        patched: set[tuple[str, str]] = set()
        for path in story.files:
            for found in FileReader(path).records():
                if not isinstance(found, RawAspect):
                    continue
                if found.is_patch:
                    patched.add((found.urn, found.part))
                else:
                    stated[found.urn, found.part] = found.payload
        expected = {}
        for (urn, part), payload in stated.items():
            if (urn, part) not in patched:
                for seen in read_part(urn, part, payload).observations:
                    if Scope().ignores(seen.aspect, seen.key):
                        continue
                    form = ASPECTS[seen.aspect].canonical(seen.value)
                    key = simple_path(seen.key).casefold() if ASPECTS[seen.aspect].paths else seen.key
                    expected[urn, part, seen.aspect, key] = form
        held = {}
        parts = {(one.urn, one.aspect, one.key): one.part for one in story.memory.episodes()}
        for (urn, aspect, key), value in story.memory.current().items():
            part = parts[urn, aspect, key]
            if (urn, part) in stated and (urn, part) not in patched:
                form = ASPECTS[aspect].canonical(value)
                spelled = simple_path(key).casefold() if ASPECTS[aspect].paths else key
                held[urn, part, aspect, spelled] = form
        assert {slot: form for slot, form in expected.items() if form not in (None, "", [], {})} == {
            slot: form for slot, form in held.items() if form not in (None, "", [], {})
        }, name


def test_every_version_is_numbered_and_follows_the_one_before(told):
    for name in SERIES:
        chains = defaultdict(list)
        for one in told[name].memory.versions():
            chains[one.urn, one.aspect, one.key].append(one)
        for chain in chains.values():
            assert [one.number for one in chain] == list(range(1, len(chain) + 1))
            assert sum(one.state == "current" for one in chain) <= 1
            for one, following in pairwise(chain):
                assert one.valid_to is not None
                assert one.valid_from <= one.valid_to <= following.valid_from


def test_every_rule_holds_on_what_the_series_left(told):
    assert {name: told[name].memory.broken() for name in SERIES} == {name: [] for name in SERIES}
