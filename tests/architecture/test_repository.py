"""Rules about the files of the repository themselves: names, addresses, the size of the Makefile."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES_THAT_SAY_NOTHING = {"base", "common", "helper", "helpers", "manager", "misc", "service", "util", "utils"}

# Spelt in pieces, so that this file does not hold what it looks for.
ADDRESSES = [
    r"pypi\." + "org",
    r"pythonhosted\." + "org",
    r"registry\.npmjs\." + "org",
    r"--(extra-)?index-" + r"url[ =]",
    r"--find-" + r"links[ =]",
    r"--trusted-" + r"host[ =]",
    r"(?<![\w.~/-])/" + r"(work|root|opt/pypi|opt/wheels)/",
    r"\.py" + "env/",
]


def files() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    return [path for name in listing.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_file_names_a_registry_or_a_place_on_one_machine() -> None:
    forbidden = re.compile("|".join(ADDRESSES).encode())
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.decode('utf-8', 'replace').strip()[:120]}"
        for path in files()
        if forbidden.search(content := path.read_bytes())
        for number, line in enumerate(content.splitlines(), start=1)
        if forbidden.search(line)
    ]
    assert found == []


def test_the_table_of_working_memory_is_named_by_its_own_module_and_the_dump_alone() -> None:
    """So that no statement anywhere else can make a belief, an episode or a passage of it."""
    named = re.compile(
        r"^from palimpsest\.store\.schema import [^(\n]*\bworking\b|^    working,$|schema\.working", re.MULTILINE
    )
    found = [path.name for path in (ROOT / "palimpsest").rglob("*.py") if named.search(path.read_text("utf-8"))]
    assert sorted(found) == ["dumping.py", "working.py"]


def test_requirements_hold_names_versions_and_hashes_only() -> None:
    for path in sorted((ROOT / "requirements").glob("*.txt")):
        lines = [line for line in path.read_text("utf-8").splitlines() if not line.lstrip().startswith("#")]
        wrong = [line for line in lines if not re.match(r"[a-z0-9-]+==|    --hash=sha256:[0-9a-f]{64}", line)]
        assert wrong == [], path.name


def test_no_module_bears_a_name_that_says_nothing() -> None:
    named = [
        path.relative_to(ROOT).as_posix()
        for top in ("palimpsest", "migrations", "benchmarks", "tests")
        for path in sorted((ROOT / top).rglob("*"))
        if (path.is_dir() or path.suffix == ".py") and path.stem.strip("_").lower() in NAMES_THAT_SAY_NOTHING
    ]
    assert named == []


def test_the_makefile_has_at_most_twelve_targets() -> None:
    targets = re.findall(r"^([a-z][\w-]*):(?!=)", (ROOT / "Makefile").read_text("utf-8"), flags=re.MULTILINE)
    assert len(set(targets)) <= 12, targets
