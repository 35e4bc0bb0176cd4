"""JSON as canonical text: sorted keys, no blanks; what digests are taken of and what values are stored as."""

from __future__ import annotations

import json

import orjson

from palimpsest.core.aspects.aspect import Json


def dumps(value: Json) -> bytes:
    """UTF-8 JSON with sorted keys. What orjson refuses (huge integers, lone surrogates) is written the slow way."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def loads(text: bytes | str) -> Json:
    """The value of JSON text. Raises ValueError when it is none."""
    try:
        parsed: Json = orjson.loads(text)
    except orjson.JSONDecodeError:
        parsed = json.loads(text)
    return parsed
