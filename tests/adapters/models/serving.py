"""A loopback server that speaks the wire formats of the four providers' language models, and fails as it is told to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.adapters.embed.serving import KEY, Fault, Serving, served

__all__ = ["KEY", "PROVIDERS", "Fault", "ServingModels", "body", "error", "serving"]
PROVIDERS = ("anthropic", "groq", "gemini", "ollama")
_PATHS = {"/v1/messages": "anthropic", "/openai/v1/chat/completions": "groq", "/api/chat": "ollama"}
# How each provider says that an answer came to its end, was cut off, or is a refusal.
REASONS = {
    "anthropic": {"end": "end_turn", "cut": "max_tokens", "refusal": "refusal"},
    "groq": {"end": "stop", "cut": "length", "refusal": "content_filter"},
    "gemini": {"end": "STOP", "cut": "MAX_TOKENS", "refusal": "SAFETY"},
    "ollama": {"end": "stop", "cut": "length", "refusal": "refusal"},
}


def body(provider: str, text: str, reason: str = "end", *, read: int = 120, written: int = 30) -> dict[str, Any]:
    """What a provider answers: a text, why it ends, and the tokens that it took to read and to write."""
    why = REASONS[provider].get(reason, reason)
    match provider:
        case "anthropic":
            return {
                "id": "msg_01", "type": "message", "role": "assistant", "model": "claude-haiku-5-5",
                "content": [{"type": "text", "text": text}] if text else [],
                "stop_reason": why, "stop_sequence": None,
                "usage": {"input_tokens": read, "cache_read_input_tokens": 0, "output_tokens": written},
            }  # fmt: skip
        case "groq":
            return {
                "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "openai/gpt-oss-20b",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": why}],
                "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
            }  # fmt: skip
        case "gemini":
            return {
                "candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, "finishReason": why}],
                "usageMetadata": {"promptTokenCount": read, "candidatesTokenCount": written - 10,
                                  "thoughtsTokenCount": 10, "totalTokenCount": read + written},
                "modelVersion": "gemini-3.8-flash",
            }  # fmt: skip
        case _:
            return {
                "model": "llama3.1:8b", "created_at": "2026-11-30T12:00:00Z", "done": True, "done_reason": why,
                "message": {"role": "assistant", "content": text},
                "prompt_eval_count": read, "eval_count": written,
            }  # fmt: skip


def error(provider: str, status: int, message: str) -> dict[str, Any]:
    """How a provider words an error."""
    match provider:
        case "anthropic":
            return {"type": "error", "error": {"type": "api_error", "message": message}, "request_id": "req_1"}
        case "groq":
            return {"error": {"message": message, "type": "invalid_request_error"}}
        case "gemini":
            return {"error": {"code": status, "message": message, "status": "INTERNAL"}}
        case _:
            return {"error": message}


class ServingModels(Serving):
    """A server at work: it answers every request with `text`, to whom has the key, and has only the models named."""

    def __init__(self, text: str = '{"answer": 1}') -> None:
        super().__init__()
        self.text = text
        self.unknown: set[str] = set()

    def answer(self, path: str, headers: dict[str, str], body_sent: dict[str, Any]) -> tuple[int, object]:
        """By the path: as which provider it is asked."""
        self.requests.append((path, headers, body_sent))
        if path == "/api/show":
            return (404, {"error": "not found"}) if body_sent["model"] in self.unknown else (200, {"details": {}})
        provider = _PATHS.get(path, "gemini")
        model = body_sent.get("model") or path.rpartition("/")[2].partition(":")[0]
        if key_in(headers) != KEY and provider != "ollama":
            return 401, error(provider, 401, f"invalid key {key_in(headers)}")
        if model in self.unknown:
            return 404, error(provider, 404, f"no model {model}")
        return 200, body(provider, self.text)

    @property
    def asked(self) -> str:
        """Everything that the last request held."""
        return json.dumps(self.requests[-1][2], ensure_ascii=False)


def key_in(headers: dict[str, str]) -> str:
    """The key that came with a request, in whichever header it is sent."""
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    return headers.get("x-api-key") or headers.get("x-goog-api-key") or bearer


@contextmanager
def serving() -> Iterator[ServingModels]:
    """A server of language models while the block lasts."""
    with served(ServingModels()) as state:
        yield state
