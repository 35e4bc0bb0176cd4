"""The wheel holds what the program needs, and works where there is no checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.xdist_group("wheel")


def run(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    result = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
    return result.stdout


def shipped(folder: str) -> set[str]:
    """Relative paths of the files in a folder of the checkout, caches left out."""
    return {
        path.relative_to(ROOT / folder).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution as an index would get both."""
    dist = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, ROOT)
    return next(dist.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel in it, and its dependencies borrowed from the one that runs the tests."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, with_pip=False)
    place = {"base": str(home), "platbase": str(home)}
    site_packages = Path(sysconfig.get_path("purelib", "venv", place))
    # A path line is not read for further .pth files: the checkout's own editable install stays out.
    (site_packages / "borrowed.pth").write_text(f"{sysconfig.get_path('purelib')}\n", "utf-8")
    python = home / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel)
    return home


@pytest.fixture
def palimpsest(installed: Path, tmp_path: Path) -> list[str]:
    """The command line that runs the installed command with an empty home and a store of its own."""
    return [
        "env",
        "-i",
        f"HOME={tmp_path}",
        f"PATH={os.defpath}",
        "LC_ALL=C.UTF-8",
        f"PALIMPSEST_STORE=sqlite:///{tmp_path}/memory.db",
        str(installed / "bin" / "palimpsest"),
    ]


def test_the_wheel_holds_the_package_the_migrations_the_demo_and_the_prompts(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "palimpsest/py.typed" in names
    assert {f"palimpsest/_migrations/{name}" for name in shipped("migrations")} <= names
    assert {f"palimpsest/_demo/{name}" for name in shipped("demo")} <= names
    assert {f"palimpsest/_console/{name}" for name in shipped("console")} <= names
    assert {f"palimpsest/_prompts/{name}" for name in shipped("prompts")} <= names
    assert {"palimpsest/_migrations/env.py", "palimpsest/_migrations/script.py.mako"} <= names


def test_the_wheel_holds_nothing_beside_the_package(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"palimpsest"}


def test_the_installed_package_is_the_one_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    where = run(installed / "bin" / "python", "-c", "import palimpsest; print(palimpsest.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(installed)


def test_the_installed_command_tells_its_version(palimpsest: list[str], tmp_path: Path) -> None:
    assert metadata.version("datahub-palimpsest") in run(*palimpsest, "--version", cwd=tmp_path)


def test_the_installed_command_migrates_a_new_store(palimpsest: list[str], tmp_path: Path) -> None:
    run(*palimpsest, "db", "upgrade", cwd=tmp_path)
    assert (tmp_path / "memory.db").stat().st_size > 0
    run(*palimpsest, "db", "status", cwd=tmp_path)


def test_the_installed_command_shows_the_demo(palimpsest: list[str], tmp_path: Path) -> None:
    assert run(*palimpsest, "demo", cwd=tmp_path).strip()
