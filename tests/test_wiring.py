"""What is built from settings."""

from __future__ import annotations

import pickle

import pytest
from pydantic import SecretStr

from palimpsest import wiring
from palimpsest.config import ModelSettings, Settings
from palimpsest.core.errors import BudgetError
from tests.adapters.models.scripted import ask


def test_no_language_model_is_none() -> None:
    assert wiring.language_model(Settings()) is None


def test_what_a_run_may_spend_is_divided_among_its_workers() -> None:
    model = ModelSettings(provider="groq", key=SecretStr("k"), tokens_per_run=100)
    for shares, tokens in ((1, 100), (3, 34)):
        built = pickle.loads(pickle.dumps(wiring.language_model(Settings(model=model), shares=shares)))
        assert built.name == "groq:openai/gpt-oss-20b"
        with pytest.raises(BudgetError, match=f" 0 of {tokens} tokens"):
            built.answer(ask("x" * 500))
