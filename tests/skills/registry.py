"""The rules of the DataHub skills registry, as what a folder breaks: what its own checks and linters refuse."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

# The catalog skills that the registry's README and routing table list.
REGISTRY = {"datahub-search", "datahub-enrich", "datahub-lineage", "datahub-quality", "datahub-setup"}
KEYS = ["name", "description", "user-invocable", "min-cli-version", "allowed-tools"]
SECTIONS = [
    "Multi-Agent Compatibility",
    "Not This Skill",
    "Content Trust Boundaries",
    "Step …",
    "Reference Documents",
    "Common Mistakes",
    "Red Flags",
    "Remember",
]
LONGEST_NAME, LONGEST_DESCRIPTION, MOST_LINES, MOST_REFERENCE_LINES = 64, 1024, 500, 300
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SLASH = re.compile(r"(?<![\w/.])/(datahub-[a-z0-9-]+)\b")
_TOOL = re.compile(r"datahub-skills:(datahub-[a-z0-9-]+)\b")
_PATH = re.compile(r"`((?:references|templates|evaluations|scripts|\.\.)/[^`\s]*)`")
_COMMAND_KEYS = ["name", "description", "argument-hint"]


def complaints(skill: Path, commands: Path) -> list[str]:
    """What a skill's folder and the folder of commands break."""
    found = [*_skill(skill), *_evaluations(skill)]
    for file in sorted([*skill.rglob("*.md"), *skill.rglob("*.json"), *commands.glob("*.md")]):
        name = str(file.relative_to(skill.parent.parent))
        found += [f"{name}: {said}" for said in _form(file)]
    for file in sorted(commands.glob("*.md")):
        found += [f"commands/{file.name}: {said}" for said in _command(file, skill.name)]
    return found


def frontmatter(text: str) -> tuple[dict[str, object], str]:
    """The frontmatter of a text, and what follows it; empty where it has none."""
    match = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    if match is None:
        return {}, text
    held = yaml.safe_load(match[1])
    return (held if isinstance(held, dict) else {}), text[match.end() :]


def _skill(skill: Path) -> Iterator[str]:
    text = (skill / "SKILL.md").read_text(encoding="utf-8")
    head, body = frontmatter(text)
    if list(head) != KEYS:
        yield f"frontmatter has {list(head)}, not {KEYS}"
    name, description = str(head.get("name", "")), str(head.get("description", ""))
    if name != skill.name:
        yield f"the name is {name}, the folder {skill.name}"
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        yield f"{name} is no name"
    if len(description) > LONGEST_DESCRIPTION:
        yield f"the description has {len(description)} letters"
    if len(description.strip().splitlines()) != 1 or not description.startswith("Use this skill when "):
        yield "the description is not one paragraph that begins with its use"
    if "Triggers on: " not in description:
        yield "the description names no triggers"
    sections = [("Step …" if re.match(r"Step \d+: ", one) else one) for one in re.findall(r"^## (.*)$", body, re.M)]
    if list(dict.fromkeys(sections)) != SECTIONS:
        yield f"its sections are {sections}"
    steps = re.findall(r"^## Step (\d+): ", body, re.M)
    if steps != [str(number + 1) for number in range(len(steps))]:
        yield f"its steps are numbered {steps}"
    for part in re.split(r"\n---\n", body)[1:]:
        if not part.lstrip("\n").startswith("## "):
            yield f"a rule stands before no section: {part.strip()[:40]}"
    if len(re.findall(r"\n---\n\n## ", body)) != len(sections):
        yield "not every section follows a rule"
    if text.count("\n") > MOST_LINES:
        yield f"SKILL.md has {text.count(chr(10))} lines"
    for file in skill.glob("references/*.md"):
        if f"`references/{file.name}`" not in text:
            yield f"{file.name} is never referred to"
        if file.read_text().count("\n") > MOST_REFERENCE_LINES:
            yield f"{file.name} is too long"


def _evaluations(skill: Path) -> Iterator[str]:
    files = sorted(skill.glob("evaluations/*.json"))
    if len(files) < 3:
        yield f"{len(files)} evaluations"
    for file in files:
        held = json.loads(file.read_text())
        if list(held) != ["skills", "query", "expected_behavior"] or held["skills"] != [skill.name]:
            yield f"{file.name}: not an evaluation of {skill.name}"
        elif not held["query"] or len(held["expected_behavior"]) < 3:
            yield f"{file.name}: too little is expected"


def _command(file: Path, skill: str) -> Iterator[str]:
    head, body = frontmatter(file.read_text())
    if list(head) != _COMMAND_KEYS or head["name"] != file.stem:
        yield "frontmatter does not name it"
    if f'skill: "{skill}"' not in body or "**User's request:** $ARGUMENTS" not in body:
        yield "it does not hand on the request to the skill"
    if "\nIf no arguments provided, " not in body:
        yield "it does not say what to do without arguments"


def _form(file: Path) -> Iterator[str]:
    """What linters refuse in a file, and references in it that lead nowhere."""
    data = file.read_bytes()
    text = data.decode("utf-8")
    lines = text.split("\n")
    if "\r" in text or "\t" in text or text.startswith("\ufeff"):
        yield "carriage returns, tabs or a byte order mark"
    if lines[-1] or not lines[-2]:
        yield "does not end with one newline"
    yield from (f"line {at} ends with a blank" for at, line in enumerate(lines, 1) if line != line.rstrip())
    if file.suffix != ".md":
        return
    yield from (f"two blank lines at {at}" for at in range(1, len(lines) - 1) if not lines[at] and not lines[at - 1])
    for name in sorted({*_SLASH.findall(text), *_TOOL.findall(text)} - REGISTRY):
        yield f"/{name} is no skill of the registry"
    base = next((folder for folder in file.parents if (folder / "SKILL.md").exists()), file.parent)
    yield from (f"{path} is not there" for path in _PATH.findall(text) if not (base / path).exists())
    yield from _tables(lines)


def _tables(lines: list[str]) -> Iterator[str]:
    """Rows of a table that do not stand in columns, as prettier would write them."""
    bars: list[int] | None = None
    for at, line in enumerate(lines, 1):
        here = [match.start() for match in re.finditer(r"(?<!\\)\|", line)] if line.startswith("|") else None
        if here is not None and bars is not None and here != bars:
            yield f"line {at}: the table is not aligned"
        bars = here
