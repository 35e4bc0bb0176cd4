"""The double's REST endpoints: aspects, proposals, entities, and the OpenAPI v3 ones with conditional writes.

Each takes a `Call` and gives a `Reply`. Not here: sockets, tokens, GraphQL.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from urllib.parse import unquote

from palimpsest.adapters.datahub.cells import TIME_SERIES
from palimpsest.core.aspects.aspect import Json
from palimpsest.testing.gms import patching
from palimpsest.testing.gms.answers import World
from palimpsest.testing.gms.kinds import class_of, entity_type_of, key_aspect, key_of
from palimpsest.testing.gms.loading import body_of
from palimpsest.testing.gms.store import AspectStore, Value, Version, Write

_VERSION = "If-Version-Match"


@dataclass(frozen=True, slots=True)
class Call:
    """A request, taken apart."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Json


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered: a status and a JSON body, None for an empty one."""

    status: int
    body: Json = None
    headers: dict[str, str] = field(default_factory=dict)


class _Refused(Exception):
    """The request is answered with an error."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


@dataclass(frozen=True, slots=True)
class _Change:
    """One change of one aspect that a request asks for."""

    urn: str
    aspect: str
    kind: str
    value: Json
    system: Value
    expected: str | None


def config(version: str) -> Value:
    """What `GET /config` says: an open-source server, no `baseUrl`."""
    return {
        "models": {},
        "versions": {"acryldata/datahub": {"version": version, "commit": "double"}},
        "managedIngestion": {"defaultCliVersion": version.removeprefix("v"), "enabled": True},
        "statefulIngestionCapable": True,
        "supportsImpactAnalysis": True,
        "timeZone": "GMT",
        "telemetry": {"enabledCli": False, "enabledIngestion": False},
        "datasetUrnNameCasing": False,
        "retention": "true",
        "datahub": {"serverType": "prod", "serverEnv": "core"},
        "noCode": "true",
        "patchCapable": True,
    }


def answer(world: World, call: Call) -> Reply:
    """The reply to a REST call; 404 where there is no such endpoint."""
    parts = [unquote(part) for part in call.path.strip("/").split("/")]
    try:
        if parts[:3] == ["openapi", "v3", "entity"]:
            return _openapi(world, call, parts[4:])
        match call.method, parts:
            case "GET", ["aspects", urn]:
                return _read_aspect(world.store, urn, call.query)
            case "POST", ["aspects"]:
                return _proposals(world, call)
            case "GET", ["entitiesV2", urn]:
                return _entity(world.store, urn, call.query)
            case "POST", ["entities"] if call.query.get("action") == "delete":
                return _delete(world, _record(call.body).get("urn"))
    except _Refused as refused:
        return refused.reply
    return _no_endpoint(call)


def _openapi(world: World, call: Call, parts: list[str]) -> Reply:
    """`/openapi/v3/entity/{type}` and what is below it."""
    match call.method, parts:
        case "POST", ["batchGet"]:
            return _batch_get(world.store, call)
        case (("POST" | "PATCH"), []):
            return _write_entities(world, call)
        case (("GET" | "HEAD"), [urn]):
            return _one_entity(world.store, urn, call)
        case "DELETE", [urn]:
            return _delete(world, urn)
        case "GET", [urn, aspect]:
            return _one_aspect(world.store, urn, aspect, call)
        case (("POST" | "PATCH"), [urn, aspect]):
            return _write_aspect(world, urn, aspect, call)
        case "DELETE", [urn, aspect]:
            return _drop(world, urn, aspect)
        case _:
            return _no_endpoint(call)


def _no_endpoint(call: Call) -> Reply:
    return Reply(404, {"error": "Not Found", "message": f"There is no endpoint {call.method} {call.path}"})


def _record(value: Json) -> Value:
    return value if isinstance(value, dict) else {}


def _restli(status: int, message: str) -> Reply:
    return Reply(
        status,
        {"exceptionClass": "com.linkedin.restli.server.RestLiServiceException", "message": message, "status": status},
    )


# --- reading ------------------------------------------------------------------------------------------------------


def _read_aspect(store: AspectStore, urn: str, query: dict[str, str]) -> Reply:
    aspect = query.get("aspect", "")
    found = store.get(urn, aspect, int(query.get("version") or 0))
    if found is None:
        return _restli(404, f"Did not find urn: {urn} aspect: {aspect} version: {query.get('version', '0')}")
    return Reply(
        200,
        {
            "version": int(query.get("version") or 0),
            "aspect": {class_of(aspect): found.value},
            "systemMetadata": found.system,
            "auditStamp": found.stamp,
        },
    )


def _entity(store: AspectStore, urn: str, query: dict[str, str]) -> Reply:
    """Every aspect, or those in `aspects=List(…)`. An entity that is not there has its key all the same."""
    if not entity_type_of(urn):
        return _restli(400, f"Failed to convert urn {urn}")
    listed = re.fullmatch(r"List\((.*)\)", query.get("aspects", ""))
    wanted = listed[1].split(",") if listed else store.aspects(urn)
    aspects: Value = {name: _enveloped(name, found) for name in wanted if (found := store.get(urn, name)) is not None}
    key = key_aspect(urn)
    if key not in aspects and (listed is None or key in wanted or not store.exists(urn)):
        aspects[key] = _enveloped(key, Version(1, key_of(urn), 0, "urn:li:corpuser:__datahub_system"))
    return Reply(200, {"urn": urn, "entityName": entity_type_of(urn), "aspects": aspects})


def _enveloped(name: str, found: Version) -> Value:
    return {
        "name": name,
        "type": "VERSIONED",
        "version": 0,
        "value": found.value,
        "created": found.stamp,
        "systemMetadata": found.system,
    }


def _batch_get(store: AspectStore, call: Call) -> Reply:
    """For each URN the aspects named, each in the version that its own header asks for: 0, or an old one's number."""
    with_system = call.query.get("systemMetadata") == "true"
    answers: list[Json] = []
    for asked in call.body if isinstance(call.body, list) else []:
        entry = _record(asked)
        urn = str(entry.get("urn"))
        if not store.exists(urn):
            continue
        names = [name for name in entry if name != "urn"] or store.aspects(urn)
        shown: Value = {"urn": urn}
        for name in names:
            headers = _record(_record(entry.get(name)).get("headers"))
            version = str(headers.get(_VERSION, "0"))
            found = store.get(urn, name, int(version) if re.fullmatch(r"-?\d+", version) else 0)
            if found is not None:
                shown[name] = _shown(found, with_system=with_system)
        answers.append(shown)
    return Reply(200, answers)


def _shown(found: Version, *, with_system: bool) -> Value:
    shown: Value = {"value": found.value}
    if with_system:
        shown |= {"systemMetadata": found.system, "auditStamp": found.stamp}
    return shown


def _one_entity(store: AspectStore, urn: str, call: Call) -> Reply:
    if not store.exists(urn):
        return Reply(404)
    if call.method == "HEAD":
        return Reply(204)
    names = call.query.get("aspects", "")
    wanted = names.split(",") if names else store.aspects(urn)
    with_system = call.query.get("systemMetadata") == "true"
    shown: Value = {"urn": urn}
    for name in wanted:
        found = store.get(urn, name)
        if found is not None:
            shown[name] = _shown(found, with_system=with_system)
    return Reply(200, shown)


def _one_aspect(store: AspectStore, urn: str, aspect: str, call: Call) -> Reply:
    found = store.get(urn, aspect, int(call.query.get("version") or 0))
    if found is None:
        return Reply(404)
    return Reply(200, _shown(found, with_system=call.query.get("systemMetadata") == "true"))


# --- writing ------------------------------------------------------------------------------------------------------


def _proposals(world: World, call: Call) -> Reply:
    """`ingestProposal` and `ingestProposalBatch`."""
    action, body = call.query.get("action"), _record(call.body)
    if action == "ingestProposal":
        change = _proposal(_record(body.get("proposal")))
        _apply(world, [change], f"restli {action}", precondition=422)
        return Reply(200, {"value": change.urn})
    if action == "ingestProposalBatch":
        listed = body.get("proposals")
        changes = [_proposal(_record(entry)) for entry in (listed if isinstance(listed, list) else [])]
        _apply(world, changes, f"restli {action}", precondition=422)
        return Reply(200, {"value": "success"})
    return _restli(400, f"unknown action {action}")


def _proposal(given: Value) -> _Change:
    urn, aspect = given.get("entityUrn"), given.get("aspectName")
    if not isinstance(urn, str) or not isinstance(aspect, str) or not entity_type_of(urn):
        raise _Refused(_restli(400, "a proposal needs entityUrn and aspectName"))
    try:
        value = body_of(given.get("aspect"))
    except ValueError as error:
        raise _Refused(_restli(400, f"the aspect is no JSON: {error}")) from error
    expected = _record(given.get("headers")).get(_VERSION)
    return _Change(
        urn,
        aspect,
        str(given.get("changeType") or "UPSERT"),
        value,
        _record(given.get("systemMetadata")),
        None if expected is None else str(expected),
    )


def _write_entities(world: World, call: Call) -> Reply:
    """A list of entities with the aspects to write, each aspect with its own headers."""
    kind = "PATCH" if call.method == "PATCH" else "UPSERT"
    changes: list[_Change] = []
    for asked in call.body if isinstance(call.body, list) else []:
        entry = _record(asked)
        urn = entry.get("urn")
        if not isinstance(urn, str) or not entity_type_of(urn):
            return Reply(400, {"error": "Invalid URN", "message": f"{str(urn)[:80]} is no URN"})
        for aspect, told in entry.items():
            if aspect == "urn":
                continue
            part = _record(told)
            expected = _record(part.get("headers")).get(_VERSION)
            changes.append(
                _Change(
                    urn,
                    aspect,
                    kind,
                    part.get("value"),
                    _record(part.get("systemMetadata")),
                    None if expected is None else str(expected),
                )
            )
    _apply(world, changes, f"openapi {call.method}", precondition=412)
    shown: dict[str, Value] = {}
    for change in changes:
        found = world.store.get(change.urn, change.aspect)
        answered = shown.setdefault(change.urn, {"urn": change.urn})
        if found is not None:
            answered[change.aspect] = _shown(found, with_system=call.query.get("systemMetadata") == "true")
    return Reply(200, [*shown.values()])


def _write_aspect(world: World, urn: str, aspect: str, call: Call) -> Reply:
    """One aspect of one entity; the condition is a header of the request."""
    body = _record(call.body)
    value = body if call.method == "PATCH" else body.get("value", body)
    change = _Change(
        urn,
        aspect,
        "PATCH" if call.method == "PATCH" else "UPSERT",
        value,
        _record(body.get("systemMetadata")) if call.method != "PATCH" else {},
        call.headers.get(_VERSION.casefold()),
    )
    _apply(world, [change], f"openapi {call.method}", precondition=412)
    found = world.store.get(urn, aspect)
    shown: Json = _shown(found, with_system=call.query.get("systemMetadata") == "true") if found else None
    return Reply(200, {"urn": urn, aspect: shown})


def _apply(world: World, changes: list[_Change], way: str, *, precondition: int) -> None:
    """All changes of a request or none: the conditions of each are looked at before the first is written."""
    if not world.may_write:
        raise _Refused(Reply(403, {"error": "Unauthorized", "message": f"{world.actor} is unauthorized to edit"}))
    for change in changes:
        world.faults.write_begins(world.store, change.urn, change.aspect)
    with world.store.lock:
        for change in changes:
            _check(world, change, precondition)
        for change in changes:
            made = _perform(world, change)
            world.writes.append(Write(change.urn, change.aspect, change.kind, world.actor, way, made))
    for change in changes:
        world.faults.write_ended(world.store, change.urn, change.aspect)


def _check(world: World, change: _Change, precondition: int) -> None:
    actual = world.store.version_of(change.urn, change.aspect)
    problem = ""
    if change.kind in ("CREATE", "CREATE_ENTITY") and actual != -1:
        problem = f"Cannot perform {change.kind} since the aspect already exists."
    elif change.expected is not None and not world.faults.ignores_version_match and change.expected != str(actual):
        problem = f"Expected version {change.expected}, actual version {actual}"
    if problem and precondition == 412:
        raise _Refused(Reply(412, {"error": "Precondition Error", "message": problem}))
    if problem:
        raise _Refused(_restli(precondition, problem))


def _perform(world: World, change: _Change) -> bool:
    store = world.store
    if change.kind == "DELETE":
        return store.drop(change.urn, change.aspect)
    value = change.value
    if change.kind == "PATCH":
        held = store.get(change.urn, change.aspect)
        try:
            value = patching.apply(change.aspect, held.value if held else None, value)
        except patching.PatchError as error:
            raise _Refused(
                Reply(500, {"error": "Internal Server Error", "message": f"java.lang.NullPointerException: {error}"})
            ) from error
    if not isinstance(value, dict):
        raise _Refused(Reply(400, {"error": "Bad Request", "message": f"{change.aspect} is no record"}))
    if change.aspect in TIME_SERIES:
        return False
    return store.put(change.urn, change.aspect, json.loads(json.dumps(value)), actor=world.actor, system=change.system)


def _delete(world: World, urn: Json) -> Reply:
    if not world.may_write:
        return Reply(403, {"error": "Unauthorized", "message": f"{world.actor} is unauthorized to delete"})
    made = world.store.delete(str(urn))
    world.writes.append(Write(str(urn), key_aspect(str(urn)), "DELETE", world.actor, "delete", made))
    return Reply(200, {"value": {"urn": str(urn), "rows": int(made)}})


def _drop(world: World, urn: str, aspect: str) -> Reply:
    if not world.may_write:
        return Reply(403, {"error": "Unauthorized", "message": f"{world.actor} is unauthorized to delete"})
    made = world.store.drop(urn, aspect)
    world.writes.append(Write(urn, aspect, "DELETE", world.actor, "openapi DELETE", made))
    return Reply(200 if made else 404)
