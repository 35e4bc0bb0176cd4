"""The models of Groq by its SDK: the answer's form is `response_format`, by schema where the model knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import groq

from palimpsest.adapters.models.known import THINKING, Spending
from palimpsest.adapters.models.remote import Place, with_schema
from palimpsest.adapters.models.replies import Reply, RequestFailed, count, error_in, part
from palimpsest.adapters.models.stainless import failure_of
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.language import Ask
from palimpsest.core.patience import Failure

DEFAULT_URL = "https://api.groq.com"
KEY_VARIABLES = ("GROQ_API_KEY",)
_THINKS = "openai/gpt-oss-"  # and keeps strictly to a schema
_BY_SCHEMA = (_THINKS, "moonshotai/kimi-k2", "meta-llama/llama-4-")
_NOT_JSON = "json_validate_failed"


@dataclass(frozen=True, slots=True)
class GroqWire:
    """The chat API."""

    place: Place

    @property
    def room(self) -> int:
        """For the models that think whatever they are told."""
        return THINKING if self.place.model.startswith(_THINKS) else 0

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """All of the SDK."""
        return (groq.GroqError,)

    def connect(self) -> groq.Groq:
        """A client that takes neither address nor key from the environment."""
        place = self.place
        return groq.Groq(api_key=place.key, base_url=place.url, timeout=place.timeout, max_retries=0)

    def send(self, client: groq.Groq, ask: Ask) -> str:
        """One turn of a chat. That the model gave no JSON is told as an error 400, and is an answer to us."""
        wanted = request(ask, self.place.model, room=self.room)
        try:
            return str(client.chat.completions.with_raw_response.create(**wanted).http_response.text)
        except groq.BadRequestError as error:
            if part(error.body, "error", "code") == _NOT_JSON:  # type: ignore[arg-type]
                return error.response.text
            raise

    def failure_of(self, error: Any) -> Failure:
        """By its status."""
        return failure_of(error)

    def reply_of(self, body: dict[str, Json]) -> Reply:
        """What a completion says."""
        return reply_of(body)

    def look(self, client: groq.Groq) -> None:
        """Nothing: that the client could be made is enough."""


def request(ask: Ask, model: str, *, room: int) -> dict[str, Any]:
    """The parameters of a completion."""
    by_schema = model.startswith(_BY_SCHEMA)
    strict = model.startswith(_THINKS) and is_strict(ask.schema)
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": ask.schema, "strict": strict}}
    wanted = {
        "model": model,
        "max_completion_tokens": ask.most_tokens + room,
        "messages": [
            {"role": "system", "content": ask.instructions if by_schema else with_schema(ask)},
            {"role": "user", "content": ask.material},
        ],
        "response_format": form if by_schema else {"type": "json_object"},
    }
    if model.startswith(_THINKS):
        return wanted | {"reasoning_effort": "low", "include_reasoning": False}
    return wanted | ({"reasoning_effort": "none"} if model.startswith("qwen/qwen3") else {})


def is_strict(schema: Json) -> bool:
    """Whether every object in a schema forbids other fields and requires all of its own, as strict answers want it."""
    match schema:
        case list():
            return all(is_strict(one) for one in schema)
        case dict():
            if "properties" in schema:
                properties, required = schema["properties"], schema.get("required")
                names = set(properties) if isinstance(properties, dict) else set()
                if schema.get("additionalProperties") is not False or not isinstance(required, list):
                    return False
                if {str(name) for name in required} != names:
                    return False
            return all(is_strict(one) for one in schema.values())
        case _:
            return True


def reply_of(body: dict[str, Json]) -> Reply:
    """What a completion says. Raises RequestFailed for a body that is none."""
    if part(body, "error", "code") == _NOT_JSON:
        return Reply(flaw="is not JSON")
    failure = error_in(body)
    if failure is not None or not isinstance(body.get("choices"), list):
        raise RequestFailed(failure or Failure(status=502, text="not an answer of Groq"))
    used = Spending(
        input_tokens=count(body, "usage", "prompt_tokens"), output_tokens=count(body, "usage", "completion_tokens")
    )
    text = part(body, "choices", 0, "message", "content")
    return Reply(text=text if isinstance(text, str) else "", flaw=_flaw(body), used=used)


def _flaw(body: dict[str, Json]) -> str:
    refusal = part(body, "choices", 0, "message", "refusal")
    match part(body, "choices", 0, "finish_reason"):
        case "content_filter":
            return "is a refusal (content_filter)"
        case _ if refusal:
            return f"is a refusal: {refusal}"
        case "stop":
            return ""
        case "length":
            return "was cut off at its length limit (length)"
        case None:
            return "is empty"
        case reason:
            return f"did not come to its end ({reason})"
