"""Where the program starts: the call of a hook is answered at once, anything else is the command line's.

An agent waits for a hook, and to import typer is most of what that would take.
"""

from __future__ import annotations

import sys

from palimpsest.surfaces.hooks import calling


def main() -> int:
    """Run this process's command. Returns the exit code."""
    if calling.answered(sys.argv[1:]):
        return 0
    from palimpsest.surfaces.cli import app

    return app.main()
