"""The log: structlog to stderr, readable on a terminal, JSON lines off it.

Events are named `noun.verb_past`. Configured on first use; PALIMPSEST_LOG is the level (default: warning).
"""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import cast

import structlog
from structlog.typing import FilteringBoundLogger, Processor

from palimpsest.core.errors import ConfigError

LEVELS = ("debug", "info", "warning", "error")


def logger(run_id: str = "") -> FilteringBoundLogger:
    """The log, with `run_id` bound to every event where one is given.

    Raises ConfigError if PALIMPSEST_LOG names no level.
    """
    _configure()
    bound = {"run_id": run_id} if run_id else {}
    return cast(FilteringBoundLogger, structlog.get_logger(**bound))


@cache
def _configure() -> None:
    level = os.environ.get("PALIMPSEST_LOG", "").lower() or "warning"
    if level not in LEVELS:
        raise ConfigError(f"PALIMPSEST_LOG: no such level: {level}", f"one of {', '.join(LEVELS)}")
    # Values are written with repr or as ASCII JSON: text of a catalog cannot move the cursor of a terminal.
    render: Processor
    if sys.stderr.isatty():
        render = structlog.dev.ConsoleRenderer(
            colors="NO_COLOR" not in os.environ,
            repr_native_str=True,
            exception_formatter=structlog.dev.plain_traceback,
        )
    else:
        render = structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
