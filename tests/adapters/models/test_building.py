"""Which language model a set of values names, what it wants, and the order of what is around it."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from palimpsest.adapters.models.building import Wanted, build, look
from palimpsest.core.errors import BadAnswerError, BudgetError, ConfigError, ModelError
from palimpsest.core.language import Ask
from palimpsest.core.patience import Patience
from tests.adapters.lacking import lacking
from tests.adapters.models import scripted
from tests.adapters.models.serving import KEY, PROVIDERS, Fault, body, error, key_in, serving

VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "groq": "GROQ_API_KEY", "gemini": "GEMINI_API_KEY"}
QUICK = Patience(attempts=2, first=0, most=0, whole=5)


def ask(material: str = "") -> Ask:
    """A request with a schema."""
    return replace(scripted.ask(material), schema={"type": "object"})


@pytest.mark.parametrize("provider", VARIABLES)
def test_a_key_comes_from_the_settings_or_the_environment_and_is_wanted(provider: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(Wanted(provider=provider), {})
    assert caught.value.message.endswith("wants a key, and none is set")
    assert caught.value.hint == f"set {VARIABLES[provider]}, or model.key"
    for key, environ in ((KEY, {VARIABLES[provider]: "another"}), ("", {VARIABLES[provider]: f" {KEY}\n"})):
        with serving() as remote:
            model = build(Wanted(provider=provider, url=remote.url, key=key), environ)
            model.answer(ask())
            model.close()
            assert key_in(remote.requests[-1][1]) == KEY


def test_the_other_variable_of_google_is_taken_too() -> None:
    with serving() as remote:
        model = build(Wanted(provider="gemini", url=remote.url), {"GOOGLE_API_KEY": KEY})
        model.answer(ask())
        model.close()
        assert key_in(remote.requests[-1][1]) == KEY


def test_ollama_is_where_its_variable_says_and_its_key_is_of_what_stands_before_it() -> None:
    with serving() as remote:
        model = build(Wanted(provider="ollama"), {"OLLAMA_HOST": remote.url, "OLLAMA_API_KEY": KEY})
        model.answer(ask())
        model.close()
        assert key_in(remote.requests[-1][1]) == KEY


@pytest.mark.parametrize("key", ["ключ-секретный", "secret\x07", "secret\nsecond"])
def test_a_key_that_no_header_can_hold_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(Wanted(provider="anthropic", key=key), {})
    assert "secret" not in caught.value.message + caught.value.hint
    assert "секрет" not in caught.value.message + caught.value.hint


def test_a_key_is_in_no_representation() -> None:
    wanted = Wanted(provider="groq", key=KEY)
    assert KEY not in repr(wanted)
    assert KEY not in repr(build(wanted, {}))


def test_no_provider_is_told() -> None:
    with pytest.raises(ConfigError, match=r"model\.provider is none"):
        build(Wanted(provider="none"), {})


@pytest.mark.parametrize(
    ("provider", "module"),
    [("anthropic", "anthropic"), ("groq", "groq"), ("gemini", "google"), ("ollama", "ollama")],
)
def test_a_missing_package_names_the_extra(provider: str, module: str) -> None:
    message, hint = lacking(module, "palimpsest.adapters.models.building", provider)
    assert message.startswith(f"model.provider {provider} needs more packages: {module}")
    assert hint == f"install them: pip install 'datahub-palimpsest[{provider}]'"


def test_a_price_is_known_or_set_and_a_limit_in_dollars_wants_one() -> None:
    wanted = Wanted(provider="groq", key=KEY, model="llama-9", dollars_per_run=1)
    with pytest.raises(ConfigError, match="what llama-9 costs is not known"):
        build(wanted, {})
    with pytest.raises(ConfigError, match=r"only one of model\.price_input"):
        build(Wanted(provider="groq", key=KEY, price_input=1), {})
    with serving() as remote:
        priced = Wanted(provider="groq", key=KEY, url=remote.url, model="llama-9", price_input=1, price_output=10)
        model = build(priced, {})
        assert model.answer(ask()).usage.cost == pytest.approx((120 * 1 + 30 * 10) / 1_000_000)
        model.close()
        unpriced = build(Wanted(provider="groq", key=KEY, url=remote.url, model="llama-9"), {})
        assert unpriced.answer(ask()).usage.cost is None
        unpriced.close()


def test_failed_attempts_are_neither_limited_nor_recorded_and_bad_answers_are_both(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    with serving() as remote:
        wanted = Wanted(
            provider="ollama", url=remote.url, tokens_per_run=330, record=str(path), model="m", timeout_seconds=20
        )
        model = build(wanted, {}, QUICK)
        remote.faults += [Fault(status=500, body=error("ollama", 500, "no"))]
        assert model.answer(ask("good")).text == remote.text
        remote.faults += [Fault(status=200, body=body("ollama", ""))]
        with pytest.raises(BadAnswerError):
            model.answer(ask("bad"))
        with pytest.raises(BudgetError):
            model.answer(ask("x" * 100))
        model.close()
        asked = len(remote.requests)
        again = build(Wanted(provider="ollama", model="m", replay=str(path), tokens_per_run=1), {})
        for _ in range(2):
            assert again.answer(ask("good")).text == remote.text
        with pytest.raises(BadAnswerError):
            again.answer(ask("bad"))
        with pytest.raises(ModelError, match="holds no answer"):
            again.answer(ask("x" * 100))
        assert len(remote.requests) == asked == 3


def test_a_replay_needs_neither_key_nor_package_and_can_be_pickled(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    with serving() as remote:
        model = build(Wanted(provider="anthropic", url=remote.url, key=KEY, record=str(path)), {})
        model.answer(ask())
        model.close()
    script = f"""
import pickle, sys
sys.modules["anthropic"] = None
from palimpsest.adapters.models.building import Wanted, build
from palimpsest.core.language import Ask
model = pickle.loads(pickle.dumps(build(Wanted(provider="anthropic", replay={str(path)!r}), {{}})))
ask = Ask(prompt="restate@1:0a1b2c3d", instructions="", material="", schema={{"type": "object"}}, most_tokens=10)
print(model.name, model.answer(ask).text)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == 'anthropic:claude-haiku-5-5 {"answer": 1}\n'


def test_a_replay_names_what_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    with pytest.raises(ConfigError, match="no such file"):
        build(Wanted(provider="groq", replay=str(path)), {})
    path.touch()
    with pytest.raises(ConfigError, match=r"model\.provider does not say whose answers"):
        build(Wanted(provider="none", replay=str(path)), {})
    with pytest.raises(ConfigError, match="are both set"):
        build(Wanted(provider="groq", replay=str(path), record=str(path)), {})


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_look_costs_nothing(provider: str) -> None:
    with serving() as remote:
        name = look(Wanted(provider=provider, url=remote.url, key=KEY, model="m"), {})
        assert name == f"{provider}:m"
        assert [path for path, _, _ in remote.requests] == (["/api/show"] if provider == "ollama" else [])


def test_a_look_at_ollama_finds_that_it_is_not_there_or_lacks_the_model() -> None:
    with serving() as remote:
        remote.unknown = {"m"}
        with pytest.raises(ModelError) as caught:
            look(Wanted(provider="ollama", url=remote.url, model="m"), {})
        assert caught.value.hint == "run: ollama pull m"
    with pytest.raises(ModelError, match="cannot be reached"):
        look(Wanted(provider="ollama", url=remote.url, model="m"), {})


def test_a_model_that_is_limited_and_recorded_is_pickled_too(tmp_path: Path) -> None:
    wanted = Wanted(provider="gemini", key=KEY, tokens_per_run=5, record=str(tmp_path / "a"))
    again = pickle.loads(pickle.dumps(build(wanted, {})))
    with pytest.raises(BudgetError):
        again.answer(ask("xxxxx"))
