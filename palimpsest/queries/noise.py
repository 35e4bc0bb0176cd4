"""noise: the cells that change most, and the line of the settings that silences each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from palimpsest.core import say
from palimpsest.core.moment import to_datetime
from palimpsest.core.noise import silencing_line
from palimpsest.store import answers_state
from palimpsest.store.engine import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyCellView:
    """A cell that changed so often, first readings left out. `line` goes into `scan.ignore` to silence it."""

    urn: str
    subject: str
    source: str
    aspect: str
    key: str
    changes: int
    last: datetime
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseView:
    """The cells that change most, the noisiest first."""

    cells: tuple[NoisyCellView, ...]


def noise(store: Store, most: int, source: str | None = None) -> NoiseView:
    """The noisiest cells."""
    found = store.read(lambda connection: answers_state.noisiest(connection, most, source))
    return NoiseView(
        cells=tuple(
            NoisyCellView(
                urn=one.urn,
                subject=say.subject(one.urn, one.aspect, one.key),
                source=one.source,
                aspect=one.aspect,
                key=one.key,
                changes=one.changes,
                last=to_datetime(one.newest),
                line=silencing_line(one.aspect, one.key),
            )
            for one in found
        )
    )
