"""JSON as canonical text: sorted keys, no blanks; what digests are taken of and what values are stored as."""

from __future__ import annotations

import json

import orjson

from palimpsest.core.aspects.aspect import Json


def dumps(value: Json) -> bytes:
    """UTF-8 JSON with sorted keys. What orjson refuses is written by the slow way: huge integers, lone surrogates.

    A lone surrogate, which is no character, becomes U+FFFD; so does NUL, which not every database can hold.
    """
    try:
        written = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        written = clean(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)).encode()
    if _NUL in written:
        without = _without_nul(value)
        return written if without == value else dumps(without)
    return written


_NUL = b"\\u0000"


def _without_nul(value: Json) -> Json:
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, list):
        return [_without_nul(one) for one in value]
    if isinstance(value, dict):
        return {name.replace("\0", "\ufffd"): _without_nul(one) for name, one in value.items()}
    return value


def clean(text: str) -> str:
    """The text with every lone surrogate and every NUL as U+FFFD; such text can be encoded, stored and shown."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "\ufffd")


def loads(text: bytes | str) -> Json:
    """The value of JSON text. Raises ValueError when it is none."""
    try:
        parsed: Json = orjson.loads(text)
    except orjson.JSONDecodeError:
        parsed = json.loads(text)
    return parsed
