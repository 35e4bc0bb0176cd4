"""What each provider is sent, and what its replies mean: pure, on replies of the recorded shape."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest.adapters.models import anthropic, gemini, groq, ollama
from palimpsest.adapters.models.known import THINKING, Price, Spending, price_of
from palimpsest.adapters.models.remote import Place, sendable, tokens_of
from palimpsest.adapters.models.replies import Reply, RequestFailed
from palimpsest.core.language import Ask

CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {"verdicts": {"type": "array", "items": {"$ref": "#/$defs/one"}}},
    "required": ["verdicts"],
    "additionalProperties": False,
    "$defs": {
        "one": {
            "type": "object",
            "properties": {"number": {"type": "integer", "minimum": 1}},
            "required": ["number"],
            "additionalProperties": False,
        }
    },
}
OPEN: dict[str, Any] = {"type": "object", "properties": {"why": {"type": "string"}}}


def ask(schema: dict[str, Any] = CLOSED, *, material: str = "m", most_tokens: int = 200) -> Ask:
    """A request."""
    return Ask(prompt="p@1:00", instructions="do", material=material, schema=schema, most_tokens=most_tokens)


def place(model: str) -> Place:
    """Where a model is."""
    return Place(
        provider="any", label="Any", url="http://x", model=model, timeout=1, on_refused_key="set it", key="secret"
    )


def test_anthropic_is_asked_for_the_schema_without_what_it_does_not_know() -> None:
    wanted = anthropic.request(ask(), "claude-haiku-5-5", room=0)
    assert wanted["output_config"]["format"]["type"] == "json_schema"
    sent = wanted["output_config"]["format"]["schema"]
    number = sent["$defs"]["one"]["properties"]["number"]
    assert (number["type"], "minimum" in number) == ("integer", False)
    assert "tools" not in wanted
    assert (wanted["system"], wanted["messages"]) == ("do", [{"role": "user", "content": "m"}])


@pytest.mark.parametrize(
    ("model", "thinking", "room"),
    [
        ("claude-haiku-5-5", {"type": "disabled"}, 0),
        ("claude-sonnet-5-5", {"type": "between_tools"}, 0),
        ("claude-haiku-4-5", None, 0),
        ("claude-sonnet-4-5-20250929", None, 0),
        ("claude-opus-5-5", None, THINKING),
        ("claude-of-the-future", None, THINKING),
    ],
)
def test_a_model_of_anthropic_is_told_not_to_think_or_given_the_room(
    model: str, thinking: dict[str, str] | None, room: int
) -> None:
    wire = anthropic.AnthropicWire(place(model))
    assert wire.room == room
    wanted = anthropic.request(ask(), model, room=wire.room)
    assert (wanted.get("thinking"), wanted["max_tokens"]) == (thinking, 200 + room)


def test_a_message_of_anthropic_is_its_text_and_all_tokens_that_were_read() -> None:
    body: dict[str, Any] = {
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": '{"a":1}'}],
        "stop_reason": "end_turn",
        "usage": {
            "input_tokens": 5,
            "cache_creation_input_tokens": 20,
            "cache_read_input_tokens": 300,
            "output_tokens": 7,
            "service_tier": "standard",
        },
    }
    assert anthropic.reply_of(body) == Reply(text='{"a":1}', used=Spending(input_tokens=325, output_tokens=7))
    body |= {"stop_reason": "refusal", "stop_details": {"type": "refusal", "explanation": "a policy forbids it"}}
    assert anthropic.reply_of(body).flaw == "is a refusal: a policy forbids it"
    assert anthropic.reply_of(body | {"stop_details": None}).flaw == "is a refusal"
    body["stop_reason"] = "model_context_window_exceeded"
    assert anthropic.reply_of(body).flaw == "was cut off at its length limit (model_context_window_exceeded)"


@pytest.mark.parametrize(
    ("model", "schema", "form", "strict"),
    [
        ("openai/gpt-oss-20b", CLOSED, "json_schema", True),
        ("openai/gpt-oss-120b", OPEN, "json_schema", False),
        ("moonshotai/kimi-k2-instruct", CLOSED, "json_schema", False),
        ("llama-3.1-8b-instant", CLOSED, "json_object", None),
        ("qwen/qwen3-32b", CLOSED, "json_object", None),
    ],
)
def test_groq_is_asked_by_schema_where_the_model_knows_it_and_strictly_where_it_may(
    model: str, schema: dict[str, Any], form: str, strict: bool | None
) -> None:
    wanted = groq.request(ask(schema), model, room=groq.GroqWire(place(model)).room)
    assert wanted["response_format"]["type"] == form
    assert wanted["response_format"].get("json_schema", {}).get("strict") is strict
    system = wanted["messages"][0]["content"]
    assert ("JSON" in system, '"properties"' in system) == ((form == "json_object"),) * 2
    thinks = model.startswith("openai/")
    assert wanted["max_completion_tokens"] == 200 + (THINKING if thinks else 0)
    effort = {"openai": "low", "qwen": "none"}.get(model.partition("/")[0])
    assert wanted.get("reasoning_effort") == effort


@pytest.mark.parametrize(
    "loose",
    [
        OPEN,
        {**CLOSED, "additionalProperties": True},
        {**CLOSED, "required": []},
        {**CLOSED, "$defs": {"one": OPEN}},
        {"anyOf": [CLOSED, OPEN]},
    ],
)
def test_a_schema_with_one_open_object_is_not_strict(loose: dict[str, Any]) -> None:
    assert groq.is_strict(CLOSED)
    assert not groq.is_strict(loose)


def test_a_completion_of_groq_that_is_no_json_comes_as_an_error_and_is_an_answer() -> None:
    said = "Failed to generate JSON. Please adjust your prompt. See 'failed_generation' for more details."
    error = {"message": said, "type": "invalid_request_error", "code": "json_validate_failed", "failed_generation": "{"}
    assert groq.reply_of({"error": error}) == Reply(flaw="is not JSON")  # type: ignore[dict-item]


def test_a_completion_of_groq_can_be_a_refusal_or_lack_a_choice() -> None:
    refused: dict[str, Any] = {"message": {"content": None, "refusal": "I'd rather not"}, "finish_reason": "stop"}
    used = {"prompt_tokens": 3, "completion_tokens": 4}
    reply = groq.reply_of({"choices": [refused], "usage": used})  # type: ignore[dict-item]
    assert reply == Reply(flaw="is a refusal: I'd rather not", used=Spending(input_tokens=3, output_tokens=4))
    assert groq.reply_of({"choices": []}).flaw == "is empty"


@pytest.mark.parametrize(
    ("model", "thinking", "room"),
    [
        ("gemini-3.8-flash", {"thinking_level": "LOW"}, THINKING),
        ("gemini-2.5-flash-lite", {"thinking_budget": 0}, 0),
        ("gemini-2.0-flash", None, THINKING),
    ],
)
def test_a_model_of_gemini_thinks_as_little_as_it_bears(model: str, thinking: object, room: int) -> None:
    wire = gemini.GeminiWire(place(model))
    config = gemini.config(ask(), model, room=wire.room)
    told = config.thinking_config and config.thinking_config.model_dump(exclude_none=True, mode="json")
    assert (told, config.max_output_tokens, wire.room) == (thinking, 200 + room, room)
    assert (config.response_mime_type, config.response_json_schema) == ("application/json", CLOSED)


def test_a_content_of_gemini_is_its_text_without_thoughts() -> None:
    parts = [{"text": "let me think", "thought": True}, {"text": '{"a":'}, {"text": "1}"}]
    body: dict[str, Any] = {
        "candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": 11,
            "candidatesTokenCount": 5,
            "thoughtsTokenCount": 40,
            "totalTokenCount": 56,
        },
    }
    assert gemini.reply_of(body) == Reply(text='{"a":1}', used=Spending(input_tokens=11, output_tokens=45))
    body["candidates"][0] |= {"finishReason": "PROHIBITED_CONTENT", "content": {}}
    assert gemini.reply_of(body).flaw == "is a refusal (PROHIBITED_CONTENT)"
    del body["candidates"][0]["finishReason"]
    assert gemini.reply_of(body).flaw == "did not come to its end (None)"


def test_a_blocked_request_to_gemini_is_a_refusal_and_no_candidate_is_empty() -> None:
    used = {"promptTokenCount": 9}
    blocked: dict[str, Any] = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": used}
    reply = gemini.reply_of(blocked)
    assert reply.flaw == "is a refusal (the request is blocked: SAFETY)"
    assert reply.used == Spending(input_tokens=9, output_tokens=0)
    assert gemini.reply_of({"candidates": [], "usageMetadata": used}).flaw == "is empty"  # type: ignore[dict-item]


@pytest.mark.parametrize(("letters", "context"), [(10, 4_096), (12_000, 8_192), (30_000, 16_384)])
def test_ollama_is_given_a_context_that_holds_the_request_and_the_answer(letters: int, context: int) -> None:
    wanted = ollama.request(ask(material="x" * letters), "llama3.1:8b", room=0)
    assert wanted["options"]["num_ctx"] == context
    assert wanted["options"]["num_predict"] == 200


def test_ollama_is_shown_the_schema_and_kept_to_it() -> None:
    wanted = ollama.request(ask(), "qwen3:8b", room=0)
    assert wanted["format"] == CLOSED
    assert '"verdicts"' in wanted["messages"][0]["content"]
    assert wanted["think"] is False
    assert ollama.request(ask(), "library/gpt-oss:20b", room=0)["think"] == "low"
    assert (ollama.OllamaWire(place("gpt-oss:20b")).room, ollama.OllamaWire(place("qwen3:8b")).room) == (THINKING, 0)


def test_a_turn_of_ollama_that_only_loads_the_model_is_empty_and_one_that_goes_on_has_no_end() -> None:
    body: dict[str, Any] = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "load"}
    assert ollama.reply_of(body) == Reply(flaw="is empty")
    assert ollama.reply_of(body | {"done": False, "done_reason": None}).flaw == "did not come to its end (None)"
    old = {"message": {"role": "assistant", "content": "{}"}, "done": True, "prompt_eval_count": 3, "eval_count": 1}
    assert ollama.reply_of(old) == Reply(text="{}", used=Spending(input_tokens=3, output_tokens=1))  # type: ignore[arg-type]


@pytest.mark.parametrize("wire", [anthropic, groq, gemini, ollama])
@pytest.mark.parametrize("error", ["down", {"message": "down"}, {"message": "down", "code": "rate"}])
def test_an_error_in_a_body_is_a_failure_with_its_words(wire: Any, error: object) -> None:
    with pytest.raises(RequestFailed) as caught:
        wire.reply_of({"error": error})
    assert (caught.value.failure.status, caught.value.failure.text) == (200, "down")
    with pytest.raises(RequestFailed) as caught:
        wire.reply_of({"error": {"code": 429, "message": "slow"}})
    assert caught.value.failure.may_pass


def test_a_place_tells_neither_key_nor_password() -> None:
    told = Place(
        provider="p",
        label="Any",
        url="https://me:hidden@host:1/x",
        model="m",
        timeout=1,
        on_refused_key="",
        key="secret",
    )
    assert str(told) == "Any at https://host:1/x"
    assert "secret" not in repr(told)


def test_a_token_is_three_bytes_of_what_is_sent() -> None:
    assert tokens_of(ask({}, material="ü")) == 2  # "do" + two bytes + "{}": six bytes
    assert tokens_of(ask({}, material="üx")) == 3
    assert tokens_of(ask({}, material="\ud800")) == 3  # becomes U+FFFD: three bytes


def test_what_can_be_sent_is_left_as_it_is() -> None:
    assert sendable(ask()) == ask()


def test_a_price_is_per_million_and_unknown_where_we_know_none() -> None:
    spent = Spending(input_tokens=2_000_000, output_tokens=100_000)
    assert spent.at(Price(0.5, 10.0)).cost == pytest.approx(2.0)
    assert spent.at(None).cost is None
    assert price_of("anthropic", "claude-of-the-future") is None
    assert price_of("ollama", "whatever") == Price(0, 0)
