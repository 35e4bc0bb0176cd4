"""What every language model behind a server does: the real SDKs against a server that speaks their formats."""

from __future__ import annotations

import json
import pickle
import socket
import time
from collections.abc import Iterator
from email.utils import formatdate

import pytest

from palimpsest.adapters.models.building import Wanted, build
from palimpsest.adapters.models.known import DEFAULT_MODELS
from palimpsest.core.errors import BadAnswerError, ModelError, RefusedTextError
from palimpsest.core.language import Answer, Ask, Usage
from palimpsest.core.patience import Patience
from palimpsest.ports import LanguageModel
from tests.adapters.models.serving import KEY, PROVIDERS, Fault, ServingModels, body, error, key_in, serving

QUICK = Patience(attempts=3, first=0, most=0, whole=20)
SCHEMA = {
    "type": "object",
    "properties": {"why": {"type": "string"}, "answer": {"type": "integer"}},
    "required": ["why", "answer"],
    "additionalProperties": False,
}
ASK = Ask(
    prompt="restate@1:0a1b2c3d",
    instructions="Say which statement restates which.",
    material="<material>die Größe der 订单 😀</material>",
    schema=SCHEMA,  # type: ignore[arg-type]
    most_tokens=200,
)
GOOD = '{"why": "wörtlich 同じ 😀", "answer": 1}'


@pytest.fixture
def remote() -> Iterator[ServingModels]:
    """A server of all four."""
    with serving() as state:
        state.text = GOOD
        yield state


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    """Which provider."""
    return str(request.param)


@pytest.fixture
def model(provider: str, remote: ServingModels) -> Iterator[LanguageModel]:
    """Its model, quick to give up."""
    built = made(provider, remote.url)
    yield built
    built.close()


def made(provider: str, url: str, *, key: str = KEY, timeout: float = 20) -> LanguageModel:
    """A model with limits, patience and a key, as a run has it."""
    wanted = Wanted(provider=provider, url=url, key=key, timeout_seconds=timeout, tokens_per_run=1_000_000)
    return build(wanted, {}, QUICK)


def failure(model: LanguageModel) -> ModelError:
    """How a request fails, without ever telling the key."""
    with pytest.raises(ModelError) as caught:
        model.answer(ASK)
    seen: BaseException | None = caught.value
    assert isinstance(seen, ModelError)
    assert KEY not in f"{seen.message} {seen.hint} {seen!r}"
    return caught.value


def test_a_good_answer_is_the_text_with_what_it_used(model: LanguageModel, provider: str) -> None:
    cost = {"anthropic": 27e-6, "groq": 18e-6, "gemini": 405e-6, "ollama": 0.0}[provider]
    used = Usage(calls=1, input_tokens=120, output_tokens=30, cost=pytest.approx(cost))  # type: ignore[arg-type]
    assert model.answer(ASK) == Answer(text=GOOD, usage=used)
    assert model.used == used
    model.answer(ASK)
    assert (model.used.calls, model.used.input_tokens, model.used.output_tokens) == (2, 240, 60)


def test_the_name_is_the_provider_and_its_model(model: LanguageModel, provider: str) -> None:
    assert model.name == f"{provider}:{DEFAULT_MODELS[provider]}"


def test_the_request_holds_instructions_material_and_the_schema_in_its_order(
    model: LanguageModel, remote: ServingModels
) -> None:
    model.answer(ASK)
    asked = json.loads(remote.asked)
    sent = json.dumps(asked, ensure_ascii=False)
    assert ASK.instructions in sent
    assert ASK.material in sent
    assert schema_in(asked) == SCHEMA
    assert list(schema_in(asked)["properties"]) == ["why", "answer"]  # type: ignore[call-overload]


def schema_in(asked: object) -> dict[str, object]:
    """The schema that a request holds, wherever it is: the first object of its shape."""
    if isinstance(asked, list):
        return next((found for one in asked if (found := schema_in(one))), {})
    if not isinstance(asked, dict):
        return {}
    if asked.get("type") == "object" and "properties" in asked:
        return asked
    return next((found for one in asked.values() if (found := schema_in(one))), {})


def test_the_key_goes_in_the_header_and_nowhere_else(
    model: LanguageModel, remote: ServingModels, provider: str
) -> None:
    model.answer(ASK)
    path, headers, _ = remote.requests[-1]
    assert key_in(headers) == KEY
    assert KEY not in remote.asked + path
    holding = {name for name, value in headers.items() if KEY in value}
    assert holding == {"x-goog-api-key" if provider == "gemini" else "authorization"}


def test_a_model_is_pickled_before_it_is_first_asked(provider: str, remote: ServingModels) -> None:
    again = pickle.loads(pickle.dumps(made(provider, remote.url)))
    assert again.answer(ASK).text == GOOD
    again.close()


@pytest.mark.parametrize("status", [408, 429, 500, 503, 529])
def test_what_may_pass_is_asked_again(model: LanguageModel, remote: ServingModels, provider: str, status: int) -> None:
    remote.faults += [Fault(status=status, body=error(provider, status, "busy")), Fault(status=status, body="<html>")]
    assert model.answer(ASK).text == GOOD
    assert len(remote.requests) == 3
    assert model.used.calls == 1


def test_what_does_not_pass_is_told_after_all_attempts(
    model: LanguageModel, remote: ServingModels, provider: str
) -> None:
    remote.faults += [Fault(status=500, body=error(provider, 500, "the engine burns"))] * 3
    told = failure(model)
    assert told.message.endswith(f"at {remote.url} failed (500): the engine burns")
    assert not isinstance(told, BadAnswerError)
    assert len(remote.requests) == 3


@pytest.mark.parametrize("sent", ["", "<html>", "[]", "null", '"no"', "{}", '{"error": null}', '{"error": [1]}'])
@pytest.mark.parametrize("status", [401, 500])
def test_an_error_is_told_whatever_its_body_is(
    model: LanguageModel, remote: ServingModels, status: int, sent: str
) -> None:
    remote.faults += [Fault(status=status, body=sent)] * 3
    told = failure(model).message
    assert ("refused the key" if status == 401 else "failed (500)") in told
    assert len(remote.requests) == (1 if status == 401 else 3)


def test_retry_after_is_waited_for_in_seconds(model: LanguageModel, remote: ServingModels, provider: str) -> None:
    remote.faults += [Fault(status=429, body=error(provider, 429, "slow down"), headers={"retry-after": "0.3"})]
    before = time.monotonic()
    assert model.answer(ASK).text == GOOD
    assert time.monotonic() - before >= 0.3


def test_a_retry_after_beyond_all_patience_is_told_at_once(
    model: LanguageModel, remote: ServingModels, provider: str
) -> None:
    remote.faults += [Fault(status=429, body=error(provider, 429, "slow down"), headers={"retry-after": "3600"})]
    told = failure(model)
    assert told.message.endswith("takes no more requests now: slow down; it says to wait 3600 s")
    assert len(remote.requests) == 1


def test_a_retry_after_can_be_a_date(model: LanguageModel, remote: ServingModels, provider: str) -> None:
    slow = error(provider, 429, "slow down")
    remote.faults += [Fault(status=429, body=slow, headers={"retry-after": formatdate(time.time() - 60, usegmt=True)})]
    assert model.answer(ASK).text == GOOD
    later = formatdate(time.time() + 3600, usegmt=True)
    remote.faults += [Fault(status=429, body=slow, headers={"retry-after": later})]
    waiting = int(failure(model).message.rpartition("to wait ")[2].removesuffix(" s"))
    assert 3590 <= waiting <= 3600
    assert len(remote.requests) == 3


def test_silence_is_given_up_and_asked_again(provider: str, remote: ServingModels) -> None:
    model = made(provider, remote.url, timeout=0.3)
    remote.faults += [Fault(status=0)]
    assert model.answer(ASK).text == GOOD
    remote.faults += [Fault(status=0)] * 3
    told = failure(model)
    assert "did not answer in whole" in told.message
    assert "model.timeout_seconds" in told.hint
    model.close()


def test_a_connection_cut_in_the_body_is_asked_again(
    model: LanguageModel, remote: ServingModels, provider: str
) -> None:
    half = Fault(status=200, body=body(provider, GOOD), cut=True)
    remote.faults += [half]
    assert model.answer(ASK).text == GOOD
    assert model.used.calls == 1
    remote.faults += [half] * 3
    told = failure(model)
    assert "did not answer in whole" in told.message
    assert not isinstance(told, BadAnswerError)


def test_a_server_that_is_not_there_is_told_at_once(provider: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        model = made(provider, f"http://127.0.0.1:{unused.getsockname()[1]}")
        told = failure(model)
    model.close()
    assert "cannot be reached" in told.message
    assert told.hint == "is it running, and is model.url right?"


@pytest.mark.parametrize(
    ("text", "reason", "flaw"),
    [
        ('{"why": "it', "cut", "was cut off at its length limit"),
        (GOOD, "cut", "was cut off at its length limit"),
        ("I cannot help with that.", "refusal", "is a refusal"),
        ("", "end", "is empty"),
        (" \n ", "end", "is empty"),
        ("I cannot help with that.", "end", "is not JSON"),
        ('{"why": "it', "end", "is not JSON"),
        (GOOD + GOOD, "end", "is not JSON"),
        ("[" * 100_000, "end", "is not JSON"),
        ("null", "end", "is JSON, and no object"),
        (f"[{GOOD}]", "end", "is JSON, and no object"),
        (GOOD, "something_new", "did not come to its end (something_new)"),
    ],
)
def test_an_answer_that_is_none_says_why_and_is_counted(
    model: LanguageModel, remote: ServingModels, provider: str, text: str, reason: str, flaw: str
) -> None:
    if (provider, reason) == ("ollama", "refusal"):
        reason = "end"  # it has no word for it
        flaw = "is not JSON"
    remote.faults += [Fault(status=200, body=body(provider, text, reason))]
    told = failure(model)
    assert isinstance(told, BadAnswerError)
    assert f"the answer to {ASK.prompt} {flaw}" in told.message
    assert (model.used.calls, model.used.input_tokens, model.used.output_tokens) == (1, 120, 30)
    assert len(remote.requests) == 1
    assert model.answer(ASK).text == GOOD


def test_a_success_with_an_error_in_it_is_a_failure_and_no_answer(
    model: LanguageModel, remote: ServingModels, provider: str
) -> None:
    remote.faults += [Fault(status=200, body=error(provider, 403, "not today"))]
    told = failure(model)
    assert not isinstance(told, BadAnswerError)
    assert told.message.endswith(": not today")
    assert model.used.calls == 0


@pytest.mark.parametrize("sent", ["", "<html>a proxy says hello</html>", "[]", "{}", '{"hello": "world"}'])
def test_a_success_that_is_no_answer_of_the_provider_is_a_failure(
    model: LanguageModel, remote: ServingModels, sent: str
) -> None:
    remote.faults += [Fault(status=200, body=sent)] * 3
    told = failure(model)
    assert "failed (502): not an answer of" in told.message
    assert not isinstance(told, BadAnswerError)
    assert model.used == Usage()


@pytest.mark.parametrize(
    "text",
    [
        '{"why": "x", "answer": 1, "aspect": "ownership", "more": {"deep": [null, true]}}',
        '{"why": "\\ud83d\\ude00 Größe 订单", "answer": -1}',
        '{"answer": "one"}',
        "{}",
    ],
)
def test_a_json_object_is_passed_on_as_it_is_whether_of_the_schema_or_not(
    model: LanguageModel, remote: ServingModels, text: str
) -> None:
    remote.text = f"\n{text}  "
    assert model.answer(ASK).text == text


def test_a_refused_key_says_which_to_set(provider: str, remote: ServingModels) -> None:
    names = {"anthropic": "ANTHROPIC_API_KEY", "groq": "GROQ_API_KEY", "gemini": "GEMINI_API_KEY"}
    for status in (401, 403):
        remote.faults += [Fault(status=status, body=error(provider, status, f"{KEY} is no key"))]
        model = made(provider, remote.url)
        told = failure(model)
        model.close()
        assert told.message.endswith(f"at {remote.url} refused the key: … is no key")
        assert told.hint.startswith(f"set {names.get(provider, 'OLLAMA_API_KEY')}, or model.key")
    assert len(remote.requests) == 2


def test_an_unknown_model_is_named(model: LanguageModel, remote: ServingModels, provider: str) -> None:
    remote.unknown = {DEFAULT_MODELS[provider]}
    told = failure(model)
    assert f"has no model {DEFAULT_MODELS[provider]}" in told.message
    pull = f"run: ollama pull {DEFAULT_MODELS[provider]}"
    assert told.hint == (pull if provider == "ollama" else "name another in model.model")


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_that_is_refused_is_told_apart(
    model: LanguageModel, remote: ServingModels, provider: str, status: int
) -> None:
    remote.faults += [Fault(status=status, body=error(provider, status, "prompt is too long"))]
    told = failure(model)
    assert isinstance(told, RefusedTextError)
    assert told.message.endswith("does not take this request: prompt is too long")
    assert len(remote.requests) == 1


def test_broken_letters_and_empty_material_can_be_sent(model: LanguageModel, remote: ServingModels) -> None:
    schema = {**SCHEMA, "description": "\ud800 broken"}
    broken = Ask(prompt="p", instructions="a\ud800b", material="\ud800\0", schema=schema, most_tokens=9)  # type: ignore[arg-type]
    assert model.answer(broken).text == GOOD
    assert "a\ufffdb" in remote.asked
    assert "\ufffd broken" in remote.asked
    model.answer(Ask(prompt="p", instructions="x", material=" ", schema=SCHEMA, most_tokens=9))  # type: ignore[arg-type]
    assert "(empty)" in remote.asked
