"""The labelled pairs of texts. Of real catalogs only the places and labels are kept here; their texts are read from the
shared material, and checked against the hash that was labelled.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from palimpsest.adapters.datahub.file import FileReader
from palimpsest.core.observation import RawAspect

ROOT = Path(__file__).resolve().parents[2]
LABELS = ROOT / "tests" / "labels"
SHARED = ROOT.parent / "shared" / "data"
CHECKPOINTS = "replay/mcp_checkpoints"
COMMITS = "replay/changes.jsonl.gz"


class Pair(NamedTuple):
    """Two texts of one place, or two notes about one entity, and whether they are alike in the label's sense."""

    id: int
    origin: str
    one: str
    other: str
    is_alike: bool
    why: str
    about: str = ""

    @property
    def half(self) -> str:
        """Thresholds were chosen on the even ids."""
        return "odd" if self.id % 2 else "even"


def lines(name: str) -> list[dict[str, Any]]:
    """The lines of a file of labels."""
    return [json.loads(line) for line in (LABELS / name).read_text(encoding="utf-8").splitlines()]


def own_pairs() -> list[Pair]:
    """Sentences of our own about tables that never were, by what differs in them."""
    return [
        Pair(one["id"], "own", one["before"], one["after"], one["label"] == "restates", one["kind"])
        for one in lines("own_pairs.jsonl")
    ]


def note_pairs() -> list[Pair]:
    """Pairs of notes of our own about one entity: the same matter or another one?"""
    return [
        Pair(one["id"], "notes", one["one"], one["other"], one["label"] == "same", "", one["about"])
        for one in lines("note_pairs.jsonl")
    ]


def rewritten_pairs(shared: Path) -> list[Pair]:
    """Every rewritten description of a real catalog. Raises KeyError where a text is not the one that was labelled."""
    labels = lines("rewritten.jsonl")
    wanted = {one[side] for one in labels for side in ("before", "after")}
    found = {
        hash_of(text): text
        for text in (*_of_checkpoints(shared / CHECKPOINTS), *_of_commits(shared / COMMITS))
        if hash_of(text) in wanted
    }
    return [
        Pair(
            one["id"],
            one["origin"],
            found[one["before"]],
            found[one["after"]],
            one["label"] == "restates",
            one["reason"],
        )
        for one in labels
    ]


def hash_of(text: str) -> str:
    """By which a labelled text is known."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _of_checkpoints(folder: Path) -> Iterator[str]:
    for file in sorted(folder.glob("[0-9]*.json.gz")):
        for record in FileReader(file).records():
            if isinstance(record, RawAspect):
                value = json.loads(record.payload)
                for part in (value, *(value.get("fields") or ())):
                    if isinstance(part.get("description"), str):
                        yield part["description"]


def _of_commits(file: Path) -> Iterator[str]:
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        for line in stream:
            change = json.loads(line)
            if change["op"] in ("rewritten", "redescribed"):
                yield from (text for text in (change["before"], change["after"]) if isinstance(text, str))
