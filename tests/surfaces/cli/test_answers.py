"""The commands that answer: lines, one JSON document, exit codes; on a memory that they never write."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest.surfaces.cli.app import main
from tests.building import Memory, dataset, mcp, owners, schema, status, tags

ORDERS = dataset("shop.public.orders")
MONDAY, FRIDAY = "2026-03-02T08:00:00Z", "2026-03-06T08:00:00Z"
Asked = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty home folder as the current one, and no variable of ours."""
    for variable in [name for name in os.environ if name.startswith(("PALIMPSEST_", "XDG_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = Memory(tmp_path)
    memory.remember(
        [
            mcp(ORDERS, "ownership", owners("jonas")),
            mcp(ORDERS, "schemaMetadata", schema(("id", "bigint", "Counts up"), ("discount", "numeric"))),
            mcp(dataset("shop.carts"), "globalTags", tags("gold")),
        ],
        at=MONDAY,
    )
    memory.remember(
        [
            mcp(ORDERS, "ownership", owners("lena", at="2026-03-05T14:20:00Z", by="mira")),
            mcp(ORDERS, "schemaMetadata", schema(("id", "bigint", "Counts up"))),
            mcp(dataset("shop.carts"), "status", status(removed=True)),
        ],
        at=FRIDAY,
    )
    return memory


@pytest.fixture
def asked(memory: Memory, capsys: pytest.CaptureFixture[str]) -> Asked:
    """Runs a command on the memory: exit code, stdout, stderr; ids and what falls from day to day made alike."""

    def ask(*arguments: str) -> tuple[int, str, str]:
        code = main(["--store", memory.url, *arguments])
        out, err = capsys.readouterr()
        return code, re.sub(r"\b\d+ %", "N %", re.sub(r"\b[0-9a-f]{12}\b", "ID", out)), err

    return ask


def test_show(asked: Asked) -> None:
    code, out, err = asked("show", "orders")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "shop.public.orders  (postgres dataset)",
        ORDERS,
        "exists, at least since 2026-03-02 08:00",
        "Agent memory: 4 beliefs, 2 revisions (latest 2026-03-06)",
        "confirmed 2026-03-06 08:00, where no other time is told",
        "",
        "held",
        "  owner: lena                   since 2026-03-05 14:20, by mira; revised 1 time; N %  [ID]",
        "  schemaMetadata.schemaName: s  at least since 2026-03-02 08:00; N %  [ID]",
        "",
        "columns (1)",
        "  COLUMN  TYPE    NULL  TEXT       SINCE                            REVISED  SURE",
        "  id      bigint  null  Counts up  at least since 2026-03-02 08:00           N %",
        "",
        "last changes",
        "  2026-03-06 08:00  breaking  column discount: gone",
        "  2026-03-05 14:20  notable   ownership: owner was jonas, now lena, by mira",
    ]


def test_show_of_what_is_gone(asked: Asked) -> None:
    _, out, _ = asked("show", "carts")
    assert out.splitlines()[2:] == [
        "GONE (soft-deleted), between 2026-03-02 08:00 and 2026-03-06 08:00: nothing of it is current",
        "",
        "last changes",
        "  2026-03-06 08:00  breaking  existence: gone (soft-deleted)",
        "",
        "last held, not current",
        "  tag: gold  at least since 2026-03-02 08:00  [ID]",
    ]


def test_history(asked: Asked) -> None:
    _, out, _ = asked("history", "orders", "ownership")
    lines = [re.sub(r"recorded [0-9: -]{16}", "recorded THEN", line) for line in out.splitlines()]
    assert lines == [
        f"shop.public.orders  {ORDERS}",
        "",
        "owner  ID  N %, confirmed 2026-03-06 08:00",
        "  now owner: lena",
        "      since 2026-03-05 14:20, by mira; version 2, recorded THEN",
        "      why: the catalog says otherwise now; episode 2 (changed) of file, read 2026-03-06 08:00, not so at "
        "2026-03-02 08:00, stamped 2026-03-05 14:20, written by urn:li:corpuser:mira, run ID",
        "  ┊ was owner: jonas",
        "  ┊     at least since 2026-03-02 08:00 until 2026-03-05 14:20; version 1, recorded THEN",
        "  ┊     why: first seen; episode 1 (first) of file, read 2026-03-02 08:00, run ID",
        "  each: lena since 2026-03-05 14:20",
    ]


def test_why(asked: Asked, memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--store", memory.url, "beliefs", "--aspect", "ownership"])
    ref = capsys.readouterr().out.splitlines()[1].split()[0]
    _, out, _ = asked("why", ref)
    assert out.splitlines()[0] == "owner of shop.public.orders: owner: lena"
    assert [line for line in out.splitlines() if line.startswith("version")] == [
        "version 2 (current): owner: lena",
        "version 1 (superseded): owner: jonas",
    ]


def test_beliefs(asked: Asked) -> None:
    _, out, _ = asked("beliefs", "--aspect", "ownership")
    assert out.splitlines() == [
        ORDERS,
        "  ID  owner: lena  since 2026-03-05 14:20, by mira  (N %, confirmed 2026-03-06 08:00)",
    ]
    assert asked("beliefs", "--aspect", "tags") == (0, "nothing is held that fits\n", "")
    assert asked("beliefs", "--state", "held")[0] == 2


def test_changes(asked: Asked) -> None:
    span = "between 2026-03-02 08:00 and 2026-03-06 08:00"
    assert asked("changes") == (
        0,
        f"carts: gone (soft-deleted) (breaking, 0 downstream), {span}\n"
        f"orders.discount: column gone (breaking, 0 downstream), {span}\n"
        "orders: owner was jonas, now lena, since 2026-03-05 14:20, by mira\n",
        "",
    )
    _, markdown, _ = asked("changes", "--impact", "breaking", "--aspect", "column", "--format", "markdown")
    assert markdown == f"- orders.discount: column gone (breaking, 0 downstream), {span}\n"
    assert asked("changes", "--since", "2026-03-07") == (0, "nothing was read in that time\n", "")
    assert asked("changes", "--impact", "huge") == (
        2,
        "",
        "error: no such impact: huge\nhint: one of minor, notable, breaking\n",
    )


def test_markdown_takes_no_catalog_text_for_markdown(asked: Asked, memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "globalTags", tags("plain"))], at="2026-03-07T08:00:00Z")
    memory.remember([mcp(ORDERS, "globalTags", tags("[x](http://y) *b* `c`"))], at="2026-03-08T08:00:00Z")
    _, out, _ = asked("changes", "--format", "markdown")
    assert r"now \[x\](http://y) \*b\* \`c\`" in out


def test_runs_status_and_noise(asked: Asked, memory: Memory) -> None:
    _, out, _ = asked("runs")
    assert [line.split()[1:4] for line in out.splitlines()] == [
        ["JOB", "SOURCE", "STATE"],
        ["consolidate", "-", "done"],
        ["scan", "file", "done"],
        ["consolidate", "-", "done"],
        ["scan", "file", "done"],
    ]
    _, out, _ = asked("status")
    assert "pending  0 episodes" in out
    assert out.splitlines()[-1].split() == ["file", "file", "2026-03-06", "08:00", "no"]
    _, out, _ = asked("noise", "--limit", "1")
    assert len(out.splitlines()) == 2
    assert asked("runs", "zzzz")[0] == 2


def test_doctor(asked: Asked, tmp_path: Path) -> None:
    code, out, _ = asked("doctor")
    assert code == 0
    assert {line.split()[0] for line in out.splitlines()} <= {"ok", "warn"}
    assert main(["--store", f"sqlite:///{tmp_path / 'none' / 'memory.db'}", "doctor"]) == 1
    assert not (tmp_path / "none").exists()


def test_an_unknown_entity_is_a_usage_error_that_names_the_nearest(asked: Asked) -> None:
    assert asked("show", "ordrs") == (
        2,
        "",
        "error: nothing is remembered of 'ordrs'\nhint: the nearest: orders\n",
    )


READING = [
    ["show", "orders"],
    ["brief", "orders"],
    ["beliefs"],
    ["history", "orders"],
    ["changes", "--since", "2026-03-01"],
    ["noise"],
    ["runs"],
    ["status"],
    ["doctor"],
]


@pytest.mark.parametrize("arguments", READING, ids=lambda arguments: arguments[0])
def test_json_is_one_versioned_document(arguments: list[str], asked: Asked) -> None:
    code, out, err = asked(*arguments, "--json")
    document = json.loads(out)
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert (document["palimpsest"], document["kind"]) == (1, arguments[0])


@pytest.mark.parametrize("arguments", READING, ids=lambda arguments: arguments[0])
def test_asking_writes_nothing_and_needs_no_right_to(arguments: list[str], asked: Asked, memory: Memory) -> None:
    memory.store.dispose()
    file = memory.folder / "memory.db"
    before = file.read_bytes()
    file.chmod(0o444)
    assert asked(*arguments)[0] == 0
    assert file.read_bytes() == before


@pytest.mark.parametrize("arguments", [["beliefs"], ["changes"], ["noise"], ["runs"], ["status"]], ids=" ".join)
def test_an_empty_memory_answers_in_a_sentence(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = Memory(tmp_path, name="empty.db")
    assert main(["--store", empty.url, *arguments]) == 0
    out, err = capsys.readouterr()
    assert (bool(out), err) == (True, "")
