"""Matters, prompts and models for the tests of judging."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palimpsest import shipped
from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.belief import State, Version
from palimpsest.core.cluster import Cluster
from palimpsest.core.episode import Episode, Kind
from palimpsest.core.ids import BeliefId, CellId, EntityId
from palimpsest.core.jsontext import dumps
from palimpsest.core.moment import Moment
from palimpsest.jobs.judging.judging import Judging
from palimpsest.jobs.judging.prompts import Prompt, parse
from palimpsest.ports import LanguageModel


def prompt(name: str) -> Prompt:
    """A prompt as it is shipped."""
    return parse(name, (shipped.folder("prompts") / f"{name}.md").read_bytes(), name)


def judging(model: LanguageModel, **limits: int) -> Judging:
    """A model at work with the shipped prompts."""
    return Judging(model, restated=prompt("restated"), sorting=prompt("sorted"), **limits)


def rewritten(number: int, held: str, *since: str) -> tuple[Cluster, list[Version]]:
    """A description that is held, and what became of it since, all pending."""
    belief = BeliefId(number.to_bytes(16))
    cell = CellId(number.to_bytes(16))
    episodes = [
        Episode(cell, place, Kind.CHANGED, Impact.MINOR, False, json_text(text), Moment(place * 1000), None, None)
        for place, text in enumerate(since, start=2)
    ]
    version = Version(belief, 1, State.CURRENT, cell, 1, json_text(held), Moment(1000))
    return Cluster(belief, EntityId(bytes(16)), "description", "", episodes), [version]


def json_text(value: Any) -> str:
    """A value as it is stored."""
    return dumps(value).decode()


def told(judged: Sequence[Any]) -> list[tuple[int, list[str]]]:
    """The number of each judged cluster, and its verdicts."""
    return sorted((int.from_bytes(one.cluster.belief), [verdict.kind.value for verdict in one.every]) for one in judged)
