"""Wrappers around a language model: patience with what may pass, and a limit to what a run may spend.

The order is Recording(Budgeted(Patient(provider))): a failed attempt is not paid for, so the limit stands around all
attempts; and what is replayed from a recording costs nothing, so the recording stands around the limit.
"""

from __future__ import annotations

import stamina

from palimpsest.adapters.models.known import Price, Spending
from palimpsest.adapters.models.remote import FailedRequestError, tokens_of
from palimpsest.core.errors import BudgetError
from palimpsest.core.language import Answer, Ask, Usage
from palimpsest.core.patience import Patience
from palimpsest.ports import LanguageModel

stamina.instrumentation.set_on_retry_hooks(())  # a retry is no news; unset, it is logged to stdout, which is for data


class Around:
    """A `LanguageModel` that is another, but for how it answers."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """Its name."""
        return self._model.name

    @property
    def used(self) -> Usage:
        """What it used."""
        return self._model.used

    def close(self) -> None:
        """Close it."""
        self._model.close()


class Patient(Around):
    """Asks again what may pass: 429, 5xx, no answer in time, one that broke off. Waits as long as the server says."""

    def __init__(self, model: LanguageModel, patience: Patience | None = None) -> None:
        super().__init__(model)
        self._patience = patience or Patience()

    def answer(self, ask: Ask) -> Answer:
        """The answer, or the error of the last attempt."""
        mine = self._patience
        again = stamina.RetryingCaller(mine.attempts, mine.whole, mine.first, mine.most, mine.first)
        return again(self._wait, self._model.answer, ask)

    def _wait(self, error: Exception) -> bool | float:
        return self._patience.wait(error.failure) if isinstance(error, FailedRequestError) else False


class Budgeted(Around):
    """Asks nothing that could use more than so many tokens, or cost more than so many dollars, in all; 0: no limit.

    `room`: the tokens that a request gives beside the answer's.
    """

    def __init__(
        self, model: LanguageModel, *, tokens: int = 0, dollars: float = 0, price: Price | None = None, room: int = 0
    ) -> None:
        super().__init__(model)
        self._tokens, self._dollars, self._price, self._room = tokens, dollars, price, room

    def answer(self, ask: Ask) -> Answer:
        """The answer. Raises BudgetError, before asking, when it could go beyond the limit."""
        most = Spending(input_tokens=tokens_of(ask), output_tokens=ask.most_tokens + self._room).at(self._price)
        used = self.used
        tokens, needed = used.input_tokens + used.output_tokens, most.input_tokens + most.output_tokens
        if self._tokens and tokens + needed > self._tokens:
            raise BudgetError(
                f"{self.name}: {tokens:,} of {self._tokens:,} tokens are used, and the next request may take"
                f" {needed:,}",
                "run again to go on, or raise model.tokens_per_run",
            )
        cost, next_cost = used.cost or 0.0, most.cost or 0.0
        if self._dollars and cost + next_cost > self._dollars:
            raise BudgetError(
                f"{self.name}: ${cost:.4f} of ${self._dollars:.4f} are spent, and the next request may cost"
                f" ${next_cost:.4f}",
                "run again to go on, or raise model.dollars_per_run",
            )
        return self._model.answer(ask)
