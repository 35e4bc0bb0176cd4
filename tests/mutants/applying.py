"""Copies of the package with a patch applied, where a test can be run on it. A patch that does not fit is an error."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_HUNK = re.compile(r"^@@ .* @@.*$", re.MULTILINE)
_SHIPPED = ("migrations", "prompts", "demo")


class DoesNotApply(Exception):
    """A patch whose lines are not where it says, or more than once: the code has moved on, and the patch must too."""


def copy_into(folder: Path) -> None:
    """A copy of the package in a folder; what ships beside it is the checkout's own."""
    shutil.copytree(ROOT / "palimpsest", folder / "palimpsest", ignore=shutil.ignore_patterns("__pycache__"))
    for name in _SHIPPED:
        (folder / name).symlink_to(ROOT / name)


def apply(patch: str, folder: Path) -> None:
    """Apply a unified diff: each hunk's old lines must be in its file exactly once, wherever. Raises DoesNotApply."""
    for part in re.split(r"^--- ", patch, flags=re.MULTILINE)[1:]:
        head, *hunks = _HUNK.split(part)
        path = folder / head.splitlines()[1].removeprefix("+++ b/").split("\t")[0]
        text = path.read_text(encoding="utf-8")
        for hunk in hunks:
            lines = hunk.removeprefix("\n").splitlines(keepends=True)
            old = "".join(line[1:] for line in lines if line[0] in " -")
            new = "".join(line[1:] for line in lines if line[0] in " +")
            if text.count(old) != 1:
                where = path.relative_to(folder)
                raise DoesNotApply(f"{text.count(old)} places in {where} for these lines, and one is wanted:\n{old}")
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")


def run(folder: Path, test: str) -> subprocess.CompletedProcess[str]:
    """Run one test of the checkout on the package in a folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PALIMPSEST_", "PYTEST_"))}
    command = [
        sys.executable,
        "-P",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "-p",
        "no:xdist",
    ]
    return subprocess.run(
        [*command, test],
        cwd=ROOT,
        env=kept | {"PYTHONPATH": os.pathsep.join(map(str, (folder, ROOT))), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
