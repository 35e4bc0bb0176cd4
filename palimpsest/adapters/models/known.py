"""The models we know: each provider's default, what they cost. No SDK is imported here.

Prices are US dollars per million tokens, as the providers' pages said on 2026-11-30; `model.price_input` and
`model.price_output` take their place. Discounts for cached or batched requests are not counted, nor is the higher
price of some models for requests of more than 100,000 tokens, which ours never have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from palimpsest.core.language import Usage

DEFAULT_MODELS = {
    "anthropic": "claude-haiku-5-5",
    "groq": "openai/gpt-oss-20b",
    "gemini": "gemini-3.8-flash",
    "ollama": "llama3.1:8b",
}
THINKING = 4_096  # the room, in tokens, of a model that thinks before it answers: beside the answer, and paid like it


class Price(NamedTuple):
    """US dollars per million tokens read, and per million written."""

    input: float
    output: float


_PRICES = {
    ("anthropic", "claude-haiku-5-5"): Price(0.10, 0.50),
    ("anthropic", "claude-haiku-4-5"): Price(1.00, 5.00),
    ("anthropic", "claude-sonnet-5-5"): Price(2.00, 10.00),
    ("anthropic", "claude-sonnet-4-5"): Price(3.00, 15.00),
    ("anthropic", "claude-opus-5-5"): Price(4.00, 20.00),
    ("groq", "openai/gpt-oss-20b"): Price(0.075, 0.30),
    ("groq", "openai/gpt-oss-120b"): Price(0.15, 0.60),
    ("gemini", "gemini-3.8-flash"): Price(1.50, 7.50),  # half of it until the end of 2026
    ("gemini", "gemini-3.1-flash-lite"): Price(0.25, 1.50),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Tokens that were used, or will be at the most."""

    input_tokens: int = 0
    output_tokens: int = 0

    def at(self, price: Price | None) -> Usage:
        """As the usage of one request at a price; its cost is None where there is none."""
        cost = None
        if price is not None:
            cost = (self.input_tokens * price.input + self.output_tokens * price.output) / 1_000_000
        return Usage(calls=1, input_tokens=self.input_tokens, output_tokens=self.output_tokens, cost=cost)


def price_of(provider: str, model: str) -> Price | None:
    """What a model costs; None where we do not know. A model on a server of one's own costs nothing."""
    return Price(0, 0) if provider == "ollama" else _PRICES.get((provider, model))
