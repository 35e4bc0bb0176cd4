"""A model sorts notes by number: it can choose what is on the lists, and name nothing that is not (R3)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from palimpsest.core.choosing import Candidates, Choice, Note, OpenMatter, Subject
from palimpsest.core.errors import ModelError
from palimpsest.core.ids import CellId, EntityId
from palimpsest.core.moment import Moment
from palimpsest.testing.model import ScriptedModel, items_in
from tests.building import dataset
from tests.jobs.judging.matters import judging, prompt

ORDERS, REFUNDS = EntityId(b"o" * 16), EntityId(b"r" * 16)
MATTERS = (
    OpenMatter(ORDERS, "quality", "nulls", "Half of the amounts are null."),
    OpenMatter(REFUNDS, "usage", "join", "Join it by order_id."),
)


def waiting(text: str, *, aspects: tuple[str, ...] = ("usage", "quality", "insight")) -> Candidates:
    """A note about orders that names refunds, with a matter of each."""
    note = Note(CellId(b"n" * 16), ORDERS, dataset("orders"), "person:mira", "", text, Moment(0))
    return Candidates(
        note, (Subject(ORDERS, dataset("orders")), Subject(REFUNDS, dataset("refunds"))), aspects, MATTERS
    )


def entry(**changed: Any) -> dict[str, Any]:
    """What a model says of the first note."""
    return {"item": 1, "entity": 1, "kind": 2, "matter": 1, "sure": True} | changed


def says(*entries: Any) -> str:
    """An answer."""
    return json.dumps({"answers": list(entries)})


def test_a_choice_is_made_by_number_from_what_is_on_the_lists() -> None:
    model = ScriptedModel(
        [says(entry(), entry(item=2, entity=2, kind=1, matter=2, sure=False), entry(item=3, matter=None))]
    )
    chooser = judging(model).chooser
    chosen = chooser.choose([waiting("a"), waiting("b"), waiting("c")])
    assert chosen == [Choice(0, 1, 0), Choice(1, 0, 1, sure=False), Choice(0, 1, None)]
    assert chooser.name == f"scripted:one {prompt('sorted').tag}"
    assert items_in(model.asks[0])[0] == {
        "item": 1,
        "text": "a",
        "entities": [{"entity": 1, "name": dataset("orders")}, {"entity": 2, "name": dataset("refunds")}],
        "kinds": [{"kind": 1, "name": "usage"}, {"kind": 2, "name": "quality"}, {"kind": 3, "name": "insight"}],
        "matters": [
            {"matter": 1, "entity": 1, "kind": 2, "text": "Half of the amounts are null."},
            {"matter": 2, "entity": 2, "kind": 1, "text": "Join it by order_id."},
        ],
    }


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [entry(entity=3)],
        [entry(entity=0)],
        [entry(kind=4)],
        [entry(kind=0)],
        [entry(matter=3)],
        [entry(matter=0)],
        [entry(matter=2)],  # of another entity
        [entry(kind=1)],  # the matter is of another kind
        [entry(), entry()],
        [entry(), entry(entity=2, kind=1, matter=2)],
        [entry(kind="quality")],
        [entry(aspect="ownership")],
        [entry(entity="urn:li:dataset:other")],
    ],
)
def test_a_choice_that_is_not_possible_leaves_its_own_note_to_wait(entries: list[dict[str, Any]]) -> None:
    work = judging(ScriptedModel([says(*entries, entry(item=2))]))
    assert work.chooser.choose([waiting("a"), waiting("b")]) == [None, Choice(0, 1, 0)]
    assert work.asked.left == {"not answered": 1}


def test_where_the_author_gave_the_kind_there_is_no_other_to_choose() -> None:
    model = ScriptedModel([says(entry(kind=2, matter=None)), says(entry(kind=1))])
    chooser, note = judging(model).chooser, waiting("a", aspects=("quality",))._replace(matters=MATTERS[:1])
    assert chooser.choose([note]) == [None]
    assert chooser.choose([note]) == [Choice(0, 0, 0)]


def test_a_model_that_cannot_be_used_for_notes_is_not_asked_about_texts_either() -> None:
    model = ScriptedModel([ModelError("gone")])
    work = judging(model)
    assert work.chooser.choose([waiting("a")]) == [None]
    assert work.chooser.choose([waiting("b")]) == [None]
    assert (len(model.asks), work.asked.problem, work.asked.left) == (1, "gone", {"not asked": 2})
