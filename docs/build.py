"""Writes what documentation repeats from the code: blocks of README.md and docs/estimates.md, commands, settings.

`python docs/build.py` writes; `python docs/build.py --check` writes nothing and exits 1 where a file differs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PALIMPSEST = [sys.executable, "-m", "palimpsest.surfaces.cli.app"]
_BLOCK = re.compile(r"(<!-- block: (?P<name>[^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def said(*arguments: str) -> str:
    """What the command line prints on standard output, at 100 columns."""
    plain = {**os.environ, "COLUMNS": "100", "TERMINAL_WIDTH": "100", "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*PALIMPSEST, *arguments], capture_output=True, check=True, text=True, env=plain)
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines())


def aspects() -> str:
    """The aspects by rank, each with the first sentence of its module."""
    from palimpsest.core.aspects import ASPECTS

    rows = ["| aspect | what it is |", "|---|---|"]
    for name in sorted(ASPECTS, key=lambda name: (ASPECTS[name].rank, name)):
        text = " ".join((import_module(f"palimpsest.core.aspects.{name}").__doc__ or "").split("\n\n")[0].split())
        rows.append(f"| `{name}` | {text.partition(': ')[2]} |")
    return "\n".join(rows)


def ignored() -> str:
    """The default rules of what is left out."""
    from palimpsest.core.noise import DEFAULT_EXCLUDE, DEFAULT_IGNORE

    cells = ", ".join(f"`{rule}`" for rule in DEFAULT_IGNORE)
    entities = ", ".join(f"`{pattern.pattern}`" for pattern in DEFAULT_EXCLUDE)
    return f"Cells: {cells}.\n\nEntities whose URN matches: {entities}."


def performance() -> str:
    """The table of the last benchmark that was kept, as it was printed."""
    return (ROOT / "benchmarks" / "results.md").read_text(encoding="utf-8").strip()


def estimates() -> str:
    """What a first scan takes at three sizes, by the model that `scan --estimate` uses."""
    from palimpsest.config import Settings
    from palimpsest.jobs.estimate import COSTS, of_catalog

    concurrency = Settings().datahub.concurrency
    rows = ["| datasets | source | requests | minutes | MB read | MB of store |", "|---:|---|---:|---:|---:|---:|"]
    for datasets in (500, 5_000, 50_000):
        for source in COSTS:
            one = of_catalog(source, datasets, concurrency=concurrency)
            rows.append(
                f"| {datasets:,} | `{source}` | {one.requests:,} | {one.minutes:,.1f} | {one.read_mb:,.0f} |"
                f" {one.store_mb:,.0f} |"
            )
    return "\n".join(rows)


def datahub() -> str:
    """The table of the last benchmark of live sources that was kept, as it was printed."""
    return (ROOT / "benchmarks" / "datahub.md").read_text(encoding="utf-8").strip()


def notify_rules() -> str:
    """Every key of a rule of notices."""
    from palimpsest.config import NotifyRule

    rows = ["| key | what it is | default |", "|---|---|---|"]
    for name, field in NotifyRule.model_fields.items():
        default = "" if field.is_required() else f"`{field.default!r}`"
        rows.append(f"| `{name}` | {field.description} | {default} |")
    return "\n".join(rows)


BLOCKS = {
    "palimpsest demo": lambda: "```text\n" + said("demo") + "\n```",
    "aspects": aspects,
    "ignore": ignored,
    "performance": performance,
    "estimates": estimates,
    "benchmarks.datahub": datahub,
    "notify.rules": notify_rules,
}


def blocks(name: str) -> str:
    """A file with every block made anew."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return _BLOCK.sub(lambda found: found[1] + BLOCKS[found["name"].strip()]() + "\n" + found[3], text)


def commands() -> str:
    """Every command's help."""
    from palimpsest.surfaces.cli.app import COMMANDS

    parts = ["# Commands\n\nMade by `python docs/build.py` from `--help`.\n"]
    parts.append(f"```text\n{said('--help')}\n```\n")
    for name in COMMANDS:
        parts.append(f"## palimpsest {name}\n\n```text\n{said(name, '--help')}\n```\n")
        for sub in {
            "db": ("upgrade", "status"),
            "config": ("show",),
            "console": ("serve", "export"),
            "mcp": ("config",),
        }.get(name, ()):
            parts.append(f"### palimpsest {name} {sub}\n\n```text\n{said(name, sub, '--help')}\n```\n")
    return "\n".join(parts)


def settings() -> str:
    """Every setting."""
    from palimpsest.config import all_keys

    rows = [
        "# Settings",
        "",
        "Made by `python docs/build.py`. A flag is stronger than a variable (`PALIMPSEST_SCAN__PLATFORMS`), that than",
        "the `palimpsest.toml` found from the current folder upward, that than the user's own file, that than the",
        "default.",
        "",
        "| key | what it is | default |",
        "|---|---|---|",
    ]
    for key in all_keys():
        default = "a file in the user's data folder" if key.name == "store" else f"`{key.default!r}`"
        rows.append(f"| `{key.name}` | {key.description} | {default} |")
    return "\n".join(rows) + "\n"


def main() -> int:
    """Write the files, or with --check tell which differ."""
    made = {name: blocks(name) for name in ("README.md", "docs/estimates.md", "docs/notify.md")}
    made |= {"docs/commands.md": commands(), "docs/settings.md": settings()}
    differing = [name for name, text in made.items() if _read(name) != text]
    if "--check" in sys.argv[1:]:
        for name in differing:
            sys.stdout.write(f"{name} differs from the code: run python docs/build.py\n")
        return 1 if differing else 0
    for name in differing:
        (ROOT / name).write_text(made[name], encoding="utf-8")
    return 0


def _read(name: str) -> str:
    path = ROOT / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
