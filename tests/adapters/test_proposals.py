"""A proposals file is whole or untouched, holds each of our links once, and never replaces what is not ours."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from palimpsest.adapters.datahub.proposals import ProposalsFile
from palimpsest.core.errors import CatalogError, UsageError
from palimpsest.core.ids import EntityId
from palimpsest.core.link import url_of
from palimpsest.core.moment import Moment
from tests.building import dataset, mcp, owners

AT = Moment(1_772_438_400_000)


def link(
    name: str, label: str = "Agent memory", public: str = "https://memory.example.org"
) -> tuple[str, str, str, Moment]:
    """A link on a dataset."""
    return dataset(name), url_of(public, EntityId(name.encode().ljust(16, b"\0"))), label, AT


def held(file: Path) -> dict[str, str]:
    """URN → label."""
    records = json.loads(file.read_text())
    return {record["entityUrn"]: record["aspect"]["json"]["patch"][0]["value"]["description"] for record in records}


def test_what_is_written_is_found_again_and_merged_with_what_the_file_holds(tmp_path: Path) -> None:
    writer = ProposalsFile(tmp_path / "links.json")
    assert writer.write([link("a"), link("b", "old")]) == {link("a")[1], link("b")[1]}
    assert writer.write([link("b", "новый 🎉"), link("c")]) == {link(name)[1] for name in "abc"}
    assert held(tmp_path / "links.json") == {
        dataset("a"): "Agent memory",
        dataset("b"): "новый 🎉",
        dataset("c"): "Agent memory",
    }
    assert os.listdir(tmp_path) == ["links.json"]


def test_the_path_names_the_link_as_a_json_pointer(tmp_path: Path) -> None:
    writer = ProposalsFile(tmp_path / "links.json")
    writer.write([link("a", public="https://memory.example.org/~team/x")])
    (record,) = json.loads((tmp_path / "links.json").read_text())
    (operation,) = record["aspect"]["json"]["patch"]
    step = operation["path"].removeprefix("/elements/")
    assert "/" not in step
    assert step.replace("~1", "/").replace("~0", "~") == operation["value"]["url"]


FOREIGN: dict[str, str] = {
    "metadata": json.dumps([mcp(dataset("a"), "ownership", owners("jonas"))]),
    "another patch": json.dumps(
        [mcp(dataset("a"), "globalTags", [{"op": "add", "path": "/tags/x", "value": {}}], "PATCH")]
    ),
    "somebody's link": json.dumps(
        [
            mcp(
                dataset("a"),
                "institutionalMemory",
                [{"op": "add", "path": "/elements/x", "value": {"url": "https://x"}}],
                "PATCH",
            )
        ]
    ),
    "an object": '{"a": 1}',
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_file_that_is_not_ours_is_refused_and_stays(tmp_path: Path, what: str) -> None:
    file = tmp_path / "links.json"
    file.write_text(FOREIGN[what])
    with pytest.raises(UsageError, match="is no proposals file of ours") as caught:
        ProposalsFile(file).write([link("a")])
    assert caught.value.hint == "name another file with --to"
    assert file.read_text() == FOREIGN[what]
    assert os.listdir(tmp_path) == ["links.json"]


@pytest.mark.parametrize("content", ["not JSON", "[1, 2", ""])
def test_a_file_that_cannot_be_read_is_refused_and_stays(tmp_path: Path, content: str) -> None:
    file = tmp_path / "links.json"
    file.write_text(content)
    with pytest.raises((CatalogError, UsageError)):
        ProposalsFile(file).write([link("a")])
    assert file.read_text() == content


def test_a_folder_that_is_missing_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"cannot write .*No such file or directory"):
        ProposalsFile(tmp_path / "no" / "links.json").write([link("a")])


def test_a_folder_in_the_file_s_place_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "links.json").mkdir()
    with pytest.raises(CatalogError):
        ProposalsFile(tmp_path / "links.json").write([link("a")])
    assert os.listdir(tmp_path) == ["links.json"]
