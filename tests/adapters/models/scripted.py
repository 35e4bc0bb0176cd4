"""A language model that says what it is told to, and remembers what it was asked."""

from __future__ import annotations

from collections import deque

from palimpsest.core.errors import ModelError
from palimpsest.core.language import Answer, Ask, Usage

EACH = Usage(calls=1, input_tokens=100, output_tokens=20, cost=0.25)


def ask(material: str = "", *, instructions: str = "", most_tokens: int = 10) -> Ask:
    """A request."""
    return Ask(
        prompt="restate@1:0a1b2c3d",
        instructions=instructions,
        material=material,
        schema={},
        most_tokens=most_tokens,
    )


class Scripted:
    """Answers with the texts in their order, raises the errors among them; each answer uses what `EACH` says."""

    name = "scripted:one"

    def __init__(self, *said: str | ModelError) -> None:
        self.used = Usage()
        self.asked: list[Ask] = []
        self.is_closed = False
        self._said = deque(said)

    def answer(self, wanted: Ask) -> Answer:
        """The next of its lines; what it raises as a bad answer was used all the same."""
        self.asked.append(wanted)
        said = self._said.popleft()
        if isinstance(said, ModelError) and type(said).__name__ != "BadAnswerError":
            raise said
        self.used += EACH
        if isinstance(said, ModelError):
            raise said
        return Answer(text=said, usage=EACH)

    def close(self) -> None:
        """Remembers it."""
        self.is_closed = True
