"""What stale findings rest on, read off versions and changes; and what one entity tells by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from palimpsest.core import say
from palimpsest.core.aspects import existence
from palimpsest.core.aspects.aspect import Impact, Json
from palimpsest.core.aspects.records import fields_of
from palimpsest.core.aspects.sets import members_of
from palimpsest.core.aspects.words import label_of
from palimpsest.core.entity import short_name
from palimpsest.core.ids import BeliefId, EntityId, belief_ref, short_ref
from palimpsest.core.jsontext import loads
from palimpsest.core.moment import Moment
from palimpsest.core.observer import NOTES
from palimpsest.core.stale import (
    Finding,
    Lack,
    Later,
    Reader,
    Text,
    is_rebuilt,
    outdated,
    ranked,
    rewired,
    still_read,
)
from palimpsest.queries.edits import Edit
from palimpsest.queries.held import EXISTENCE, Presence, When, moment_view
from palimpsest.store.answers import Named, Remembered
from palimpsest.store.answers_changes import Changed


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingView:
    """One finding: what is stale about which entity, who owns that, and the beliefs that show it.

    `line` tells it whole; `at` is when a change made it so, None where it was so when it was first read. `weak`: it is
    worth a look and no more.
    """

    kind: str
    urn: str
    name: str
    platform: str
    owners: tuple[str, ...]
    said: str
    line: str
    at: datetime | None
    downstream: int
    beliefs: tuple[str, ...]
    refs: tuple[str, ...]
    weak: bool


# --- facts --------------------------------------------------------------------------------------------------------


def texts_of(versions: Iterable[Remembered]) -> list[Text]:
    """Descriptions, each since it was last worded."""
    return [
        Text(max((version.valid_from, *(said.said_at for said in version.wordings))), version.belief)
        for version in versions
        if version.source != NOTES and is_told(version)
    ]


def is_deprecated(value: Json) -> bool:
    """Whether a deprecation says that its entity is."""
    return bool(fields_of(value).get("deprecated"))


def is_told(version: Remembered) -> bool:
    """Whether a version of a text or of a set says anything."""
    value = loads(version.value)
    return bool(value.strip() if isinstance(value, str) else members_of(value))


def is_of_the_build(row: Changed) -> bool:
    """Whether a change is one of what an entity is built of."""
    before, after = (loads(one) if one is not None else None for one in (row.before, row.after))
    if row.aspect == "upstreams":
        return any(rewired(before, after, row.urn))
    return is_rebuilt(before, after)


def since(version: Remembered) -> Moment | None:
    """When a version came to hold by a change; None for what was so when it was first read."""
    return None if version.founded.baseline else version.valid_from


def last_said(presence: Presence, one: EntityId, sources: Sequence[str]) -> Remembered | None:
    """The last word of any source on whether an entity exists."""
    said = [found for source in sources if (found := presence.said(one, source)) is not None]
    return max(said, key=lambda version: (not existence.exists(loads(version.value)), version.valid_from), default=None)


def lack_of(what: str, last: Remembered | None, now: Sequence[Remembered], when: When) -> Lack:
    """What an entity lacks, given the last version of what it would be, and what is current of it and says nothing."""
    if now:  # an empty set or text is held
        return Lack(what, since(now[0]), now[0].belief)
    if last is None:
        return Lack(what)
    return Lack(what, when.ended(last), last.belief)


def later_of(row: Changed, name: str) -> Later:
    """A change as descriptions are compared with it; `name` where it is one of an upstream."""
    said = say.edited(row.aspect, row.key, was=row.before is not None, now=row.after is not None)
    if row.aspect == EXISTENCE:
        said = "gone"
    before, after = (loads(one) if one is not None else None for one in (row.before, row.after))
    return Later(
        f"upstream {name}: {said}" if name else said,
        row.seen.observed_at,
        row.seen.after_at,
        row.belief,
        adds(row.aspect, before, after, row.urn),
    )


def adds(aspect: str, before: Json, after: Json, urn: str) -> bool:
    """Whether a change took nothing away."""
    if aspect == "upstreams":
        return not rewired(before, after, urn).lost
    return before is None


def urns_of(version: Remembered) -> set[str]:
    """The URNs of the members of a set."""
    return {member[0] for member in members_of(loads(version.value)) if member[0]}


def value_of(version: Remembered | None) -> Json:
    """What a version holds; None for none."""
    return loads(version.value) if version is not None else None


def finding_view(
    one: Named, finding: Finding, beliefs: Sequence[BeliefId], below: int, owners: Sequence[str]
) -> FindingView:
    """A finding as it is shown."""
    return FindingView(
        kind=finding.kind.value,
        urn=one.urn,
        name=one.name,
        platform=one.platform,
        owners=tuple(label_of(urn) for urn in owners),
        said=finding.said,
        line=f"{short_name(one.urn)}: {finding.said}",
        at=moment_view(finding.at),
        downstream=below,
        beliefs=tuple(belief_ref(belief) for belief in beliefs),
        refs=tuple(short_ref(belief) for belief in beliefs),
        weak=finding.is_weak,
    )


# --- one entity, from what was read of it -------------------------------------------------------------------------


class OneEntity(NamedTuple):
    """What was read of an entity for another answer: what is current, the edits by belief, who reads it.

    `gone` is the word that it does not exist, where that is the last one.
    """

    entity: Named
    now: Sequence[Remembered]
    edits: Mapping[BeliefId, Sequence[Edit]]
    readers: Sequence[Reader]
    gone: Remembered | None


def of_entity(one: OneEntity) -> tuple[FindingView, ...]:
    """What is stale about one entity by its own beliefs and those of its readers."""
    found: list[Finding | None] = []
    deprecated = [ver for ver in one.now if ver.aspect == "deprecation" and is_deprecated(loads(ver.value))]
    state = [("gone", one.gone)] if one.gone is not None else [("deprecated", ver) for ver in deprecated]
    found += [still_read(word, since(version), version.belief, one.readers) for word, version in state[:1]]
    if one.gone is None:
        texts = texts_of([version for version in one.now if version.aspect == "description"])
        edits = [edit for chain in one.edits.values() for edit in chain if _builds(edit, one.entity.urn)]
        found.append(outdated(texts, [_edited(edit, one.entity.urn) for edit in edits]))
    told = [(finding, one.entity.urn, len(one.readers)) for finding in found if finding is not None]
    return tuple(finding_view(one.entity, finding, finding.evidence, below, ()) for finding, _, below in ranked(told))


def _builds(edit: Edit, urn: str) -> bool:
    version = edit.version
    if edit.impact is Impact.QUIET or version.source == NOTES:
        return False
    if version.aspect == "upstreams":
        return any(rewired(value_of(edit.before), value_of(edit.after), urn))
    return version.aspect == "column" and is_rebuilt(value_of(edit.before), value_of(edit.after))


def _edited(edit: Edit, urn: str) -> Later:
    version = edit.version
    after = edit.after.valid_after if edit.after is not None else None
    was, now = edit.before is not None, edit.after is not None
    said = say.edited(version.aspect, version.key, was=was, now=now)
    is_more = adds(version.aspect, value_of(edit.before), value_of(edit.after), urn)
    return Later(said, edit.at, after, version.belief, is_more)
