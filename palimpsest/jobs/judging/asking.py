"""Asking a model about many items, in batches; what could not be had of it is left, and counted by its reason.

A batch whose answer is none is asked again in two halves, once; one that what may be spent does not suffice for is made
smaller. When the model cannot be used, or nothing more may be spent, nothing more is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.errors import BadAnswerError, BudgetError, ModelError, RefusedTextError
from palimpsest.core.language import Ask, Usage
from palimpsest.jobs.judging import fence
from palimpsest.jobs.judging.prompts import Prompt
from palimpsest.ports import LanguageModel

TOKENS_AT_ONCE = 6_000
"""How many tokens of material go into one request, about."""
ITEMS_AT_ONCE = 40
_BAD_IN_A_ROW = 3
_TOKENS_OF_ANSWER, _TOKENS_OF_ENTRY = 100, 100

I = TypeVar("I")  # noqa: E741 - an item
T = TypeVar("T")


class Left(StrEnum):
    """Why an item was left to the next time."""

    NOT_ASKED = "not asked"  # the model could not be used, or what may be spent is spent
    BAD_ANSWER = "bad answer"  # the answer to its batch was none
    NOT_ANSWERED = "not answered"  # its own part of the answer was missing, or not as it must be
    LEASE = "lease lost"  # another consolidator took its entity over meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class Form(Generic[I, T]):
    """How one kind of item is asked about.

    `part` is what the material says of an item; `entries` how many entries its answer has; `read` gives what a text
    answers to some items, by position, and raises BadAnswerError.
    """

    prompt: Prompt
    schema: dict[str, Json]
    part: Callable[[I], dict[str, Json]]
    entries: Callable[[I], int]
    read: Callable[[str, Sequence[I]], dict[int, T]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked of a model in one run, and what came of it.

    `items` were put to it, `answered` usably; `left` counts the others by reason. `problem` is why it stopped being
    asked, empty if it did not; `bad` the last answer that was none.
    """

    model: str
    items: int = 0
    answered: int = 0
    left: dict[str, int]
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    problem: str = ""
    hint: str = ""
    bad: str = ""


class Asking:
    """One model, asked about many items in a run. It can be sent to another process before the first request.

    `before` is called before each request: whoever holds leases renews them, since a request may take minutes.
    """

    def __init__(
        self, model: LanguageModel, *, tokens_at_once: int = TOKENS_AT_ONCE, items_at_once: int = ITEMS_AT_ONCE
    ) -> None:
        self.model, self.tokens_at_once, self.items_at_once = model, tokens_at_once, items_at_once
        self.before: Callable[[], object] | None = None
        self.left: Counter[Left] = Counter()
        self.problem: ModelError | None = None
        self._items = self._answered = self._bad_in_a_row = 0
        self._bad: ModelError | None = None

    def about(self, form: Form[I, T], items: Sequence[I]) -> dict[int, T]:
        """What the model says of items, by position; those that it says nothing usable of are not among them."""
        found: dict[int, T] = {}
        for batch in self.batches(form, items):
            if self.problem is not None:
                self.left[Left.NOT_ASKED] += len(batch)
                continue
            self._items += len(batch)
            answered = self._batch(form, items, batch, may_split=True)
            self._bad_in_a_row = 0 if answered else self._bad_in_a_row + 1
            if self._bad_in_a_row == _BAD_IN_A_ROW and self.problem is None:
                self.problem = self._useless()
            found |= answered
        self._answered += len(found)
        return found

    def batches(self, form: Form[I, T], items: Sequence[I]) -> Iterator[list[int]]:
        """Positions of items that go into one request: so many tokens and items at the most, and one at the least."""
        batch: list[int] = []
        room = self.tokens_at_once
        for position, item in enumerate(items):
            tokens = tokens_of(form, item)
            if batch and (tokens > room or len(batch) == self.items_at_once):
                yield batch
                batch, room = [], self.tokens_at_once
            batch.append(position)
            room -= tokens
        if batch:
            yield batch

    def ask_of(self, form: Form[I, T], items: Sequence[I]) -> Ask:
        """The request about some items."""
        return Ask(
            prompt=form.prompt.tag,
            instructions=form.prompt.instructions,
            material=fence.framed([{"item": number} | form.part(item) for number, item in enumerate(items, start=1)]),
            schema=form.schema,
            most_tokens=_TOKENS_OF_ANSWER + _TOKENS_OF_ENTRY * sum(map(form.entries, items)),
        )

    @property
    def asked(self) -> Asked:
        """What came of it so far."""
        used: Usage = self.model.used
        return Asked(
            model=self.model.name,
            items=self._items,
            answered=self._answered,
            left={str(reason): count for reason, count in sorted(self.left.items()) if count},
            calls=used.calls,
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            cost=used.cost,
            problem=self.problem.message if self.problem else "",
            hint=self.problem.hint if self.problem else "",
            bad=self._bad.message if self._bad else "",
        )

    def _batch(self, form: Form[I, T], items: Sequence[I], batch: list[int], *, may_split: bool) -> dict[int, T]:
        """What one request says of a batch, or the two of its halves."""
        if self.problem is not None:
            self.left[Left.NOT_ASKED] += len(batch)
            return {}
        some = [items[position] for position in batch]
        if self.before is not None:
            self.before()
        try:
            answered = form.read(self.model.answer(self.ask_of(form, some)).text, some)
        except (BadAnswerError, RefusedTextError) as error:
            self._bad = error
            if may_split and len(batch) > 1:
                return self._halves(form, items, batch, may_split=False)
            self.left[Left.BAD_ANSWER] += len(batch)
            return {}
        except BudgetError as error:
            if len(batch) > 1:
                return self._halves(form, items, batch, may_split=may_split)
            self.problem = error
            self.left[Left.NOT_ASKED] += len(batch)
            return {}
        except ModelError as error:
            self.problem = error
            self.left[Left.NOT_ASKED] += len(batch)
            return {}
        self.left[Left.NOT_ANSWERED] += len(batch) - len(answered)
        return {batch[position]: what for position, what in answered.items()}

    def _halves(self, form: Form[I, T], items: Sequence[I], batch: list[int], *, may_split: bool) -> dict[int, T]:
        middle = len(batch) // 2
        first = self._batch(form, items, batch[:middle], may_split=may_split)
        return first | self._batch(form, items, batch[middle:], may_split=may_split)

    def _useless(self) -> ModelError:
        last = f"; the last: {self._bad.message}" if self._bad else ""
        return ModelError(
            f"{self.model.name} gave no usable answer {_BAD_IN_A_ROW} times in a row{last}",
            "another model.model may fare better; what is pending stays pending",
        )


def tokens_of(form: Form[I, T], item: I) -> int:
    """About how many tokens of the material an item is."""
    return fence.written_tokens({"item": 100} | form.part(item))
