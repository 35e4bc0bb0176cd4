"""The command line as a process of its own: real exit codes, real rights, real limits."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_DROP_FROM_BOUNDING_SET = 24  # prctl
_OVERRIDES = (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH: what lets root pass over the rights of files


@dataclass(frozen=True, kw_only=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> tuple[int, list[str]]:
        """The exit code, and the lines on stderr."""
        return self.code, self.err.splitlines()


def palimpsest(
    *arguments: str | Path,
    store: Path | str,
    folder: Path,
    lowered: bool = False,
    most_bytes: int | None = None,
    **environment: str,
) -> Done:
    """Run one command. `lowered`: the rights of files hold for root too. `most_bytes`: no file may grow beyond."""
    url = store if isinstance(store, str) else f"sqlite:///{store}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PALIMPSEST_")}
    env = kept | {"PYTHONPATH": str(ROOT), "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"} | environment
    done = subprocess.run(
        [sys.executable, "-m", "palimpsest.surfaces.cli.app", "--store", url, *map(str, arguments)],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=_limiting(most_bytes, lowered) if lowered or most_bytes is not None else None,
    )
    return Done(code=done.returncode, out=done.stdout, err=done.stderr)


def _limiting(most_bytes: int | None, lowered: bool) -> Callable[[], None]:
    libc = ctypes.CDLL(None)  # loaded before the fork

    def limit() -> None:
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
        if lowered and os.getuid() == 0:
            for capability in _OVERRIDES:
                libc.prctl(_DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)

    return limit


@contextmanager
def small_disk(mount: Path, kilobytes: int) -> Iterator[bool]:
    """A file system of that size at `mount`, if this process may make one; whether it could."""
    mount.mkdir()
    made = os.getuid() == 0 and _quietly("mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(mount))
    try:
        yield made
    finally:
        if made:
            _quietly("umount", str(mount))


def _quietly(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False
