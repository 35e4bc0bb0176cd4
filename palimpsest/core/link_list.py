"""What becomes of our link in a dataset's list of links, and of everybody else's: they stay as they are. Pure.

A list is the `elements` of an `institutionalMemory` aspect, as read. Ours is what `core.link.is_ours` recognises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.link import is_ours
from palimpsest.core.moment import Moment

ACTOR = "urn:li:corpuser:palimpsest"
NO_RUN = "no-run-id-provided"
# Who writes for DataHub or for us, and is no person. DataHub names its service accounts `service_…`.
_SERVICES = frozenset({"datahub", "__datahub_system", "__ingestion", "system", "unknown", "UNKNOWN", "palimpsest"})

Links = Sequence[Json]


class LinkResult(StrEnum):
    """What became of our link on one dataset, or would."""

    WRITTEN = "written"
    UNCHANGED = "unchanged"
    RESTORED = "restored"
    KEPT_DELETED = "kept_deleted"
    REMOVED = "removed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedLink:
    """Our link as it shall stand on a dataset; without a URL, none of ours shall.

    `settled`: this URL was published, and nothing new is to be said; any label will do. `published`: ours stood there.
    `kept_deleted`: a person took it away. `force`: put it back all the same.
    """

    urn: str
    url: str = ""
    label: str = ""
    at: Moment
    settled: bool = False
    published: bool = False
    kept_deleted: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLink:
    """A link in a list, as people see it."""

    url: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkOutcome:
    """What became of one link: the list before and after.

    `problem`: why it failed. `note`: what else a person should know. `missing`: ours was looked for and is not there.
    """

    urn: str
    result: LinkResult
    before: tuple[ShownLink, ...] = ()
    after: tuple[ShownLink, ...] = ()
    problem: str = ""
    note: str = ""
    missing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do about our link, and the whole list that results."""

    result: LinkResult
    links: tuple[Json, ...]


def decide(wanted: WantedLink, held: Links, *, taken_by_person: bool) -> Decision:
    """What becomes of our link in the list held. `taken_by_person` counts only where ours is missing."""
    ours = our_links(held)
    if not wanted.url:
        links = tuple(link for link in held if not _is_our_link(link))
        return Decision(result=LinkResult.REMOVED if ours else LinkResult.UNCHANGED, links=links)
    if len(ours) == 1 and _url(ours[0]) == wanted.url and (wanted.settled or _label(ours[0]) == wanted.label):
        return Decision(result=LinkResult.UNCHANGED, links=tuple(held))
    if ours:
        return Decision(result=LinkResult.WRITTEN, links=_with_ours(held, _moved(ours[0], wanted)))
    if (wanted.kept_deleted or (wanted.published and taken_by_person)) and not wanted.force:
        return Decision(result=LinkResult.KEPT_DELETED, links=tuple(held))
    back = wanted.published or wanted.kept_deleted
    return Decision(result=LinkResult.RESTORED if back else LinkResult.WRITTEN, links=_with_ours(held, _new(wanted)))


def our_links(held: Links) -> list[Json]:
    """Those of a list that are ours; there should be one at most."""
    return [link for link in held if _is_our_link(link)]


def their_links(held: Links) -> list[Json]:
    """Those of a list that are not ours."""
    return [link for link in held if not _is_our_link(link)]


def merged(base: Links, theirs: Links, now: Links) -> tuple[Json, ...]:
    """The list that holds now, with what others did to `base` (`theirs`) and we wrote over done again."""
    if their_links(now) == their_links(base):
        return tuple(theirs)
    kept = [link for link in now if _is_our_link(link) or link in theirs or link not in base]
    return (*kept, *(link for link in their_links(theirs) if link not in base and link not in now))


def is_taken_by_person(before: Links | None, after: Links, *, actor: str, run_id: str) -> bool:
    """Whether a person took our link away: ours alone vanished, and who wrote the list without it is a person.

    `before` is the last list with ours, None where DataHub no longer has it.
    """
    if before is not None and their_links(before) != their_links(after):
        return False
    kind, _, name = actor.removeprefix("urn:li:").partition(":")
    is_person = kind == "corpuser" and bool(name) and name not in _SERVICES and not name.startswith("service_")
    return is_person and run_id in ("", NO_RUN)


def shown(held: Links) -> tuple[ShownLink, ...]:
    """A list as people see it."""
    return tuple(ShownLink(url=_url(link), label=_label(link)) for link in held)


def repeated_urls(held: Links) -> bool:
    """Whether two links of a list have one URL: a change by URL would merge them."""
    urls = [_url(link) for link in held]
    return len(set(urls)) < len(urls)


def _with_ours(held: Links, ours: Json) -> tuple[Json, ...]:
    """The list with this one of ours, where the first of ours stood or else at the end."""
    place = next((place for place, link in enumerate(held) if _is_our_link(link)), len(held))
    return (*their_links(held[:place]), ours, *their_links(held[place:]))


def _new(wanted: WantedLink) -> Json:
    return {"url": wanted.url, "description": wanted.label, "createStamp": {"time": wanted.at, "actor": ACTOR}}


def _moved(ours: Json, wanted: WantedLink) -> Json:
    """Ours with another URL and label, and everything else that DataHub keeps of it."""
    return {**(ours if isinstance(ours, dict) else {}), "url": wanted.url, "description": wanted.label}


def _is_our_link(link: Json) -> bool:
    return is_ours(_url(link))


def _url(link: Json) -> str:
    return _text(link, "url")


def _label(link: Json) -> str:
    return _text(link, "description")


def _text(link: Json, name: str) -> str:
    value = link.get(name) if isinstance(link, dict) else None
    return value if isinstance(value, str) else ""
