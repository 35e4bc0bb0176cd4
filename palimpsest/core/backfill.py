"""Reliving what a catalog kept of one raw aspect: its stored versions as the differences they made. Pure.

Only what lies before the first thing held comes out: of a cell that is held, what preceded it; of a raw aspect that is
held, nothing that outlasts its first reading.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from palimpsest.core.baseline import Difference, DigestOf, Held, compare, keyed, removed
from palimpsest.core.episode import Ground
from palimpsest.core.ids import CellId
from palimpsest.core.moment import Moment
from palimpsest.core.observation import Observation, StoredVersion

Slot = tuple[str, str]


class FirstHeld(NamedTuple):
    """A cell as it is held, with the number of its first episode, when that was read, and from when it holds."""

    held: Held
    number: int
    read_at: Moment
    valid_from: Moment


class Relived(NamedTuple):
    """One difference that a stored version made. `is_first`: the version is the oldest of its raw aspect."""

    version: StoredVersion
    at: Moment
    difference: Difference
    is_first: bool


def relive(
    versions: Sequence[StoredVersion],
    observe: Callable[[StoredVersion], Sequence[Observation]],
    *,
    held: Sequence[FirstHeld],
    cell_of: Callable[[Slot], CellId],
    ignores: Callable[[Slot], bool],
    digest_of: DigestOf,
) -> dict[Slot, list[Relived]]:
    """(aspect, key) → what became of the cell, oldest first, before the raw aspect was first read.

    `versions` come oldest first; `held` are the cells that the raw aspect feeds. Raises what `observe` raises.
    """
    first_read = min((cell.read_at for cell in held), default=None)
    live = {(cell.held.aspect, cell.held.key): cell for cell in held}
    cells: dict[Slot, Held] = {}
    found: dict[Slot, list[Relived]] = {}

    def keep(version: StoredVersion, at: Moment, difference: Difference, *, is_first: bool) -> None:
        slot = (difference.aspect, difference.key)
        value = difference.value.decode() if difference.value is not None else None
        if difference.kind is None:
            value = cells[slot].value
        else:
            found.setdefault(slot, []).append(Relived(version, at, difference, is_first))
        cells[slot] = Held(cell_of(slot), *slot, difference.digest, 0, value)

    told = _in_time(versions, first_read)
    for position, (at, version) in enumerate(told):
        known = [*cells.values(), *(cell.held for slot, cell in live.items() if slot not in cells)]
        stated = {slot: value for slot, value in keyed(known, observe(version)).items() if not ignores(slot)}
        for difference in compare(list(cells.values()), stated, whole=True, digest_of=digest_of):
            keep(version, at, difference, is_first=position == 0)
    if first_read is not None and told:
        for slot, cell in list(cells.items()):
            if cell.value is not None and slot not in live:  # the first reading did not list it any more
                keep(told[-1][1], first_read, removed(cell, Ground.UNLISTED), is_first=False)
    return {slot: kept for slot, each in found.items() if (kept := _before(each, live.get(slot)))}


def _in_time(versions: Sequence[StoredVersion], until: Moment | None) -> list[tuple[Moment, StoredVersion]]:
    """(time, version), each later than the one before it: of several at one time the last, and no time runs back."""
    told: list[tuple[Moment, StoredVersion]] = []
    for version in versions:
        at = version.at if not told else max(version.at, told[-1][0])
        if until is not None and at >= until:
            break
        if told and told[-1][0] == at:
            told.pop()
        told.append((at, version))
    return told


def _before(relived: list[Relived], live: FirstHeld | None) -> list[Relived]:
    """What of a cell's past lies before the time from which it is held; of one that is not held, everything."""
    if live is None:
        return relived
    return [one for one in relived if one.at < live.valid_from]


def numbered(relived: Mapping[Slot, list[Relived]], held: Sequence[FirstHeld]) -> list[tuple[int, Relived]]:
    """(number, difference): 1, 2, … for a cell that is not held; for one that is, down from its first number."""
    first = {(cell.held.aspect, cell.held.key): cell.number for cell in held}
    found = []
    for slot, each in relived.items():
        start = first[slot] - len(each) if slot in first else 1
        found += [(start + position, one) for position, one in enumerate(each)]
    return found


def gaps(gone: Mapping[str, int]) -> list[str]:
    """What is no longer there, in words: `ownership: versions 1 to 4`."""
    return [
        f"{part}: version 1" if oldest == 2 else f"{part}: versions 1 to {oldest - 1}" for part, oldest in gone.items()
    ]
