"""Matters: what a judge of text is asked about one cluster, and what it holds of it. Pure.

Only prose is a matter: a text that was rewritten, or that somebody said. What rules decide exactly is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from palimpsest.core.aspects import ASPECTS
from palimpsest.core.belief import State, Version
from palimpsest.core.cluster import Cluster
from palimpsest.core.episode import Episode, Kind
from palimpsest.core.jsontext import loads

_OPEN = frozenset({State.CURRENT, State.CONTESTED, State.PROPOSED})


class Statement(NamedTuple):
    """One text of a matter, by whom, and whose it is: of an open version, or of a pending episode by its place."""

    text: str
    by: str
    version: int | None
    episode: int | None


class Matter(NamedTuple):
    """The statements of one cluster in their order, and the places of those to be judged: each against the earlier."""

    cluster: Cluster
    statements: tuple[Statement, ...]
    asked: tuple[int, ...]


class Opinion(NamedTuple):
    """What a judge holds of one statement: the place of the earlier one that it restates, or None; why, in words.

    An opinion that is not `sure` makes what was said *proposed*: it waits for a person.
    """

    restates: int | None
    reason: str = ""
    sure: bool = True


Opinions = Mapping[int, Opinion]


def matter_of(cluster: Cluster, so_far: Sequence[Version]) -> Matter | None:
    """What is to be judged of a cluster, given the versions of its belief so far; None where rules decide all of it.

    A catalog's text is judged where only its prose differs from the statement before it; a note always, but for the
    first on its matter, and for one that says to the letter what an open version says.
    """
    if ASPECTS[cluster.aspect].prose is None or (not so_far and len(cluster.episodes) == 1):
        return None
    matter = statements_of(cluster, so_far)
    return matter if matter.asked else None


def statements_of(cluster: Cluster, so_far: Sequence[Version]) -> Matter:
    """All statements of a cluster: what a backfill found before the versions so far, these, and what came since."""
    earlier = len(before_versions(cluster, so_far))
    statements: list[Statement] = []
    asked: list[int] = []
    _add(cluster, range(earlier), None, statements, asked)
    for version in so_far:
        if version.state in _OPEN and (prose := prose_of(cluster.aspect, version.wording or version.value)) is not None:
            statements.append(Statement(prose, version.observer, version.number, None))
    before = next((version.wording or version.value for version in so_far if version.state is State.CURRENT), None)
    _add(cluster, range(earlier, len(cluster.episodes)), before, statements, asked)
    return Matter(cluster, tuple(statements), tuple(asked))


def before_versions(cluster: Cluster, so_far: Sequence[Version]) -> list[Episode]:
    """The episodes that precede all versions so far: what a backfill found of the time before them."""
    if not so_far:
        return []
    cell, number = so_far[0].cell, so_far[0].episode
    return [
        episode
        for episode in cluster.episodes
        if episode.kind is not Kind.SAID and episode.cell == cell and episode.number < number
    ]


def prose_of(aspect: str, value: str | None) -> str | None:
    """The prose in a value as JSON text; None where there is none, or the aspect is not prose at all."""
    take = ASPECTS[aspect].prose
    if take is None or value is None:
        return None
    found = take(loads(value))
    return found if found else None


def _add(cluster: Cluster, places: range, before: str | None, statements: list[Statement], asked: list[int]) -> None:
    """Add the prose of episodes to the statements, and to the places that are asked about where it is open."""
    for place in places:
        episode = cluster.episodes[place]
        prose = prose_of(cluster.aspect, episode.value)
        if prose is not None:
            if statements and _is_open_to_judgement(cluster.aspect, episode, prose, before, statements):
                asked.append(len(statements))
            statements.append(Statement(prose, episode.observer, None, place))
        before = episode.value


def _is_open_to_judgement(
    aspect: str, episode: Episode, prose: str, before: str | None, statements: Sequence[Statement]
) -> bool:
    if episode.kind is Kind.SAID:
        return not any(same(aspect, prose, one.text) for one in statements)
    if episode.kind is not Kind.CHANGED or before is None or episode.value is None:
        return False
    was, now = loads(before), loads(episode.value)
    return ASPECTS[aspect].differs_only_in_prose(was, now)


def same(aspect: str, one: str, other: str) -> bool:
    """Whether two texts are the same to the letter, white space apart."""
    form = ASPECTS[aspect].canonical
    return form(one) == form(other)
