"""The models of an Ollama server by its SDK: the answer's form is `format`, which the model is not shown."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx
import ollama

from palimpsest.adapters.models.known import THINKING, Spending
from palimpsest.adapters.models.remote import Place, tokens_of, with_schema
from palimpsest.adapters.models.replies import Reply, RequestFailed, body_of, count, error_in, parsed_or_none, part
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.language import Ask
from palimpsest.core.patience import Failure, seconds_of

DEFAULT_URL = "http://127.0.0.1:11434"
KEY_VARIABLES = ("OLLAMA_API_KEY",)
_THINKS = "gpt-oss"
_SMALLEST_CONTEXT = 4_096


class Listening:
    """A client of the SDK that looks at each response first: the SDK hands on neither its headers nor its body."""

    def __init__(self, place: Place) -> None:
        self.body = ""
        headers = {"authorization": f"Bearer {place.key}"} if place.key else {}
        hooks = {"response": [self._note]}
        self.sdk = ollama.Client(host=place.url, timeout=place.timeout, headers=headers, event_hooks=hooks)

    def close(self) -> None:
        """Close the connections."""
        self.sdk.close()  # type: ignore[no-untyped-call]

    def _note(self, response: httpx.Response) -> None:
        response.read()
        if response.is_error:
            raise RequestFailed(_failure(response))
        self.body = response.text


@dataclass(frozen=True, slots=True)
class OllamaWire:
    """The chat API."""

    place: Place

    @property
    def room(self) -> int:
        """For the models that think whatever they are told."""
        return THINKING if _thinks(self.place.model) else 0

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """None: `Listening` comes before the SDK's."""
        return ()

    def connect(self) -> Listening:
        """A client that takes the address from nowhere else."""
        return Listening(self.place)

    def send(self, client: Listening, ask: Ask) -> str:
        """One turn of a chat. What the SDK finds no answer in is still the body of one."""
        client.body = ""
        with suppress(ValueError, TypeError):
            client.sdk.chat(**request(ask, self.place.model, room=self.room))
        return client.body

    def failure_of(self, error: Any) -> Failure:
        """Never asked."""
        raise error

    def reply_of(self, body: dict[str, Json]) -> Reply:
        """What a turn says."""
        return reply_of(body)

    def look(self, client: Listening) -> None:
        """Whether the server answers and has the model."""
        client.body = ""
        with suppress(ValueError, TypeError):
            client.sdk.show(self.place.model)
        body_of(client.body)


def request(ask: Ask, model: str, *, room: int) -> dict[str, Any]:
    """The parameters of a turn. Without its length a context is short, and what does not fit is cut without a word."""
    context = _SMALLEST_CONTEXT
    while context < tokens_of(ask) + ask.most_tokens + room:
        context *= 2
    return {
        "model": model,
        "messages": [{"role": "system", "content": with_schema(ask)}, {"role": "user", "content": ask.material}],
        "format": ask.schema,
        "think": "low" if _thinks(model) else False,
        "options": {"num_ctx": context, "num_predict": ask.most_tokens + room, "temperature": 0},
    }


def _thinks(model: str) -> bool:
    return model.rpartition("/")[2].startswith(_THINKS)


def reply_of(body: dict[str, Json]) -> Reply:
    """What a turn says. Raises RequestFailed for a body that is none."""
    failure = error_in(body)
    if failure is not None or not isinstance(body.get("message"), dict):
        raise RequestFailed(failure or Failure(status=502, text="not an answer of Ollama"))
    text = part(body, "message", "content")
    used = Spending(input_tokens=count(body, "prompt_eval_count"), output_tokens=count(body, "eval_count"))
    return Reply(text=text if isinstance(text, str) else "", flaw=_flaw(body), used=used)


def _flaw(body: dict[str, Json]) -> str:
    match body.get("done_reason"):
        case "stop" | None if body.get("done"):
            return ""
        case "length":
            return "was cut off at its length limit (length)"
        case "load" | "unload":
            return "is empty"
        case reason:
            return f"did not come to its end ({reason})"


def _failure(response: httpx.Response) -> Failure:
    body = parsed_or_none(response.text)
    inner = error_in(body) if isinstance(body, dict) else None
    after = seconds_of(response.headers.get("retry-after"), response.headers.get("date"))
    return Failure(status=response.status_code, text=inner.text if inner else response.text, retry_after=after)
