"""What a scan is asked to do, and what it works with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from palimpsest.core.aspects import RULES
from palimpsest.core.coverage import Coverage
from palimpsest.core.ids import Ids
from palimpsest.core.jsontext import dumps
from palimpsest.core.moment import Moment
from palimpsest.core.noise import Scope
from palimpsest.core.observation import Tally
from palimpsest.core.pseudonym import Pseudonyms
from palimpsest.ports import CatalogReader, Progress
from palimpsest.store.engine import Store
from palimpsest.store.runs import LastReading

Item = TypeVar("Item")

PARTS_AT_ONCE = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRequest:
    """What a scan is asked to do. `limit` reads only so many entities; such a reading ends nothing."""

    source: str
    at: Moment | None = None
    scope: Scope = field(default_factory=Scope)
    limit: int | None = None
    dry_run: bool = False
    accept_mass_change: str | None = None
    mass_share: float = 0.2
    mass_cells: int = 100


@dataclass(slots=True, kw_only=True)
class Work:
    """What the stages of one scan share: what they work with, and what they count.

    `last` is the source's newest reading before this one, `last_scope` the scope it was made under. `coverage` and
    `tally` are filled as the scan goes. `beat` renews the lease when it is time to. `names` are those that are not to
    be held, if there are any: what was observed is replaced before it is compared.
    """

    store: Store
    reader: CatalogReader
    request: ScanRequest
    ids: Ids
    progress: Progress
    beat: Callable[[], None]
    last: LastReading | None
    last_scope: Scope | None
    coverage: Coverage = field(default_factory=Coverage)
    tally: Tally = field(default_factory=Tally)
    names: Pseudonyms | None = None

    @property
    def reads_anew(self) -> bool:
        """Whether every raw aspect is compared cell by cell: the rules, or what is ignored, changed since last time."""
        if self.last is None:
            return False
        return (
            self.last.rules != RULES or self.last_scope is None or self.last_scope.ignore != self.request.scope.ignore
        )


def chunks(items: Iterator[Item], size: int = PARTS_AT_ONCE) -> Iterator[list[Item]]:
    """The items, so many at a time."""
    while chunk := list(islice(items, size)):
        yield chunk


def scope_text(scope: Scope) -> str:
    """A scope as its run keeps it."""
    return dumps(
        {
            "include": list(scope.include),
            "exclude": list(scope.exclude),
            "platforms": list(scope.platforms),
            "environments": list(scope.environments),
            "domains": list(scope.domains),
            "ignore": list(scope.ignore),
            "exclude_defaults": scope.exclude_defaults,
        }
    ).decode()


def scope_of(text: str | None) -> Scope | None:
    """The scope that a run kept."""
    if text is None:
        return None
    fields = json.loads(text)
    listed = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
    return Scope(**listed, exclude_defaults=bool(fields.get("exclude_defaults", True)))
