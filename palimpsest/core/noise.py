"""What is observed and what is not: the scope of a reading and the rules that ignore machine-written noise. Pure.

A narrowed scope ends no belief: what lies outside is not observed, which says nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from palimpsest.core.entity import environment_of, platform_of

# ASPECT or ASPECT:KEYGLOB, as in `scan.ignore`. Machines write these on every run; nobody asked to be told.
DEFAULT_IGNORE = (
    "property:*transient_lastDdlTime",
    "property:*totalSize",
    "property:*rawDataSize",
    "property:*numRows",
    "property:*numFiles",
    "property:*COLUMN_STATS_ACCURATE*",
    "property:*LastAccessTime",
)
# Entities that are never observed: dbt's temporary tables, and the dated shards of sharded tables.
DEFAULT_EXCLUDE = (
    re.compile(r"__dbt_tmp\b"),
    re.compile(r"^urn:li:dataset:\(urn:li:dataPlatform:bigquery,[^,]*_(19|20)\d{6},"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which entities and cells of a source are observed. Empty tuples mean all. Patterns are globs on the URN."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    ignore: tuple[str, ...] = DEFAULT_IGNORE
    exclude_defaults: bool = True

    def admits(self, urn: str) -> bool:
        """Whether the entity is observed, as far as its URN tells; domains are judged elsewhere."""
        if self.exclude_defaults and any(pattern.search(urn) for pattern in DEFAULT_EXCLUDE):
            return False
        if self.include and not any(_glob(urn, pattern) for pattern in self.include):
            return False
        if any(_glob(urn, pattern) for pattern in self.exclude):
            return False
        if self.platforms and platform_of(urn) not in self.platforms:
            return False
        return not self.environments or environment_of(urn) in self.environments

    def ignores(self, aspect: str, key: str) -> bool:
        """Whether a cell is left out."""
        for rule in self.ignore:
            name, _, pattern = rule.partition(":")
            if name == aspect and (not pattern or fnmatchcase(key, pattern)):
                return True
        return False

    def ignored_aspects(self) -> frozenset[str]:
        """The aspects for which some rule exists: others need no look."""
        return frozenset(rule.partition(":")[0] for rule in self.ignore)


def _glob(urn: str, pattern: str) -> bool:
    """A pattern matches the whole URN, or a part of it when it has no wildcard at all."""
    if any(mark in pattern for mark in "*?["):
        return fnmatchcase(urn, pattern)
    return pattern in urn


def silencing_line(aspect: str, key: str) -> str:
    """The line for `scan.ignore` that silences a cell."""
    return f'"{aspect}:{key}"' if key else f'"{aspect}"'
