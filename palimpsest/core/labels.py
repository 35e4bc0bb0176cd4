"""Labels: the owners, tags, terms and domains that an entity has now, by which a listing finds it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from palimpsest.core.aspects.sets import members_of
from palimpsest.core.aspects.words import label_of
from palimpsest.core.jsontext import loads
from palimpsest.core.passage import Stated, currency, existence_said

LABELLED = ("domain", "ownership", "tags", "terms")
MOST_LETTERS = 500  # of a member; a longer one is no label


class Label(NamedTuple):
    """A member of one of the LABELLED sets, by its URN."""

    aspect: str
    member: str


def labels_of(versions: Sequence[Stated]) -> frozenset[Label]:
    """The labels that the current versions of one entity give, by whatever source. Needs its existence among them."""
    is_shown = currency(versions)
    return frozenset(
        Label(one.aspect, member[0])
        for one in versions
        if one.aspect in LABELLED and is_shown(one)
        for member in members_of(loads(one.value))
        if 0 < len(member[0]) <= MOST_LETTERS
    )


def is_gone(versions: Iterable[Stated]) -> bool:
    """Whether sources say of one entity that it does not exist, and none that it does."""
    said = existence_said(versions)
    return bool(said) and not any(said.values())


def is_named(member: str, text: str) -> bool:
    """Whether somebody who writes `text` means a member: its URN, or the name in it, letter case apart."""
    return text == member or text.casefold() == label_of(member).casefold()
