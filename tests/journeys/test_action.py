"""The shell steps of action.yml as they are written, run as a workflow runs them, against a stand-in for DataHub."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from palimpsest.testing.gms import GmsDouble
from tests.building import Record, dataset, mcp, owners, schema
from tests.robustness.catalogs import write

ROOT = Path(__file__).resolve().parents[2]
ORDERS = dataset("shop.public.orders")
_STEP = re.compile(r"^    - ", re.MULTILINE)
_INPUT = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")


@dataclass(frozen=True, kw_only=True)
class Step:
    """One shell step: its command, and its environment as it is written."""

    id: str
    command: str
    env: dict[str, str]


def steps() -> list[Step]:
    """The shell steps of action.yml, by the few forms of YAML that it uses."""
    found = []
    for text in _STEP.split((ROOT / "action.yml").read_text().partition("  steps:\n")[2]):
        command = re.search(r"^      run: (.+)$", text, re.MULTILINE)
        if command is not None:
            assert "shell: bash" in text
            env = re.findall(r"^        ([A-Z_]+): (.+)$", text, re.MULTILINE)
            found.append(Step(id=text.partition("id: ")[2].split()[0], command=command[1], env=dict(env)))
    return found


def defaults() -> dict[str, str]:
    """The inputs with their defaults."""
    part = (ROOT / "action.yml").read_text().partition("inputs:\n")[2].partition("outputs:\n")[0]
    return dict(re.findall(r'^  ([\w-]+):\n    description: .+\n    default: "?(.*?)"?$', part, re.MULTILINE))


class Job:
    """A workflow's job in a folder: the files that GitHub gives to a step, and `palimpsest` on the path."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        self.program("palimpsest", f'exec "{sys.executable}" -m palimpsest.surfaces.cli.app "$@"')
        self.environment = {
            "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_OUTPUT": str(folder / "output"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
            **environment,
        }
        self.said = ""

    def program(self, name: str, script: str) -> None:
        """Put a program on the path."""
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def step(self, wanted: str, exit_code: str = "", **inputs: str) -> subprocess.CompletedProcess[str]:
        """One step, as GitHub runs it: bash -e, with its env."""
        step = next(step for step in steps() if step.id == wanted)
        given = {**defaults(), **{name.replace("_", "-"): value for name, value in inputs.items()}}
        env = {
            name: _INPUT.sub(lambda found: given[found[1]], text).replace(
                "${{ steps.run.outputs.exit-code }}", exit_code
            )
            for name, text in step.env.items()
        }
        assert not any("${{" in value for value in env.values())
        return subprocess.run(
            [shutil.which("bash") or "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.command],
            cwd=self.folder,
            env={**self.environment, **env},
            capture_output=True,
            text=True,
            check=False,
        )

    def run(self, **inputs: str) -> tuple[int, str]:
        """The steps after the installation: the exit code, and what the summary says. The talk is in `said`."""
        for name in ("output", "summary"):
            (self.folder / name).write_text("")
        done = self.step("run", **inputs)
        self.said = done.stdout + done.stderr
        code = (self.folder / "output").read_text().partition("exit-code=")[2].strip()
        assert code == str(done.returncode)
        told = self.step("summary", exit_code=code, **inputs)
        assert (told.returncode, told.stdout, told.stderr) == (0, "", "")
        return done.returncode, (self.folder / "summary").read_text()


def catalog(folder: Path, *columns: tuple[str, str], owner: str = "jonas") -> Path:
    """A metadata file with one table."""
    records: list[Record] = [
        mcp(ORDERS, "status", {"removed": False}),
        mcp(ORDERS, "datasetKey", {"platform": "urn:li:dataPlatform:postgres", "name": "orders", "origin": "PROD"}),
        mcp(ORDERS, "schemaMetadata", schema(*columns)),
        mcp(ORDERS, "ownership", owners(owner)),
    ]
    return write(folder, "catalog.json", records)


@pytest.fixture
def gms(tmp_path: Path) -> Iterator[GmsDouble]:
    """A DataHub with one table."""
    with GmsDouble.serving(load=[catalog(tmp_path, ("id", "bigint"), ("total", "numeric(12,2)"))]) as double:
        yield double


@pytest.fixture
def job(tmp_path: Path, gms: GmsDouble) -> Job:
    """A job that reads it."""
    folder = tmp_path / "job"
    folder.mkdir()
    return Job(folder, DATAHUB_GMS_URL=gms.url, DATAHUB_GMS_TOKEN=gms.token, PALIMPSEST_DATAHUB__TIMEOUT_SECONDS="5")


def episodes(job: Job) -> int:
    """How many episodes the memory holds."""
    database = sqlite3.connect(job.folder / "palimpsest.db")
    (count,) = database.execute("SELECT count(*) FROM episode").fetchone()
    database.close()
    return int(count)


def test_a_first_run_an_unchanged_one_and_a_breaking_change_at_the_gate(
    job: Job, gms: GmsDouble, tmp_path: Path
) -> None:
    code, summary = job.run(source="datahub-graphql", fail_on="breaking")
    assert (code, job.said) == (0, "")
    assert summary == "### Palimpsest\n\nnothing changed in 1 reading\n"
    held = episodes(job)
    assert held > 0

    code, summary = job.run(source="datahub-graphql", fail_on="breaking")
    assert (code, job.said, episodes(job)) == (0, "", held)
    assert summary == "### Palimpsest\n\nnothing changed in 1 reading\n"

    gms.load(catalog(tmp_path, ("id", "bigint"), owner="ana"))
    gms.refresh()
    code, summary = job.run(source="datahub-graphql", fail_on="breaking")
    assert (code, job.said, episodes(job)) == (6, "", held + 2)
    assert summary.startswith("### Palimpsest\n\n**The gate tripped: exit code 6.**\n\n- orders.total: column gone")
    assert "\n- orders: owner was jonas, now ana" in summary

    code, summary = job.run(source="datahub-graphql", fail_on="breaking")  # told once: it is held now
    assert (code, episodes(job)) == (0, held + 2)


def test_datahub_down_writes_nothing_and_the_next_run_catches_up(job: Job, gms: GmsDouble, tmp_path: Path) -> None:
    assert job.run(source="datahub-graphql")[0] == 0
    held = episodes(job)
    gms.load(catalog(tmp_path, ("id", "bigint"), ("total", "numeric(12,2)"), owner="ana"))
    gms.refresh()
    gms.faults.fail(403)
    code, summary = job.run(source="datahub-graphql")
    assert (code, episodes(job)) == (3, held)
    assert job.said.startswith("error: ")
    assert gms.token not in job.said + summary
    assert "exit code 3. Nothing was written" in summary
    assert "owner" not in summary
    gms.faults.clear()
    code, summary = job.run(source="datahub-graphql")
    assert (code, episodes(job)) == (0, held + 1)
    assert "- orders: owner was jonas, now ana" in summary


def test_a_stopped_datahub_is_exit_3(job: Job, gms: GmsDouble) -> None:
    gms.stop()
    code, summary = job.run(source="datahub-graphql", store="new.db")
    assert (code, "exit code 3" in summary) == (3, True)


def test_a_run_that_stops_before_writing_is_exit_1(job: Job, gms: GmsDouble, tmp_path: Path) -> None:
    (job.folder / "palimpsest.toml").write_text("[scan]\nmass_change_cells = 1\nmass_change_share = 0.01\n")
    assert job.run(source="datahub-graphql")[0] == 0
    held = episodes(job)
    gms.load(catalog(tmp_path, ("id", "bigint")))
    gms.refresh()
    code, summary = job.run(source="datahub-graphql", fail_on="breaking")
    assert (code, episodes(job)) == (1, held)
    assert "--accept-mass-change" in job.said
    assert "stopped before writing: exit code 1" in summary


def test_the_line_for_cron_is_silent_while_all_is_well(job: Job, gms: GmsDouble) -> None:
    text = (ROOT / "docs" / "datahub.md").read_text()
    (line,) = re.findall(r"^17 5 \* \* \* (.+)$", text, re.MULTILINE)
    etc = job.folder / "etc"
    etc.mkdir()
    (etc / "palimpsest.env").write_text(f"export DATAHUB_GMS_TOKEN={gms.token}\n")
    (etc / "palimpsest.toml").write_text('store = "sqlite:///memory.db"\n')
    del job.environment["DATAHUB_GMS_TOKEN"]
    for code, out, err in ((0, "", ""), (0, "", ""), (3, "", "error: ")):
        if code:
            gms.faults.fail(403)
        done = subprocess.run(
            ["sh", "-c", line.replace("/etc/", f"{etc}/")],
            cwd=job.folder,
            env=job.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr[:7]) == (code, out, err)
    assert (etc / "memory.db").exists()


def test_inputs_reach_the_settings(job: Job, tmp_path: Path) -> None:
    (job.folder / "other.toml").write_text('[run]\nsource = "datahub-graphql"\n')
    assert job.run(config="other.toml", store=str(tmp_path / "a b.db"))[0] == 0
    assert (tmp_path / "a b.db").exists()
    assert job.run(config="missing.toml")[0] == 2
    code, summary = job.run()
    assert (code, "exit code 2" in summary) == (2, True)
    assert job.run(source="datahub-graphql", fail_on="never")[0] == 2


def test_what_is_installed(job: Job) -> None:
    job.program("python", 'echo "$*" >> "$HOME/asked"')
    for name in ("bash", "sh"):
        (job.folder / "bin" / name).symlink_to(shutil.which(name) or name)
    job.environment["PATH"] = str(job.folder / "bin")  # no uvx
    for source in ("datahub-graphql", "datahub-mcp"):
        done = job.step("install", source=source)
        assert (done.returncode, done.stderr) == (0, "")
    asked = (job.folder / "asked").read_text().splitlines()
    own = f"-m pip install --quiet --disable-pip-version-check {ROOT}[datahub]"
    assert asked == [own, own, "-m pip install --quiet --disable-pip-version-check uv"]


def test_every_action_that_is_used_is_pinned_to_a_version() -> None:
    texts = [ROOT / "action.yml", ROOT / "docs" / "datahub.md"]
    used = [name for path in texts for name in re.findall(r"uses: (\S+)", path.read_text())]
    assert used
    assert [name for name in used if not re.fullmatch(r"[\w./-]+@v\d+\.\d+\.\d+", name)] == []
    assert "permissions: {}" in texts[1].read_text()
    assert "concurrency:" in texts[1].read_text()
