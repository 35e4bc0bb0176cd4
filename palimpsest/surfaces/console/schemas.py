"""The JSON Schema of views, for OpenAPI: frozen dataclasses of plain values. What the catalog says is any JSON."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterable
from datetime import date, datetime
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

Schema = dict[str, Any]
_PLAIN: dict[type, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    type(None): {"type": "null"},
}
_AT = "#/components/schemas/"


def document(kind: str, view: type) -> Schema:
    """The schema of one JSON document, as the command line prints them too."""
    fields = {"palimpsest": {"const": 1}, "kind": {"const": kind}, "data": {"$ref": _AT + view.__name__}}
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def components(views: Iterable[type]) -> dict[str, Schema]:
    """The schemas of views and of all that they hold, by name."""
    found: dict[str, Schema] = {}
    waiting = list(views)
    while waiting:
        view = waiting.pop()
        if view.__name__ not in found:
            found[view.__name__] = _object(view, waiting)
    return dict(sorted(found.items()))


def _object(view: type, waiting: list[type]) -> Schema:
    hints = get_type_hints(view)
    properties: Schema = {}
    for field in dataclasses.fields(view):
        is_open = field.type == "Json" or "Json" in str(field.type).replace("[", " ").replace("]", " ").split()
        properties[field.name] = {} if is_open else _schema(hints[field.name], waiting)
    return {
        "type": "object",
        "description": " ".join((view.__doc__ or "").split()),
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _schema(hint: Any, waiting: list[type]) -> Schema:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(one, waiting) for one in arguments]}
    if origin is tuple:
        return {"type": "array", "items": _schema(arguments[0], waiting)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(arguments[1], waiting)}
    if hint in _PLAIN:
        return _PLAIN[hint]
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        waiting.append(hint)
        return {"$ref": _AT + hint.__name__}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [one.value for one in hint]}
    raise TypeError(f"no view can hold {hint!r}")
