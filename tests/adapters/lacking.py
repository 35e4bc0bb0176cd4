"""Building an adapter where a package is not installed."""

from __future__ import annotations

import subprocess
import sys


def lacking(module: str, builder: str, provider: str) -> tuple[str, str]:
    """The message and the hint of the ConfigError that a builder raises for a provider without a module."""
    script = f"""
import sys
sys.modules[{module!r}] = None
from {builder} import Wanted, build
from palimpsest.core.errors import ConfigError
try:
    build(Wanted(provider={provider!r}, key="k"), {{}})
except ConfigError as error:
    print(error.message); print(error.hint)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    message, hint = done.stdout.splitlines()
    return message, hint
