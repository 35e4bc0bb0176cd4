"""What is said of a table from end to end by the command line: noted, consolidated, contested, decided, and told."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest.surfaces.cli.app import main
from tests.building import Memory, dataset, mcp, owners

ORDERS = dataset("shop.public.orders")
Told = Callable[..., Any]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """A table that is held since March; what is said of it is said now."""
    memory = Memory(tmp_path)
    memory.remember([mcp(ORDERS, "ownership", owners("jonas"))], at="2026-03-02T08:00:00Z")
    return memory


@pytest.fixture
def told(memory: Memory, capsys: pytest.CaptureFixture[str]) -> Told:
    """Runs one command on the store and gives back its JSON."""

    def run(*arguments: str) -> Any:
        assert main(["--store", memory.url, *arguments, "--json"]) == 0, capsys.readouterr().err
        return json.loads(capsys.readouterr().out)["data"]

    return run


def versions(told: Told, *asked: str) -> list[tuple[int, str, str]]:
    """(number, state, text) of the versions of what is said about quality, the oldest first."""
    beliefs = told("history", ORDERS, "quality", *asked)["beliefs"]
    return [(one["number"], one["state"], one["value"]) for belief in beliefs for one in reversed(belief["versions"])]


def test_an_agent_s_contradiction_waits_until_a_person_accepts_it(memory: Memory, told: Told) -> None:
    note = told("note", ORDERS, "Refreshed daily at 6.", "--kind", "quality", "--by", "mira", "--at", "2026-03-03")
    assert (note["observer"], note["is_new"]) == ("person:mira", True)
    assert told("consolidate")["verdicts"] == {"open": 1}
    told("note", ORDERS, "Not refreshed daily at 6.", "--kind", "quality", "--agent", "bot", "--at", "2026-03-05")
    assert told("consolidate")["verdicts"] == {"contest": 1}
    assert versions(told) == [
        (1, "current", "Refreshed daily at 6."),
        (2, "contested", "Not refreshed daily at 6."),
    ]

    page = told("show", ORDERS)
    assert [one["statement"] for one in page["beliefs"] if one["source"] == "notes"] == [
        "quality: Refreshed daily at 6."
    ]
    assert [(one["state"], one["statement"]) for one in page["beside"]] == [
        ("contested", "quality: Not refreshed daily at 6.")
    ]
    (item,) = told("inbox")["items"]
    assert (item["state"], item["by"], item["current"]["by"]) == ("contested", "agent bot", "mira")
    brief = told("brief", ORDERS)["text"]
    contested = '| not current, contested: "quality: Not refreshed daily at 6." since 2026-03-05 00:00 by '
    assert contested in brief
    assert f"[{item['item']}]" in brief

    told("inbox", "accept", item["item"], "--by", "jonas")
    assert told("inbox")["items"][0]["decided"] == "decided by jonas, not consolidated yet"
    assert main(["--store", memory.url, "inbox", "reject", item["item"], "--by", "mira"]) == 2
    assert told("consolidate")["verdicts"] == {"supersede": 1}
    assert told("inbox")["items"] == []
    assert versions(told) == [
        (1, "superseded", "Refreshed daily at 6."),
        (2, "superseded", "Not refreshed daily at 6."),
        (3, "current", "Not refreshed daily at 6."),
    ]

    found = told("recall", "is orders refreshed daily")["recall"]["answers"][0]
    assert (found["belief"]["statement"], found["is_current"]) == ("quality: Not refreshed daily at 6.", True)
    then = told("show", ORDERS, "--as-of", "2026-03-06")
    assert [one["statement"] for one in then["beside"]] == ["quality: Not refreshed daily at 6."]
    assert "quality: Refreshed daily at 6." in {one["statement"] for one in then["beliefs"]}
    before = told("show", ORDERS, "--as-of", "2026-03-04")
    assert (before["beside"], len(before["beliefs"])) == ([], 2)
    assert not any(rule["broken"] for rule in told("verify")["rules"])


def test_the_same_in_other_form_is_no_new_version_and_a_negation_is(told: Told) -> None:
    for text in ("Orders hold one row per basket.", "orders hold one row per basket", "Orders hold no row per basket."):
        told("note", ORDERS, text, "--kind", "quality", "--by", "mira")
        told("consolidate")
    assert versions(told) == [
        (1, "superseded", "orders hold one row per basket"),
        (2, "current", "Orders hold no row per basket."),
    ]
    first = told("history", ORDERS, "quality")["beliefs"][0]["versions"][-1]
    assert [one["statement"] for one in first["rewordings"]] == [
        "quality: Orders hold one row per basket.",
        "quality: orders hold one row per basket",
    ]
    (change,) = told("changes", "--since", "1d")["changes"]
    assert change["said"] == "quality was orders hold one row per basket, now Orders hold no row per basket."


def test_what_waits_is_found_before_anybody_judged_it(told: Told) -> None:
    told("note", ORDERS, "Refunds are missing before 2019.", "--agent", "bot")
    view = told("recall", "are refunds missing")["recall"]
    assert (view["answer"], [one["statement"] for one in view["waiting"]]) == (
        "nothing",
        ["note: Refunds are missing before 2019."],
    )


def test_a_secret_is_refused_and_not_repeated_anywhere(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    secret = "hunter2-hunter2"
    assert main(["--store", memory.url, "note", ORDERS, f"connect with password={secret}", "--by", "mira"]) == 2
    written = capsys.readouterr()
    assert secret not in written.out + written.err
    assert "a password or key" in written.err
    memory.store.dispose()
    assert secret not in "".join(sqlite3.connect(memory.folder / "memory.db").iterdump())


def test_a_note_about_what_is_not_held_names_the_nearest(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--store", memory.url, "note", "shop.public.order", "late", "--by", "mira"]) == 0
    assert main(["--store", memory.url, "note", "shop.public.oders", "late", "--by", "mira"]) == 2
    assert "the nearest: shop.public.orders" in capsys.readouterr().err


def test_what_is_said_of_a_table_is_not_current_while_the_table_is_gone(memory: Memory, told: Told) -> None:
    memory.note(ORDERS, "Refreshed daily.", by="person:mira", kind="quality", at="2026-03-03T08:00:00Z")
    memory.note(ORDERS, "Not refreshed daily.", by="agent:bot", kind="quality", at="2026-03-03T09:00:00Z")
    memory.consolidate()
    memory.remember([mcp(ORDERS, "status", {"removed": True})], at="2026-03-04T08:00:00Z")
    page = told("show", ORDERS)
    assert (page["exists"], page["beliefs"], page["beside"], told("inbox")["items"]) == (False, [], [], [])
    assert [one["statement"] for one in page["last_held"]] == ["owner: jonas", "quality: Refreshed daily."]
    (belief,) = told("history", ORDERS, "quality")["beliefs"]
    (while_there,) = belief["versions"][-1]["held"]
    assert (while_there["start"][:16], while_there["end"]) == ("2026-03-03T08:00", "2026-03-04T08:00:00Z")
    memory.remember([mcp(ORDERS, "status", {"removed": False})], at="2026-03-05T08:00:00Z")
    assert [one["statement"] for one in told("show", ORDERS)["beside"]] == ["quality: Not refreshed daily."]
