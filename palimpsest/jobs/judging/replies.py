"""What a model may answer, and what of an answer counts.

A part of an answer that is not as it must be spoils its own item and no other: that item is as if not answered. What
names an item that was not asked about counts for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.aspects.form import squeeze
from palimpsest.core.errors import BadAnswerError
from palimpsest.core.jsontext import clean, loads
from palimpsest.core.matter import Matter, Opinion, Opinions

_MOST_WORDS, _MOST_LETTERS = 20, 200
_AGAIN = "it is asked again the next time"


class Part(BaseModel):
    """One entry of an answer. What has more fields than were asked for is none."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    item: int


class Restated(Part):
    """Whether one statement of an item restates an earlier one; places count from 0. The reason is thought of first."""

    place: int
    why: str
    restates: int | None
    sure: bool


class Sorted(Part):
    """What was chosen for one note, by number; lists count from 1."""

    entity: int
    kind: int
    matter: int | None
    sure: bool


P = TypeVar("P", bound=Part)


def schema_of(part: type[Part]) -> dict[str, Json]:
    """The JSON schema of an answer that is a list of such entries: no reference, no default, every field required."""
    fields = part.model_json_schema()["properties"]
    entry: dict[str, Json] = {
        "type": "object",
        "properties": {name: _without_title(field) for name, field in fields.items()},
        "required": list(fields),
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"answers": {"type": "array", "items": entry}},
        "required": ["answers"],
        "additionalProperties": False,
    }


def entries(text: str, part: type[P], items: int) -> dict[int, list[P]]:
    """The entries of an answer by the position of their item, from 0; items with an entry that is none are left out.

    Raises BadAnswerError when the whole is not of the schema.
    """
    found: dict[int, list[P]] = {}
    spoiled = set()
    for raw in _answers_in(text):
        position = _position_of(raw, items)
        if position is None:
            continue
        try:
            found.setdefault(position, []).append(part.model_validate(raw))
        except ValidationError:
            spoiled.add(position)
    return {position: some for position, some in found.items() if position not in spoiled}


def opinions(text: str, matters: Sequence[Matter]) -> dict[int, Opinions]:
    """What an answer says of each matter, by position: of those that it answers wholly. Raises BadAnswerError."""
    found: dict[int, Opinions] = {}
    for position, some in entries(text, Restated, len(matters)).items():
        given = {one.place: one for one in some}
        asked = matters[position].asked
        if len(given) == len(some) and given.keys() == set(asked) and all(map(_looks_back, some)):
            found[position] = {
                place: Opinion(given[place].restates, reason_of(given[place].why), given[place].sure) for place in asked
            }
    return found


def reason_of(why: str) -> str:
    """A model's reason as it is kept: one line, no control characters, at most twenty words."""
    words = "".join(letter if letter.isprintable() else " " for letter in clean(why)).split()[:_MOST_WORDS]
    return squeeze(" ".join(words))[:_MOST_LETTERS]


def _looks_back(one: Restated) -> bool:
    return one.restates is None or 0 <= one.restates < one.place


def _position_of(raw: Json, items: int) -> int | None:
    number = raw.get("item") if isinstance(raw, dict) else None
    if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= items:
        return number - 1
    return None


def _answers_in(text: str) -> list[Json]:
    try:
        whole = loads(text)
    except (ValueError, RecursionError) as error:
        raise BadAnswerError("the answer is not JSON", _AGAIN) from error
    answers = whole.get("answers") if isinstance(whole, dict) and len(whole) == 1 else None
    if not isinstance(answers, list):
        raise BadAnswerError("the answer is not of the schema that was asked for", _AGAIN)
    return answers


def _without_title(field: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in field.items() if name != "title"}
