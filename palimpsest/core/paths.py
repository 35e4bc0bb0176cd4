"""Column paths: DataHub spells one column in two ways (v1 `a.b`, v2 `[version=2.0].[type=struct].a.[type=string].b`).

Here: the simple path of either, and how the paths of a new reading find the columns that are held.
Rules as DataHub documents them under "SchemaField paths": a bracketed token is a type, anything else a name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

_TOKEN = re.compile(r"\[[^\[\]]*\]\.?")


def simple_path(path: str) -> str:
    """The path without v2's bracketed tokens: what people call the column. v1 paths come back unchanged."""
    if not path.startswith("[version="):
        return path
    return _TOKEN.sub("", path).strip(".") or path


def match_paths(held: Mapping[str, str], seen: Iterable[str], ended: Collection[str] = ()) -> dict[str, str]:
    """Which held key each seen raw path stands for.

    `held` maps the key under which a column is held to the raw path last seen for it; `ended` names the keys of columns
    that are gone. Paths are matched by raw path, then by simple path, then by case-folded simple path, each only where
    it is unambiguous on both sides, and each with the columns that are there before those that are gone. A path that
    matches nothing becomes a new key: its simple path if that is free, else the raw one.
    Returns raw path → key, one entry for each distinct seen path.
    """
    live = {key: path for key, path in held.items() if key not in ended}
    gone = {key: path for key, path in held.items() if key in ended}
    open_seen = sorted(set(seen))
    keys: dict[str, str] = {}
    spellings: tuple[Callable[[str], str], ...] = (str, simple_path, lambda path: simple_path(path).casefold())
    for spelling in spellings:
        for open_held in (live, gone):
            if not open_held or not open_seen:
                continue
            held_by = _unambiguous({key: spelling(path) for key, path in open_held.items()})
            seen_by = _unambiguous({path: spelling(path) for path in open_seen})
            for spelled, path in seen_by.items():
                key = held_by.get(spelled)
                if key is not None:
                    keys[path] = key
                    del open_held[key]
            open_seen = [path for path in open_seen if path not in keys]
    taken = set(held) | set(keys.values())
    simple_counts = Counter(simple_path(path) for path in open_seen)
    for path in open_seen:
        simple = simple_path(path)
        key = simple if simple not in taken and (simple_counts[simple] == 1 or simple == path) else path
        while key in taken:
            key += "'"
        keys[path] = key
        taken.add(key)
    return keys


def _unambiguous(spelled: Mapping[str, str]) -> dict[str, str]:
    """spelling → name, for the spellings that only one name has."""
    counts = Counter(spelled.values())
    return {spelling: name for name, spelling in spelled.items() if counts[spelling] == 1}
