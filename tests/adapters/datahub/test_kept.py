"""What a live reading keeps of itself: given back as it was, and harmless whatever became of the file."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest.adapters.datahub.kept import KeptReading, read_whole
from palimpsest.adapters.datahub.wire import live_aspect
from palimpsest.core.moment import Moment
from palimpsest.core.observation import Failed, RawAspect
from palimpsest.testing import FixedClock
from tests.building import dataset, owners, tags

NOW = 1_772_500_000_000
ORDERS, USERS = dataset("with space"), dataset("Größe.🦆")
READ = {
    urn: [live_aspect(urn, "ownership", owners("mira")), live_aspect(urn, "globalTags", tags("gold"))]
    for urn in (ORDERS, USERS)
}


def opened(folder: Path, *, at: int = NOW, since: int | None = None, source: str = "live", **options: object):
    """A kept reading that has begun."""
    kept = KeptReading(folder, store="s", clock=FixedClock(Moment(at)), **options)  # type: ignore[arg-type]
    kept.begin(kind="k", origin="o", source=source, since=None if since is None else Moment(since))
    return kept


def left(folder: Path, *, at: int = NOW) -> Path:
    """The file of a reading that broke after two entities."""
    kept = opened(folder, at=at)
    kept.keep(READ, Moment(at))
    kept.close()
    (file,) = folder.iterdir()
    return file


def taken(kept: KeptReading) -> dict[str, list[RawAspect]]:
    """What is given back of our entities."""
    found = dict(kept.take([ORDERS, dataset("never read"), USERS]))
    assert kept.taken == len(found)
    return found


def test_what_was_kept_is_given_back_as_it_was(tmp_path: Path) -> None:
    file = left(tmp_path / "kept")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert taken(opened(tmp_path / "kept")) == READ


def test_it_says_neither_source_nor_origin_in_its_name(tmp_path: Path) -> None:
    assert left(tmp_path).name.partition(".")[0].isalnum()
    assert opened(tmp_path, source="live").taken == 0


def test_it_is_gone_when_the_reading_is_written_down(tmp_path: Path) -> None:
    left(tmp_path)
    opened(tmp_path).end()
    assert list(tmp_path.iterdir()) == []


def test_the_newest_that_was_read_of_an_entity_counts(tmp_path: Path) -> None:
    left(tmp_path)
    kept = opened(tmp_path)
    newer = {ORDERS: [live_aspect(ORDERS, "ownership", owners("lena"))]}
    kept.keep(newer, Moment(NOW))
    kept.close()
    assert taken(opened(tmp_path)) == READ | newer


@pytest.mark.parametrize(
    ("at", "since"),
    [(NOW + 3_600_001, None), (NOW - 1, None), (NOW, NOW), (NOW, NOW + 1)],
    ids=["too old", "of the future", "as old as the last reading", "older than the last reading"],
)
def test_what_is_too_old_is_thrown_away(tmp_path: Path, at: int, since: int | None) -> None:
    left(tmp_path)
    kept = opened(tmp_path, at=at, since=since)
    assert taken(kept) == {}
    kept.close()
    assert taken(opened(tmp_path)) == {}


@pytest.mark.parametrize(("at", "since"), [(NOW + 3_600_000, None), (NOW, NOW - 1)])
def test_what_is_young_enough_is_taken(tmp_path: Path, at: int, since: int | None) -> None:
    left(tmp_path)
    assert taken(opened(tmp_path, at=at, since=since)) == READ


def test_another_source_has_a_file_of_its_own(tmp_path: Path) -> None:
    left(tmp_path)
    assert taken(opened(tmp_path, source="another")) == {}


def write_bytes(payload: bytes) -> Callable[[Path], object]:
    """Puts something else in place of the file."""
    return lambda file: file.write_bytes(payload)


def cut(file: Path) -> None:
    """Loses the last part of the file."""
    file.write_bytes(file.read_bytes()[:-5_000])


def scribble(file: Path) -> None:
    """Writes over the middle of the file."""
    whole = bytearray(file.read_bytes())
    whole[4_096:12_288] = os.urandom(8_192)
    file.write_bytes(whole)


def rename_inside(file: Path) -> None:
    """Makes it the file of another reading."""
    with sqlite3.connect(file) as db:
        db.execute("UPDATE about SET reading = 'another'")
    db.close()


def other_tables(file: Path) -> None:
    """Another program's database."""
    file.unlink()
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE raw (a)")
    db.close()
    file.chmod(0o600)


@pytest.mark.parametrize(
    "spoil", [write_bytes(b""), write_bytes(b"no database" * 999), cut, scribble, rename_inside, other_tables]
)
def test_a_broken_or_foreign_file_is_made_anew(tmp_path: Path, spoil: Callable[[Path], object]) -> None:
    spoil(left(tmp_path))
    kept = opened(tmp_path)
    assert taken(kept) == {}
    kept.keep(READ, Moment(NOW))
    kept.close()
    assert taken(opened(tmp_path)) == READ


def loosen(file: Path) -> None:
    """Lets others read and write it."""
    file.chmod(0o666)


def link(file: Path) -> None:
    """Puts a link to somewhere else in its place."""
    file.rename(file.with_suffix(".elsewhere"))
    file.symlink_to(file.with_suffix(".elsewhere"))


def make_folder(file: Path) -> None:
    """Puts a folder in its place."""
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("spoil", [loosen, link, make_folder])
def test_a_file_that_others_could_have_written_is_not_touched(tmp_path: Path, spoil: Callable[[Path], object]) -> None:
    file = left(tmp_path)
    spoil(file)
    kept = opened(tmp_path)
    assert taken(kept) == {}
    kept.keep(READ, Moment(NOW))
    assert taken(kept) == {}
    kept.end()
    assert file.exists()


def test_a_folder_that_cannot_be_made_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kept = opened(tmp_path / "file" / "folder")
    kept.keep(READ, Moment(NOW))
    assert taken(kept) == {}


def test_a_file_that_another_process_writes_is_left_to_it(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.keep(READ, Moment(NOW))
    second = opened(tmp_path)
    second.keep({ORDERS: []}, Moment(NOW))
    assert taken(second) == {}
    second.end()
    first.close()
    assert taken(opened(tmp_path)) == READ


def test_a_file_that_breaks_under_way_costs_nothing(tmp_path: Path) -> None:
    file = left(tmp_path)
    kept = opened(tmp_path)
    kept.close()
    file.unlink()
    assert taken(kept) == {}
    kept.keep(READ, Moment(NOW))
    kept.end()


@pytest.mark.parametrize("options", [{"minutes": 0}, {"clock": None}])
def test_without_minutes_or_a_clock_nothing_is_kept(tmp_path: Path, options: dict[str, object]) -> None:
    kept = KeptReading(tmp_path / "kept", store="s", **{"clock": FixedClock(Moment(NOW)), **options})  # type: ignore[arg-type]
    kept.begin(kind="k", origin="o", source="live", since=None)
    kept.keep(READ, Moment(NOW))
    assert taken(kept) == {}
    assert not (tmp_path / "kept").exists()


def test_what_nobody_took_up_for_a_day_is_deleted(tmp_path: Path) -> None:
    file = left(tmp_path)
    os.utime(file, (NOW / 1000 - 90_000, NOW / 1000 - 90_000))
    young, other = tmp_path / "young.reading", tmp_path / "others.txt"
    for each in (young, other):
        each.touch(mode=0o600)
        os.utime(each, (NOW / 1000 - 80_000, NOW / 1000 - 80_000))
    opened(tmp_path, source="another").close()
    assert not file.exists()
    assert young.exists()
    assert other.exists()


def test_an_entity_about_which_anything_failed_is_not_read_whole() -> None:
    found = [*READ[ORDERS], *READ[USERS], Failed(f"{ORDERS} editableSchemaMetadata", "boom"), Failed(dataset("x"), "")]
    assert read_whole(found) == {USERS: READ[USERS]}
