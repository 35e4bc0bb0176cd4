"""The double's GraphQL: our schema executed by graphql-core over the store, the search index and the lineage.

A query is parsed and executed, never recognised by its text. Not here: HTTP; single fields of entities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLResolveInfo,
    GraphQLSchema,
    GraphQLUnionType,
    build_schema,
    execute_sync,
    get_named_type,
    parse,
    validate,
)

from palimpsest.core.aspects.aspect import Json
from palimpsest.testing.gms import links
from palimpsest.testing.gms.entities import COMMON, OWN
from palimpsest.testing.gms.entity import Entity, Made, Resolve, entity_of, system_error
from palimpsest.testing.gms.faults import Faults
from palimpsest.testing.gms.kinds import KINDS
from palimpsest.testing.gms.lineage import Lineage, Reached
from palimpsest.testing.gms.search import Facet, Page, SearchError, SearchIndex
from palimpsest.testing.gms.store import AspectStore, Value, Write

_TYPE_NAMES = frozenset(kind.type_name for kind in KINDS.values())
_LINEAGE_MOST = 10_000
_REPLACED = 5_000


@dataclass(frozen=True, slots=True)
class World:
    """What a query is answered from, and for whom."""

    store: AspectStore
    index: SearchIndex
    lineage: Lineage
    faults: Faults
    actor: str
    may_write: bool
    writes: list[Write]
    version: str


def execute(world: World, body: Value) -> Value:
    """The answer to `{query, variables, operationName}`, as the JSON body of DataHub's reply."""
    text = body.get("query")
    if not isinstance(text, str):
        return {"errors": [_error("InvalidSyntax : there is no query")]}
    document, problems = _checked(text)
    if document is None:
        return {"errors": [_error(problem) for problem in problems]}
    variables = body.get("variables")
    name = body.get("operationName")
    result = execute_sync(
        schema(),
        document,
        context_value=world,
        variable_values=variables if isinstance(variables, dict) else {},
        operation_name=name if isinstance(name, str) else None,
    )
    answer: Value = {"data": result.data}
    if result.errors:
        answer["errors"] = [_formatted(error) for error in result.errors]
    return answer


def operation_of(text: str) -> str:
    """The name of the first operation in a query; empty where it has none or is no query."""
    document, _ = _checked(text)
    for definition in document.definitions if document else ():
        name = getattr(definition, "name", None)
        if type(definition).__name__ == "OperationDefinitionNode":
            return str(name.value) if name else ""
    return ""


def _error(message: str) -> Value:
    return {"message": message, "extensions": {"classification": message.split(" ", 1)[0]}}


def _formatted(error: GraphQLError) -> Value:
    shown: Value = {"message": error.message}
    if error.path:
        shown["path"] = list(error.path)
    if error.locations:
        shown["locations"] = [{"line": place.line, "column": place.column} for place in error.locations]
    shown["extensions"] = dict(error.extensions) if error.extensions else {
        "code": 500, "type": "SERVER_ERROR", "classification": "DataFetchingException",
    }  # fmt: skip
    return shown


@lru_cache(maxsize=128)
def _checked(text: str) -> tuple[DocumentNode | None, tuple[str, ...]]:
    """The parsed query, or what is wrong with it, in the words of DataHub's GraphQL library."""
    try:
        document = parse(text)
    except GraphQLError as error:
        return None, (f"InvalidSyntax : {error.message}",)
    problems = [error.message for error in validate(schema(), document) if "is never used" not in error.message]
    if problems:
        return None, tuple(
            f"Validation error (FieldUndefined) : {problem}"
            if problem.startswith("Cannot query field")
            else f"Validation error (ValidationError) : {problem}"
            for problem in problems
        )
    return document, ()


@lru_cache(maxsize=1)
def schema() -> GraphQLSchema:
    """The schema, with a resolver at every field."""
    text = (resources.files("palimpsest.testing.gms") / "schema.graphql").read_text("utf-8")
    built = build_schema(text)
    for type_ in built.type_map.values():
        if isinstance(type_, GraphQLInterfaceType | GraphQLUnionType):
            type_.resolve_type = _type_of
        if isinstance(type_, GraphQLObjectType) and not type_.name.startswith("__"):
            for name, field in type_.fields.items():
                field.resolve = _resolver(type_.name, name, str(get_named_type(field.type)))
    return built


def _type_of(value: Any, _info: GraphQLResolveInfo[Any], _type: object) -> str | None:
    if isinstance(value, Entity):
        return value.kind.type_name
    return str(value["__typename"]) if isinstance(value, dict) else None


def _resolver(type_name: str, name: str, made: str) -> Callable[..., Made]:
    root = _ROOTS.get((type_name, name))
    if root is not None:
        return lambda _source, info, **args: root(info.context, args)
    if type_name in _TYPE_NAMES:
        own = OWN.get((type_name, name)) or COMMON.get(name)
        return _of_entity(own, name)
    if made in _TYPE_NAMES or made in ("Entity", "OwnerType", "ResolvedActor"):
        return lambda source, info, **_args: _referred(info.context, source.get(name))
    return lambda source, _info, **_args: source.get(name) if isinstance(source, dict) else None


def _referred(world: World, value: Made) -> Made:
    """The entities that an aspect names by their URNs; anything else as it is."""
    if isinstance(value, list):
        return [_referred(world, part) for part in value]
    return entity_of(world, value) if isinstance(value, str) else value


def _of_entity(resolve: Resolve | None, name: str) -> Callable[..., Made]:
    spared = name in ("urn", "type")

    def answer(source: Entity, _info: GraphQLResolveInfo[Any], **args: Json) -> Made:
        if not spared and source.urn in source.world.faults.broken:
            raise system_error(f"An unknown error occurred while fetching {source.urn}.")
        return resolve(source, args) if resolve else None

    return answer


# --- what may be asked --------------------------------------------------------------------------------------------


def _input(args: Value) -> Value:
    given = args.get("input")
    return given if isinstance(given, dict) else {}


def _flags(given: Value) -> Value:
    flags = given.get("searchFlags")
    return flags if isinstance(flags, dict) else {}


def _entity(world: World, args: Value) -> Made:
    return entity_of(world, args.get("urn"))


def _one(kind: str) -> Callable[[World, Value], Made]:
    def resolve(world: World, args: Value) -> Made:
        found = entity_of(world, args.get("urn"))
        return found if found is not None and found.kind.name == kind else None

    return resolve


def _entities(world: World, args: Value) -> Made:
    urns = args.get("urns")
    asked = urns if isinstance(urns, list) else []
    check = args.get("checkForExistence") is True
    found = [entity_of(world, urn) for urn in asked]
    return [entity if entity and not (check and not world.store.exists(entity.urn)) else None for entity in found]


def _shown(world: World, page: Page) -> list[dict[str, Made]]:
    """The hits of a page; a page that is to come short lacks some, and does not say so."""
    urns = world.faults.shortened(page.urns)
    return [
        {"entity": entity_of(world, urn), "matchedFields": [], "extraProperties": _extra(world, urn)} for urn in urns
    ]


def _extra(world: World, urn: str) -> list[dict[str, Made]]:
    name = world.store.value(urn, "datasetProperties").get("name")
    return [{"name": "urn", "value": f'"{urn}"'}, {"name": "name", "value": f'"{name}"'}]


def _facets(world: World, facets: tuple[Facet, ...]) -> list[dict[str, Made]]:
    return [
        {
            "field": facet.field,
            "displayName": facet.title,
            "aggregations": [
                {"value": value, "count": count, "displayName": None, "entity": entity_of(world, value)}
                for value, count in facet.values
            ],
        }
        for facet in facets
    ]


def _search(world: World, args: Value) -> Made:
    given = _input(args)
    if isinstance(given.get("type"), str):
        given = {**given, "types": [given["type"]]}
    try:
        page = world.index.search(given, _flags(given))
    except SearchError as error:
        raise system_error(f"Failed to execute search: {error}") from error
    hits = _shown(world, page)
    return {
        "start": page.start,
        "count": len(hits),
        "total": page.total,
        "searchResults": hits,
        "facets": _facets(world, page.facets),
    }


def _scroll(world: World, args: Value) -> Made:
    given = _input(args)
    try:
        page = world.index.scroll(given, _flags(given))
    except SearchError as error:
        raise system_error(f"Failed to execute scroll: {error}") from error
    hits = _shown(world, page)
    return {
        "nextScrollId": page.next_scroll,
        "count": len(hits),
        "total": page.total,
        "searchResults": hits,
        "facets": _facets(world, page.facets),
    }


def _search_lineage(world: World, args: Value) -> Made:
    given = _input(args)
    flags = _flags(given)
    reached = world.lineage.reach(
        str(given.get("urn")), str(given.get("direction")), skip_cache=flags.get("skipCache") is True
    )
    near = [found for found in reached if _near(found, given)]
    alive = set(world.index.within((found.urn for found in near), given, flags))
    found = [entry for entry in near if entry.urn in alive]
    start, count = _whole(given.get("start"), 0), _whole(given.get("count"), 10)
    if count > _LINEAGE_MOST:
        count = _REPLACED
    page = found[start : start + count]
    shown = set(world.faults.shortened([entry.urn for entry in page]))
    hits = [_lineage_hit(world, entry) for entry in page if entry.urn in shown]
    return {
        "start": start,
        "count": len(hits),
        "total": len(found),
        "searchResults": hits,
        "facets": _facets(world, world.index.facets_of([entry.urn for entry in found])),
    }


def _whole(value: Json, default: int) -> int:
    return max(0, value) if isinstance(value, int) and not isinstance(value, bool) else default


def _lineage_hit(world: World, entry: Reached) -> dict[str, Made]:
    return {
        "entity": entity_of(world, entry.urn),
        "degree": entry.degree,
        "paths": [{"path": [entity_of(world, urn) for urn in path]} for path in entry.paths],
        "matchedFields": [],
    }


def _near(found: Reached, given: Value) -> bool:
    """Whether the filters on `degree` (1, 2, 3+) let it pass."""
    spelled = str(found.degree) if found.degree < 3 else "3+"
    either = given.get("orFilters")
    alternatives = [entry.get("and") for entry in either if isinstance(entry, dict)] if isinstance(either, list) else []
    if not alternatives:
        return True
    return any(
        all(
            not isinstance(rule, dict)
            or rule.get("field") != "degree"
            or (isinstance(values := rule.get("values"), list) and spelled in values)
            for rule in (rules if isinstance(rules, list) else [])
        )
        for rules in alternatives
    )


def _me(world: World, _: Value) -> Made:
    return {"corpUser": entity_of(world, world.actor)}


def _link(change: Callable[[World, Value], bool]) -> Callable[[World, Value], Made]:
    return lambda world, args: change(world, _input(args))


_ROOTS: dict[tuple[str, str], Callable[[World, Value], Made]] = {
    ("Query", "entity"): _entity,
    ("Query", "entities"): _entities,
    ("Query", "entityExists"): lambda world, args: world.store.exists(str(args.get("urn"))),
    ("Query", "dataset"): _one("dataset"),
    ("Query", "dashboard"): _one("dashboard"),
    ("Query", "chart"): _one("chart"),
    ("Query", "dataJob"): _one("dataJob"),
    ("Query", "dataFlow"): _one("dataFlow"),
    ("Query", "container"): _one("container"),
    ("Query", "domain"): _one("domain"),
    ("Query", "glossaryTerm"): _one("glossaryTerm"),
    ("Query", "tag"): _one("tag"),
    ("Query", "search"): _search,
    ("Query", "searchAcrossEntities"): _search,
    ("Query", "scrollAcrossEntities"): _scroll,
    ("Query", "searchAcrossLineage"): _search_lineage,
    ("Query", "listQueries"): lambda _world, _: {"start": 0, "count": 0, "total": 0, "queries": []},
    ("Query", "me"): _me,
    ("Query", "appConfig"): lambda world, _: {"appVersion": world.version},
    ("Query", "globalViewsSettings"): lambda _world, _: {"defaultView": None},
    ("Mutation", "addLink"): _link(links.add),
    ("Mutation", "upsertLink"): _link(links.upsert),
    ("Mutation", "updateLink"): _link(links.update),
    ("Mutation", "removeLink"): _link(links.remove),
}
