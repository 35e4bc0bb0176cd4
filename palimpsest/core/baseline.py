"""Comparing a reading with what was last seen: the differences that become episodes, and nothing else. Pure.

One raw aspect of one entity at a time. What was read is compared cell by cell by canonical digest, and where digests
differ by the canonical forms of both values under today's rules, so that new rules forge no change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from palimpsest.core.aspects import ASPECTS, column, existence
from palimpsest.core.aspects.aspect import Impact, Json
from palimpsest.core.aspects.form import is_empty, squeeze
from palimpsest.core.aspects.sets import is_at_least, members_of, set_value
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
    """What is to be written about one cell: an episode; where `kind` is None, only its digest brought up to date.

    `held` is the cell as it stands, None for a new one. `emptied` tells a set without members, a text without words.
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
# A set without members, known whole or in part, and a text without words.
_EMPTIED: tuple[Json, ...] = ([], {"at_least": []}, "")


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
            if slot not in found and cell.value is not None and not _says_nothing(cell.aspect, loads(cell.value)):
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
        paths, ended = _held_paths(held, aspect)
        for path, key in match_paths(paths, values, ended).items():
            found[aspect, key] = values[path]
    return found


def _held_paths(held: Sequence[Held], aspect: str) -> tuple[dict[str, str], frozenset[str]]:
    """Held key → raw path last seen for it, of one aspect's columns; and the keys of those that have ended."""
    cells = [cell for cell in held if cell.aspect == aspect]
    return {cell.key: _held_path(cell) for cell in cells}, frozenset(c.key for c in cells if c.value is None)


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
    if held is None or held.value is None:
        if _is_nothing(form):
            return None  # an empty spelling of nothing, where nothing is held
        kind = Kind.FIRST if held is None else Kind.RETURNED
        impact = max(rules.impact(None, value), Impact.MINOR)
        return Difference(aspect, key, kind, impact, digest, dumps(value), held)
    if held.digest == digest:
        return None
    before = loads(held.value)
    if rules.canonical(before) == form:
        return Difference(aspect, key, None, Impact.QUIET, digest, None, held)
    impact = rules.impact(before, value)
    emptied = form in _EMPTIED
    kind = Kind.CHANGED
    if aspect == "existence" and existence.exists(value) and not existence.exists(before):
        kind = Kind.RETURNED
    return Difference(aspect, key, kind, impact, digest, dumps(value), held, emptied)


def _is_nothing(form: Json) -> bool:
    """Whether a canonical form is an empty spelling."""
    return form is None or form == {} or form in _EMPTIED


def _says_nothing(aspect: str, value: Json) -> bool:
    """Whether a held value is an empty spelling already, so that its absence tells nothing new."""
    return _is_nothing(ASPECTS[aspect].canonical(value))


def removed(cell: Held, ground: Ground) -> Difference:
    """The difference that ends a held cell."""
    before = loads(cell.value) if cell.value is not None else None
    impact = max(ASPECTS[cell.aspect].impact(before, None), Impact.MINOR)
    return Difference(cell.aspect, cell.key, Kind.REMOVED, impact, GONE, None, cell, ground=ground)


# --- PATCH ------------------------------------------------------------------------------------------------------


def apply_patches(
    held: Sequence[Held],
    base: Mapping[tuple[str, str], Json],
    patches: Iterable[Patch],
    *,
    whole: bool = False,
) -> tuple[dict[tuple[str, str], Json], set[tuple[str, str]]]:
    """The cells that patches touch as they are afterwards, and the cells that patches took away whole.

    `base` is what the reading stated before them. Where it is silent: nothing, when it states the raw aspect `whole`;
    else what is held, and a set of which nothing is held becomes *at least* the members added to it.
    """
    held_values = {(cell.aspect, cell.key): cell.value for cell in held}
    keys = _PatchedKeys(held, base)
    touched: dict[tuple[str, str], Json] = {}
    gone: set[tuple[str, str]] = set()
    for patch in patches:
        slot = (patch.aspect, keys.key_of(patch))
        before: Json = touched[slot] if slot in touched else base.get(slot)
        if slot in gone or (before is None and whole):
            before = []
        elif before is None:
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
        named = tuple(squeeze(part) for part in patch.member)
        if patch.op == "remove":
            if not members:
                continue
            members = {member for member in members if member[: len(named)] != named}
        else:
            members = {member for member in members if not _replaces(patch.aspect, member, named)} | {named}
        gone.discard(slot)
        touched[slot] = set_value(frozenset(members), at_least=before is None or is_at_least(before))
    return touched, gone


class _PatchedKeys:
    """Finds the cells that patches are about; a column path finds the column as it is held, or as just stated."""

    def __init__(self, held: Sequence[Held], base: Mapping[tuple[str, str], Json]) -> None:
        self._held, self._base = held, base
        self._paths: dict[str, tuple[dict[str, str], frozenset[str]]] = {}
        self._found: dict[tuple[str, str], str] = {}

    def key_of(self, patch: Patch) -> str:
        """The key of the cell that a patch changes."""
        if not ASPECTS[patch.aspect].paths:
            return patch.key
        asked = (patch.aspect, patch.key)
        if asked not in self._found:
            paths, ended = self._known(patch.aspect)
            key = self._found[asked] = match_paths(paths, [patch.key], ended)[patch.key]
            paths.setdefault(key, patch.key)
        return self._found[asked]

    def _known(self, aspect: str) -> tuple[dict[str, str], frozenset[str]]:
        if aspect not in self._paths:
            paths, ended = _held_paths(self._held, aspect)
            stated = {key: key for of, key in self._base if of == aspect and key not in paths}
            self._paths[aspect] = ({**paths, **stated}, ended)
        return self._paths[aspect]


def _replaces(aspect: str, member: tuple[str, ...], new: tuple[str, ...]) -> bool:
    """Whether adding `new` replaces `member`: one entry a URN, but for owners (URN and role) and source columns."""
    identity = {"ownership": 2, "column_upstreams": 2}.get(aspect, 1)
    return member[:identity] == new[:identity]


# --- hints ------------------------------------------------------------------------------------------------------


def renamed_columns(gone: Mapping[str, Json], come: Mapping[str, Json]) -> dict[str, str]:
    """New column → the one it may be a new name of: alike in all but the name, and each fits only one. Never merged."""

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
