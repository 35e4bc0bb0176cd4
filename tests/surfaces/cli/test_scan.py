"""`palimpsest scan`: what it prints, how it exits, what its options mean."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest.surfaces.cli.app import main
from tests.building import Record, dataset, mcp, owners, schema, status
from tests.robustness.catalogs import observed, write

ORDERS, USERS = dataset("shop.orders"), dataset("shop.users")
MONDAY = [mcp(ORDERS, "status", status()), mcp(ORDERS, "ownership", owners("jonas")), mcp(USERS, "status", status())]
FRIDAY = [mcp(ORDERS, "status", status()), mcp(ORDERS, "ownership", owners("ana")), mcp(USERS, "status", status())]
WITH_TABLE = [mcp(ORDERS, "schemaMetadata", schema(("id", "INT"), ("note", "TEXT")))]
WITHOUT = [mcp(ORDERS, "schemaMetadata", schema(("id", "INT")))]

TOOK = re.compile(r"in \d+\.\d s")
Scan = Callable[..., tuple[int, list[str], list[str]]]


@pytest.fixture
def scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Scan:
    """Scans records with options; the exit code, the lines on stdout, those on stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    def run(records: list[Record], *options: str, before: tuple[str, ...] = ()) -> tuple[int, list[str], list[str]]:
        write(tmp_path, "catalog.json", records)
        code = main(["--store", f"sqlite:///{tmp_path}/m.db", *before, "scan", "file:catalog.json", *options])
        out, err = capsys.readouterr()
        return code, [line for line in out.splitlines() if not TOOK.fullmatch(line)], err.splitlines()

    return run


def test_a_first_reading_says_that_it_is_no_change(scan: Scan) -> None:
    assert scan(MONDAY, "--at", "2026-03-02T08:00:00Z") == (
        0,
        [
            "file: 2 entities, 3 observations, not a complete listing, as of 2026-03-02 08:00",
            "3 written, 0 skipped (0 %): a first reading is no change",
        ],
        [],
    )


def test_a_second_one_of_the_same_says_that_all_was_skipped(scan: Scan) -> None:
    scan(MONDAY, "--at", "2026-03-02")
    assert scan(MONDAY[::-1], "--at", "2026-03-03")[1][1] == "0 written, 3 skipped (100 %)"


def test_a_change_that_contradicts_a_held_belief_is_said_so(scan: Scan) -> None:
    scan(MONDAY, "--at", "2026-03-02")
    assert scan(FRIDAY, "--at", "2026-03-06")[1][1:] == [
        "1 written, 2 skipped (66.6 %)",
        "1 change (1 notable), 1 contradicting a held belief",
        "by aspect: 1 ownership",
    ]


def test_the_time_of_the_records_is_used_and_now_is_owned_up_to(scan: Scan) -> None:
    assert scan(observed(MONDAY, "2026-03-02"))[1][0].endswith("as of 2026-03-02 00:00")
    assert scan(FRIDAY)[1][0].endswith("(the time of this scan: nothing in it tells a later one)")


def test_what_is_no_memory_and_what_cannot_be_read_is_counted_and_named(scan: Scan) -> None:
    odd = [
        mcp(ORDERS, "datasetProfile", {}),
        mcp(ORDERS, "weather", {}),
        mcp(ORDERS, "ownership", {"owners": 5}),
        {"a": 1},
    ]
    code, out, err = scan([*MONDAY[2:], *odd], "--at", "2026-03-02")
    assert (code, err) == (1, [])  # it ran, but something failed
    assert out[2:] == [
        "2 of 5 records are no memory: time series: datasetProfile (1), unknown aspect: weather (1)",
        "2 records could not be read, nothing ended because of them:",
        "  catalog.json record 4: neither an MCE nor an MCP: no proposedSnapshot, no entityUrn",
        f"  {ORDERS} ownership: expected a list, found int",
    ]


@pytest.mark.parametrize(
    ("gate", "second", "code"),
    [
        ("change", MONDAY, 0),
        ("change", FRIDAY, 6),
        ("breaking", FRIDAY, 0),
        ("breaking", [*FRIDAY, *WITHOUT], 6),
        ("change", [*MONDAY, mcp(USERS, "ownership", owners("x"))], 0),
    ],
)
def test_a_gate_trips_on_changes_and_never_on_first_readings(
    scan: Scan, gate: str, second: list[Record], code: int
) -> None:
    assert scan([*MONDAY, *WITH_TABLE], "--at", "2026-03-02", "--fail-on", gate)[0] == 0
    found = scan(second, "--at", "2026-03-03", "--fail-on", gate)
    assert (found[0], found[2]) == (code, [])


def test_a_dry_run_shows_what_it_would_write(scan: Scan) -> None:
    scan(MONDAY, "--at", "2026-03-02")
    out = scan(FRIDAY, "--at", "2026-03-06", "--dry-run")[1]
    assert out[1] == "1 would be written, 2 skipped (66.6 %)"
    assert out[-1] == "  orders: owner was jonas, now ana"
    assert scan(FRIDAY, "--at", "2026-03-06")[1][1] == "1 written, 2 skipped (66.6 %)"


def test_quiet_says_nothing_unless_something_failed(scan: Scan) -> None:
    assert scan(MONDAY, "--at", "2026-03-02", before=("-q",)) == (0, [], [])
    assert len(scan([*MONDAY, {"a": 1}], "--at", "2026-03-03", before=("-q",))[1]) > 2


def test_json_is_one_document_with_every_number(scan: Scan) -> None:
    code, (line,), err = scan(MONDAY, "--at", "2026-03-02", "--json")
    document = json.loads(line)
    assert (code, err, document["palimpsest"], document["kind"]) == (0, [], 1, "scan")
    data = document["data"]
    assert (data["written"], data["baseline"], data["entities"], data["records_read"]) == (3, 3, 2, 3)


def test_hostile_names_reach_no_terminal_and_break_no_document(scan: Scan) -> None:
    hostile = [
        mcp(ORDERS, "evil\x1b[2J\u202e\ud800", {}),
        {"entityUrn": "\x1b]0;x", "aspectName": "status", "aspect": {"json": {}}},
    ]
    code, out, err = scan([*MONDAY, *hostile], "--at", "2026-03-02")
    assert (code, err) == (1, [])
    assert not any(character in "".join(out) for character in "\x1b\u202e\ud800")
    code, (line,), err = scan([*MONDAY, *hostile], "--at", "2026-03-02", "--json")
    assert json.loads(line)["data"]["records_failed"] == 1


def test_a_mass_change_stops_and_is_accepted_by_its_run(scan: Scan) -> None:
    many = [mcp(dataset(f"t{n}"), "status", status()) for n in range(150)]
    scan(many, "--at", "2026-03-02", "--complete")
    code, out, err = scan(many[:40], "--at", "2026-03-03", "--complete")
    assert (code, out, len(err)) == (1, [], 2)
    assert err[0] == "error: this reading would end 110 of 150 cells on postgres: existence on postgres (110 cells)"
    option, run = err[1].rpartition(": ")[2].split()
    assert scan(many[:40], "--at", "2026-03-03", "--complete", option, run)[0] == 0


def test_scope_options_narrow_what_is_read(scan: Scan) -> None:
    kafka = mcp(dataset("clicks", "kafka"), "status", status())
    for options, entities in (
        (["--platform", "kafka"], 1),
        (["--include", "*orders*", "--include", "users"], 2),
        (["--exclude", "orders"], 2),
        (["--env", "DEV"], 0),
        (["--domain", "sales"], 0),
        (["--limit", "1"], 1),
    ):
        out = scan([*MONDAY, kafka], "--at", "2026-03-02", "--dry-run", *options)[1]
        assert out[0].startswith(f"file: {entities} entities"), options
    assert scan(MONDAY, "--at", "2026-03-02", "--dry-run", "--ignore", "ownership")[1][1].startswith(
        "2 would be written"
    )
