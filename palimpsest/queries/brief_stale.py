"""The part of a brief about what no longer fits: a text older than what it describes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from palimpsest.core.brief import Unit, quoted
from palimpsest.core.ids import BeliefId
from palimpsest.queries import stale_facts
from palimpsest.queries.brief_units import Ranked
from palimpsest.queries.edits import Edit
from palimpsest.store.answers import Named, Remembered

_ORDER = (1, 0, 19, "", "")  # before the description


def stale_units(entity: Named, now: Sequence[Remembered], edits: Mapping[BeliefId, Sequence[Edit]]) -> list[Ranked]:
    """One unit for each finding about an entity that is not weak; who reads it is told by other units."""
    one = stale_facts.OneEntity(entity=entity, now=now, edits=edits, readers=(), gone=None)
    found = []
    for finding in stale_facts.of_entity(one):
        if finding.weak:
            continue
        text = f"- stale: {quoted(finding.said)}" + "".join(f" [{ref}]" for ref in finding.refs)
        found.append(Ranked(_ORDER, Unit(text=text, refs=finding.refs)))
    return found
