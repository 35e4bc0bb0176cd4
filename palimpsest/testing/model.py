"""A language model for tests: it answers as it is told to, from what it reads in the material, and costs a cent a call.

`ScriptedModel()` is in its right mind. `ScriptedModel(script=[...])` does what its script says, request by request, and
is in its right mind after that: a text is the answer, an error is raised, a function is given the request.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

from palimpsest.core.choosing import aspect_of
from palimpsest.core.language import Answer, Ask, Usage
from palimpsest.core.likeness import is_same_matter, likeness, restates

Told = str | Exception | Callable[[Ask], str]


class ScriptedModel:
    """A `LanguageModel` that never leaves the process. `asks` are the requests it was given.

    `seconds` is how long it takes for each; `words` begins every reason that it gives.
    """

    def __init__(
        self,
        script: Sequence[Told] = (),
        *,
        name: str = "scripted:one",
        always: Told | None = None,
        seconds: float = 0.0,
        words: str = "compared",
    ) -> None:
        self.name = name
        self.used = Usage()
        self.asks: list[Ask] = []
        self._script, self._always, self._seconds, self._words = list(script), always, seconds, words

    def answer(self, ask: Ask) -> Answer:
        """The next answer of the script; its own where the script is at its end."""
        self.asks.append(ask)
        if self._seconds:
            time.sleep(self._seconds)
        told = self._script.pop(0) if self._script else self._always
        if isinstance(told, Exception):
            raise told
        text = told if isinstance(told, str) else told(ask) if told is not None else sensible(ask, self._words)
        usage = Usage(calls=1, input_tokens=len(ask.material) // 3, output_tokens=len(text) // 3, cost=0.01)
        self.used += usage
        return Answer(text=text, usage=usage)

    def close(self) -> None:
        """Nothing is held."""


def items_in(ask: Ask) -> list[dict[str, Any]]:
    """The items of a request, read as a model would: one JSON document between two marked lines."""
    first, *lines, last = ask.material.split("\n")
    mark = first.removeprefix("material ").removesuffix(" begins")
    assert (first, last) == (f"material {mark} begins", f"material {mark} ends")
    items: list[dict[str, Any]] = json.loads("\n".join(lines))["items"]
    return items


def sensible(ask: Ask, words: str = "compared") -> str:
    """An answer by the rules' own measures, so that it is the same for the same request."""
    answers: list[dict[str, object]] = []
    for item in items_in(ask):
        answers += _restated(item, words) if "statements" in item else [_sorted(item)]
    return json.dumps({"answers": answers})


def _restated(item: dict[str, Any], words: str) -> list[dict[str, object]]:
    texts = [one["text"] for one in item["statements"]]
    answers: list[dict[str, object]] = []
    for place in item["asked"]:
        same = [earlier for earlier in range(place) if restates(texts[earlier], texts[place])]
        why = f"{words}: {'the same' if same else 'a fact differs'}"
        found = {"item": item["item"], "place": place, "restates": same[-1] if same else None}
        answers.append(found | {"sure": True, "why": why})
    return answers


def _sorted(item: dict[str, Any]) -> dict[str, object]:
    """Its own entity, the kind that its words suggest, and the matter most like it, where one is like it."""
    kinds = {one["name"]: one["kind"] for one in item["kinds"]}
    kind = kinds.get(aspect_of(item["text"]), 1)
    alike = [one for one in item["matters"] if (one["entity"], one["kind"]) == (1, kind)]
    best = max(alike, key=lambda one: likeness(one["text"], item["text"]), default=None)
    matter = best["matter"] if best is not None and is_same_matter(best["text"], item["text"]) else None
    return {"item": item["item"], "entity": 1, "kind": kind, "matter": matter, "sure": True}
