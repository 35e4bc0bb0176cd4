"""The pages as files: they open from disk, lead nowhere that is not there, and touch nothing of others."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote

import pytest

from palimpsest.core.errors import UsageError
from palimpsest.ports import NoProgress
from palimpsest.surfaces.console.export import LIST, export
from palimpsest.surfaces.console.pages import Desk
from tests.building import Memory, dataset, mcp, owners, schema
from tests.surfaces.console.reading import BOOK, ORDERS, Seen, desk_of, entity_path


def dead_links(folder: Path) -> list[tuple[str, str]]:
    """(file, address) of everything that leads nowhere, or out of the folder."""
    found = []
    pages = {path: Seen(path.read_text("utf-8")) for path in folder.rglob("*.html")}
    ids = {path: {str(given["id"]) for _, given in page.elements if "id" in given} for path, page in pages.items()}
    for path, page in pages.items():
        for _, given in page.elements:
            for name in ("href", "src", "action"):
                address = given.get(name)
                if address is None or address.startswith(("https://", "http://")):
                    continue
                place, _, part = address.partition("#")
                target = (path.parent / unquote(place)).resolve() if place else path
                inside = target.is_relative_to(folder.resolve()) and target.is_file()
                if not inside or (part and part not in ids[target]):
                    found.append((str(path.relative_to(folder)), address))
    return found


def test_an_export_has_a_page_for_everything_and_no_dead_link(desk: Desk, tmp_path: Path) -> None:
    report = export(desk, tmp_path / "site", NoProgress())
    assert dead_links(tmp_path / "site") == []
    assert (tmp_path / "site" / "index.html").is_file()
    assert (tmp_path / "site" / entity_path(desk.store, ORDERS)[1:] / "index.html").is_file()
    assert report.pages == len(list((tmp_path / "site").rglob("index.html")))
    assert report.bytes == sum(
        p.stat().st_size for p in (tmp_path / "site").rglob("*") if p.is_file() and p.name != LIST
    )


def test_an_export_shows_what_the_server_shows(desk: Desk, tmp_path: Path) -> None:
    export(desk, tmp_path / "site", NoProgress())
    html = (tmp_path / "site" / entity_path(desk.store, ORDERS)[1:] / "index.html").read_text("utf-8")
    assert "<del>jonas</del>" in html
    assert "<form" not in html
    assert "first seen, judged by rules" in html  # why, where the server has a page of its own


def test_links_stay_relative_so_that_the_folder_can_lie_anywhere(desk: Desk, tmp_path: Path) -> None:
    export(desk, tmp_path / "site", NoProgress())
    addresses = [
        str(given[name])
        for path in (tmp_path / "site").rglob("*.html")
        for _, given in Seen(path.read_text("utf-8")).elements
        for name in ("href", "src")
        if given.get(name)
    ]
    assert len(addresses) > 100
    assert [one for one in addresses if not one.startswith(("./", "../", "#"))] == []


def test_what_never_changed_is_told_of_on_the_page_of_its_entity_only(desk: Desk, tmp_path: Path) -> None:
    export(desk, tmp_path / "site", NoProgress())
    beliefs = {path.name for path in (tmp_path / "site" / "belief").iterdir()}
    ids = desk.store.ids
    entity = ids.entity(ORDERS)
    assert ids.belief(entity, "file", "ownership", "").hex() in beliefs
    assert ids.belief(entity, "file", "column", "total").hex() in beliefs
    assert ids.belief(entity, "file", "column", "id").hex() not in beliefs


def test_the_index_finds_an_entity_by_its_name_and_owner(desk: Desk, tmp_path: Path) -> None:
    export(desk, tmp_path / "site", NoProgress())
    static = tmp_path / "site" / "static"
    index = json.loads((static / "search-index.json").read_text())
    assert len(index) == 3
    orders = next(one for one in index if one["name"] == "shop.orders")
    assert "owner: lena" in orders["text"]
    assert (static / orders["href"]).is_file()
    script = (static / "search-index.js").read_text()
    assert json.loads(script.removeprefix("window.PALIMPSEST_INDEX = ").removesuffix(";\n")) == index


def test_a_folder_with_files_of_others_is_left_alone(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="no export wrote"):
        export(desk, tmp_path, NoProgress())
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_exporting_again_removes_what_only_the_earlier_export_wrote(desk: Desk, tmp_path: Path) -> None:
    site = tmp_path / "site"
    export(desk, site, NoProgress())
    whole = {str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()}
    old = site / "entity" / "0011223344556677" / "index.html"
    old.parent.mkdir()
    old.write_text("old")
    with (site / LIST).open("a") as listed:
        listed.write("entity/0011223344556677/index.html\n../outside.txt\n")
    (tmp_path / "outside.txt").write_text("mine")
    (site / "CNAME").write_text("memory.example.org")
    report = export(desk, site, NoProgress())
    assert report.removed == 1
    assert {str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()} == whole | {"CNAME"}
    assert not old.parent.exists()
    assert (tmp_path / "outside.txt").read_text() == "mine"


def test_an_export_that_was_broken_off_is_taken_up_by_the_next(desk: Desk, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / LIST).write_text("index.html\nrun/00/index.html\n")
    (site / "index.html").write_text("half")
    (site / "run" / "00").mkdir(parents=True)
    (site / "run" / "00" / "index.html").write_text("half")
    assert export(desk, site, NoProgress()).removed == 1
    assert "What is remembered" in (site / "index.html").read_text()


def test_long_lists_go_on_from_page_to_page_without_a_dead_link(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    memory = Memory(tmp_path / "memory")
    columns = [(f"c{number:03}", "int") for number in range(450)]
    for who, day in (("jonas", "02"), ("lena", "03")):
        memory.remember(
            [mcp(dataset(f"shop.t{number:03}"), "ownership", owners(who)) for number in range(230)]
            + [mcp(BOOK, "schemaMetadata", schema(*columns))],
            at=f"2026-03-{day}T08:00:00Z",
        )
    desk = desk_of(memory)
    site = tmp_path / "site"
    export(desk, site, NoProgress())
    assert dead_links(site) == []
    assert (site / "entities" / "2" / "index.html").is_file()
    assert (site / "changes" / "2" / "index.html").is_file()
    assert (site / entity_path(desk.store, BOOK)[1:] / "3" / "index.html").is_file()
    assert not (site / entity_path(desk.store, BOOK)[1:] / "4").exists()
    desk.store.dispose()
