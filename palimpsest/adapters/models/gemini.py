"""Google's Gemini by its SDK `google-genai`: the answer's form is `response_json_schema`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google import genai
from google.genai import errors, types

from palimpsest.adapters.models.known import THINKING, Spending
from palimpsest.adapters.models.remote import Place
from palimpsest.adapters.models.replies import Reply, RequestFailed, count, error_in, part
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.language import Ask
from palimpsest.core.patience import Failure, delay_in, seconds_of

DEFAULT_URL = "https://generativelanguage.googleapis.com"
KEY_VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
_LITTLE = types.ThinkingConfig(thinking_level=types.ThinkingLevel.LOW)
_NONE = types.ThinkingConfig(thinking_budget=0)
_REFUSED = frozenset({"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"})


@dataclass(frozen=True, slots=True)
class GeminiWire:
    """The Gemini API."""

    place: Place

    @property
    def room(self) -> int:
        """For the models that think whatever they are told."""
        return 0 if _thinking(self.place.model) is _NONE else THINKING

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """Those of the API; the SDK wraps no other."""
        return (errors.APIError,)

    def connect(self) -> genai.Client:
        """A client that takes neither address nor key from the environment."""
        options = types.HttpOptions(
            base_url=self.place.url,
            api_version="v1beta",
            timeout=int(self.place.timeout * 1000),
            retry_options=types.HttpRetryOptions(attempts=1),
        )
        return genai.Client(vertexai=False, api_key=self.place.key, http_options=options)

    def send(self, client: genai.Client, ask: Ask) -> str:
        """One content."""
        contents = [types.Content(role="user", parts=[types.Part(text=ask.material)])]
        wanted = config(ask, self.place.model, room=self.room)
        answer = client.models.generate_content(model=self.place.model, contents=contents, config=wanted)
        return (answer.sdk_http_response and answer.sdk_http_response.body) or ""

    def failure_of(self, error: Any) -> Failure:
        """By its status, but for a wrong key, which is a 400."""
        refused = error.code == 400 and "API_KEY_INVALID" in str(error.details)
        headers = getattr(error.response, "headers", {})
        after = seconds_of(headers.get("retry-after"), headers.get("date"))
        return Failure(
            status=401 if refused else error.code,
            text=str(error.message or error.status or ""),
            retry_after=delay_in(error.details) if after is None else after,
        )

    def reply_of(self, body: dict[str, Json]) -> Reply:
        """What a content says."""
        return reply_of(body)

    def look(self, client: genai.Client) -> None:
        """Nothing: that the client could be made is enough."""


def config(ask: Ask, model: str, *, room: int) -> types.GenerateContentConfig:
    """What is asked of a content."""
    return types.GenerateContentConfig(
        system_instruction=ask.instructions,
        max_output_tokens=ask.most_tokens + room,
        response_mime_type="application/json",
        response_json_schema=ask.schema,
        thinking_config=_thinking(model),
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        should_return_http_response=True,
    )


def _thinking(model: str) -> types.ThinkingConfig | None:
    """As little as the model bears."""
    if model.startswith("gemini-2.5-flash"):
        return _NONE
    return _LITTLE if model.startswith("gemini-3") else None


def reply_of(body: dict[str, Json]) -> Reply:
    """What a content says. Raises RequestFailed for a body that is none."""
    failure = error_in(body)
    candidates, blocked = body.get("candidates"), part(body, "promptFeedback", "blockReason")
    if failure is not None or not (candidates or blocked or "usageMetadata" in body):
        raise RequestFailed(failure or Failure(status=502, text="not an answer of Gemini"))
    parts = part(body, "candidates", 0, "content", "parts")
    texts = [part(one, "text") for one in parts if not part(one, "thought")] if isinstance(parts, list) else []
    flaw = f"is a refusal (the request is blocked: {blocked})" if blocked else _flaw(body)
    return Reply(text="".join(text for text in texts if isinstance(text, str)), flaw=flaw, used=_used(body))


def _flaw(body: dict[str, Json]) -> str:
    match part(body, "candidates", 0, "finishReason"):
        case "STOP":
            return ""
        case "MAX_TOKENS":
            return "was cut off at its length limit (MAX_TOKENS)"
        case str(reason) if reason in _REFUSED:
            return f"is a refusal ({reason})"
        case None if not body.get("candidates"):
            return "is empty"
        case reason:
            return f"did not come to its end ({reason})"


def _used(body: dict[str, Json]) -> Spending:
    def counted(*names: str) -> int:
        return sum(count(body, "usageMetadata", name) for name in names)

    return Spending(
        input_tokens=counted("promptTokenCount", "toolUsePromptTokenCount"),
        output_tokens=counted("candidatesTokenCount", "thoughtsTokenCount"),
    )
