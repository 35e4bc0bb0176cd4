"""Records are streamed as json.loads reads them, through any window; what is not whole is one CatalogError."""

from __future__ import annotations

import gzip
import json
import math
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest.adapters.datahub.records import files_of, stream
from palimpsest.core.errors import CatalogError, UsageError

TEXT = st.text(max_size=12) | st.sampled_from(["\\", '"', "\\u", "🎉", "\u2028", "]", "},{", "\ud800", "\x00", "é" * 9])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)
WINDOWS = st.integers(min_value=1, max_value=40)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place for one file."""
    return tmp_path_factory.mktemp("records") / "a.json"


def read(file: Path, content: bytes, window: int = 1 << 18) -> list[object]:
    """The records of a file of that content."""
    file.write_bytes(content)
    return list(stream(file, window=window))


@given(
    values=st.lists(VALUES, max_size=5), window=WINDOWS, ascii_only=st.booleans(), indent=st.sampled_from([None, 0, 3])
)
@settings(max_examples=300)
def test_records_are_read_as_json_reads_them(
    file: Path, values: list[object], window: int, ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(values, ensure_ascii=ascii_only, indent=indent)
    content = text.encode("utf-8", "replace")
    assert read(file, content, window) == json.loads(content)


@given(values=st.lists(VALUES, min_size=1, max_size=4), window=WINDOWS, data=st.data())
@settings(max_examples=300)
def test_a_file_that_is_cut_is_one_error_and_what_was_read_is_right(
    file: Path, values: list[object], window: int, data: st.DataObject
) -> None:
    content = json.dumps(values, ensure_ascii=False).encode("utf-8", "replace")
    whole = json.loads(content)
    file.write_bytes(content[: data.draw(st.integers(min_value=0, max_value=len(content) - 1))])
    found: list[object] = []
    with pytest.raises(CatalogError) as caught:
        found.extend(stream(file, window=window))
    # The last value may be cut itself where a number or nothing tells its end: 12 of 123.
    assert found[:-1] == whole[: len(found)][:-1]
    assert caught.value.message.startswith(str(file))
    assert "\n" not in caught.value.message


@given(
    content=st.binary(max_size=80) | st.text(alphabet='[]{}",:\\ 1e-.ntf\n', max_size=30).map(str.encode),
    window=WINDOWS,
)
@settings(max_examples=500)
def test_any_bytes_are_read_as_json_reads_them_or_refused(file: Path, content: bytes, window: int) -> None:
    try:
        wanted = json.loads(content.decode("utf-8-sig"))
    except ValueError:
        wanted = None
    try:
        found = read(file, content, window)
    except CatalogError:
        assert not isinstance(wanted, list | dict)
    else:
        assert same(found, wanted if isinstance(wanted, list) else [wanted])


def same(one: object, other: object) -> bool:
    """Whether two values are the same, NaN included."""
    return repr(one) == repr(other)


def test_an_array_of_nothing_holds_no_record(file: Path) -> None:
    assert read(file, b" [ ] ") == []


def test_a_byte_order_mark_is_no_matter(file: Path) -> None:
    assert read(file, b"\xef\xbb\xbf[1]", window=1) == [1]


def test_numbers_that_python_refuses_stay_text(file: Path) -> None:
    digits = "9" * 6_000
    assert read(file, f'[{{"a": {digits}, "b": 12}}, NaN]'.encode())[0] == {"a": digits, "b": 12}
    assert math.isnan(read(file, b"[NaN]")[0])  # type: ignore[arg-type]


def test_of_a_key_twice_the_last_counts(file: Path) -> None:
    assert read(file, b'[{"a": 1, "a": 2}]') == [{"a": 2}]


@pytest.mark.parametrize("window", [1, 7, 1 << 18])
def test_gzip_is_told_by_its_first_bytes_whatever_the_name(file: Path, window: int) -> None:
    assert read(file, gzip.compress(b"[1, 2]"), window) == [1, 2]


def test_a_record_in_the_middle_of_which_a_character_is_broken_is_one_error(file: Path) -> None:
    with pytest.raises(CatalogError, match=r"byte .* is not UTF-8"):
        read(file, b'[1, "\xff"]')


def test_memory_stays_flat(file: Path) -> None:
    record = json.dumps({"text": "x" * 1_000})
    with file.open("w") as out:
        out.write("[" + ",".join([record] * 20_000) + "]")
    tracemalloc.start()
    assert sum(1 for _ in stream(file)) == 20_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6_000_000


def test_the_files_of_a_folder_come_by_name(tmp_path: Path) -> None:
    for name in ("b.json", "a.json.gz", "c.txt", "d.JSON"):
        (tmp_path / name).write_text("[]")
    (tmp_path / "e.json").mkdir()
    assert [file.name for file in files_of(tmp_path)] == ["a.json.gz", "b.json"]


def test_a_path_that_is_none_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "none", tmp_path / "file" / "in"):
        with pytest.raises(UsageError, match="no such file"):
            files_of(path)
