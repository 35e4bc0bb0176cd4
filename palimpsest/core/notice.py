"""Notices: which change goes to whom by which rule, and the one message that each recipient gets. Pure.

A message is neutral blocks (a title, lines, a link); how a receiver writes them is the business of its adapter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.entity import environment_of, kind_of, platform_of
from palimpsest.core.ids import CellId
from palimpsest.core.labels import is_named
from palimpsest.core.moment import Moment

OWNERS = "owners"  # the recipient of a rule that tells every owner of what is theirs
_USER = "urn:li:corpuser:"


class EpisodeId(NamedTuple):
    """An episode, by its cell and its number in it."""

    cell: CellId
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What is told to whom. An empty tuple means all.

    recipient   an address, or OWNERS
    addresses   owner (its URN, or the name in it) → address, for OWNERS
    otherwise   the address for what has no owner that can be reached, for OWNERS; empty: nobody
    impact      the least that is told
    """

    name: str
    to: str
    recipient: str
    addresses: Mapping[str, str] = field(default_factory=dict)
    otherwise: str = ""
    platforms: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    aspects: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    impact: Impact = Impact.NOTABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """One change, siblings that changed alike folded in, and who and what it concerns.

    episodes    what it is made of; `at` is when the run began that wrote them
    line        the change as people read it; `said` without its entity, for several that changed alike
    short       that it was edited, in few words (`column discount gone`); `edit` without what is named (`column gone`)
    alike       equal for changes that are the same change of several entities
    below       what is downstream, counted where it is breaking
    """

    episodes: tuple[EpisodeId, ...]
    at: Moment
    run: str
    urns: tuple[str, ...]
    names: tuple[str, ...]
    aspect: str
    impact: Impact
    line: str
    said: str
    short: str
    edit: str
    alike: str
    by: str
    link: str
    below: frozenset[bytes] = frozenset()
    owners: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()


class Recipient(NamedTuple):
    """Who is told: by what (`mail`, `slack` …) and at which address; no secret."""

    to: str
    address: str

    def __str__(self) -> str:
        return f"{self.to} {self.address}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a message: a change or several, and where one reads more; an empty link leads nowhere."""

    text: str
    impact: Impact
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What one recipient is told, as neutral blocks. `key` is the same whenever the same is told to the same."""

    key: str
    title: str
    lines: tuple[Line, ...]
    link: str
    changes: int
    breaking: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """What goes to one recipient: the changes, and by which rules each of them goes."""

    recipient: Recipient
    news: tuple[News, ...]
    by_rule: Mapping[str, tuple[News, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Parcels by recipient; `unreached` are, by rule, the changes that have no owner who can be reached."""

    parcels: tuple[Parcel, ...]
    unreached: Mapping[str, tuple[News, ...]]


def plan(
    rules: Sequence[Rule], news: Sequence[News], is_told: Callable[[str, Recipient, Moment, EpisodeId], bool]
) -> Plan:
    """What goes to whom. `is_told` says of a rule, a recipient and an episode of a time whether that was told before.

    A change goes once to a recipient, however many rules send it there.
    """
    found: dict[Recipient, dict[str, list[News]]] = {}
    for rule in rules:
        for one in news:
            if not matches(rule, one):
                continue
            for recipient in recipients_of(rule, one) or (nobody(rule),):
                if not all(is_told(rule.name, recipient, one.at, episode) for episode in one.episodes):
                    found.setdefault(recipient, {}).setdefault(rule.name, []).append(one)
    unreached = {
        name: tuple(of_rule)
        for recipient in [one for one in found if not one.address]
        for name, of_rule in found.pop(recipient).items()
    }
    parcels = []
    for recipient, by_rule in sorted(found.items()):
        every = {one.episodes: one for of_rule in by_rule.values() for one in of_rule}
        news_of = tuple(one for one in news if one.episodes in every)
        told = {name: tuple(of_rule) for name, of_rule in by_rule.items()}
        parcels.append(Parcel(recipient=recipient, news=news_of, by_rule=told))
    return Plan(parcels=tuple(parcels), unreached=unreached)


def matches(rule: Rule, one: News) -> bool:
    """Whether a rule tells a change. What is quiet is told by none."""
    if one.impact < max(rule.impact, Impact.MINOR):
        return False
    if rule.aspects and one.aspect not in rule.aspects:
        return False
    asked: tuple[tuple[tuple[str, ...], Callable[[str], str | None]], ...] = (
        (rule.platforms, platform_of),
        (rule.environments, environment_of),
        (rule.kinds, kind_of),
    )
    if any(wanted and not any(of(urn) in wanted for urn in one.urns) for wanted, of in asked):
        return False
    named = ((rule.domains, one.domains), (rule.tags, one.tags), (rule.owners, one.owners))
    return all(not wanted or _any_named(members, wanted) for wanted, members in named)


def recipients_of(rule: Rule, one: News) -> tuple[Recipient, ...]:
    """Who is told a change by a rule: its recipient, or the owners that can be reached, each address once."""
    if rule.recipient != OWNERS:
        return (Recipient(rule.to, rule.recipient),)
    found = {address for owner in one.owners if (address := address_of(rule, owner))}
    if not found and rule.otherwise:
        found = {rule.otherwise}
    return tuple(Recipient(rule.to, address) for address in sorted(found))


def nobody(rule: Rule) -> Recipient:
    """In whose name it is held that a change was looked at, and had no owner who can be reached."""
    return Recipient(rule.to, "")


def address_of(rule: Rule, owner: str) -> str:
    """Where an owner is reached: as the rule says, or by mail at the address that a user's URN is. Empty: nowhere."""
    if owner in rule.addresses:
        return rule.addresses[owner]
    for name in sorted(rule.addresses):
        if is_named(owner, name):
            return rule.addresses[name]
    name = owner.removeprefix(_USER)
    return name if rule.to == "mail" and name != owner and is_mail_address(name) else ""


def is_mail_address(text: str) -> bool:
    """Whether a text is one plain address: no name beside it, nothing that could be more than one header or address."""
    local, at, domain = text.rpartition("@")
    plain = text.isascii() and all(
        character.isprintable() and character not in ' ,;:<>()[]\\"@' for character in local + domain
    )
    return bool(at and local and domain and plain) and len(text) <= 254


def _any_named(members: Iterable[str], wanted: Sequence[str]) -> bool:
    return any(is_named(member, text) for member in members for text in wanted)
