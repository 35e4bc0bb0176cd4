"""The walk downstream, level by level, and how much lies below everything; lineage may go round."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.ids import BeliefId, EntityId
from palimpsest.core.impact import Hop, Walk, counts_below, folded


def entity(name: str) -> EntityId:
    return EntityId(name.encode().ljust(8, b"-") + bytes(8))


def named(one: EntityId) -> str:
    return one.rstrip(b"\x00").rstrip(b"-").decode()


def hops(*said: str) -> list[Hop]:
    """`orders > facts` for whole entities, `orders.id > facts.order_id` for columns; the belief is its number."""
    found = []
    for number, one in enumerate(said):
        (above, _, column), (below, _, own) = (part.strip().partition(".") for part in one.split(">"))
        found.append(Hop(entity(above), column, entity(below), own, BeliefId(bytes([number]) * 16)))
    return found


def levels(seed: str, lineage: list[Hop]) -> list[list[str]]:
    """The levels below `orders` or `orders.id`: each entity with its columns and the number of its belief."""
    name, _, column = seed.partition(".")
    walk = Walk((entity(name), folded(column) if column else ""))
    found = []
    while walk.frontier:
        asked = set(walk.ask)
        reached = walk.take([hop for hop in lineage if hop.upstream in asked])
        if reached:
            found.append(
                sorted(" ".join([named(one), *of.columns, f"#{of.hop.belief[0]}"]) for one, of in reached.items())
            )
    return found


def test_each_entity_is_on_the_level_on_which_it_is_first_reached_by_the_belief_of_that_hop() -> None:
    lineage = hops("a > b", "a > c", "b > d", "c > d", "a > d", "d > e")
    assert levels("a", lineage) == [["b #0", "c #1", "d #4"], ["e #5"]]


def test_lineage_that_goes_round_ends() -> None:
    assert levels("a", hops("a > b", "b > c", "c > a", "c > c", "a > a")) == [["b #0"], ["c #1"]]


def test_a_column_leads_along_columns_only() -> None:
    lineage = hops("a > b", "a.x > b.y", "a.z > b.w", "b > c", "b.y > c.k", "b.w > d.k", "b.Y > e.K")
    assert levels("a.X", lineage) == [["b y #1"], ["c k #4", "e K #6"]]


def test_a_column_without_lineage_of_its_own_has_nothing_below_where_others_have_some() -> None:
    assert levels("a.q", hops("a > b", "a.x > b.y")) == []


def test_where_no_column_has_lineage_the_direct_readers_of_the_table_are_told_and_no_more() -> None:
    assert levels("a.x", hops("a > b", "a > c", "b > d")) == [["b #0", "c #1"]]


def test_a_column_goes_on_through_another_column_of_its_own_entity() -> None:
    assert levels("a.x", hops("a.x > a.y", "a.y > b.k")) == [["b k #1"]]


def test_a_column_of_a_very_long_path_is_found() -> None:
    path = "p" * 700
    lineage = [Hop(entity("a"), f"{path[:500]}…", entity("b"), "k", BeliefId(bytes(16)))]
    assert levels(f"a.{path}", lineage) == [["b k #0"]]


def test_how_much_lies_below_is_counted_through_rounds() -> None:
    below = {"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": ["e"], "x": ["e", "d"]}
    assert counts_below(below) == {"a": 4, "b": 4, "c": 4, "d": 1, "e": 0, "x": 2}
    assert counts_below(below, ["d", "unknown"]) == {"d": 1}
    assert counts_below({}) == {}


def test_a_chain_of_ten_thousand_is_counted_without_recursion() -> None:
    below = {number: [number + 1] for number in range(10_000)}
    found = counts_below(below)
    assert (found[0], found[9_999], found[10_000]) == (10_000, 1, 0)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=40))
def test_the_count_is_what_a_walk_reaches(edges: list[tuple[int, int]]) -> None:
    below: dict[int, list[int]] = {}
    for above, to in edges:
        below.setdefault(above, []).append(to)
    for node, count in counts_below(below).items():
        seen, left = {node}, [node]
        while left:
            for to in below.get(left.pop(), ()):
                if to not in seen:
                    seen.add(to)
                    left.append(to)
        assert count == len(seen) - 1
