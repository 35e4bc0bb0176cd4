"""JSON as canonical text: sorted keys, no blanks; what digests are taken of and what values are stored as."""

from __future__ import annotations

import json

import orjson

from palimpsest.core.aspects.aspect import Json


def dumps(value: Json) -> bytes:
    """UTF-8 JSON with sorted keys. What orjson refuses is written by the slow way: huge integers, lone surrogates.

    A lone surrogate, which is no character, becomes U+FFFD.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return clean(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)).encode()


def clean(text: str) -> str:
    """The text with every lone surrogate as U+FFFD; such text can be encoded, stored and shown."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def loads(text: bytes | str) -> Json:
    """The value of JSON text. Raises ValueError when it is none."""
    try:
        parsed: Json = orjson.loads(text)
    except orjson.JSONDecodeError:
        parsed = json.loads(text)
    return parsed
