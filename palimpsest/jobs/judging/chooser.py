"""A language model as a chooser: it sorts notes by naming candidates by number, and can name nothing else (R3)."""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.choosing import Candidates, Choice, is_valid
from palimpsest.jobs.judging import fence, replies
from palimpsest.jobs.judging.asking import Asking, Form
from palimpsest.jobs.judging.prompts import Prompt

_MOST_OF_MATTER = 400  # letters of what was noted before: enough to know it again


class ModelChooser:
    """Chooses for notes; one that the model says nothing usable of waits."""

    def __init__(self, asking: Asking, prompt: Prompt) -> None:
        self.asking = asking
        self.name = f"{asking.model.name} {prompt.tag}"
        self.form: Form[Candidates, Choice] = Form(
            prompt=prompt,
            schema=replies.schema_of(replies.Sorted),
            part=_part,
            entries=_one,
            read=choices,
        )

    def choose(self, waiting: Sequence[Candidates]) -> list[Choice | None]:
        """A choice for each note, in order; None for one that was not answered."""
        found = self.asking.about(self.form, waiting)
        return [found.get(position) for position in range(len(waiting))]


def choices(text: str, waiting: Sequence[Candidates]) -> dict[int, Choice]:
    """The choices of an answer, by position: those that are one for their note, and possible. Raises BadAnswerError."""
    found = {}
    for position, some in replies.entries(text, replies.Sorted, len(waiting)).items():
        choice = _choice_of(some[0])
        if len(some) == 1 and is_valid(choice, waiting[position]):
            found[position] = choice
    return found


def _choice_of(one: replies.Sorted) -> Choice:
    """A choice as the code counts, from 0."""
    return Choice(one.entity - 1, one.kind - 1, None if one.matter is None else one.matter - 1, one.sure)


def _one(candidates: Candidates) -> int:
    return 1


def _part(candidates: Candidates) -> dict[str, Json]:
    entities: list[Json] = [
        {"entity": number, "name": subject.urn[:_MOST_OF_MATTER]}
        for number, subject in enumerate(candidates.subjects, start=1)
    ]
    kinds: list[Json] = [{"kind": number, "name": name} for number, name in enumerate(candidates.aspects, start=1)]
    places = {subject.entity: number for number, subject in enumerate(candidates.subjects, start=1)}
    matters: list[Json] = [
        {
            "matter": number,
            "entity": places[matter.entity],
            "kind": candidates.aspects.index(matter.aspect) + 1,
            "text": matter.text[:_MOST_OF_MATTER],
        }
        for number, matter in enumerate(candidates.matters, start=1)
    ]
    return fence.shown(candidates.note.text) | {"entities": entities, "kinds": kinds, "matters": matters}
