"""What comes back from a server, before it is an answer: its JSON, an error in it, what the model said. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from palimpsest.adapters.models.known import Spending
from palimpsest.core import jsontext
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.patience import Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model said, and what it used. `flaw`: why it is no answer, as `the answer …` goes on; empty if it is."""

    text: str = ""
    flaw: str = ""
    used: Spending = field(default_factory=Spending)


class RequestFailed(Exception):
    """A request that failed, as a `Failure`. It never leaves this package."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.failure = failure


def body_of(text: str) -> dict[str, Json]:
    """The JSON object that a server sent. Raises RequestFailed for anything else."""
    parsed = parsed_or_none(text)
    if not isinstance(parsed, dict):
        raise RequestFailed(Failure(status=502, text=f"not an answer of a model: {text[:80]!r}"))
    return parsed


def flaw_of(text: str) -> str:
    """Why the text of a complete answer is not one JSON object; empty where it is."""
    if not text:
        return "is empty"
    parsed = parsed_or_none(text)
    if isinstance(parsed, dict):
        return ""
    return "is not JSON" if parsed is None and text != "null" else "is JSON, and no object"


def parsed_or_none(text: str) -> Json:
    """The value of JSON text; None for what is none."""
    try:
        return jsontext.loads(text)
    except (ValueError, RecursionError):
        return None


def part(value: Json, *path: str | int) -> Json:
    """What stands in a JSON value under names and positions; None where nothing does."""
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and len(value) > step:
            value = value[step]
        else:
            return None
    return value


def count(value: Json, *path: str | int) -> int:
    """A number of tokens under names and positions; 0 where there is none."""
    found = part(value, *path)
    return found if isinstance(found, int) else 0


def error_in(body: dict[str, Json]) -> Failure | None:
    """The error that a body holds in place of an answer; its status is the one it names, if it does."""
    error = body.get("error")
    if not error:
        return None
    code = part(error, "code")
    said = part(error, "message") or (error if isinstance(error, str) else json.dumps(error))
    return Failure(status=code if isinstance(code, int) and code >= 400 else 200, text=str(said))
