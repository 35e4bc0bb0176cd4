"""Comparing a reading with what is held: applied once, it is found no second time; form changes nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.aspects import ASPECTS, Impact
from palimpsest.core.aspects.sets import members_of
from palimpsest.core.baseline import GONE, Held, apply_patches, compare, keyed, removed, renamed_columns
from palimpsest.core.episode import Ground, Kind
from palimpsest.core.ids import CellId, Digest
from palimpsest.core.jsontext import dumps
from palimpsest.core.observation import Observation, Patch


def digest_of(form: bytes) -> Digest:
    """A digest that never collides."""
    return Digest(form)


def hold(aspect: str, key: str, value, number: int = 1) -> Held:
    """A held cell."""
    form = dumps(ASPECTS[aspect].canonical(value))
    return Held(CellId(f"{aspect}:{key}".encode()), aspect, key, digest_of(form), number, dumps(value).decode())


def ended(aspect: str, key: str) -> Held:
    """A cell whose last episode removed it."""
    return Held(CellId(f"{aspect}:{key}".encode()), aspect, key, GONE, 2, None)


def differences(held, found, *, whole: bool = True):
    """(key, kind, impact) of each difference."""
    return [(d.key, d.kind, d.impact) for d in compare(held, found, whole=whole, digest_of=digest_of)]


def test_a_first_statement_has_the_impact_of_what_it_states():
    found = {("tags", ""): [["urn:li:tag:pii"]], ("property", "team"): "shop", ("existence", ""): {"exists": True}}
    assert differences([], found) == [
        ("", Kind.FIRST, Impact.NOTABLE),
        ("team", Kind.FIRST, Impact.MINOR),
        ("", Kind.FIRST, Impact.MINOR),
    ]


def test_an_empty_spelling_of_nothing_is_no_difference():
    found = {
        ("tags", ""): [],
        ("property", "team"): " ",
        ("deprecation", ""): {"deprecated": False, "note": ""},
        ("view_definition", ""): {},
    }
    assert differences([], found) == []
    assert differences([ended("property", "team")], found) == []


def test_an_emptied_value_that_is_no_longer_listed_ends_nothing_more():
    assert differences([hold("property", "team", ""), hold("column_upstreams", "id", [])], {}) == []


def test_a_key_that_is_no_longer_listed_ends_only_where_the_raw_aspect_was_read_whole():
    held = [hold("property", "team", "shop")]
    assert differences(held, {}, whole=False) == []
    assert differences(held, {}, whole=True) == [("team", Kind.REMOVED, Impact.MINOR)]
    assert differences([ended("property", "team")], {}, whole=True) == []


def test_what_was_gone_and_is_stated_again_has_returned():
    held = [ended("column", "id")]
    assert differences(held, {("column", "id"): {"path": "id"}}) == [("id", Kind.RETURNED, Impact.MINOR)]


def test_what_ends_a_cell_is_told_from_what_changes_it():
    held = [hold("ownership", "", [["a", "X"], ["b", "X"]]), hold("property", "p", "x"), hold("name", "source", "n")]
    found = {("ownership", ""): [], ("property", "p"): "", ("name", "source"): "m"}
    assert [d.ends for d in compare(held, found, whole=True, digest_of=digest_of)] == [True, True, False]
    assert removed(held[0], Ground.PATCH).ends


def test_a_digest_of_other_rules_is_brought_up_to_date_without_an_episode():
    old = hold("description", "source", "x")._replace(digest=Digest(b"made by other rules"))
    (found,) = compare([old], {("description", "source"): " x "}, whole=True, digest_of=digest_of)
    assert (found.kind, found.digest, found.value) == (None, digest_of(dumps("x")), None)


def test_a_cell_that_comes_twice_counts_once_and_the_last_wins():
    seen = [Observation("property", "a", "1"), Observation("column", "Id", {"path": "Id"})]
    seen += [Observation("property", "a", "2"), Observation("column", "Id", {"path": "Id", "description": "x"})]
    held = [hold("column", "id", {"path": "id"})]
    assert keyed(held, seen) == {("property", "a"): "2", ("column", "id"): {"path": "Id", "description": "x"}}


# --- properties -------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "A", "b", "c d", "c  d"])
URNS = NAMES.map(lambda name: f"urn:li:tag:{name}")
SETS = st.lists(st.tuples(URNS).map(list), max_size=4)
COLUMNS = st.fixed_dictionaries(
    {"path": NAMES},
    optional={
        "native_type": st.sampled_from(["int", "bigint", "VARCHAR", "TEXT", ""]),
        "nullable": st.booleans(),
        "description": st.sampled_from(["x", " x ", "X", ""]),
        "tags": st.lists(URNS, max_size=2),
    },
)
OBSERVATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("tags"), st.just(""), SETS),
        st.tuples(st.just("property"), NAMES, st.sampled_from(["", "x", " x", "y"])),
        st.tuples(st.just("description"), st.sampled_from(["source", "edited"]), st.sampled_from(["x", "x ", "y"])),
        COLUMNS.map(lambda column: ("column", column["path"], column)),
        st.tuples(st.just("existence"), st.just(""), st.booleans().map(lambda exists: {"exists": exists})),
    ).map(lambda parts: Observation(*parts)),
    max_size=8,
)


def held_after(held, found) -> list[Held]:
    """The held cells once the differences are written."""
    cells = {(cell.aspect, cell.key): cell for cell in held}
    for one in compare(held, found, whole=True, digest_of=digest_of):
        before = cells.get((one.aspect, one.key))
        if one.kind is Kind.REMOVED:
            assert before is not None
            cells[one.aspect, one.key] = before._replace(digest=one.digest, last=before.last + 1, value=None)
        else:
            assert one.value is not None
            number = before.last + 1 if before else 1
            cell = CellId(f"{one.aspect}:{one.key}".encode())
            cells[one.aspect, one.key] = Held(cell, one.aspect, one.key, one.digest, number, one.value.decode())
    return list(cells.values())


@given(readings=st.lists(OBSERVATIONS, min_size=1, max_size=4))
def test_a_reading_that_is_written_is_found_no_second_time(readings):
    held: list[Held] = []
    for seen in readings:
        held = held_after(held, keyed(held, seen))
        assert compare(held, keyed(held, seen), whole=True, digest_of=digest_of) == []


@given(first=OBSERVATIONS, second=OBSERVATIONS, chance=st.randoms())
def test_the_order_of_statements_about_different_cells_changes_nothing(first, second, chance):
    held = held_after([], keyed([], first))
    last = {(one.aspect, one.key): one for one in second}
    shuffled = list(last.values())
    chance.shuffle(shuffled)
    assert keyed(held, shuffled) == keyed(held, list(last.values()))


@given(seen=OBSERVATIONS)
def test_a_canonical_form_is_stable_and_tells_no_difference_to_itself(seen):
    for one in seen:
        rules = ASPECTS[one.aspect]
        form = rules.canonical(one.value)
        if one.aspect != "existence":  # its form is a truth value
            assert rules.canonical(form) == form
        assert rules.difference(one.value, one.value) == ()
        assert rules.impact(one.value, one.value) is not Impact.BREAKING
        assert rules.say(one.key, one.value)


@given(
    held=st.none() | SETS, base=st.none() | SETS, changes=st.lists(st.tuples(st.sampled_from("+-"), URNS), max_size=6)
)
def test_patches_are_member_changes_in_order_on_what_was_stated_or_held(held, base, changes):
    cells = [hold("tags", "", held)] if held is not None else []
    stated = {("tags", ""): base} if base is not None else {}
    patches = [Patch("tags", "", "add" if op == "+" else "remove", (urn,)) for op, urn in changes]

    touched, gone = apply_patches(cells, stated, patches)

    start = base if base is not None else held
    members = {member for (member,) in members_of(start or [])}
    for op, urn in changes:
        named = {" ".join(urn.split())}
        members = members | named if op == "+" else members - named
    after = touched.get(("tags", ""), start)
    assert gone == set()
    assert {member for (member,) in members_of(after or [])} == members
    if start is None and after is not None:
        assert isinstance(after, dict)
        assert "at_least" in after


# --- hints ------------------------------------------------------------------------------------------------------


def test_a_column_alike_in_all_but_its_name_may_be_a_new_name_where_only_one_fits():
    gone = {"user_id": {"path": "user_id", "native_type": "int"}, "note": {"path": "note", "native_type": "text"}}
    come = {"userId": {"path": "userId", "native_type": "int"}, "other": {"path": "other", "native_type": "date"}}
    assert renamed_columns(gone, come) == {"userId": "user_id"}
    assert renamed_columns(gone, come | {"uid": {"path": "uid", "native_type": "int"}}) == {}
    assert renamed_columns({"a": {"path": "a"}}, {"b": {"path": "b"}}) == {}
