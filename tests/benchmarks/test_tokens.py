"""The benchmark of what answers cost: thirty questions, and a document whose sums are those of its rows."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from benchmarks.tokens.__main__ import Asked, measured, table
from benchmarks.tokens.questions import QUESTIONS
from palimpsest.core.brief import tokens_of
from palimpsest.surfaces.mcp.tools import BY_NAME, LISTED

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "agents.md"


def test_there_are_fifteen_questions_of_each_catalog_answered_by_brief_or_changes() -> None:
    assert Counter(one.catalog for one in QUESTIONS) == {"demo": 15, "showcase": 15}
    assert len({one.text for one in QUESTIONS}) == 30
    assert {tool for one in QUESTIONS for tool, _ in one.palimpsest} == {"brief", "changes"}


def test_a_question_counts_every_text_and_is_answered_by_any() -> None:
    question = QUESTIONS[0]
    assert measured(question, ["abcd", "owner: lena"]) == Asked(tokens=2 + 4, calls=2, answered=True)
    assert measured(question, ["abc"]) == Asked(tokens=1, calls=1, answered=False)


def test_the_table_sums_up_by_catalog() -> None:
    one, two = Asked(tokens=30, calls=1, answered=True), Asked(tokens=10, calls=1, answered=False)
    lines = table([(QUESTIONS[0], one, two), (QUESTIONS[-1], one, one)])
    assert lines[4:7] == [
        "| **demo, all 1** | 30 | 10 | 3.0 |",
        "| **showcase, all 1** | 30 | 30 | 1.0 |",
        "| **all 2** | 60 | 40 | 1.5 |",
    ]
    assert lines[-1] == "Median of the ratios: 2.0. Answered: 2 and 1 of 2."


def test_the_document_has_every_question_and_its_sums_are_right() -> None:
    text = DOCUMENT.read_text("utf-8")
    rows = re.findall(r"^\| (demo|showcase): (.+?) \| ([\d,]+)[^|]* \| ([\d,]+)[^|]* \|", text, re.M)
    assert [(catalog, question) for catalog, question, _, _ in rows] == [(one.catalog, one.text) for one in QUESTIONS]
    theirs, ours = (sum(int(row[side].replace(",", "")) for row in rows) for side in (2, 3))
    assert f"| **all 30** | {theirs:,} | {ours:,} | {theirs / ours:.1f} |" in text
    feed = [row for row in rows if row[1] in {"What changed this week?", "What broke this week?"}]
    rest = [sum(int(row[side].replace(",", "")) for row in rows if row not in feed) for side in (2, 3)]
    assert f"the ratio of all is {rest[0] / rest[1]:.1f}." in text


def test_the_document_names_every_tool_with_its_parameters_and_the_size_of_the_list() -> None:
    text = DOCUMENT.read_text("utf-8")
    for name, tool in BY_NAME.items():
        (row,) = re.findall(rf"^\| `{name}` \| .* \|(.*)\|$", text, re.M)
        assert re.findall(r"`(\w+)`", row) == list(tool.takes), name
    size = tokens_of(LISTED.model_dump_json(by_alias=True, exclude_none=True))
    assert abs(size - 1_873) < 30
