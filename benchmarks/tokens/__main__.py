"""Asks every question of both servers, over stdio with the official client, and prints the tokens of each as a table.

`PALIMPSEST_TEST_DATAHUB_ENV=FOLDER python -m benchmarks.tokens [--shared ../shared/data]`. A token is three bytes of
what a tool returns as text. DataHub's own MCP server is run as it comes, before the stand-in for DataHub.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import anyio
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.types import TextContent

from benchmarks.tokens.questions import QUESTIONS, Call, Question
from palimpsest.core.brief import tokens_of
from palimpsest.testing.gms import GmsDouble
from tests.building import Memory
from tests.testing.second import datahub_environment, server_environment

ROOT = Path(__file__).resolve().parents[2]
SHOWCASE = "datahub-project__datapacks__showcase-ecommerce__*.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one question took of one server: tokens, calls, and whether the answer was in what came."""

    tokens: int
    calls: int
    answered: bool


def files_of(catalog: str, shared: Path) -> list[Path]:
    """The files of a catalog, in the order of their days."""
    if catalog == "demo":
        return sorted((ROOT / "demo" / "catalog").glob("*.json"))
    return sorted((shared / "mce").glob(SHOWCASE))


def remembered(catalog: str, files: Sequence[Path], folder: Path) -> str:
    """A store that read the catalog day by day; the showcase is one day."""
    memory = Memory(folder, name=f"{catalog}.db")
    if catalog == "demo":
        for file in files:
            memory.remember(file, at=f"{file.name[:10]}T08:00:00Z")
    else:
        inside = folder / catalog
        inside.mkdir()
        for file in files:
            (inside / file.name).write_bytes(file.read_bytes())
        memory.remember(inside, at="2026-07-01T00:00:00Z")
    memory.store.dispose()
    return memory.url


def ask(given: StdioServerParameters, asked: Sequence[Sequence[Call]], home: Path) -> tuple[int, list[list[str]]]:
    """The tokens of a server's list of tools, and the texts that each series of calls returned."""

    async def main() -> tuple[int, list[list[str]]]:
        with (home / "stderr.log").open("w") as errors:
            async with stdio_client(given, errlog=errors) as (read, write), ClientSession(read, write) as session:
                await session.initialize()
                listed = (await session.list_tools()).model_dump_json(by_alias=True, exclude_none=True)
                return tokens_of(listed), [[await _text(session, call) for call in calls] for calls in asked]

    return anyio.run(main)


async def _text(session: ClientSession, call: Call) -> str:
    result = await session.call_tool(*call)
    texts = [one.text for one in result.content if isinstance(one, TextContent)]
    if result.is_error:
        raise RuntimeError(f"{call}: {texts}")
    return "".join(texts)


def measured(question: Question, texts: Sequence[str]) -> Asked:
    """What the texts that answer a question count."""
    found = any(re.search(question.answer, text) for text in texts)
    return Asked(tokens=sum(map(tokens_of, texts)), calls=len(texts), answered=found)


def run(shared: Path, folder: Path) -> Iterator[tuple[Question, Asked, Asked]]:
    """Every question with what it took of DataHub's server and of ours; the size of their lists of tools on stderr."""
    for catalog in ("demo", "showcase"):
        questions = [one for one in QUESTIONS if one.catalog == catalog]
        files = files_of(catalog, shared)
        if not files:
            sys.stderr.write(f"{catalog} is left out: it is not in {shared}\n")
            continue
        home = folder / f"home-{catalog}"
        home.mkdir()
        with GmsDouble.serving(load=files) as gms:
            theirs = StdioServerParameters(
                command=str(datahub_environment() / "bin" / "mcp-server-datahub"),
                env=server_environment(home, gms.url, gms.token),
            )
            listed, answers = ask(theirs, [one.datahub for one in questions], home)
        sys.stderr.write(f"{catalog}: DataHub's list of tools is {listed:,} tokens\n")
        url = remembered(catalog, files, folder)
        command = ["-m", "palimpsest.surfaces.cli.app", "--store", url, "mcp"]
        ours = StdioServerParameters(
            command=sys.executable, args=command, env={"HOME": str(home), "PYTHONPATH": str(ROOT)}
        )
        listed, told = ask(ours, [one.palimpsest for one in questions], home)
        sys.stderr.write(f"{catalog}: our list of tools is {listed:,} tokens\n")
        for question, their, own in zip(questions, answers, told, strict=True):
            yield question, measured(question, their), measured(question, own)


def table(rows: Sequence[tuple[Question, Asked, Asked]]) -> list[str]:
    """The rows as Markdown, with sums by catalog."""
    lines = ["| question | DataHub's MCP server | brief or changes | ratio |", "|---|---:|---:|---:|"]
    for question, their, own in rows:
        lines.append(
            f"| {question.catalog}: {question.text} | {_said(their)} | {_said(own)} | {their.tokens / own.tokens:.1f} |"
        )
    for catalog in dict.fromkeys(question.catalog for question, _, _ in rows):
        some = [(their, own) for question, their, own in rows if question.catalog == catalog]
        theirs, ours = sum(one.tokens for one, _ in some), sum(one.tokens for _, one in some)
        lines.append(f"| **{catalog}, all {len(some)}** | {theirs:,} | {ours:,} | {theirs / ours:.1f} |")
    theirs, ours = sum(one.tokens for _, one, _ in rows), sum(one.tokens for _, _, one in rows)
    lines.append(f"| **all {len(rows)}** | {theirs:,} | {ours:,} | {theirs / ours:.1f} |")
    middle = median(their.tokens / own.tokens for _, their, own in rows)
    counted = [sum(one[side].answered for one in rows) for side in (1, 2)]  # type: ignore[union-attr]
    lines += ["", f"Median of the ratios: {middle:.1f}. Answered: {counted[0]} and {counted[1]} of {len(rows)}."]
    return lines


def _said(one: Asked) -> str:
    calls = f" in {one.calls} calls" if one.calls > 1 else ""
    return f"{one.tokens:,}{calls}" + ("" if one.answered else " (not answered)")


def main() -> None:
    """Prints the table, or with --json its rows."""
    parser = argparse.ArgumentParser(prog="benchmarks.tokens", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="palimpsest-tokens-") as name:
        rows = list(run(given.shared, Path(name)))
    if given.json:
        told = [
            {"question": one.text, "catalog": one.catalog, "datahub": their.tokens, "palimpsest": own.tokens}
            for one, their, own in rows
        ]
        print(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
