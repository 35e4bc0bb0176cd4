"""The import contracts of pyproject.toml hold, and each of them catches an import that it forbids.

A case plants one forbidden import in a copy of the package and expects the linter to name its contract.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTRACTS = {
    contract["id"]: contract["name"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
}

# (contract, module that gets the import, the import)
FORBIDDEN = [
    ("layers", "palimpsest/core/intruder.py", "import palimpsest.store"),
    ("layers", "palimpsest/ports.py", "import palimpsest.queries"),
    ("layers", "palimpsest/store/intruder.py", "import palimpsest.adapters"),
    ("layers", "palimpsest/adapters/intruder.py", "import palimpsest.store"),
    ("layers", "palimpsest/queries/intruder.py", "import palimpsest.jobs"),
    ("layers", "palimpsest/jobs/intruder.py", "import palimpsest.wiring"),
    ("layers", "palimpsest/wiring.py", "import palimpsest.surfaces"),
    ("adapters-are-handed-in", "palimpsest/jobs/intruder.py", "import palimpsest.adapters.clock"),
    ("adapters-are-handed-in", "palimpsest/queries/intruder.py", "import palimpsest.adapters.datahub"),
    ("adapters-apart", "palimpsest/adapters/datahub/intruder.py", "import palimpsest.adapters.clock"),
    ("core-is-pure", "palimpsest/core/intruder.py", "import logging"),
    ("core-is-pure", "palimpsest/core/aspects/intruder.py", "import pydantic"),
    ("core-follows-the-flow", "palimpsest/core/entity.py", "import palimpsest.core.aspects"),
    ("sql-in-the-store", "palimpsest/queries/intruder.py", "import sqlalchemy"),
    ("sql-in-the-store", "palimpsest/surfaces/intruder.py", "from alembic import command"),
    ("terminal-in-the-surfaces", "palimpsest/jobs/intruder.py", "import rich"),
    ("no-click", "palimpsest/surfaces/cli/intruder.py", "import click"),
    ("only-consolidate-writes-versions", "palimpsest/jobs/intruder.py", "import palimpsest.store.versions"),
    ("only-consolidate-writes-versions", "palimpsest/store/intruder.py", "from palimpsest.store import versions"),
    ("only-consolidate-writes-versions", "palimpsest/surfaces/intruder.py", "import palimpsest.store.versions"),
    ("pages-are-read-only", "palimpsest/surfaces/console/intruder.py", "import palimpsest.jobs.consolidate"),
    ("pages-are-read-only", "palimpsest/surfaces/mcp/reading.py", "import palimpsest.jobs.note"),
    ("agents-write-episodes", "palimpsest/surfaces/mcp/intruder.py", "import palimpsest.jobs.consolidate"),
    ("agents-write-episodes", "palimpsest/surfaces/mcp/writing.py", "import palimpsest.wiring"),
    ("hooks-are-light", "palimpsest/surfaces/hooks/intruder.py", "import palimpsest.config"),
    ("hooks-are-light", "palimpsest/core/brief.py", "import numpy"),
    ("only-load-fills-tables", "palimpsest/jobs/intruder.py", "import palimpsest.store.loading"),
    ("only-load-fills-tables", "palimpsest/jobs/consolidate.py", "from palimpsest.store import loading"),
    ("only-load-fills-tables", "palimpsest/surfaces/intruder.py", "import palimpsest.store.loading"),
    ("working-memory-apart", "palimpsest/jobs/consolidate.py", "from palimpsest.store import working"),
    ("working-memory-apart", "palimpsest/queries/intruder.py", "import palimpsest.store.working"),
    ("settings-at-the-edge", "palimpsest/jobs/intruder.py", "import palimpsest.config"),
    ("settings-at-the-edge", "palimpsest/store/intruder.py", "import palimpsest.logs"),
    ("shipped-is-a-leaf", "palimpsest/shipped.py", "import palimpsest.core.errors"),
    ("shipped-has-few-readers", "palimpsest/queries/intruder.py", "import palimpsest.shipped"),
    ("testing-aids-stay-out", "palimpsest/wiring.py", "import palimpsest.testing"),
    ("testing-aids-stay-out", "palimpsest/surfaces/cli/demo.py", "import palimpsest.testing"),
]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_contracts_hold() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_contract_has_a_case() -> None:
    assert {contract for contract, _, _ in FORBIDDEN} == set(CONTRACTS)


@pytest.mark.parametrize(("contract", "module", "statement"), FORBIDDEN)
def test_a_forbidden_import_is_caught(tmp_path: Path, contract: str, module: str, statement: str) -> None:
    shutil.copytree(ROOT / "palimpsest", tmp_path / "palimpsest", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{statement}\n")

    result = lint(tmp_path)

    assert result.returncode == 1, result.stdout + result.stderr
    assert f"{CONTRACTS[contract]} BROKEN" in result.stdout
