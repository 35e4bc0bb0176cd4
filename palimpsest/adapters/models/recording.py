"""A file of what a language model was asked and answered, from which the same can be answered again without it.

JSON Lines: `key` is the hash of what decides the answer, beside it the request, and the answer or why it was none.
Several processes may write to one file; a line that a killed one left half written is passed over.
"""

from __future__ import annotations

import os
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from palimpsest.adapters.models.replies import count, parsed_or_none, part
from palimpsest.adapters.models.wrappers import Around
from palimpsest.core import jsontext
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.errors import BadAnswerError, ConfigError, ModelError
from palimpsest.core.language import Answer, Ask, Usage
from palimpsest.ports import LanguageModel

_HINT = "record it anew with model.record, or ask the model itself: leave model.replay out"


class Recording(Around):
    """Writes down what a model is asked and answers, useless answers too. Errors that are no answer are not kept."""

    def __init__(self, model: LanguageModel, path: Path) -> None:
        super().__init__(model)
        self._path = path

    def answer(self, ask: Ask) -> Answer:
        """The model's answer, written down before it is given. Raises what the model raises."""
        before = self.used
        try:
            answer = self._model.answer(ask)
        except BadAnswerError as error:
            self._write(ask, {"bad": error.message, "hint": error.hint, "usage": _since(before, self.used)})
            raise
        self._write(ask, {"text": answer.text, "usage": asdict(answer.usage)})
        return answer

    def _write(self, ask: Ask, answer: dict[str, Any]) -> None:
        line: dict[str, Any] = {
            "key": key_of(self.name, ask),
            "model": self.name,
            "request": asdict(ask),
            "answer": answer,
        }
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a+b", buffering=0) as file:
                ends = not file.seek(0, os.SEEK_END) or (file.seek(-1, os.SEEK_END) >= 0 and file.read(1) == b"\n")
                file.write((b"" if ends else b"\n") + jsontext.dumps(line) + b"\n")  # in one, at the end as it is then
        except OSError as error:
            raise ConfigError(f"{self._path}: cannot be written: {error.strerror}", "see model.record") from error


class Replay:
    """A `LanguageModel` that answers from a recording, a request that was asked several times in the recorded order.

    Its last answer is given for ever after.
    """

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.used = Usage()
        self._path = path
        self._answers: dict[str, deque[Json]] | None = None

    def answer(self, ask: Ask) -> Answer:
        """What was answered then. Raises BadAnswerError where that was none, ModelError for an unrecorded request."""
        if self._answers is None:
            self._answers = read(self._path)
        answers = self._answers.get(key_of(self.name, ask))
        if not answers:
            raise ModelError(f"{self._path} holds no answer of {self.name} to {ask.prompt}: {_start(ask)}", _HINT)
        found = answers.popleft() if len(answers) > 1 else answers[0]
        usage = _usage(part(found, "usage"))
        self.used += usage
        if (bad := part(found, "bad")) is not None:
            raise BadAnswerError(str(bad), str(part(found, "hint") or ""))
        return Answer(text=str(part(found, "text")), usage=usage)

    def close(self) -> None:
        """There is nothing to close."""


def key_of(name: str, ask: Ask) -> str:
    """The hash of what decides an answer: the model, the prompt, and all that is sent but the answer's length."""
    return sha256(jsontext.dumps([name, ask.prompt, ask.instructions, ask.material, ask.schema])).hexdigest()


def read(path: Path) -> dict[str, deque[Json]]:
    """The answers by key, in order. Raises ConfigError for a file that cannot be read or is no recording."""
    found: defaultdict[str, deque[Json]] = defaultdict(deque)
    try:
        with path.open("rb") as file:
            for key, answer in _entries(file):
                found[key].append(answer)
            empty = not file.tell()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}", "see model.replay") from error
    if not found and not empty:
        raise ConfigError(f"{path}: no recording", "name a file that model.record wrote")
    return dict(found)


def _entries(lines: Iterator[bytes]) -> Iterator[tuple[str, Json]]:
    for line in lines:
        entry = parsed_or_none(line.decode("utf-8", "replace"))
        key, answer = part(entry, "key"), part(entry, "answer")
        if isinstance(key, str) and isinstance(answer, dict):
            yield key, answer


def _usage(value: Json) -> Usage:
    cost = part(value, "cost")
    return Usage(
        calls=count(value, "calls"),
        input_tokens=count(value, "input_tokens"),
        output_tokens=count(value, "output_tokens"),
        cost=float(cost) if isinstance(cost, int | float) else None,
    )


def _since(before: Usage, after: Usage) -> dict[str, Any]:
    cost = None if before.cost is None or after.cost is None else after.cost - before.cost
    return {
        "calls": after.calls - before.calls,
        "input_tokens": after.input_tokens - before.input_tokens,
        "output_tokens": after.output_tokens - before.output_tokens,
        "cost": cost,
    }


def _start(ask: Ask) -> str:
    text = " ".join(ask.material.split())
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
