"""A loopback server whose language model reads the material of a request and answers it sensibly, for all providers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from palimpsest.core.language import Ask
from palimpsest.testing.model import sensible
from tests.adapters.embed.serving import served
from tests.adapters.models.serving import ServingModels


class SensibleModels(ServingModels):
    """A server at work, until it is told to fail."""

    def answer(self, path: str, headers: dict[str, str], body_sent: dict[str, Any]) -> tuple[int, object]:
        """What a model in its right mind answers to the material that was sent."""
        material = next((text for text in _texts(body_sent) if text.startswith("material ")), None)
        if material is not None:
            self.text = sensible(Ask(prompt="", instructions="", material=material, schema={}, most_tokens=1))
        return super().answer(path, headers, body_sent)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


@contextmanager
def serving() -> Iterator[SensibleModels]:
    """Such a server while the block lasts."""
    with served(SensibleModels()) as state:
        yield state
