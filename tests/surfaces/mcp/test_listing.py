"""The list of tools: what every agent reads first. Short, and changed on purpose only.

`PALIMPSEST_TEST_GOLDEN=write` writes the snapshot anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from palimpsest.core.brief import tokens_of
from palimpsest.surfaces.mcp.tools import LISTED, TOOLS

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "mcp_tools.json"


def test_the_list_is_nine_tools_in_less_than_two_thousand_tokens() -> None:
    text = LISTED.model_dump_json(by_alias=True, exclude_none=True)
    assert [tool.name for tool in LISTED.tools] == [
        "brief", "recall", "changes", "history", "why", "entities", "note", "task", "status",
    ]  # fmt: skip
    assert (len(text.encode()) < 6_000, tokens_of(text) < 2_000) == (True, True)


def test_names_schemas_and_hints_are_those_of_the_snapshot() -> None:
    now = LISTED.model_dump(mode="json", by_alias=True, exclude_none=True)["tools"]
    if os.environ.get("PALIMPSEST_TEST_GOLDEN") == "write":
        GOLDEN.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", "utf-8")
    assert now == json.loads(GOLDEN.read_text("utf-8"))


def test_only_note_and_task_say_that_they_write() -> None:
    writing = {tool.name for tool in LISTED.tools if tool.annotations and not tool.annotations.read_only_hint}
    assert writing == {"note", "task"}


def test_every_parameter_that_is_needed_is_taken() -> None:
    for tool in TOOLS:
        assert set(tool.needs) <= set(tool.takes), tool.name
