"""The guard against mass change: a reading that would end too much of a platform stops before anything is written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

from palimpsest.core.errors import MassChangeError, UsageError
from palimpsest.jobs.scanning.request import Work
from palimpsest.store import readings, runs
from palimpsest.store.runs import Lease

Endings = Mapping[tuple[str, str], int]


def accepted_endings(work: Work) -> dict[str, int]:
    """How many cells may end on each platform, as the stopped run that `--accept-mass-change` names reported them.

    Raises UsageError when there is no such run.
    """
    wanted, source = work.request.accept_mass_change, work.request.source
    if wanted is None:
        return {}
    counts = work.store.read(lambda connection: runs.stopped_run(connection, wanted, source))
    if counts is None:
        hint = "take the run's id from the message, or from: palimpsest runs"
        raise UsageError(f"no stopped run {wanted!r} of {source}", hint)
    ending = json.loads(counts).get("ending", {})
    return {str(platform): int(cells) for platform, cells in ending.items()}


def check(work: Work, endings: Endings, accepted: Mapping[str, int], lease: Lease | None) -> None:
    """Raises MassChangeError when more would end than may: `endings` counts cells by (platform, aspect)."""
    request = work.request
    by_platform: Counter[str] = Counter()
    for (platform, _), cells in endings.items():
        by_platform[platform] += cells
    if not any(cells >= request.mass_cells for cells in by_platform.values()):
        return
    held = work.store.read(lambda connection: readings.cells_by_platform(connection, request.source))
    over = [
        platform
        for platform, cells in by_platform.items()
        if cells >= request.mass_cells
        and cells > request.mass_share * held.get(platform, 0)
        and cells > accepted.get(platform, 0)
    ]
    if not over:
        return
    groups = sorted(endings.items(), key=lambda item: (-item[1], item[0]))
    named = ", ".join(
        f"{aspect} on {platform or 'no platform'} ({cells} cells)" for (platform, aspect), cells in groups[:3]
    )
    total = sum(by_platform[platform] for platform in over)
    of = sum(held.get(platform, 0) for platform in over)
    where = ", ".join(platform or "no platform" for platform in sorted(over))
    hint = "scan without --dry-run to be told how to accept it"
    if lease is not None:
        run = lease.run.hex()[:12]
        hint = f"nothing was written; if the catalog really lost them: --accept-mass-change {run}"
    message = f"this reading would end {total} of {of} cells on {where}: {named}"
    raise MassChangeError(message, hint, ending=by_platform)
