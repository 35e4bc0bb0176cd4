"""Patience asks again what may pass; a limit refuses before it asks."""

from __future__ import annotations

import pytest

from palimpsest.adapters.models.known import Price
from palimpsest.adapters.models.remote import FailedRequestError
from palimpsest.adapters.models.wrappers import Budgeted, Patient
from palimpsest.core.errors import BadAnswerError, BudgetError, ModelError, RefusedTextError
from palimpsest.core.patience import Failure, Patience
from tests.adapters.models.scripted import EACH, Scripted, ask

QUICK = Patience(attempts=3, first=0, most=0, whole=20)


def failed(status: int, retry_after: float | None = None) -> FailedRequestError:
    """A request that failed."""
    return FailedRequestError("m", "h", Failure(status=status, text="t", retry_after=retry_after))


def test_patience_gives_the_first_answer_there_is() -> None:
    model = Scripted(failed(429), failed(0), "{}")
    assert Patient(model, QUICK).answer(ask()).text == "{}"
    assert len(model.asked) == 3


def test_patience_ends_with_the_last_error() -> None:
    last = failed(503)
    model = Scripted(failed(500), failed(429), last, "{}")
    with pytest.raises(ModelError) as caught:
        Patient(model, QUICK).answer(ask())
    assert caught.value is last
    assert len(model.asked) == 3


@pytest.mark.parametrize(
    "error", [failed(404), failed(401), failed(-1), failed(200), failed(429, 21.0), BadAnswerError("b"),
              RefusedTextError("r"), BudgetError("b"), ModelError("m")]
)  # fmt: skip
def test_patience_asks_nothing_again_that_will_not_pass(error: ModelError) -> None:
    model = Scripted(error, "{}")
    with pytest.raises(ModelError) as caught:
        Patient(model, QUICK).answer(ask())
    assert caught.value is error
    assert len(model.asked) == 1


def test_a_limit_of_tokens_is_kept_by_what_the_next_request_could_take() -> None:
    # each answer takes 120 tokens; a request could take 100 (300 bytes, of which two are the schema) and 10
    request = ask("x" * 298)
    model = Scripted("{}", "{}", "{}")
    limited = Budgeted(model, tokens=350)
    limited.answer(request)
    limited.answer(request)  # 120 used, 110 more could be 230
    assert limited.used.input_tokens + limited.used.output_tokens == 240
    assert limited.answer(request).text == "{}"  # 240 + 110 = 350: just
    with pytest.raises(BudgetError) as caught:
        limited.answer(request)
    assert caught.value.message == "scripted:one: 360 of 350 tokens are used, and the next request may take 110"
    assert caught.value.hint == "run again to go on, or raise model.tokens_per_run"
    assert len(model.asked) == 3


def test_one_token_too_many_is_refused_before_anything_is_asked() -> None:
    model = Scripted("{}")
    with pytest.raises(BudgetError):
        Budgeted(model, tokens=109).answer(ask("x" * 298))
    with pytest.raises(BudgetError):
        Budgeted(model, tokens=110, room=1).answer(ask("x" * 298))
    assert model.asked == []
    assert Budgeted(model, tokens=110).answer(ask("x" * 298)).text == "{}"


def test_a_limit_of_dollars_is_kept_by_what_the_next_request_could_cost() -> None:
    # 100 tokens at a cent and 10 at ten cents could cost 2 dollars; what was asked cost 25 cents
    price = Price(10_000, 100_000)
    request = ask("x" * 298)
    model = Scripted("{}", "{}")
    limited = Budgeted(model, dollars=2.2, price=price)
    limited.answer(request)
    with pytest.raises(BudgetError) as caught:
        limited.answer(request)
    assert caught.value.message == "scripted:one: $0.2500 of $2.2000 are spent, and the next request may cost $2.0000"
    assert caught.value.hint == "run again to go on, or raise model.dollars_per_run"
    assert Budgeted(model, dollars=2.25, price=price).answer(request).text == "{}"


def test_a_bad_answer_is_paid_for_too() -> None:
    model = Scripted(BadAnswerError("none"), "{}")
    limited = Budgeted(model, tokens=125)
    with pytest.raises(BadAnswerError):
        limited.answer(ask())
    assert limited.used == EACH
    with pytest.raises(BudgetError):
        limited.answer(ask())


def test_no_limit_is_no_limit() -> None:
    assert Budgeted(Scripted("{}")).answer(ask("x" * 1_000_000)).text == "{}"


def test_a_wrapper_has_the_name_of_what_it_wraps_and_closes_it() -> None:
    model = Scripted("{}")
    around = Budgeted(Patient(model))
    around.answer(ask())
    around.close()
    assert (around.name, around.used, model.is_closed) == ("scripted:one", EACH, True)
