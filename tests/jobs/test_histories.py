"""Any history of readings: what is held is what a simple model says, twice the same writes nothing, every rule holds.

The model keeps a set of tags, some properties and the existence of two datasets; it knows nothing of cells or digests.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from palimpsest.core.moment import parse, text
from palimpsest.jobs.verify import verify
from palimpsest.testing import NoProgress
from tests.building import Memory, Record, dataset, mcp, status, tags

URNS = (dataset("orders"), dataset("items"))
NAMES = ("a", "b", "c")
BROKEN: Record = {"neither": "of both"}
DAY = 86_400_000


@dataclass
class Model:
    """What is held of one dataset. Tags are None, or a set and whether it is known only in part."""

    exists: bool | None = None
    by_listing: bool = False
    tags: tuple[bool, frozenset[str]] | None = None
    properties: dict[str, str] = field(default_factory=dict)

    def read(self, records: list[Record]) -> None:
        """A reading that lists the dataset, and what it states of it, in order."""
        stated = [one for one in records if one["aspectName"] == "status"]
        if stated:
            self.exists = not stated[-1]["aspect"]["json"]["removed"]
            self.by_listing = False
        elif self.exists is None or (not self.exists and self.by_listing):
            self.exists = True
        self._read_tags([one for one in records if one["aspectName"] == "globalTags"])
        self._read_properties([one for one in records if one["aspectName"] == "datasetProperties"])

    def miss(self) -> None:
        """A complete reading that does not list the dataset."""
        if self.exists:
            self.exists, self.by_listing = False, True

    def _read_tags(self, records: list[Record]) -> None:
        held = self.tags
        for one in records:
            body = one["aspect"]["json"]
            if one["changeType"] == "UPSERT":
                held = (False, frozenset(tag["tag"] for tag in body["tags"]))
                continue
            for step in body:
                urn = step["path"].removeprefix("/tags/")
                if step["op"] == "add":
                    held = (held[0], held[1] | {urn}) if held is not None else (True, frozenset({urn}))
                elif held is not None:
                    held = (held[0], held[1] - {urn})
        if held is not None and self.tags is None and not held[1]:
            return  # what says nothing is not held
        self.tags = held

    def _read_properties(self, records: list[Record]) -> None:
        for one in records:
            body = one["aspect"]["json"]
            if one["changeType"] == "UPSERT":
                self.properties = dict(body["customProperties"])
                continue
            for step in body:
                name = step["path"].removeprefix("/customProperties/")
                if step["op"] == "add":
                    self.properties[name] = step["value"]
                else:
                    self.properties.pop(name, None)


def _patch(urn: str, aspect: str, op: str, path: str, value: Any) -> Record:
    step = {"op": op, "path": path} | ({"value": value} if op == "add" else {})
    return mcp(urn, aspect, [step], change="PATCH")


OPS = st.sampled_from(["add", "remove"])
RECORDS = st.one_of(
    st.builds(lambda urn, removed: mcp(urn, "status", status(removed)), st.sampled_from(URNS), st.booleans()),
    st.builds(
        lambda urn, names: mcp(urn, "globalTags", tags(*names)),
        st.sampled_from(URNS),
        st.lists(st.sampled_from(NAMES), max_size=3),
    ),
    st.builds(
        lambda urn, op, name: _patch(urn, "globalTags", op, f"/tags/urn:li:tag:{name}", {"tag": f"urn:li:tag:{name}"}),
        st.sampled_from(URNS),
        OPS,
        st.sampled_from(NAMES),
    ),
    st.builds(
        lambda urn, named: mcp(urn, "datasetProperties", {"customProperties": named}),
        st.sampled_from(URNS),
        st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["1", "2"]), max_size=3),
    ),
    st.builds(
        lambda urn, op, name, value: _patch(urn, "datasetProperties", op, f"/customProperties/{name}", value),
        st.sampled_from(URNS),
        OPS,
        st.sampled_from(NAMES),
        st.sampled_from(["1", "2"]),
    ),
    st.just(BROKEN),
)
READINGS = st.lists(st.tuples(st.booleans(), st.lists(RECORDS, max_size=5)), min_size=1, max_size=5)


def _held(memory: Memory) -> dict[str, Model]:
    """What the current versions say, as the model would keep it."""
    found = {urn: Model() for urn in URNS}
    with memory.store.engine.connect() as connection:
        rows = connection.exec_driver_sql(
            "SELECT e.urn, c.aspect, c.key, p.value FROM version v JOIN cell c ON c.id = v.cell_id "
            "JOIN entity e ON e.id = c.entity_id JOIN episode p ON p.cell_id = v.cell_id AND p.number = v.episode "
            "WHERE v.state = 'current'"
        ).all()
    for urn, aspect, key, value in rows:
        said, model = json.loads(value), found[urn]
        match aspect:
            case "existence":
                model.exists, model.by_listing = said["exists"], said.get("ground") == "listing"
            case "tags":
                members = said["at_least"] if isinstance(said, dict) else said
                model.tags = (isinstance(said, dict), frozenset(member[0] for member in members))
            case "property":
                model.properties[key] = said
    return found


@settings(max_examples=40, phases=[phase for phase in Phase if phase is not Phase.explain])
@given(readings=READINGS)
def test_what_is_held_is_what_the_readings_say(readings):
    folder = Path(tempfile.mkdtemp())
    memory = Memory(folder)
    models = {urn: Model() for urn in URNS}
    try:
        for number, (complete, drawn) in enumerate(readings):
            at = text(parse("2026-01-01") + number * DAY)  # type: ignore[arg-type]
            records = [*drawn, mcp(URNS[0], "browsePaths", {})]  # no memory, but metadata: never a file of nothing
            report = memory.scan(records, at=at, complete=complete)
            assert report.records_read == len(records)
            memory.consolidate()
            again = memory.scan(records, at=at, complete=complete)
            assert again.written == 0

            for urn, model in models.items():
                of_it = [one for one in records if one is not BROKEN and one["entityUrn"] == urn]
                remembered = [one for one in of_it if one["aspectName"] != "browsePaths"]
                if remembered:
                    model.read(remembered)
                elif complete and BROKEN not in records:
                    model.miss()
            held = _held(memory)
            for urn, model in models.items():
                assert (held[urn].exists, held[urn].tags, held[urn].properties) == (
                    model.exists,
                    model.tags,
                    model.properties,
                ), f"{urn} after reading {number}"
        report = verify(memory.store, clock=memory.clock, progress=NoProgress())
        assert [rule for rule in report.rules if rule.broken] == []
    finally:
        memory.store.dispose()
        shutil.rmtree(folder)
