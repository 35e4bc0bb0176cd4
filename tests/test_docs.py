"""Documentation that cannot drift: its blocks equal what the code says, and every command it shows runs."""

from __future__ import annotations

import gzip
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
_CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
_SETTINGS = ROOT / "docs" / "settings.md"


def run(arguments: list[str], cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command of ours in a folder, with a home of its own."""
    env = {**os.environ, "HOME": str(cwd), "XDG_DATA_HOME": str(cwd / "data"), "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(arguments, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def test_the_repeated_parts_of_the_documentation_equal_the_code() -> None:
    done = run([sys.executable, "docs/build.py", "--check"], ROOT)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_demo_is_at_most_thirty_lines() -> None:
    block = re.search(r"block: palimpsest demo -->\n```text\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert block is not None
    assert len(block[1].splitlines()) <= 30


@pytest.mark.long
def test_every_palimpsest_command_of_the_readme_runs(tmp_path: Path) -> None:
    catalog = ROOT / "demo" / "catalog"
    with gzip.open(tmp_path / "metadata.json.gz", "wb") as file:
        file.write((catalog / "2026-03-02-monday.json").read_bytes())
    before = [sys.executable, "-m", "palimpsest.surfaces.cli.app"]
    assert run([*before, "run", "file:metadata.json.gz"], tmp_path).returncode == 0
    with gzip.open(tmp_path / "metadata.json.gz", "wb") as file:
        file.write((catalog / "2026-03-06-friday.json").read_bytes())
    lines = [line for block in _CONSOLE.findall((ROOT / "README.md").read_text()) for line in block.splitlines()]
    shown = [line.removeprefix("$ ").partition("  #")[0].strip() for line in lines if line.startswith("$ ")]
    ran = 0
    for line in shown:
        for command in line.split("&&"):
            name, *arguments = shlex.split(command)
            if name == "palimpsest":
                done = run([*before, *arguments], tmp_path)
                assert done.returncode == 0, f"{line}: {done.stderr}"
                assert "error:" not in done.stderr, line
                ran += 1
    assert ran >= 8


def test_every_setting_is_documented() -> None:
    from palimpsest.config import all_keys

    text = _SETTINGS.read_text()
    assert [key.name for key in all_keys() if f"| `{key.name}` |" not in text] == []
