"""The skill keeps the rules of the registry, and every command and tool that it shows runs."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest.surfaces.cli.app import main
from palimpsest.surfaces.mcp.tools import BY_NAME
from tests.skills.registry import LONGEST_DESCRIPTION, MOST_LINES, complaints

ROOT = Path(__file__).resolve().parents[2]
SKILL = ROOT / "skills" / "palimpsest-memory"
COMMANDS = ROOT / "commands"
PAGES = [*sorted(SKILL.rglob("*.md")), *sorted(COMMANDS.glob("*.md"))]
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
_CODE = re.compile(r"```bash\n(.*?)```|`([^`\n]+)`", re.DOTALL)


# --- the rules --------------------------------------------------------------------------------------------------


def test_the_skill_keeps_the_rules_of_the_registry() -> None:
    assert complaints(SKILL, COMMANDS) == []


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the skill and its command, to break."""
    shutil.copytree(SKILL, tmp_path / "skills" / SKILL.name)
    shutil.copytree(COMMANDS, tmp_path / "commands")
    return tmp_path


def replaced(file: str, old: str, new: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = folder / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_bytes(text.replace(old, new, 1).encode())

    return edit


_MAIN, _COMMAND = f"skills/{SKILL.name}/SKILL.md", "commands/catalog-palimpsest.md"
BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "another name": (replaced(_MAIN, "name: palimpsest-memory", "name: datahub-memory"), "the name is datahub-memory"),
    "a key missing": (replaced(_MAIN, "user-invocable: true\n", ""), "frontmatter has"),
    "a long description": (
        replaced(_MAIN, "Triggers on:", "x" * LONGEST_DESCRIPTION + " Triggers on:"), "the description has",
    ),
    "no triggers": (replaced(_MAIN, "Triggers on:", "Said:"), "the description names no triggers"),
    "an unknown skill": (replaced(_MAIN, "`/datahub-search`", "`/datahub-find`"), "/datahub-find is no skill"),
    "a path to nowhere": (
        replaced(f"skills/{SKILL.name}/references/notes.md", "# Notes", "# Notes\n\nSee `references/none.md`."),
        "references/none.md is not there",
    ),
    "a reference that is gone": (
        lambda folder: (folder / "skills" / SKILL.name / "references" / "notes.md").unlink(),
        "references/notes.md is not there",
    ),
    "a reference that nobody reads": (
        lambda folder: (folder / "skills" / SKILL.name / "references" / "new.md").write_text("# New\n") and None,
        "new.md is never referred to",
    ),
    "sections in another order": (replaced(_MAIN, "## Red Flags", "## Flags"), "its sections are"),
    "no rule between sections": (replaced(_MAIN, "---\n\n## Red Flags", "## Red Flags"), "not every section follows"),
    "a step left out": (replaced(_MAIN, "## Step 2:", "## Step 7:"), "its steps are numbered"),
    "too long": (replaced(_MAIN, "## Remember", "line\n" * MOST_LINES + "\n## Remember"), "SKILL.md has"),
    "a blank at the end of a line": (replaced(_MAIN, "## Remember\n", "## Remember \n"), "ends with a blank"),
    "carriage returns": (replaced(_MAIN, "## Remember\n", "## Remember\r\n"), "carriage returns"),
    "no final newline": (replaced(_MAIN, "is an answer.**\n", "is an answer.**"), "does not end with one newline"),
    "a table out of line": (replaced(_MAIN, "| `/datahub-lineage` |", "| `/datahub-lineage`|"), "not aligned"),
    "two evaluations": (
        lambda folder: (folder / "skills" / SKILL.name / "evaluations" / "note-not-fact.json").unlink(),
        "2 evaluations",
    ),
    "a command of another name": (replaced(_COMMAND, "name: catalog-palimpsest", "name: palimpsest"), "does not name"),
    "a command without the request": (replaced(_COMMAND, "$ARGUMENTS", "see above"), "does not hand on"),
}  # fmt: skip


@pytest.mark.parametrize(("breaks", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_each_rule_is_looked_at(breaks: Callable[[Path], object], said: str, copy: Path) -> None:
    breaks(copy)
    found = complaints(copy / "skills" / SKILL.name, copy / "commands")
    assert any(said in one for one in found), found


def test_the_skill_is_named_after_us_and_leads_back_to_the_catalogs_skills() -> None:
    text = (SKILL / "SKILL.md").read_text()
    table = text.partition("## Not This Skill")[2].partition("**Key boundary:**")[0]
    assert {"`/datahub-search`", "`/datahub-lineage`", "`/datahub-enrich`"} <= set(re.findall(r"`/[a-z-]+`", table))


def test_the_readme_tells_how_to_install_it_and_the_layout_is_what_the_installer_looks_for() -> None:
    assert "\nnpx skills add . --skill palimpsest-memory\n" in (ROOT / "README.md").read_text()
    assert [one.parent.name for one in (ROOT / "skills").glob("*/SKILL.md")] == ["palimpsest-memory"]
    assert not any(one.is_symlink() for one in SKILL.rglob("*"))


def test_the_skill_is_in_the_source_distribution() -> None:
    included = (ROOT / "pyproject.toml").read_text().partition("[tool.hatch.build.targets.sdist]")[2]
    assert {'"/skills"', '"/commands"'} <= set(included.partition("]")[0].replace(",", "").split())


# --- what it shows ----------------------------------------------------------------------------------------------


def shown(page: Path) -> list[str]:
    """The code on a page: lines of its blocks, and what stands between backticks."""
    found = []
    for block, inline in _CODE.findall(page.read_text()):
        found += block.splitlines() if block else [inline]
    return [line.strip() for line in found if line.strip()]


def commands_of(page: Path) -> list[str]:
    """The commands of ours on a page, whole ones only."""
    return list(dict.fromkeys(line for line in shown(page) if re.match(r"palimpsest (?!mcp\b|--)[a-z]+", line)))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The sample catalog, read on Monday and on Friday; a function that runs one command on it."""
    for variable in [name for name in os.environ if name.startswith(("PALIMPSEST_", "DATAHUB_", "XDG_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path / 'memory.db'}"

    def run(*arguments: str) -> str:
        capsys.readouterr()
        code = main(["--store", url, *arguments])
        out, err = capsys.readouterr()
        assert (code, "error:" in err) == (0, False), (arguments, code, err)
        return out

    for day in ("2026-03-02-monday", "2026-03-06-friday"):
        run("run", f"file:{ROOT / 'demo' / 'catalog' / f'{day}.json'}", "--source", "file")
    return run


def test_every_command_that_it_shows_runs_on_the_sample_catalog(store: Callable[..., str]) -> None:
    belief = re.findall(r"\[([0-9a-f]{12})\]", store("brief", ORDERS))[0]
    filled = {
        "<URN>": ORDERS, "<BELIEF>": belief, "<QUESTION>": "who owns the orders table", "<AGENT>": "claude-code",
        "<TASK>": "drop-discount", "<TEXT>": "Customer ids are null on Mondays",
    }  # fmt: skip
    ran = set()
    for page in sorted(PAGES, key=lambda page: page.name != "commands.md"):
        for line in commands_of(page):
            words = shlex.split(re.sub(r"<[A-Z]+>", lambda found: filled[found[0]], line))
            if len(words) > 2 and words[1] != "task":
                ran.add(words[1])
                assert store(*words[1:]), line
    tasks = [line for line in commands_of(SKILL / "references" / "commands.md") if line.startswith("palimpsest task")]
    for line in tasks:
        store(*shlex.split(re.sub(r"<[A-Z]+>", lambda found: filled[found[0]], line))[1:])
    assert {"brief", "recall", "changes", "history", "why", "note", "show"} <= ran
    assert len(tasks) >= 4
    for alone in ("status", "inbox", "beliefs", "doctor"):
        assert store(alone)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_it_names_exists(page: Path) -> None:
    from palimpsest.surfaces.cli.app import COMMANDS as KNOWN

    named = {line.split()[1].rstrip(",.;") for line in shown(page) if re.match(r"palimpsest [a-z]", line)}
    assert named <= set(KNOWN)


@pytest.mark.parametrize("page", [page for page in PAGES if "(" in page.read_text()], ids=lambda page: page.name)
def test_every_tool_call_that_it_shows_is_one_that_the_server_takes(page: Path) -> None:
    for line in shown(page):
        if not re.fullmatch(r"[a-z]+\(.*\)", line):
            continue
        call = ast.parse(line, mode="eval").body
        assert isinstance(call, ast.Call)
        assert isinstance(call.func, ast.Name)
        tool = BY_NAME[call.func.id]
        given = {str(keyword.arg) for keyword in call.keywords}
        assert not call.args
        assert given <= set(tool.takes), line
        assert set(tool.needs) <= given, line


def test_every_tool_of_the_server_is_in_the_skill() -> None:
    calls = {line.partition("(")[0] for line in shown(SKILL / "SKILL.md") if re.fullmatch(r"[a-z]+\(.*\)", line)}
    assert calls == set(BY_NAME)
