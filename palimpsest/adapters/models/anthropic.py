"""Anthropic's models by its SDK: the answer's form is `output_config.format`, which Claude 4.5 and later know.

Not a forced tool: the newer models refuse one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import anthropic

from palimpsest.adapters.models.known import THINKING, Spending
from palimpsest.adapters.models.remote import Place
from palimpsest.adapters.models.replies import Reply, RequestFailed, count, error_in, part
from palimpsest.adapters.models.stainless import failure_of
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.language import Ask
from palimpsest.core.patience import Failure

DEFAULT_URL = "https://api.anthropic.com"
KEY_VARIABLES = ("ANTHROPIC_API_KEY",)
# How a model that thinks unless told otherwise is told; the generation before these thinks only if asked to.
_NOT_THINKING = {"claude-haiku-5-5": "disabled", "claude-sonnet-5-5": "between_tools", "claude-sonnet-5": "disabled"}
_THINKS_IF_ASKED = ("claude-haiku-4", "claude-sonnet-4", "claude-opus-4")
_CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
_COMPLETE = frozenset({"end_turn", "stop_sequence"})


@dataclass(frozen=True, slots=True)
class AnthropicWire:
    """The Messages API."""

    place: Place

    @property
    def room(self) -> int:
        """None for a model that can be told not to think."""
        model = self.place.model
        return 0 if model in _NOT_THINKING or model.startswith(_THINKS_IF_ASKED) else THINKING

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """All of the SDK."""
        return (anthropic.AnthropicError,)

    def connect(self) -> anthropic.Anthropic:
        """A client that takes neither address nor key from the environment."""
        place = self.place
        return anthropic.Anthropic(api_key=place.key, base_url=place.url, timeout=place.timeout, max_retries=0)

    def send(self, client: anthropic.Anthropic, ask: Ask) -> str:
        """One message."""
        wanted = request(ask, self.place.model, room=self.room)
        return str(client.messages.with_raw_response.create(**wanted).http_response.text)

    def failure_of(self, error: Any) -> Failure:
        """By its status."""
        return failure_of(error)

    def reply_of(self, body: dict[str, Json]) -> Reply:
        """What a message says."""
        return reply_of(body)

    def look(self, client: anthropic.Anthropic) -> None:
        """Nothing: that the client could be made is enough."""


def request(ask: Ask, model: str, *, room: int) -> dict[str, Any]:
    """The parameters of a message."""
    schema = anthropic.transform_schema(ask.schema)
    wanted = {
        "model": model,
        "max_tokens": ask.most_tokens + room,
        "system": ask.instructions,
        "messages": [{"role": "user", "content": ask.material}],
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
    }
    return wanted | ({"thinking": {"type": _NOT_THINKING[model]}} if model in _NOT_THINKING else {})


def reply_of(body: dict[str, Json]) -> Reply:
    """What a message says. Raises RequestFailed for a body that is none."""
    failure = error_in(body)
    blocks = body.get("content")
    if failure is not None or not isinstance(blocks, list):
        raise RequestFailed(failure or Failure(status=502, text="not an answer of Anthropic"))
    text = "".join(str(part(block, "text")) for block in blocks if part(block, "type") == "text")
    return Reply(text=text, flaw=_flaw(body), used=_used(body))


def _flaw(body: dict[str, Json]) -> str:
    match body.get("stop_reason"):
        case reason if reason in _COMPLETE:
            return ""
        case reason if reason in _CUT:
            return f"was cut off at its length limit ({reason})"
        case "refusal":
            why = part(body, "stop_details", "explanation") or part(body, "stop_details", "category")
            return f"is a refusal{f': {why}' if why else ''}"
        case reason:
            return f"did not come to its end ({reason})"


def _used(body: dict[str, Json]) -> Spending:
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    read = sum(count(body, "usage", name) for name in names)
    return Spending(input_tokens=read, output_tokens=count(body, "usage", "output_tokens"))
