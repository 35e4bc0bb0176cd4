"""How a reading finds the columns held: by raw path, by simple path, by case, each where unambiguous."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.paths import match_paths, simple_path

INT, TEXT = "[version=2.0].[type=struct].[type=int].", "[version=2.0].[type=struct].[type=string]."


@pytest.mark.parametrize(
    ("raw", "simple"),
    [
        ("id", "id"),
        ("address.street", "address.street"),
        ("[version=2.0].[type=string].email", "email"),
        ("[version=2.0].[type=struct].[type=struct].address.[type=string].street", "address.street"),
        ("[version=2.0].[key=True].[type=int].id", "id"),
        ("[version=2.0].[type=Order].[type=array].[type=Line].lines.[type=string].sku", "lines.sku"),
        ("[version=2.0].[type=string]", "[version=2.0].[type=string]"),
        ("items[0].price", "items[0].price"),
        ("", ""),
    ],
)
def test_the_simple_path_is_what_people_call_the_column(raw, simple):
    assert simple_path(raw) == simple
    assert simple_path(simple) == simple


@pytest.mark.parametrize(
    ("held", "ended", "seen", "keys"),
    [
        # nothing held: the simple path where it is free, else the raw one
        ({}, (), ["id"], {"id": "id"}),
        ({}, (), [TEXT + "id"], {TEXT + "id": "id"}),
        ({}, (), [TEXT + "id", INT + "id"], {TEXT + "id": TEXT + "id", INT + "id": INT + "id"}),
        ({}, (), ["id", INT + "id"], {"id": "id", INT + "id": INT + "id"}),
        ({}, (), ["A", "a"], {"A": "A", "a": "a"}),
        # the same column under another spelling keeps its key
        ({"id": "id"}, (), [INT + "id"], {INT + "id": "id"}),
        ({"id": INT + "id"}, (), [TEXT + "id"], {TEXT + "id": "id"}),
        ({"Id": "Id"}, (), ["ID"], {"ID": "Id"}),
        ({"Id": "id"}, (), [TEXT + "ID"], {TEXT + "ID": "Id"}),
        # ambiguous on one side: nothing is guessed
        ({"A": "A", "a": "a"}, (), ["a"], {"a": "a"}),
        ({"ab": "ab"}, (), ["aB", "Ab"], {"aB": "aB", "Ab": "Ab"}),
        ({"ab": "ab", "AB": "AB"}, (), ["Ab"], {"Ab": "Ab"}),
        # what is there comes before what is gone
        ({"foo": "foo", "Foo": "Foo"}, ("Foo",), ["FOO"], {"FOO": "foo"}),
        ({"foo": "foo", "Foo": "Foo"}, ("Foo",), ["foo", "Foo"], {"foo": "foo", "Foo": "Foo"}),
        ({"foo": "foo"}, ("foo",), ["foo"], {"foo": "foo"}),
        # a key that is taken
        ({"id": "id"}, (), ["id", INT + "id"], {"id": "id", INT + "id": INT + "id"}),
    ],
)
def test_seen_paths_find_their_held_column(held, ended, seen, keys):
    assert match_paths(held, seen, ended) == keys


PATHS = st.lists(
    st.sampled_from(
        ["a", "A", "b", "a.b", "A.b", INT + "a", TEXT + "a", TEXT + "A", TEXT + "b", INT + "a.[type=int].b"]
    ),
    unique=True,
)


@given(first=PATHS, second=PATHS, chance=st.randoms())
def test_no_two_columns_share_a_key_and_order_does_not_matter(first, second, chance):
    held = {key: path for path, key in match_paths({}, first).items()}
    keys = match_paths(held, second)
    assert keys.keys() == set(second)
    assert len(set(keys.values())) == len(second)
    shuffled = list(second)
    chance.shuffle(shuffled)
    assert match_paths(held, shuffled) == keys


@given(paths=PATHS)
def test_the_same_reading_finds_the_same_columns(paths):
    held = {key: path for path, key in match_paths({}, paths).items()}
    assert {key: path for path, key in match_paths(held, paths).items()} == held
