"""How the hooks came out: one line for each call in a small file of the user's state folder, and the sum of it.

Many processes may append at once: a line is one write. Past its size the file makes way for a new one.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from palimpsest.surfaces.hooks.outcome import FINE, Outcome

_FILE = "hooks.log"
_MOST_BYTES = 200_000
_LOOKED_AT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The calls that are remembered, by outcome; the last of each event; how many of the newest went amiss."""

    outcomes: Mapping[str, int]
    clients: tuple[str, ...]
    newest: int
    amiss: int

    @property
    def answered(self) -> int:
        """How many were answered."""
        return self.outcomes.get(Outcome.ANSWERED, 0)

    @property
    def gone_amiss(self) -> Mapping[str, int]:
        """Those that could not be answered, by outcome."""
        return {word: count for word, count in sorted(self.outcomes.items()) if word not in FINE}


def count(event: str, client: str, outcome: Outcome, *, at: int, milliseconds: int) -> None:
    """Write one call down. What cannot be written is not counted: nobody may be told."""
    line = " ".join((str(at), _word(event), _word(client), _word(outcome), str(milliseconds))) + "\n"
    try:
        file = _path()
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, line.encode())
            full = os.fstat(handle).st_size > _MOST_BYTES
        finally:
            os.close(handle)
        if full:
            file.replace(file.with_suffix(".log.1"))
    except OSError:
        return


def tally() -> Tally:
    """The sum of what is written down; empty where nothing can be read."""
    rows = [row for row in map(str.split, _lines()) if len(row) == 5]
    last = rows[-_LOOKED_AT:]
    return Tally(
        outcomes=Counter(row[3] for row in rows),
        clients=tuple(sorted({row[2] for row in rows})),
        newest=len(last),
        amiss=sum(1 for row in last if row[3] not in FINE),
    )


def _lines() -> list[str]:
    found: list[str] = []
    for file in (_path().with_suffix(".log.1"), _path()):
        try:
            found += file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
    return found


def _path() -> Path:
    return Path(platformdirs.user_state_dir("palimpsest")) / _FILE


def _word(text: str) -> str:
    """A text as one short word of a line."""
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in text[:40]) or "_"
