"""When a server is asked again, and how long it says to wait."""

from __future__ import annotations

import pytest

from palimpsest.core.patience import Failure, Patience, delay_in, seconds_of


@pytest.mark.parametrize(
    ("status", "passes"),
    [(0, True), (408, True), (429, True), (498, True), (500, True), (503, True), (529, True),
     (-1, False), (200, False), (400, False), (401, False), (404, False), (413, False)],
)  # fmt: skip
def test_what_may_pass_is_worth_another_attempt(status: int, passes: bool) -> None:
    failure = Failure(status=status, text="t")
    assert failure.may_pass is passes
    assert Patience().wait(failure) is passes


def test_a_server_that_names_the_seconds_is_waited_for_as_long_but_no_longer_than_the_whole() -> None:
    patience = Patience(whole=60)
    assert patience.wait(Failure(status=429, text="", retry_after=60)) == 60
    assert patience.wait(Failure(status=429, text="", retry_after=61)) is False
    assert patience.wait(Failure(status=401, text="", retry_after=1)) is False
    assert patience.wait(Failure(status=503, text="", retry_after=0)) == 0


@pytest.mark.parametrize(
    ("header", "date", "seconds"),
    [
        ("30", None, 30),
        (" 1.5 ", None, 1.5),
        ("-3", None, 0),
        ("Mon, 30 Nov 2026 12:00:30 GMT", "Mon, 30 Nov 2026 12:00:00 GMT", 30),
        ("Mon, 30 Nov 2026 12:00:30 GMT", "Mon, 30 Nov 2026 13:00:00 GMT", 0),
        ("Mon, 30 Nov 2026 12:00:30 GMT", None, None),
        ("Mon, 30 Nov 2026 12:00:30 -0000", "Mon, 30 Nov 2026 12:00:00 GMT", None),
        ("soon", "Mon, 30 Nov 2026 12:00:00 GMT", None),
        ("nan", None, None),
        ("inf", None, None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_retry_after_is_a_number_or_a_date(header: str | None, date: str | None, seconds: float | None) -> None:
    assert seconds_of(header, date) == seconds


def test_the_delay_of_a_retry_info_is_found_and_nothing_else_taken_for_one() -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    assert delay_in({"error": {"details": [{"reason": "RATE"}, info]}}) == 34.5
    for body in (
        None,
        [],
        {"error": "no"},
        {"error": {"details": "x"}},
        {"error": {"details": [{"retryDelay": "5m"}]}},
    ):
        assert delay_in(body) is None


def test_what_is_told_is_one_short_line_without_the_secret() -> None:
    failure = Failure(status=401, text="key  abc\nis\tno key " + "x" * 300)
    assert failure.said("abc").startswith("key … is no key xxx")
    assert len(failure.said("abc")) == 200
