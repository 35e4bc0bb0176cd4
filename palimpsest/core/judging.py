"""The rules' opinions on text: a near-duplicate restates, all else is new. Pure."""

from __future__ import annotations

from palimpsest.core.episode import Kind
from palimpsest.core.likeness import likeness, restates
from palimpsest.core.matter import Matter, Opinion, Opinions


def opinions_of(matter: Matter) -> Opinions:
    """The rules' opinion on every place that is asked about."""
    return {place: _opinion(matter, place) for place in matter.asked}


def _opinion(matter: Matter, place: int) -> Opinion:
    """A catalog's text is held against the one before it; a note against all that were said, the most alike first."""
    text = matter.statements[place].text
    is_said = matter.cluster.episodes[0].kind is Kind.SAID
    alike = [
        earlier
        for earlier in (range(place) if is_said else range(place - 1, place))
        if restates(matter.statements[earlier].text, text)
    ]
    if not alike:
        return Opinion(None)
    return Opinion(max(alike, key=lambda earlier: (likeness(matter.statements[earlier].text, text), earlier)))
