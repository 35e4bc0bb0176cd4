"""decide: what a person decides about a contested or proposed version, written as an episode of that person (R10).

The next consolidation takes it up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from palimpsest.core.aspects import RULES
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.belief import State
from palimpsest.core.errors import UsageError
from palimpsest.core.ids import BeliefId, short_ref
from palimpsest.core.jsontext import dumps, loads
from palimpsest.core.matter import same
from palimpsest.core.moment import spoken
from palimpsest.core.observer import NOTES, Rank, rank_of, said_by
from palimpsest.jobs.note import checked_text
from palimpsest.ports import Clock
from palimpsest.store import answers, erasing
from palimpsest.store import notes as store_notes
from palimpsest.store.answers import Remembered
from palimpsest.store.engine import Connection, Store
from palimpsest.store.notes import NewDecision

_ITEM = re.compile(r"([0-9a-fA-F]{12}|[0-9a-fA-F]{32})@([1-9][0-9]{0,8})")
_HOW_TO_NAME = "write BELIEF@VERSION, as palimpsest inbox prints it"


class Decided(StrEnum):
    """What a person does about an item."""

    ACCEPT = "accept"
    REJECT = "reject"
    EDIT = "edit"
    WITHDRAW = "withdraw"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideReport:
    """What was decided about which version, and the text that is said by it; empty where none is."""

    run: str
    item: str
    urn: str
    aspect: str
    decision: str
    text: str
    observer: str


def decide(
    store: Store, item: str, what: Decided, *, observer: str, clock: Clock, holder: str, text: str = ""
) -> DecideReport:
    """Write down a decision. `text` is what an edit says instead.

    Raises UsageError when there is no such item, when it is settled, or decided and waiting, or when it is not for this
    observer to decide.
    """
    if what is not Decided.WITHDRAW and rank_of(observer) is not Rank.PERSON:
        raise UsageError(f"{said_by(observer)} is no person", "agents and documents say; people decide")
    edited = checked_text(text) if what is Decided.EDIT else ""
    match = _ITEM.fullmatch(item.strip())
    if match is None:
        raise UsageError(f"{item!r} is no item of the inbox", _HOW_TO_NAME)
    now, ids, number = clock.now(), store.ids, int(match[2])

    def work(connection: Connection) -> DecideReport:
        chain = _chain(connection, match[1].lower(), item)
        version = _open_version(chain, number, item, what)
        _refuse_twice(connection, version.belief, item)
        names = erasing.pseudonyms(connection, ids)
        by = names.observer(observer)
        said = _value(version, _meant(what, names.text(edited), chain), names.text(edited), by)
        decision = NewDecision(
            version.entity, by, version.aspect, version.key, dumps(said).decode(), max(now, version.valid_from)
        )
        run = store_notes.decide(connection, ids, decision, rules=RULES, now=now, holder=holder)
        named = answers.entities_by_id(connection, [version.entity])[version.entity]
        return DecideReport(
            run=run.hex(),
            item=f"{short_ref(version.belief)}@{number}",
            urn=named.urn,
            aspect=version.aspect,
            decision=what.value,
            text=said if isinstance(said, str) else "",
            observer=by,
        )

    return store.write(work)


def _chain(connection: Connection, digits: str, item: str) -> list[Remembered]:
    """The versions of the belief that an item names by its id, or by its short name."""
    if len(digits) == 32:
        found = [BeliefId(bytes.fromhex(digits))]
    else:
        head = digits[:6]
        low, high = (bytes.fromhex(head.ljust(32, end)) for end in "0f")
        found = [one for one in answers.beliefs_beginning(connection, low, high) if short_ref(one) == digits]
    chain = answers.versions_of_beliefs(connection, found)
    if not chain or chain[0].source != NOTES or len({one.belief for one in chain}) > 1:
        raise UsageError(f"nothing in the inbox is {item}", _HOW_TO_NAME)
    return chain


def _open_version(chain: Sequence[Remembered], number: int, item: str, what: Decided) -> Remembered:
    version = next((one for one in chain if one.number == number), None)
    if version is None:
        raise UsageError(f"nothing in the inbox is {item}", f"it has the versions 1 to {chain[-1].number}")
    is_open = version.state in {State.CONTESTED, State.PROPOSED}
    if is_open or (what is Decided.WITHDRAW and version.state is State.CURRENT):
        return version
    if version.state is State.CURRENT:
        raise UsageError(f"{item} is current: there is nothing to decide", "say otherwise with palimpsest note")
    raise UsageError(f"{item} is settled: it was {version.state.value}, {version.ended_reason}", "palimpsest inbox")


def _refuse_twice(connection: Connection, belief: BeliefId, item: str) -> None:
    waiting = store_notes.waiting_decisions(connection, [belief]).get(belief)
    if waiting is not None:
        raise UsageError(
            f"{item} was decided by {said_by(waiting.observer)} at {spoken(waiting.decided_at)} already",
            "palimpsest consolidate takes it up",
        )


def _meant(what: Decided, edited: str, chain: Sequence[Remembered]) -> Decided:
    """What a decision comes to: to say that what is current holds instead is to reject."""
    current = next((one for one in chain if one.state is State.CURRENT), None)
    is_held = current is not None and same(current.aspect, edited, str(loads(current.value)))
    return Decided.REJECT if what is Decided.EDIT and is_held else what


def _value(version: Remembered, what: Decided, edited: str, observer: str) -> Json:
    """What the episode says: a text that is to hold, or which version is to end."""
    match what:
        case Decided.ACCEPT:
            return str(loads(version.value))
        case Decided.EDIT:
            return edited
        case Decided.WITHDRAW if observer not in {
            version.founded.observer,
            *(one.observer for one in version.wordings),
        }:
            raise UsageError(f"{said_by(observer)} never said that", "one withdraws only what one said oneself")
        case _:
            return {"decision": what.value, "version": version.number}
