"""A driver, run as a process of its own: one job on a shared store, at a start signal.

`python -m tests.robustness.racing scan|consolidate STORE FILE GO` waits for the file GO, and prints what came of it as
JSON. Between its commits a scan waits a little, so that the others have their chance.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import palimpsest.jobs.consolidate as consolidate_job
import palimpsest.jobs.scan as scan_job
from palimpsest.adapters.clock import SystemClock
from palimpsest.adapters.datahub.file import FileReader
from palimpsest.core.errors import PalimpsestError
from palimpsest.jobs.scan import ScanRequest
from palimpsest.store.engine import open_store
from palimpsest.store.runs import this_process
from palimpsest.testing import NoProgress


class SlowProgress(NoProgress):
    """Takes a moment over each commit."""

    def advance(self, count: int = 1) -> None:
        """A commit is near."""
        time.sleep(0.05)


def main(job: str, store_file: str, catalog: str, go: str) -> None:
    """Do the job."""
    scan_job._EPISODES_AT_ONCE = consolidate_job._EPISODES_AT_ONCE = 40
    store = open_store(f"sqlite:///{store_file}")
    print("ready", flush=True)  # noqa: T201
    while not Path(go).exists():
        time.sleep(0.005)
    try:
        if job == "scan":
            reader, request = FileReader(Path(catalog)), ScanRequest(source="file")
            done = scan_job.scan(
                store, reader, request, clock=SystemClock(), progress=SlowProgress(), holder=this_process()
            )
            said = {"written": done.written}
        else:
            report = consolidate_job.consolidate(
                store, clock=SystemClock(), progress=SlowProgress(), holder=this_process()
            )
            said = {"episodes": report.episodes, "left": report.left}
    except PalimpsestError as error:
        print(json.dumps({"error": error.message, "hint": error.hint}))  # noqa: T201
        sys.exit(1)
    print(json.dumps(said))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
