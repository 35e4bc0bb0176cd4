"""What is done after a job that brought something new: what is searched is renewed, and what is too old is forgotten.

Never in the way of that job: what goes wrong is a warning, and is done the next time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from palimpsest.core.errors import PalimpsestError
from palimpsest.surfaces.cli import diagnostics
from palimpsest.surfaces.cli import embed as embedding

if TYPE_CHECKING:
    from palimpsest.config import Settings
    from palimpsest.jobs.embed import EmbedReport
    from palimpsest.store.engine import Store


def afterwards(settings: Settings, store: Store) -> EmbedReport | None:
    """Renew passages, then vectors, and forget what is too old."""
    embedded = None
    if indexed(store):
        embedded = embedding.afterwards(settings, store)
    _prune(settings, store)
    return embedded


def indexed(store: Store) -> bool:
    """Renew the passages of what is stale; whether that went well."""
    from palimpsest import wiring
    from palimpsest.jobs.index import index

    try:
        with diagnostics.progress() as progress:
            index(store, clock=wiring.clock(), progress=progress)
    except PalimpsestError as error:
        diagnostics.warn(f"what is new is not found by recall yet: {error.message}")
        if error.hint:
            diagnostics.note(f"hint: {error.hint}")
        return False
    return True


def _prune(settings: Settings, store: Store) -> None:
    from palimpsest import wiring
    from palimpsest.jobs.prune import prune

    try:
        prune(
            store,
            recalls_days=settings.keep.recalls_days,
            runs_days=settings.keep.runs_days,
            deliveries_days=settings.keep.deliveries_days,
            clock=wiring.clock(),
        )
    except PalimpsestError as error:
        diagnostics.warn(f"old records were not forgotten: {error.message}")
