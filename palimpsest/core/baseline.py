"""Comparing a reading with what was last seen: the differences that become episodes, and nothing else. Pure.

One raw aspect of one entity at a time. What was read is compared cell by cell by canonical digest, and where digests
differ by the canonical forms of both values under today's rules, so that new rules forge no change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from palimpsest.core.aspects import ASPECTS, column, existence
from palimpsest.core.aspects.aspect import (
    Impact,
    Json,
    is_at_least,
    is_empty,
    members_of,
    set_value,
)
from palimpsest.core.episode import Ground, Kind
from palimpsest.core.ids import CellId, Digest
from palimpsest.core.jsontext import dumps, loads
from palimpsest.core.observation import Observation, Patch
from palimpsest.core.paths import match_paths


class Held(NamedTuple):
    """A cell as it is held. `value` is the JSON text last seen, None when its last episode removed it."""

    cell: CellId
    aspect: str
    key: str
    digest: Digest
    last: int
    value: str | None


class Difference(NamedTuple):
    """What is to be written about one cell: an episode, unless `kind` is None, when only the digest is brought up to date.

    `held` is the cell as it stands, None for a new one. `emptied` tells a set that lost its last member.
    """

    aspect: str
    key: str
    kind: Kind | None
    impact: Impact
    digest: Digest
    value: bytes | None
    held: Held | None
    emptied: bool = False
    ground: Ground | None = None

    @property
    def ends(self) -> bool:
        """Whether the cell is emptied or removed, not merely changed."""
        if self.kind is Kind.REMOVED or self.emptied:
            return True
        return self.aspect == "existence" and self.held is not None and self.impact is Impact.BREAKING


DigestOf = Callable[[bytes], Digest]
GONE = Digest(b"")


def compare(
    held: Sequence[Held], found: Mapping[tuple[str, str], Json], *, whole: bool, digest_of: DigestOf
) -> list[Difference]:
    """The differences between the held cells that one raw aspect feeds, and what it says now.

    `found` maps (aspect, key) to the value seen. `whole` tells that the raw aspect was read whole: held keys that it no
    longer lists are then removed. The cells of `held` that came from other raw aspects must not be passed in.
    """
    held_by = {(cell.aspect, cell.key): cell for cell in held}
    differences = []
    for (aspect, key), value in found.items():
        difference = _compare_cell(held_by.get((aspect, key)), aspect, key, value, digest_of)
        if difference is not None:
            differences.append(difference)
    if whole:
        for slot, cell in held_by.items():
            if slot not in found and cell.value is not None:
                differences.append(removed(cell, Ground.UNLISTED))
    return differences


def keyed(held: Sequence[Held], seen: Iterable[Observation]) -> dict[tuple[str, str], Json]:
    """(aspect, key) → value of what was seen. Keys that are column paths become the keys under which columns are held.

    A cell that comes twice counts once: the last wins.
    """
    found: dict[tuple[str, str], Json] = {}
    by_path: dict[str, dict[str, Json]] = {}
    for aspect, key, value in seen:
        if ASPECTS[aspect].paths:
            by_path.setdefault(aspect, {})[key] = value
        else:
            found[aspect, key] = value
    for aspect, values in by_path.items():
        paths = {cell.key: _held_path(cell) for cell in held if cell.aspect == aspect}
        for path, key in match_paths(paths, values).items():
            found[aspect, key] = values[path]
    return found


def _held_path(cell: Held) -> str:
    """The raw path last seen for a held column; its key where the value does not tell."""
    if cell.value is not None and cell.aspect in {"column", "column_edit"}:
        value = loads(cell.value)
        if isinstance(value, dict) and isinstance(value.get("path"), str):
            return str(value["path"])
    return cell.key


def _compare_cell(held: Held | None, aspect: str, key: str, value: Json, digest_of: DigestOf) -> Difference | None:
    rules = ASPECTS[aspect]
    form = rules.canonical(value)
    digest = digest_of(dumps(form))
    if (held is None or held.value is None) and (form is None or form in ([], {}, "")):
        return None  # an empty spelling of nothing, where nothing is held
    if held is None:
        return Difference(aspect, key, Kind.FIRST, Impact.MINOR, digest, dumps(value), None)
    if held.value is None:
        impact = rules.impact(None, value)
        return Difference(aspect, key, Kind.RETURNED, max(impact, Impact.MINOR), digest, dumps(value), held)
    if held.digest == digest:
        return None
    before = loads(held.value)
    if rules.canonical(before) == form:
        return Difference(aspect, key, None, Impact.QUIET, digest, None, held)
    impact = rules.impact(before, value)
    emptied = isinstance(form, list) and not form and bool(members_of(before))
    kind = Kind.CHANGED
    if aspect == "existence" and existence.exists(value) and not existence.exists(before):
        kind = Kind.RETURNED
    return Difference(aspect, key, kind, impact, digest, dumps(value), held, emptied)


def removed(cell: Held, ground: Ground) -> Difference:
    """The difference that ends a held cell."""
    before = loads(cell.value) if cell.value is not None else None
    impact = max(ASPECTS[cell.aspect].impact(before, None), Impact.MINOR)
    return Difference(cell.aspect, cell.key, Kind.REMOVED, impact, GONE, None, cell, ground=ground)


# --- PATCH ------------------------------------------------------------------------------------------------------


def apply_patches(
    held: Sequence[Held], base: Mapping[tuple[str, str], Json], patches: Iterable[Patch]
) -> tuple[dict[tuple[str, str], Json], set[tuple[str, str]]]:
    """The cells that patches touch as they are afterwards, and the cells that patches took away whole.

    `base` is what the reading stated before them; where it is silent, what is held. A set with nothing known becomes
    *at least* the members added to it.
    """
    held_values = {(cell.aspect, cell.key): cell.value for cell in held}
    touched: dict[tuple[str, str], Json] = {}
    gone: set[tuple[str, str]] = set()
    for patch in patches:
        slot = (patch.aspect, _held_key(held, patch))
        before = touched.get(slot, base.get(slot)) if slot not in gone else None
        if before is None and slot not in gone and slot not in base:
            value = held_values.get(slot)
            before = loads(value) if value is not None else None
        if patch.member is None:
            touched.pop(slot, None)
            gone.discard(slot)
            if patch.op == "remove":
                gone.add(slot)
            else:
                touched[slot] = patch.value
            continue
        members = set(members_of(before))
        if patch.op == "remove":
            if before is None:
                continue
            members = {member for member in members if member[: len(patch.member)] != patch.member}
        else:
            members = {member for member in members if not _replaces(patch.aspect, member, patch.member)} | {
                patch.member
            }
        gone.discard(slot)
        touched[slot] = set_value(frozenset(members), at_least=before is None or is_at_least(before))
    return touched, gone


def _held_key(held: Sequence[Held], patch: Patch) -> str:
    """The key of the cell a patch is about; a column path finds the column as it is held."""
    if not ASPECTS[patch.aspect].paths:
        return patch.key
    paths = {cell.key: _held_path(cell) for cell in held if cell.aspect == patch.aspect}
    return match_paths(paths, [patch.key])[patch.key]


def _replaces(aspect: str, member: tuple[str, ...], new: tuple[str, ...]) -> bool:
    """Whether adding `new` replaces `member`: one entry a URN, but for owners (URN and role) and source columns."""
    identity = {"ownership": 2, "column_upstreams": 2}.get(aspect, 1)
    return member[:identity] == new[:identity]


# --- hints ------------------------------------------------------------------------------------------------------


def renamed_columns(gone: Mapping[str, Json], come: Mapping[str, Json]) -> dict[str, str]:
    """New column → the column it may be a new name of: alike in all but the name, and each fits only one. Never merged."""

    def likeness(value: Json) -> str:
        form = column.canonical(value)
        fields = {name: part for name, part in form.items() if name != "path"} if isinstance(form, dict) else {}
        return dumps(fields).decode() if fields else ""

    gone_by: dict[str, list[str]] = {}
    for key, value in gone.items():
        gone_by.setdefault(likeness(value), []).append(key)
    come_by: dict[str, list[str]] = {}
    for key, value in come.items():
        come_by.setdefault(likeness(value), []).append(key)
    return {
        new[0]: gone_by[shape][0]
        for shape, new in come_by.items()
        if shape and len(new) == 1 and len(gone_by.get(shape, [])) == 1
    }


def is_statement(value: Json) -> bool:
    """Whether a scalar value says anything; empty spellings say nothing."""
    return not is_empty(value)
