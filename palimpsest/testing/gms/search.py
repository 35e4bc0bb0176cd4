"""The double's search index: what DataHub's search, filters, sorting, paging, facets and scrolling promise.

The index is refreshed from the store before each question, unless it lags. A page that would end beyond the first
10,000 is an error, as in DataHub; scrolling has no such end.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.paths import simple_path
from palimpsest.testing.gms.faults import Faults
from palimpsest.testing.gms.kinds import KINDS, kind_of, parts_of
from palimpsest.testing.gms.store import AspectStore, Value

WINDOW = 10_000
_REPLACED = 5_000  # what DataHub takes in place of a larger count
_SEPARATOR = "␟"
_FACETS = {
    "_entityType": "Type",
    "platform": "Platform",
    "origin": "Environment",
    "container": "Container",
    "owners": "Owned By",
    "tags": "Tag",
    "glossaryTerms": "Glossary Term",
    "domains": "Domain",
    "typeNames": "Sub Type",
    "platformInstance": "Platform Instance",
}

Document = dict[str, tuple[str, ...]]


class SearchError(Exception):
    """The search cannot be answered."""


@dataclass(frozen=True, slots=True)
class Facet:
    """One facet: its field, its title, and its commonest values with their counts."""

    field: str
    title: str
    values: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of hits."""

    urns: list[str]
    total: int
    start: int = 0
    facets: tuple[Facet, ...] = ()
    next_scroll: str | None = None


class SearchIndex:
    """What is searchable of the store."""

    def __init__(self, store: AspectStore, faults: Faults) -> None:
        self.store = store
        self.faults = faults
        self._documents: dict[str, Document] = {}
        self._in_order: list[str] = []
        self._answers: dict[str, tuple[list[str], tuple[Facet, ...]]] = {}

    def refresh(self) -> None:
        """Take in what was written."""
        changed, self.store.changed = self.store.changed, set()
        for urn in changed:
            if self.store.exists(urn):
                self._documents[urn] = _document(self.store, urn)
            else:
                self._documents.pop(urn, None)
        if changed:
            self._answers.clear()
            if len(self._in_order) != len(self._documents) or not changed.issubset(self._documents):
                self._in_order = sorted(self._documents)

    def search(self, given: Value, flags: Value) -> Page:
        """A page by `start` and `count`. Raises SearchError."""
        start, count = _whole(given.get("start"), 0), _whole(given.get("count"), 10)
        if start + count > WINDOW:
            raise SearchError(
                f"Result window is too large, from + size must be less than or equal to: [{WINDOW}] "
                f"but was [{start + count}]"
            )
        urns, facets = self._answer(given, flags)
        return Page(urns[start : start + count], len(urns), start, () if flags.get("skipAggregates") else facets)

    def scroll(self, given: Value, flags: Value) -> Page:
        """A page that follows the one whose `scrollId` is given. Raises SearchError."""
        count = _whole(given.get("count"), 10)
        if count > WINDOW:
            count = _REPLACED
        urns, facets = self._answer(given, flags)
        first = 0
        if given.get("scrollId"):
            first = _first_after(urns, str(given["scrollId"]))
        page = urns[first : first + count]
        following = _scroll_id(page[-1], first + len(page)) if len(page) == count and count else None
        return Page(page, len(urns), first, () if flags.get("skipAggregates") else facets, following)

    def within(self, urns: Iterable[str], given: Value, flags: Value) -> list[str]:
        """Those of the URNs that the filters leave, in the order given."""
        self._fresh()
        keep = _filter_of(given, flags, skip=frozenset({"degree"}))
        return [urn for urn in urns if (document := self._documents.get(urn)) is not None and keep(urn, document)]

    def facets_of(self, urns: Iterable[str], most: int = 20) -> tuple[Facet, ...]:
        """The facets over some URNs."""
        return _facets((self._documents[urn] for urn in urns if urn in self._documents), most)

    def _fresh(self) -> None:
        if not self.faults.search_lags:
            self.refresh()

    def _answer(self, given: Value, flags: Value) -> tuple[list[str], tuple[Facet, ...]]:
        self._fresh()
        asked = {name: part for name, part in given.items() if name not in ("start", "count", "scrollId", "keepAlive")}
        key = json.dumps([asked, flags], sort_keys=True)
        found = self._answers.get(key)
        if found is None:
            keep = _filter_of(given, flags)
            urns = [urn for urn in self._in_order if keep(urn, self._documents[urn])]
            urns = _sorted(urns, self._documents, given.get("sortInput"))
            most = _whole(flags.get("maxAggValues"), 20)
            facets = () if flags.get("skipAggregates") else _facets((self._documents[urn] for urn in urns), most)
            found = self._answers[key] = urns, facets
        return found


def _whole(value: Json, default: int) -> int:
    return max(0, value) if isinstance(value, int) and not isinstance(value, bool) else default


def _scroll_id(urn: str, position: int) -> str:
    return base64.urlsafe_b64encode(json.dumps({"sort": [urn], "position": position}).encode()).decode()


def _first_after(urns: list[str], scroll_id: str) -> int:
    """Where to go on: after the last URN of the page before, or where it was if it is no longer there."""
    try:
        told = json.loads(base64.urlsafe_b64decode(scroll_id.encode()))
        last, position = str(told["sort"][0]), int(told["position"])
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise SearchError(f"scrollId {scroll_id[:40]} is not valid") from error
    if position <= len(urns) and position and urns[position - 1] == last:
        return position
    return urns.index(last) + 1 if last in urns else sum(urn <= last for urn in urns)


def _sorted(urns: list[str], documents: dict[str, Document], given: Json) -> list[str]:
    """In the order asked for; by URN without any."""
    if not isinstance(given, dict):
        return urns
    criteria = given.get("sortCriteria") or [given.get("sortCriterion")]
    for criterion in reversed(criteria if isinstance(criteria, list) else []):
        if isinstance(criterion, dict):
            name = str(criterion.get("field")).removesuffix(".keyword")
            backwards = criterion.get("sortOrder") == "DESCENDING"
            urns = sorted(urns, key=_by(documents, name), reverse=backwards)
    return urns


def _by(documents: dict[str, Document], name: str) -> Callable[[str], tuple[str, ...]]:
    return lambda urn: (urn,) if name == "urn" else documents[urn].get(name, ())


def _facets(documents: Iterable[Document], most: int) -> tuple[Facet, ...]:
    counts: dict[str, Counter[str]] = {name: Counter() for name in _FACETS}
    for document in documents:
        for name, counter in counts.items():
            counter.update(document.get(name, ()))
    return tuple(
        Facet(name, _FACETS[name], tuple(sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))[:most]))
        for name, counter in counts.items()
        if counter
    )


# --- filters ------------------------------------------------------------------------------------------------------

Keep = Callable[[str, Document], bool]


def _filter_of(given: Value, flags: Value, skip: frozenset[str] = frozenset()) -> Keep:
    """The test for one document: types, query text, filters, and no soft-deleted one unless it is asked for."""
    types = given.get("types")
    wanted = {str(name) for name in types} if isinstance(types, list) and types else None
    kinds = frozenset(kind.enum for kind in KINDS.values() if kind.searchable and (not wanted or kind.enum in wanted))
    words = _words(given.get("query"))
    alternatives = _alternatives(given)
    asks_removed = any(_field(rule) == "removed" for rules in alternatives for rule in rules)
    hide_removed = not asks_removed and flags.get("includeSoftDeleted") is not True
    tests = [[_rule(rule) for rule in rules if _field(rule) not in skip] for rules in alternatives]

    def keep(urn: str, document: Document) -> bool:
        if kinds.isdisjoint(document["_entityType"]):
            return False
        if hide_removed and document.get("removed") == ("true",):
            return False
        if words and not all(any(word in text for text in document["_text"]) for word in words):
            return False
        return not tests or any(all(test(urn, document) for test in either) for either in tests)

    return keep


def _alternatives(given: Value) -> list[list[Value]]:
    """The filters as alternatives of conjunctions."""
    either = given.get("orFilters")
    found: list[list[Value]] = []
    for entry in either if isinstance(either, list) else []:
        rules = entry.get("and") if isinstance(entry, dict) else None
        found.append([rule for rule in rules if isinstance(rule, dict)] if isinstance(rules, list) else [])
    plain = given.get("filters")
    if isinstance(plain, list) and plain:
        found.append([rule for rule in plain if isinstance(rule, dict)])
    return found


def _field(rule: Value) -> str:
    return str(rule.get("field")).removesuffix(".keyword")


def _words(query: Json) -> list[str]:
    text = str(query or "*").strip()
    text = text.removeprefix("/q").strip()
    words = (word.strip("\"'()+").rsplit(":", 1)[-1].strip("*") for word in text.split())
    return [word.casefold() for word in words if word and word not in ("AND", "OR", "NOT")]


def _rule(rule: Value) -> Keep:
    """The test that one filter is, taken apart once for all documents."""
    name = _field(rule)
    name = _ALIASES.get(name, name)
    listed = rule.get("values")
    wanted = [str(value) for value in listed] if isinstance(listed, list) else []
    matches = _condition(str(rule.get("condition") or "EQUAL"), wanted)
    negated = rule.get("negated") is True

    def holds(urn: str, document: Document) -> bool:
        return matches((urn,) if name == "urn" else document.get(name, ())) is not negated

    return holds


_ALIASES = {
    "env": "origin",
    "fieldTags": "fieldTags",
    "platformInstance.instance": "platformInstance",
    "entityType": "_entityType",
}


def _condition(condition: str, wanted: list[str]) -> Callable[[tuple[str, ...]], bool]:
    """Whether the values of a field match."""
    if condition == "EXISTS":
        return bool
    tests: dict[str, Callable[[str, str], bool]] = {
        "CONTAIN": lambda value, part: part.casefold() in value.casefold(),
        "START_WITH": lambda value, part: value.startswith(part),
        "END_WITH": lambda value, part: value.endswith(part),
        "IEQUAL": lambda value, part: value.casefold() == part.casefold(),
        "GREATER_THAN": lambda value, part: _number(value) > _number(part),
        "GREATER_THAN_OR_EQUAL_TO": lambda value, part: _number(value) >= _number(part),
        "LESS_THAN": lambda value, part: _number(value) < _number(part),
        "LESS_THAN_OR_EQUAL_TO": lambda value, part: _number(value) <= _number(part),
    }
    test = tests.get(condition)
    if test is not None:
        return lambda found: any(test(value, part) for value in found for part in wanted)
    one_of = frozenset(wanted)  # EQUAL, IN, and the ones that take relatives in, which the double leaves out
    return lambda found: not one_of.isdisjoint(found)


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return float("nan")


# --- documents ----------------------------------------------------------------------------------------------------


def _document(store: AspectStore, urn: str) -> Document:
    """What is searchable of one entity."""
    kind = kind_of(urn)
    found: dict[str, list[str]] = {"_entityType": [kind.enum] if kind else []}
    parts = parts_of(urn)
    _places(store, urn, kind.name if kind else "", parts, found)
    for aspect, member, names in _MEMBERS:
        listed = store.value(urn, aspect).get(member)
        for entry in listed if isinstance(listed, list) else []:
            value = entry.get(names) if isinstance(entry, dict) else entry
            if isinstance(value, str):
                found.setdefault(_FIELDS[aspect], []).append(value)
    removed = store.value(urn, "status").get("removed")
    if isinstance(removed, bool):
        found["removed"] = [str(removed).lower()]
    container = store.value(urn, "container").get("container")
    if isinstance(container, str):
        found["container"] = [container]
    found["browsePathV2"] = _browse_path(store, urn)
    deprecated = store.value(urn, "deprecation").get("deprecated")
    if isinstance(deprecated, bool):
        found["deprecated"] = [str(deprecated).lower()]
    _properties(store, urn, kind.properties if kind else "", parts, found)
    _columns(store, urn, found)
    return {name: tuple(dict.fromkeys(values)) for name, values in found.items()}


_MEMBERS = (
    ("ownership", "owners", "owner"),
    ("globalTags", "tags", "tag"),
    ("glossaryTerms", "terms", "urn"),
    ("domains", "domains", ""),
    ("subTypes", "typeNames", ""),
)
_FIELDS = {
    "ownership": "owners",
    "globalTags": "tags",
    "glossaryTerms": "glossaryTerms",
    "domains": "domains",
    "subTypes": "typeNames",
}


def _places(store: AspectStore, urn: str, kind: str, parts: list[str], found: dict[str, list[str]]) -> None:
    placed = store.value(urn, "dataPlatformInstance")
    platform, instance = placed.get("platform"), placed.get("instance")
    if isinstance(instance, str):
        found["platformInstance"] = [instance]
    if kind in ("dataset", "mlModel", "mlModelGroup", "mlFeatureTable"):
        platform = parts[0]
    elif not isinstance(platform, str) and kind in ("dashboard", "chart", "dataFlow", "notebook"):
        platform = f"urn:li:dataPlatform:{parts[0]}"
    if isinstance(platform, str):
        found["platform"] = [platform]
    if kind in ("dataset", "mlModel", "mlModelGroup") and len(parts) == 3:
        found["origin"] = [parts[2]]


def _browse_path(store: AspectStore, urn: str) -> list[str]:
    """The browse path as one text; where there is none, DataHub makes one of the containers around the entity."""
    told = store.value(urn, "browsePathsV2").get("path")
    names = [str(entry.get("urn") or entry.get("id")) for entry in told if isinstance(entry, dict)] if isinstance(
        told, list
    ) else []  # fmt: skip
    at = store.value(urn, "container").get("container") if not names else None
    while isinstance(at, str) and at not in names:
        names.insert(0, at)
        at = store.value(at, "container").get("container")
    return ["".join(_SEPARATOR + name for name in names)] if names else []


def _properties(store: AspectStore, urn: str, aspect: str, parts: list[str], found: dict[str, list[str]]) -> None:
    value = store.value(urn, aspect)
    texts = [urn]
    named = value.get("name") or value.get("title") or value.get("displayName")
    name = named if isinstance(named, str) else (parts[1] if len(parts) > 1 else parts[0] if parts else urn)
    found["name"] = [name]
    texts.append(name)
    for part in (value, store.value(urn, "editableDatasetProperties")):
        description = part.get("description") or part.get("definition")
        if isinstance(description, str):
            found.setdefault("description", []).append(description)
            texts.append(description)
    custom = value.get("customProperties")
    if isinstance(custom, dict):
        found["customProperties"] = [f"{key}={text}" for key, text in custom.items()]
    found["_text"] = [text.casefold() for text in texts]
    structured = store.value(urn, "structuredProperties").get("properties")
    for entry in structured if isinstance(structured, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("values"), list):
            spelled = [
                str(next(iter(held.values()))) if isinstance(held, dict) and held else str(held)
                for held in entry["values"]  # type: ignore[union-attr]
            ]
            name = str(entry.get("propertyUrn")).removeprefix("urn:li:structuredProperty:")
            found[f"structuredProperties.{name}"] = spelled


def _columns(store: AspectStore, urn: str, found: dict[str, list[str]]) -> None:
    listed = store.value(urn, "schemaMetadata").get("fields")
    paths = [simple_path(str(entry.get("fieldPath"))) for entry in listed if isinstance(entry, dict)] if isinstance(
        listed, list
    ) else []  # fmt: skip
    if paths:
        found["fieldPaths"] = paths
