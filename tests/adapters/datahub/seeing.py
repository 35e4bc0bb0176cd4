"""What each source sees, as docs/sources.md says it, and the comparison of a reading with a file's by that table."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from pathlib import Path

from palimpsest.core.aspects import ASPECTS
from palimpsest.core.aspects.form import is_empty, squeeze
from palimpsest.core.entity import kind_of
from palimpsest.core.observation import Failed, RawAspect

DOCS = Path(__file__).resolve().parents[3] / "docs" / "sources.md"
Cell = tuple[str, str, str, str]  # URN, raw aspect, aspect, key


@dataclass(frozen=True)
class Reading:
    """The cells of one reading in canonical form, and what failed."""

    cells: dict[Cell, object]
    failures: list[Failed]
    complete: bool


def read(reader) -> Reading:
    """Everything that a source states; of a raw aspect that comes twice, the last."""
    last: dict[tuple[str, str], RawAspect] = {}
    failures = []
    for found in reader.records():
        if isinstance(found, RawAspect) and not found.is_patch:
            last[found.urn, found.part] = found
        elif isinstance(found, Failed):
            failures.append(found)
    cells: dict[Cell, object] = {}
    for (urn, part), raw in last.items():
        for aspect, key, value in reader.observe(urn, part, raw.payload).observations:
            cells[urn, part, aspect, key] = ASPECTS[aspect].canonical(value)
    return Reading(cells, failures, reader.is_complete)


def rules(source: str) -> dict[tuple[str, str], str]:
    """(raw aspect, aspect) → what the table says of it for a source."""
    return {
        (part, aspect): row[source]
        for row in _rows("raw aspects")
        for part in _names(row["raw aspects"])
        for aspect in _names(row["aspect"])
    }


def kinds(source: str) -> dict[str, str]:
    """Kind of entity → what the table says of it for a source."""
    return {kind: row[source] for row in _rows("kind") for kind in _names(row["kind"])}


def _rows(first: str) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []
    head: list[str] = []
    for line in DOCS.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            head = []
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not head:
            head = cells
        elif head[0] == first and not set(cells[0]) <= {"-"}:
            rows.append(dict(zip(head, cells, strict=True)))
    return rows


def _names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def differences(source: str, file: Reading, live: Reading) -> list[str]:
    """How a live reading differs from the file's beyond what docs/sources.md says; empty where it says it all."""
    table, seen_kinds = rules(source), kinds(source)
    held = {urn for urn, *_ in file.cells}
    removed = {urn for (urn, _, aspect, _), value in file.cells.items() if aspect == "existence" and value is False}
    found = []
    for cell, value in file.cells.items():
        urn, part, aspect, key = cell
        if source == "datahub-mcp" and urn in removed:
            continue  # it lists no soft-deleted entity
        rule = "no" if seen_kinds[str(kind_of(urn))] == "no" else table[part, aspect]
        expected, actual = (
            _limited(each, rule, urn, key, held - removed - {urn}) for each in (value, live.cells.get(cell))
        )
        if source == "datahub-mcp" and cell not in live.cells and is_empty(expected):
            continue  # it leaves out what is empty
        if expected != actual:
            found.append(f"{cell}: {value!r} is {live.cells.get(cell)!r}, and the table says {rule}")
    for cell in live.cells.keys() - file.cells.keys():
        if not _may_be_added(cell, live.cells[cell]):
            found.append(f"{cell}: {live.cells[cell]!r} is not in the file")
    return found


def _limited(value: object, rule: str, urn: str, key: str, held: set[str]) -> object:
    """What of a value is to be compared under a rule; None where the source does not see it."""
    for limit in rule.split("; "):
        names = _names(limit)
        if (
            limit == "no"
            or ("not of" in limit and kind_of(urn) in names)
            or (limit.endswith("only") and key not in names)
        ):
            return None
        if limit == "without the kind of each" and isinstance(value, list):
            value = sorted({member[0] for member in value})
        elif limit == "those that are entities" and isinstance(value, list):
            value = [member for member in value if member in held]
        elif limit == "the first" and isinstance(value, list):
            value = value[:1]
        elif limit == "without markup":
            value = _without_markup(value)
        elif limit.startswith("without") and isinstance(value, dict):
            value = {name: part for name, part in value.items() if name not in names}
    return value


def _without_markup(value: object) -> object:
    """A text, or the description in a record, as the server cleans it."""
    if isinstance(value, dict) and "description" in value:
        return {**value, "description": _without_markup(value["description"])}
    if isinstance(value, str):
        return squeeze(html.unescape(re.sub(r"<[^<>]{0,100}>", "", value)))
    return value


def _may_be_added(cell: Cell, value: object) -> bool:
    """An absence that is stated, an entity that is there, or a name that DataHub takes from the URN."""
    urn, _, aspect, key = cell
    if aspect == "existence":
        return value is True
    if aspect == "name" and key == "source":
        return str(value).split(".")[-1] in urn
    return is_empty(value)


__all__ = ["Reading", "differences", "kinds", "read", "rules"]
