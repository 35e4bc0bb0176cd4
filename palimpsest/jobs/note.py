"""note: take down what a person, an agent or a document says of an entity: an episode, at once, without a model.

What it bears on is chosen later, and what becomes of it is for the consolidator (R10).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from palimpsest.core.aspects import RULES, SAID
from palimpsest.core.errors import UsageError
from palimpsest.core.jsontext import clean
from palimpsest.core.moment import Moment, spoken
from palimpsest.core.observer import NOTES, Rank, rank_of
from palimpsest.core.secret import secret_in
from palimpsest.ports import Clock
from palimpsest.store import erasing, runs
from palimpsest.store import notes as store_notes
from palimpsest.store.engine import Connection, Store
from palimpsest.store.notes import NewNote, Taken

MOST_LETTERS = 10_000
_AT_ONCE = 1_000
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]|[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What is to be taken down: the entity by its URN, the text, and by whom. `kind` is its aspect, if it is known."""

    urn: str
    text: str
    observer: str
    kind: str = ""
    at: Moment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteReport:
    """What was taken down, or was there already and waits. The run is the note's id."""

    run: str
    urn: str
    observer: str
    kind: str
    text: str
    said_at: Moment
    is_new: bool


def note(
    store: Store,
    *,
    urn: str,
    text: str,
    observer: str,
    clock: Clock,
    holder: str,
    kind: str = "",
    at: Moment | None = None,
) -> NoteReport:
    """Take down one note. Raises UsageError for a text, kind, time or entity that is not to be taken down."""
    said = Said(urn=urn, text=text, observer=observer, kind=kind, at=at)
    return notes(store, [said], clock=clock, holder=holder)[0]


def notes(store: Store, said: Sequence[Said], *, clock: Clock, holder: str) -> list[NoteReport]:
    """Take down many notes, in few transactions. Raises UsageError before anything is written."""
    now = clock.now()
    names = store.read(lambda connection: erasing.pseudonyms(connection, store.ids))
    checked = [replace(one, urn=names.urn(one.urn)) for one in (_checked(one, now) for one in said)]
    runs.check_origin(store, name=NOTES, kind=NOTES, origin=NOTES)
    held = store.read(lambda connection: store_notes.entities_of(connection, sorted({one.urn for one in checked})))
    for one in checked:
        if one.urn not in held:
            raise UsageError(f"nothing is remembered of {one.urn!r}", "a note is about an entity that is held")
    ids, taken = store.ids, list[Taken]()
    for start in range(0, len(checked), _AT_ONCE):
        some = [
            NewNote(held[one.urn], one.observer, one.kind, one.text, one.at or now)
            for one in checked[start : start + _AT_ONCE]
        ]

        def work(connection: Connection, some: Sequence[NewNote] = some) -> list[Taken]:
            erased = erasing.pseudonyms(connection, ids)  # as it stands in the transaction that writes
            some = [one._replace(observer=erased.observer(one.observer), text=erased.text(one.text)) for one in some]
            return store_notes.take_down(connection, ids, some, rules=RULES, now=now, holder=holder)

        taken += store.write(work)
    return [
        NoteReport(
            run=done.run.hex(),
            urn=one.urn,
            observer=one.observer,
            kind=one.kind,
            text=one.text,
            said_at=one.at or now,
            is_new=done.is_new,
        )
        for one, done in zip(checked, taken, strict=True)
    ]


def checked_text(text: str) -> str:
    """A text as it is taken down: without control characters. Raises UsageError for one that is not to be.

    The message about a secret names its sort, and never repeats it.
    """
    cleaned = _CONTROL.sub("", clean(text.replace("\r\n", "\n").replace("\r", "\n")).replace("\ufffd", "")).strip()
    if not cleaned or len(cleaned) > MOST_LETTERS:
        length = len(cleaned)
        raise UsageError(
            f"a note has 1 to {MOST_LETTERS:,} letters, not {length:,}", "say it in fewer, or say something"
        )
    secret = secret_in(cleaned)
    if secret is not None:
        raise UsageError(
            f"the text seems to hold {secret}: nothing was written", "take it out, and change it if it is one"
        )
    return cleaned


def _checked(said: Said, now: Moment) -> Said:
    """What was said as it is taken down. Raises UsageError."""
    if said.kind and said.kind not in SAID:
        raise UsageError(f"{said.kind!r} is no kind of note", f"one of: {', '.join(SAID)}")
    if rank_of(said.observer) is Rank.NONE:
        raise UsageError(f"{said.observer!r} names no observer", "write person:NAME, agent:NAME or document:NAME")
    if said.at is not None and said.at > now:
        raise UsageError(f"{spoken(said.at)} is yet to come", "a note is said now, or was said before")
    return Said(urn=said.urn, text=checked_text(said.text), observer=said.observer, kind=said.kind, at=said.at)
