"""Twenty-six cases that users of catalogs reported, each scanned step by step, a day apart, and consolidated.

The steps come from the shared material. Where a case speaks of a source that is not read yet, its docstring says what
waits for it, and what of it can be shown with files is shown.
"""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from palimpsest.core.aspects import ASPECTS
from palimpsest.core.aspects.sets import members_of
from palimpsest.core.baseline import apply_patches, renamed_columns
from palimpsest.core.errors import CatalogError
from palimpsest.core.moment import parse
from palimpsest.core.observation import Patch
from tests.building import dataset, mcp, owners, status, tags

pytestmark = [pytest.mark.needs_shared("reads reported cases"), pytest.mark.xdist_group("issues")]

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,db.s.orders,PROD)"


@pytest.fixture(scope="session")
def cases(shared):
    """Case id → case."""
    with (shared / "data" / "issues" / "dev.jsonl").open(encoding="utf-8") as file:
        return {case["id"]: case for case in map(json.loads, file)}


@pytest.fixture
def told(cases, memory):
    """Scans and consolidates the steps of a case; the report of each."""

    def tell(case: str):
        steps = cases[case]["steps"]
        return [memory.remember(_records(step), at=f"2026-01-{day:02}") for day, step in enumerate(steps, start=1)]

    return tell


def _records(step):
    """The records of a step. What is no record stands beside one that is, as in real files; alone it is no metadata."""
    records = step if isinstance(step, list) else [step]
    return records if any("entityUrn" in one for one in records) else [mcp(ORDERS, "status", status()), *records]


def _edits(memory, report):
    """(URN, aspect, op, item) of every edit in the changes of a run: set members, or the key of the cell."""
    found = []
    for one in memory.changes(report.run):
        for edit in ASPECTS[one.aspect].difference(one.before, one.value):
            found.append((one.urn, one.aspect, edit.op, edit.item or one.key))
    return sorted(found)


def test_the_cases_are_these(cases):
    here = {name.removeprefix("test_").replace("_", "-") for name in globals() if name.startswith("test_")}
    assert len(cases) == 26
    assert cases.keys() <= here


def test_tags_emptied(told, memory):
    _, emptied = told("tags-emptied")
    assert _edits(memory, emptied) == [
        (ORDERS, "tags", "removed", "urn:li:tag:display_in_catalogue"),
        (ORDERS, "tags", "removed", "urn:li:tag:pii"),
    ]
    assert memory.current()[ORDERS, "tags", ""] == []


def test_hash_only(told, memory):
    _, again = told("hash-only")
    assert (again.written, memory.episodes(again.run)) == (0, [])


def test_column_order(told):
    _, again = told("column-order")
    assert again.written == 0


def test_columns_null_on_error(told, memory):
    first, broken, again = told("columns-null-on-error")
    assert (first.records_failed, broken.records_failed, broken.records_used) == (0, 1, 1)
    assert (broken.written, again.written) == (0, 0)
    assert broken.complete is False


def test_restore_explicit(told, memory):
    _, deleted, restored = told("restore-explicit")
    assert _edits(memory, deleted) == [(ORDERS, "existence", "removed", "")]
    assert _edits(memory, restored) == [
        (ORDERS, "existence", "added", ""),
        (ORDERS, "ownership", "added", "urn:li:corpuser:bob"),
        (ORDERS, "ownership", "removed", "urn:li:corpuser:ann"),
    ]
    assert [one.kind for one in memory.episodes(restored.run)] == ["returned", "changed"]
    history = [one for one in memory.versions() if one.aspect == "ownership"]
    assert [(one.number, one.state, one.value) for one in history] == [
        (1, "superseded", [["urn:li:corpuser:ann", "TECHNICAL_OWNER"]]),
        (2, "current", [["urn:li:corpuser:bob", "TECHNICAL_OWNER"]]),
    ]


def test_owner_two_roles(told, memory):
    _, steward = told("owner-two-roles")
    (change,) = memory.changes(steward.run)
    (edit,) = ASPECTS["ownership"].difference(change.before, change.value)
    assert (edit.op, edit.after) == ("added", ["urn:li:corpuser:alice", "DATA_STEWARD"])


def test_owner_manual_kept(told, memory):
    _, ingested = told("owner-manual-kept")
    assert _edits(memory, ingested) == [
        (ORDERS, "ownership", "added", "urn:li:corpuser:dbt2"),
        (ORDERS, "ownership", "removed", "urn:li:corpuser:dbt1"),
        (ORDERS, "ownership", "removed", "urn:li:corpuser:hand"),
    ]


def test_urn_case_two_tables(told, memory):
    _, second = told("urn-case-two-tables")
    upper, lower = (f"urn:li:dataset:(urn:li:dataPlatform:bigquery,p.d.{name},PROD)" for name in ("AM100", "am100"))
    assert _edits(memory, second) == [(lower, "existence", "added", "")]
    assert memory.current()[upper, "ownership", ""] == [["urn:li:corpuser:ann", "TECHNICAL_OWNER"]]
    assert memory.current()[lower, "ownership", ""] == [["urn:li:corpuser:bob", "TECHNICAL_OWNER"]]


def test_column_case_rename(told, memory):
    _, lower = told("column-case-rename")
    assert (lower.written, lower.quiet, lower.changes) == (1, 1, {})
    (episode,) = memory.episodes(lower.run)
    assert (episode.key, episode.before["path"], episode.value["path"]) == ("HeyThere", "HeyThere", "heythere")
    said = ASPECTS["column"].say_change(episode.key, episode.before, episode.value)
    assert said == "column HeyThere: spelled heythere, was HeyThere"


def test_type_synonym(told, memory):
    _, text = told("type-synonym")
    assert (text.written, text.quiet, text.changes) == (1, 1, {})
    (episode,) = memory.episodes(text.run)
    assert (episode.before["native_type"], episode.value["native_type"]) == ("VARCHAR", "TEXT")


def test_fieldpath_v1_v2(told, memory):
    _, nested = told("fieldpath-v1-v2")
    assert _edits(memory, nested) == [(ORDERS, "column", "added", "address")]
    assert nested.written == 1


def test_rename_table(told, memory):
    """The hint that b may be a new name of a is an answer's, and asked of it; here: nothing is given to b silently."""
    _, renamed = told("rename-table")
    old, new = (f"urn:li:dataset:(urn:li:dataPlatform:snowflake,db.s.{name},PROD)" for name in "ab")
    assert _edits(memory, renamed) == [(old, "existence", "removed", ""), (new, "existence", "added", "")]
    assert (new, "ownership", "") not in memory.current()
    assert memory.current()[old, "ownership", ""] == [["urn:li:corpuser:ann", "TECHNICAL_OWNER"]]


def test_env_twins(told, memory):
    _, changed = told("env-twins")
    twin = "urn:li:dataset:(urn:li:dataPlatform:snowflake,db.s.t,DEV)"
    assert _edits(memory, changed) == [
        (twin, "ownership", "added", "urn:li:corpuser:eve"),
        (twin, "ownership", "removed", "urn:li:corpuser:dev"),
    ]


def test_column_rename(told, memory):
    _, renamed = told("column-rename")
    assert _edits(memory, renamed) == [
        (ORDERS, "column", "added", "userId"),
        (ORDERS, "column", "removed", "user_id"),
    ]
    columns = {one.key: one for one in memory.changes(renamed.run)}
    hint = renamed_columns({"user_id": columns["user_id"].before}, {"userId": columns["userId"].value})
    assert hint == {"userId": "user_id"}


def test_blank_from_source(told, memory):
    _, blank = told("blank-from-source")
    assert blank.written == 0
    assert memory.current()[ORDERS, "description", "edited"] == "Curated by hand"
    assert (ORDERS, "description", "source") not in memory.current()


def test_whitespace(told, memory):
    _, laid_out = told("whitespace")
    assert laid_out.written == 0
    assert memory.current()[ORDERS, "description", "source"] == "alpha beta"


def test_add_then_remove(told, memory):
    """Consolidated step by step, as here, or only at the end, as below: pii was there between the steps."""
    _, added, removed = told("add-then-remove")
    assert _edits(memory, added) == [(ORDERS, "tags", "added", "urn:li:tag:pii")]
    assert added.changes == {"notable": 1}
    assert _edits(memory, removed) == [(ORDERS, "tags", "removed", "urn:li:tag:pii")]
    assert [(one.value, one.valid_from, one.valid_to) for one in memory.versions() if one.aspect == "tags"] == [
        ([["urn:li:tag:pii"]], parse("2026-01-02"), parse("2026-01-03")),
        ([], parse("2026-01-03"), None),
    ]


def test_add_then_remove_consolidated_once(cases, memory):
    for day, step in enumerate(cases["add-then-remove"]["steps"], start=1):
        memory.scan(step, at=f"2026-01-{day:02}")
    memory.consolidate()
    assert [(one.value, one.state) for one in memory.versions() if one.aspect == "tags"] == [
        ([["urn:li:tag:pii"]], "superseded"),
        ([], "current"),
    ]


def test_aspect_twice_in_file(told, memory):
    (once,) = told("aspect-twice-in-file")
    assert [(one.aspect, one.value) for one in memory.episodes(once.run)] == [
        ("existence", {"exists": True}),
        ("ownership", [["urn:li:corpuser:bob", "TECHNICAL_OWNER"]]),
    ]
    assert memory.count("version") == 2


def test_link_twice():
    """Publishing waits for DataHub; what a publication says, a PATCH that adds one link by its URL, holds it once."""
    ours = Patch("links", "", "add", ("https://memory.example/entity/1", "Agent memory: 5 beliefs"))
    once, _ = apply_patches([], {("links", ""): [["https://wiki.example", "Wiki"]]}, [ours])
    twice, _ = apply_patches([], once, [ours])
    moved, _ = apply_patches([], twice, [ours._replace(member=(ours.member[0], "Agent memory: 6 beliefs"))])
    assert twice == once
    assert members_of(moved["links", ""]) == {
        ("https://wiki.example", "Wiki"),
        ("https://memory.example/entity/1", "Agent memory: 6 beliefs"),
    }


def test_lineage_truncated(told, memory):
    """Paging a server's answer waits for that source; a record that is no statement is counted and says nothing."""
    whole, cut = told("lineage-truncated")
    assert (cut.written, cut.records_failed, cut.records_used) == (0, 1, 1)
    assert len(memory.current()[ORDERS, "upstreams", ""]) == 120
    assert whole.written == 2


def test_search_lag(memory):
    """Confirming by URN waits for the server; a file that lacks a dataset ends nothing, whole only if it says so."""
    here, there = mcp(dataset("a"), "status", status()), mcp(dataset("b"), "status", status())
    memory.remember([here, there], at="2026-01-01", complete=True)
    assert memory.remember([here], at="2026-01-02").written == 0
    broken = memory.remember([here, {"neither": "of both"}], at="2026-01-03", complete=True)
    assert (broken.complete, broken.records_failed, broken.written) == (False, 1, 0)
    assert memory.remember([here], at="2026-01-04", complete=True, limit=1).written == 0
    gone = memory.remember([here], at="2026-01-05", complete=True)
    assert _edits(memory, gone) == [(dataset("b"), "existence", "removed", "")]


def test_wide_5k(shared, memory):
    paths = [next((shared / "data" / "wide_tables").glob(f"main_remainder_1pct_v1_v{n}_*")) for n in range(3)]
    reports = [memory.remember(path, at=f"2026-01-0{day}") for day, path in enumerate(paths, start=1)]
    assert reports[0].by_aspect["column"] == 7422
    assert [(run.written, run.changes) for run in reports[1:]] == [(5, {"minor": 5}), (2, {"minor": 2})]
    assert sum(aspect == "column" for _, aspect, _ in memory.current()) == 7429


def test_category_renamed(memory):
    """Reading change events waits for that source. In files two spellings of a role are one; none is dropped."""
    stated = {"owners": [{"owner": "urn:li:corpuser:ann", "type": "TECHNICAL_OWNER"}]}
    spelled = {
        "owners": [
            {
                "owner": "urn:li:corpuser:ann",
                "type": "CUSTOM",
                "typeUrn": "urn:li:ownershipType:__system__technical_owner",
            }
        ]
    }
    memory.remember([mcp(ORDERS, "ownership", stated)], at="2026-01-01")
    again = memory.remember([mcp(ORDERS, "ownership", spelled), mcp(ORDERS, "ownershipV2", {})], at="2026-01-02")
    assert again.written == 0
    assert again.skipped == {"unknown aspect: ownershipV2": 1}


def test_replay_same_file(told, memory):
    first, again = told("replay-same-file")
    assert {(one.aspect, one.baseline) for one in memory.episodes(first.run)} == {
        ("existence", True),
        ("ownership", True),
    }
    assert again.written == 0


def test_case_only_text(memory):
    """The reported file is not at hand: the same edit, by hand, on a tag's description."""
    tag = "urn:li:tag:subject"
    memory.remember([mcp(tag, "tagProperties", {"name": "s", "description": "Owned by MoJ"})], at="2026-01-01")
    edited = memory.remember([mcp(tag, "tagProperties", {"name": "s", "description": "Owned by MOJ"})], at="2026-01-02")
    assert _edits(memory, edited) == [(tag, "description", "changed", "source")]
    assert edited.changes == {"minor": 1}


def test_owner_reassigned_bulk(memory):
    """The commit is not at hand: its shape, 41 tables to one owner, 33 from the person named and 8 from another."""
    new, named, other = "person4794@example.org", "person9146@example.org", "person9739@example.org"
    before = {dataset(f"t{n:02}", "bigquery"): named if n < 33 else other for n in range(41)}
    memory.remember([mcp(urn, "ownership", owners(who)) for urn, who in before.items()], at="2026-02-01")
    moved = memory.remember([mcp(urn, "ownership", owners(new)) for urn in before], at="2026-02-19")
    assert moved.changes == {"notable": 41}
    edits = [(op, item.removeprefix("urn:li:corpuser:")) for _, _, op, item in _edits(memory, moved)]
    assert {edit: edits.count(edit) for edit in edits} == {
        ("added", new): 41,
        ("removed", named): 33,
        ("removed", other): 8,
    }
    day_before = parse("2026-02-18")
    owned_before = {
        one.urn
        for one in memory.versions()
        if one.aspect == "ownership"
        and one.valid_from <= day_before < (one.valid_to or 1 << 60)
        and (f"urn:li:corpuser:{named}",) in {tuple(member[:1]) for member in one.value}
    }
    assert owned_before == {urn for urn, who in before.items() if who == named}


def test_reverting_is_a_new_version_that_says_so(memory):
    for day, names in enumerate((["pii"], [], ["pii"]), start=1):
        memory.remember([mcp(ORDERS, "globalTags", tags(*names))], at=f"2026-01-0{day}")
    versions = [one for one in memory.versions() if one.aspect == "tags"]
    assert [one.reverts_to for one in versions] == [None, None, 1]
    assert all(one.successor == following.number for one, following in pairwise(versions))


def test_a_file_of_nothing_but_unreadable_records_is_no_metadata_and_writes_nothing(cases, told, memory):
    told("columns-null-on-error")
    before = memory.dump()
    with pytest.raises(CatalogError, match="none of its 1 records could be read"):
        memory.scan(cases["columns-null-on-error"]["steps"][1], at="2026-01-09", complete=True)
    assert memory.dump() == before


def test_what_a_listing_lacked_and_a_status_then_removed_stays_removed_when_it_is_merely_mentioned(memory):
    here, there = mcp(dataset("a"), "status", status()), mcp(dataset("b"), "status", status())
    memory.remember([here, there], at="2026-01-01")
    memory.remember([here], at="2026-01-02", complete=True)
    assert memory.remember([mcp(dataset("b"), "status", status(True))], at="2026-01-03").written == 0
    memory.remember([mcp(dataset("b"), "globalTags", tags("pii"))], at="2026-01-04")
    assert memory.current()[dataset("b"), "existence", ""]["exists"] is False
    memory.remember([there], at="2026-01-05")
    memory.remember([here], at="2026-01-06", complete=True)
    memory.remember([mcp(dataset("b"), "globalTags", tags())], at="2026-01-07")
    assert memory.current()[dataset("b"), "existence", ""]["exists"] is True
