"""What a scan writes down: mass changes stop it, a scope ends nothing, a first reading is no change, time goes on."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from palimpsest.core.errors import MassChangeError, UsageError
from palimpsest.core.moment import Moment, parse
from palimpsest.core.noise import Scope
from palimpsest.jobs.scan import ScanReport
from palimpsest.store.schema import cell, entity, episode, metadata, run
from tests.building import Memory, Record, dataset, mcp, owners, schema, status, tags, text

pytestmark = pytest.mark.usefixtures("dialect")

MONDAY, TUESDAY, WEDNESDAY = "2026-03-02T08:00:00Z", "2026-03-03T08:00:00Z", "2026-03-04T08:00:00Z"
ORDERS, USERS = dataset("shop.orders"), dataset("shop.users")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """An empty store."""
    return Memory(tmp_path)


def table(urn: str, *, owner: str = "jonas", columns: int = 2) -> list[Record]:
    """A dataset of five cells with two columns: they, its schema's attributes, its owner and that it exists."""
    return [
        mcp(urn, "status", status()),
        mcp(urn, "schemaMetadata", schema(*[(f"c{i}", "INT") for i in range(columns)])),
        mcp(urn, "ownership", owners(owner)),
    ]


def catalog(
    count: int, *, platform: str = "postgres", owner: str = "jonas", columns: int = 2, skip: int = 0
) -> list[Record]:
    """So many datasets of existence, owner and columns; the first `skip` are missing."""
    wanted = range(skip, count)
    return [r for n in wanted for r in table(dataset(f"t{n:03}", platform), owner=owner, columns=columns)]


def contents(memory: Memory) -> dict[str, Sequence[Any]]:
    """Every row of every table but `run`."""
    tables = [one for one in metadata.sorted_tables if one.name != "run"]
    return memory.store.read(lambda c: {t.name: sorted(c.execute(sa.select(t)).all(), key=repr) for t in tables})


def runs_of(memory: Memory) -> list[str]:
    """The states of the runs, oldest first."""
    return memory.store.read(lambda c: list(c.scalars(sa.select(run.c.state).order_by(run.c.started_at))))


def changes(report: ScanReport) -> tuple[int, dict[str, int], int]:
    """Episodes written, changes by impact, first readings."""
    return report.written, report.changes, report.baseline


NOTHING = (0, {}, 0)


# --- mass change --------------------------------------------------------------------------------------------------


def stopped(memory: Memory, records: list[Record], **asked: Any) -> MassChangeError:
    """The error of a scan that stops, and proof that it wrote nothing but its run."""
    before = contents(memory)
    with pytest.raises(MassChangeError) as caught:
        memory.scan(records, at=TUESDAY, **asked)
    assert contents(memory) == before
    assert runs_of(memory)[-1] == "stopped"
    return caught.value


def run_named_in(error: MassChangeError) -> str:
    """The run that the hint names."""
    text = error.hint.partition("--accept-mass-change ")[2]
    assert text
    return text


def test_a_truncated_complete_listing_stops_before_writing_and_goes_on_when_accepted(memory: Memory) -> None:
    memory.remember(catalog(100), at=MONDAY, complete=True)
    error = stopped(memory, catalog(100, skip=21), complete=True)
    assert error.message == ("this reading would end 105 of 500 cells on postgres: existence on postgres (105 cells)")
    assert error.hint.startswith("nothing was written; if the catalog really lost them: --accept-mass-change ")
    report = memory.scan(catalog(100, skip=21), at=TUESDAY, complete=True, accept_mass_change=run_named_in(error))
    assert changes(report) == (21, {"breaking": 21}, 0)


def test_an_emptied_ownership_everywhere_stops_and_an_accepted_run_covers_no_more_than_it_found(memory: Memory) -> None:
    memory.remember(catalog(120), at=MONDAY)
    emptied = [mcp(dataset(f"t{n:03}"), "ownership", {"owners": []}) for n in range(120)]  # a fifth, not yet more
    error = stopped(memory, emptied, mass_share=0.19)
    assert "would end 120 of 600 cells on postgres: ownership on postgres (120 cells)" in error.message
    worse = [*emptied, mcp(dataset("t000"), "schemaMetadata", schema(("c0", "INT")))]
    accepted = run_named_in(error)
    stopped(memory, worse, mass_share=0.19, accept_mass_change=accepted)
    report = memory.scan(emptied, at=TUESDAY, mass_share=0.19, accept_mass_change=accepted)
    assert report.written == 120


def test_columns_gone_everywhere_stop_the_scan_and_the_three_largest_groups_are_named(memory: Memory) -> None:
    first = catalog(40, columns=9) + catalog(20, platform="kafka", columns=4)
    first += [mcp(dataset(f"t{n:03}"), "globalTags", tags("a")) for n in range(40)]
    memory.remember(first, at=MONDAY)
    second = [mcp(dataset(f"t{n:03}"), "schemaMetadata", schema(("c0", "INT"))) for n in range(40)]
    second += [mcp(dataset(f"t{n:03}", "kafka"), "ownership", {"owners": []}) for n in range(20)]
    second += [mcp(dataset(f"t{n:03}"), "globalTags", {"tags": []}) for n in range(40)]
    second += [mcp(dataset(f"t{n:03}"), "ownership", {"owners": []}) for n in range(5)]
    error = stopped(memory, second)
    assert error.message.endswith(
        "cells on postgres: column on postgres (320 cells), tags on postgres (40 cells), ownership on kafka (20 cells)"
    )


@pytest.mark.parametrize(("gone", "stops"), [(25, False), (26, True)])
def test_a_fifth_is_not_yet_more_than_a_fifth(memory: Memory, gone: int, stops: bool) -> None:
    memory.remember(catalog(125), at=MONDAY, complete=True)
    if stops:
        stopped(memory, catalog(125, skip=gone), complete=True)
    else:
        assert memory.scan(catalog(125, skip=gone), at=TUESDAY, complete=True).written == gone


@pytest.mark.parametrize(("gone", "stops"), [(19, False), (20, True)])
def test_fewer_than_a_hundred_cells_never_stop_a_scan(memory: Memory, gone: int, stops: bool) -> None:
    memory.remember(catalog(40), at=MONDAY, complete=True)
    if stops:
        stopped(memory, catalog(40, skip=gone), complete=True)
    else:
        assert memory.scan(catalog(40, skip=gone), at=TUESDAY, complete=True).written == gone


def test_platforms_are_counted_apart(memory: Memory) -> None:
    memory.remember(catalog(200) + catalog(30, platform="kafka"), at=MONDAY, complete=True)
    error = stopped(memory, catalog(200) + catalog(30, platform="kafka", skip=25), complete=True)
    assert "would end 125 of 150 cells on kafka" in error.message


def test_changing_everything_does_not_stop_a_scan(memory: Memory) -> None:
    memory.remember(catalog(150), at=MONDAY, complete=True)
    assert memory.scan(catalog(150, owner="ana"), at=TUESDAY, complete=True).changes == {"notable": 150}


def test_a_soft_delete_of_everything_stops_a_scan(memory: Memory) -> None:
    memory.remember(catalog(30), at=MONDAY)
    error = stopped(memory, [mcp(dataset(f"t{n:03}"), "status", status(removed=True)) for n in range(30)])
    assert "would end 150 of 150 cells on postgres" in error.message  # five of each dataset


def test_a_dry_run_stops_where_a_scan_would(memory: Memory) -> None:
    memory.remember(catalog(100), at=MONDAY, complete=True)
    before = len(runs_of(memory))
    with pytest.raises(MassChangeError):
        memory.scan(catalog(100, skip=30), at=TUESDAY, complete=True, dry_run=True)
    assert len(runs_of(memory)) == before


@pytest.mark.parametrize("wrong", ["abc", "0" * 12])
def test_only_a_stopped_run_of_the_source_can_be_accepted(memory: Memory, wrong: str) -> None:
    memory.remember(catalog(100), at=MONDAY, complete=True)
    with pytest.raises(UsageError, match=f"no stopped run '{wrong}' of file"):
        memory.scan(catalog(100), at=TUESDAY, accept_mass_change=wrong)


def test_a_finished_run_and_another_source_s_cannot_be_accepted(memory: Memory) -> None:
    done = memory.remember(catalog(100), at=MONDAY, complete=True)
    error = stopped(memory, catalog(100, skip=30), complete=True)
    with pytest.raises(UsageError, match="no stopped run"):
        memory.scan(catalog(100, skip=30), at=TUESDAY, complete=True, accept_mass_change=done.run)
    with pytest.raises(UsageError, match="no stopped run"):
        memory.scan(catalog(100), at=TUESDAY, source="other", accept_mass_change=run_named_in(error))


# --- scope --------------------------------------------------------------------------------------------------------

NARROWED = [
    Scope(include=("shop.orders",)),
    Scope(include=("*:(urn:li:dataPlatform:postgres,*",)),
    Scope(exclude=("*users*", "kafka")),
    Scope(platforms=("postgres",)),
    Scope(environments=("PROD",)),
    Scope(domains=("sales",)),
    Scope(domains=("urn:li:domain:sales",)),
    Scope(ignore=("ownership", "column:c*")),
]
MIXED = [
    *table(ORDERS),
    mcp(ORDERS, "domains", {"domains": ["urn:li:domain:sales"]}),
    *table(USERS),
    *table(dataset("events", "kafka")),
    *table(ORDERS.replace("PROD", "DEV")),
]


@pytest.mark.parametrize("scope", NARROWED)
def test_a_narrowed_scope_ends_nothing_and_the_wide_one_after_it_is_no_change(memory: Memory, scope: Scope) -> None:
    memory.remember(MIXED, at=MONDAY, complete=True)
    before = contents(memory)
    kept = [record for record in MIXED if scope.admits(record["entityUrn"])]
    report = memory.scan(kept, at=TUESDAY, complete=True, scope=scope)
    assert changes(report) == NOTHING
    assert changes(memory.scan(MIXED, at=WEDNESDAY, complete=True)) == NOTHING
    assert contents(memory) == before


@pytest.mark.parametrize("scope", NARROWED)
def test_a_widened_scope_is_baseline(memory: Memory, scope: Scope) -> None:
    narrow = memory.remember(MIXED, at=MONDAY, complete=True, scope=scope)
    wide = memory.scan(MIXED, at=TUESDAY, complete=True)
    assert wide.written > 0
    assert changes(wide) == (wide.written, {}, wide.written)
    assert narrow.written + wide.written == memory.scan(MIXED, at=WEDNESDAY).unchanged


def test_records_out_of_scope_are_counted(memory: Memory) -> None:
    report = memory.scan(MIXED, at=MONDAY, scope=Scope(platforms=("kafka",)))
    assert (report.records_read, report.records_used, report.records_out_of_scope) == (13, 3, 10)


def test_a_new_platform_is_baseline_and_its_next_new_dataset_is_one_change(memory: Memory) -> None:
    memory.remember(table(ORDERS), at=MONDAY)
    report = memory.scan(table(ORDERS) + table(dataset("events", "kafka")), at=TUESDAY)
    assert changes(report) == (5, {}, 5)
    report = memory.scan(table(dataset("clicks", "kafka")), at=WEDNESDAY)
    assert changes(report) == (5, {"minor": 1}, 4)


def test_a_new_dataset_in_a_known_scope_is_exactly_one_change(memory: Memory) -> None:
    memory.remember(table(ORDERS), at=MONDAY)
    report = memory.scan(table(ORDERS) + table(USERS), at=TUESDAY)
    assert changes(report) == (5, {"minor": 1}, 4)


def test_a_new_dataset_that_is_removed_already_is_no_change(memory: Memory) -> None:
    memory.remember(table(ORDERS), at=MONDAY)
    assert memory.scan([mcp(USERS, "status", status(removed=True))], at=TUESDAY).changes == {}


def test_a_new_source_is_baseline(memory: Memory) -> None:
    memory.remember(table(ORDERS), at=MONDAY)
    report = memory.scan(table(ORDERS, owner="ana"), at=TUESDAY, source="other")
    assert changes(report) == (5, {}, 5)


def test_an_aspect_stated_for_the_first_time_is_baseline_and_a_new_column_is_a_change(memory: Memory) -> None:
    memory.remember(table(ORDERS), at=MONDAY)
    report = memory.scan([*table(ORDERS, columns=3), mcp(ORDERS, "globalTags", tags("pii"))], at=TUESDAY)
    assert changes(report) == (2, {"minor": 1}, 1)


def test_a_limited_reading_ends_nothing(memory: Memory) -> None:
    memory.remember(catalog(5), at=MONDAY, complete=True)
    report = memory.scan(catalog(5), at=TUESDAY, complete=True, limit=2)
    assert (report.entities, report.complete, changes(report)) == (2, False, NOTHING)


def test_a_reading_with_a_bad_record_is_not_complete_and_ends_nothing(memory: Memory) -> None:
    memory.remember(catalog(5), at=MONDAY, complete=True)
    report = memory.scan([*catalog(5, skip=2), {"what": "is this"}], at=TUESDAY, complete=True)
    assert (report.records_failed, report.complete, changes(report)) == (1, False, NOTHING)


def test_a_raw_aspect_that_cannot_be_read_ends_none_of_its_cells(memory: Memory) -> None:
    memory.remember(table(ORDERS), at=MONDAY, complete=True)
    bad = mcp(ORDERS, "schemaMetadata", {"fields": "none of your business"})
    report = memory.scan([mcp(ORDERS, "status", status()), bad], at=TUESDAY, complete=True)
    assert (report.records_failed, changes(report)) == (1, NOTHING)
    assert changes(memory.scan(table(ORDERS), at=WEDNESDAY)) == NOTHING


@pytest.mark.parametrize(
    "urn",
    [
        dataset("shop.orders__dbt_tmp", "snowflake"),
        dataset("shop.events_20260302", "bigquery"),
    ],
)
def test_temporary_tables_and_date_shards_are_not_observed_unless_asked_for(memory: Memory, urn: str) -> None:
    assert memory.scan(table(urn), at=MONDAY).entities == 0
    scope = Scope(exclude_defaults=False, ignore=())
    assert memory.scan(table(urn), at=TUESDAY, scope=scope).entities == 1


def test_machine_written_properties_are_ignored_unless_asked_for(memory: Memory) -> None:
    def described(rows: str) -> list[Record]:
        return [mcp(ORDERS, "datasetProperties", text("Orders") | {"customProperties": {"numRows": rows, "team": "a"}})]

    memory.remember(described("1"), at=MONDAY)
    assert changes(memory.scan(described("2"), at=TUESDAY)) == NOTHING
    everything = Scope(exclude_defaults=False, ignore=())
    report = memory.scan(described("3"), at=WEDNESDAY, scope=everything)
    assert changes(report) == (1, {}, 1)
    assert changes(memory.scan(described("4"), at="2026-03-05", scope=everything)) == (1, {"minor": 1}, 0)


# --- time ---------------------------------------------------------------------------------------------------------


def observed(records: list[Record], at: str) -> list[Record]:
    """The records with the time of their observation."""
    return [record | {"systemMetadata": {"lastObserved": int(parse(at))}} for record in records]


def scan_untimed(memory: Memory, records: list[Record], *, now: str) -> ScanReport:
    """A scan without --at."""
    from palimpsest.adapters.datahub.file import FileReader
    from palimpsest.jobs.scan import ScanRequest, scan
    from palimpsest.testing import FixedClock, NoProgress
    from tests.robustness.catalogs import write

    reader = FileReader(write(memory.folder, "untimed.json", records))
    clock = FixedClock(parse(now), step=1)
    return scan(memory.store, reader, ScanRequest(source="file"), clock=clock, progress=NoProgress(), holder="t:1:")


def test_the_time_given_wins_over_the_time_in_the_records(memory: Memory) -> None:
    report = memory.scan(observed(table(ORDERS), MONDAY), at=TUESDAY)
    assert (report.read_at, report.read_at_from) == (parse(TUESDAY), "--at")


def test_without_one_the_newest_time_in_the_records_counts(memory: Memory) -> None:
    records = observed(table(ORDERS), "2026-03-01") + observed(table(USERS), MONDAY)
    report = scan_untimed(memory, records, now=WEDNESDAY)
    assert (report.read_at, report.read_at_from) == (parse(MONDAY), "lastObserved")


def test_where_the_records_tell_none_it_is_now_and_the_report_says_so(memory: Memory) -> None:
    report = scan_untimed(memory, table(ORDERS), now=WEDNESDAY)
    assert (report.read_at_from, report.read_at > parse(WEDNESDAY)) == ("now", True)


@pytest.mark.parametrize("told", [MONDAY, "2026-03-01", "2126-01-01"])
def test_a_time_in_the_records_that_is_not_later_than_the_last_reading_or_to_come_does_not_count(
    memory: Memory, told: str
) -> None:
    memory.scan(table(ORDERS), at=MONDAY)
    report = scan_untimed(memory, observed(table(ORDERS, owner="ana"), told), now=WEDNESDAY)
    assert (report.read_at_from, report.written) == ("now", 1)


def test_the_same_file_again_writes_nothing_but_its_run(memory: Memory) -> None:
    records = observed(catalog(20), MONDAY)
    scan_untimed(memory, records, now=TUESDAY)
    before = contents(memory)
    random.Random(5).shuffle(records)
    report = scan_untimed(memory, records, now=WEDNESDAY)
    assert (report.written, report.unchanged, report.unchanged_share) == (0, 100, 1.0)
    assert contents(memory) == before
    assert runs_of(memory) == ["done", "done"]


HERE, GONE = mcp(ORDERS, "status", status()), mcp(ORDERS, "status", status(removed=True))
JONAS, ANA = mcp(ORDERS, "ownership", owners("jonas")), mcp(ORDERS, "ownership", owners("ana"))
REMOVES = mcp(ORDERS, "status", [{"op": "add", "path": "/removed", "value": True}], "PATCH")
ADDS_ANA = mcp(
    ORDERS,
    "ownership",
    [
        {
            "op": "add",
            "path": "/owners/urn:li:corpuser:ana/TECHNICAL_OWNER",
            "value": {"owner": "urn:li:corpuser:ana", "type": "TECHNICAL_OWNER"},
        }
    ],
    "PATCH",
)


@pytest.mark.parametrize(
    ("records", "written"),
    [
        ([HERE, JONAS], 0),
        ([GONE, ANA, HERE, JONAS], 0),
        ([HERE, JONAS, GONE, ANA, HERE, JONAS], 0),
        ([REMOVES, ADDS_ANA, HERE, JONAS], 0),
        ([HERE, JONAS, REMOVES, ADDS_ANA, HERE, JONAS], 0),
        ([GONE, REMOVES, ANA, ADDS_ANA, HERE, JONAS], 0),
        ([HERE, JONAS, GONE, ANA], 2),
        ([GONE, HERE, ANA], 1),
        ([GONE, ANA, HERE], 1),
    ],
)
def test_of_what_a_reading_states_twice_the_last_counts_and_each_cell_once(
    memory: Memory, records: list[Record], written: int
) -> None:
    memory.remember([HERE, JONAS], at=MONDAY, complete=True)
    report = memory.scan(records, at=TUESDAY, complete=True)
    assert (report.written, report.unchanged, report.observations) == (written, 2 - written, 2)


def test_an_older_time_is_refused_and_the_same_one_is_not(memory: Memory) -> None:
    memory.scan(table(ORDERS), at=TUESDAY)
    before = contents(memory)
    with pytest.raises(UsageError, match="--at 2026-03-02 08:00 is older than the last reading of file"):
        memory.scan(table(ORDERS, owner="ana"), at=MONDAY)
    assert contents(memory) == before
    assert memory.scan(table(ORDERS, owner="ana"), at=TUESDAY).written == 1


def test_a_time_to_come_is_refused(memory: Memory) -> None:
    from palimpsest.adapters.datahub.file import FileReader
    from palimpsest.jobs.scan import ScanRequest, scan
    from palimpsest.testing import FixedClock, NoProgress
    from tests.robustness.catalogs import write

    reader = FileReader(write(memory.folder, "a.json", table(ORDERS)))
    request = ScanRequest(source="file", at=Moment(parse(MONDAY) + 10))
    with pytest.raises(UsageError, match="is in the future"):
        scan(memory.store, reader, request, clock=FixedClock(parse(MONDAY)), progress=NoProgress(), holder="t:1:")


# --- the report ---------------------------------------------------------------------------------------------------


def test_the_numbers_of_a_report_are_those_of_the_rows(memory: Memory) -> None:
    memory.remember(catalog(10), at=MONDAY, complete=True)
    second = catalog(10, owner="ana", columns=1, skip=1) + table(USERS) + [mcp(ORDERS, "datasetProfile", {})]
    report = memory.scan(second, at=TUESDAY, complete=True)

    def count(where: sa.ColumnElement[bool]) -> int:
        statement = sa.select(sa.func.count()).select_from(episode.join(run)).where(run.c.read_at == parse(TUESDAY))
        return memory.store.read(lambda c: c.scalar(statement.where(where)) or 0)

    assert report.written == count(sa.true())
    assert report.baseline == count(episode.c.baseline)
    assert report.changes == {"breaking": 9 + 1, "notable": 9, "minor": 1}
    assert report.contradicting == 19
    assert report.records_read == report.records_used + sum(report.skipped.values()) + report.records_failed
    assert report.skipped == {"time series: datasetProfile": 1}
    live = memory.store.read(lambda c: c.scalar(sa.select(sa.func.count()).where(sa.func.length(cell.c.digest) > 0)))
    assert memory.scan(second, at=WEDNESDAY, complete=True).unchanged == live - 5  # the missing dataset's cells stay


def test_a_dry_run_says_what_it_would_write_and_writes_nothing(memory: Memory) -> None:
    memory.remember(catalog(3), at=MONDAY, complete=True)
    before, told = contents(memory), runs_of(memory)
    report = memory.scan(catalog(3, owner="ana", columns=1), at=TUESDAY, complete=True, dry_run=True)
    assert (contents(memory), runs_of(memory)) == (before, told)
    again = memory.scan(catalog(3, owner="ana", columns=1), at=TUESDAY, complete=True)
    assert (report.written, report.changes, report.by_aspect) == (again.written, again.changes, again.by_aspect)
    assert report.planned == [
        said
        for name in sorted(("t000", "t001", "t002"), key=lambda name: memory.store.ids.entity(dataset(name)))
        for said in (f"{name}: owner was jonas, now ana", f"{name}: column c1 gone")
    ]
    assert again.planned == []


def test_an_entity_s_record_of_itself_is_not_asked_for(memory: Memory) -> None:
    """A record that names an entity and nothing else makes it exist."""
    memory.scan([mcp(ORDERS, "ownership", owners("jonas"))], at=MONDAY)
    found = memory.store.read(lambda c: c.execute(sa.select(entity.c.urn, entity.c.kind, entity.c.platform)).all())
    assert [tuple(row) for row in found] == [(ORDERS, "dataset", "postgres")]
