"""What is asked of a language model, and what it answers: plain values, whoever the provider is. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from palimpsest.core.aspects.aspect import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request: instructions, the material they are about, and the JSON schema that the answer must have.

    `prompt` names the instructions by name, version and hash; `most_tokens` is how long the answer may be.
    """

    prompt: str
    instructions: str
    material: str
    schema: dict[str, Json]
    most_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What was used: requests that were answered, tokens read and written, and what they cost in US dollars.

    `cost` is None where the model has no known price.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost=cost,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model answered: one JSON object as text, complete by the model's own word, and not validated yet."""

    text: str
    usage: Usage = field(default_factory=Usage)
