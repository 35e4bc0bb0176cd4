"""Every way against a loopback receiver that speaks its format: what is accepted, what is tried again, what fails."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import ssl
from collections import deque
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from palimpsest.adapters.notify.mail import MailNotifier, MailServer
from palimpsest.adapters.notify.slack import SlackNotifier
from palimpsest.adapters.notify.teams import TeamsNotifier
from palimpsest.adapters.notify.webhook import WebhookNotifier
from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.moment import Moment, parse
from palimpsest.core.notice import Line, Message
from palimpsest.core.patience import Failure, Patience
from palimpsest.ports import Notifier
from tests.adapters.embed.serving import Fault, Serving, served
from tests.adapters.notify.receiving import PASSWORD, USER, certificate, postbox

QUICK = Patience(attempts=3, first=0, most=0, whole=20)
SECRET_PATH = "/services/T0/B0/secret-of-the-test"
OVER_HTTP = ("slack", "teams", "webhook")
MESSAGE = Message(
    key="0123abcd",
    title="1 breaking change in the catalog",
    lines=(Line(text="orders.discount: column gone (breaking, 3 downstream)", impact=Impact.BREAKING),),
    link="",
    changes=1,
    breaking=1,
)


class Receiving(Serving):
    """A receiver of messages over HTTP."""

    def answer(self, path: str, headers: dict[str, str], body: dict[str, object]) -> tuple[int, object]:
        """It takes what comes to its secret path."""
        self.requests.append((path, headers, body))
        return (200, "ok") if path == SECRET_PATH else (404, "no_service")


@pytest.fixture
def receiver() -> Iterator[Receiving]:
    """One that is there."""
    with served(Receiving()) as state:
        yield state


@pytest.fixture(params=OVER_HTTP)
def way(request: pytest.FixtureRequest) -> str:
    """By what."""
    return str(request.param)


def made(way: str, url: str, *, patience: Patience = QUICK, timeout: float = 20) -> Notifier:
    """What sends to one address, by HTTP."""
    urls = {"URL": url}
    if way == "webhook":
        return WebhookNotifier(urls, {"URL": "signed-with"}, patience=patience, timeout=timeout)
    return (SlackNotifier if way == "slack" else TeamsNotifier)(urls, patience=patience, timeout=timeout)


def sent(notifier: Notifier, address: str = "URL") -> Failure | None:
    """What became of the message; no failure shows a secret."""
    failure = notifier.send(MESSAGE, address)
    notifier.close()
    assert failure is None or not {"secret-of-the-test", PASSWORD} & set(failure.text.replace("/", " ").split())
    assert failure is None or "secret-of-the-test" not in failure.text
    return failure


def test_the_receiver_gets_the_message_once(way: str, receiver: Receiving) -> None:
    assert sent(made(way, receiver.url + SECRET_PATH)) is None
    ((path, headers, body),) = receiver.requests
    assert (path, headers["content-type"]) == (SECRET_PATH, "application/json")
    assert "orders" in json.dumps(body)


def test_the_webhook_is_signed_and_known_by_its_key(receiver: Receiving) -> None:
    assert sent(made("webhook", receiver.url + SECRET_PATH)) is None
    ((_, headers, body),) = receiver.requests
    written = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    expected = hmac.new(b"signed-with", written, hashlib.sha256).hexdigest()
    assert headers["x-palimpsest-signature"] == f"sha256={expected}"
    assert headers["idempotency-key"] == "0123abcd"


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(way: str, receiver: Receiving, status: int) -> None:
    receiver.faults += [Fault(status=status, body="busy")] * 2
    assert sent(made(way, receiver.url + SECRET_PATH)) is None
    assert len(receiver.requests) == 3


def test_what_does_not_pass_is_a_failure_in_the_end(way: str, receiver: Receiving) -> None:
    receiver.faults += [Fault(status=500, body="down")] * 3
    assert sent(made(way, receiver.url + SECRET_PATH)) == Failure(status=500, text="down")
    assert len(receiver.requests) == 3


def test_a_receiver_that_says_how_long_is_waited_for(way: str, receiver: Receiving) -> None:
    receiver.faults.append(Fault(status=429, body="slow down", headers={"retry-after": "0.3"}))
    patient = Patience(attempts=2, first=0, most=0, whole=1)
    assert sent(made(way, receiver.url + SECRET_PATH, patience=patient)) is None
    receiver.faults.append(Fault(status=429, body="slow down", headers={"retry-after": "30"}))
    failure = sent(made(way, receiver.url + SECRET_PATH, patience=patient))
    assert failure == Failure(status=429, text="slow down", retry_after=30)
    assert len(receiver.requests) == 3


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 410, 413])
def test_what_does_not_pass_by_waiting_is_tried_once(way: str, receiver: Receiving, status: int) -> None:
    receiver.faults.append(Fault(status=status, body="no_service", headers={"location": "http://127.0.0.1:9/"}))
    assert sent(made(way, receiver.url + SECRET_PATH)) == Failure(status=status, text="no_service")
    assert len(receiver.requests) == 1


def test_a_secret_address_is_not_told_though_the_receiver_repeats_it(way: str, receiver: Receiving) -> None:
    receiver.faults.append(Fault(status=404, body=f"nothing at {SECRET_PATH}"))
    assert sent(made(way, receiver.url + SECRET_PATH)) == Failure(status=404, text="nothing at …")


def test_a_receiver_that_says_nothing_is_a_failure_that_may_pass(way: str, receiver: Receiving) -> None:
    receiver.faults += [Fault(status=0)] * 3
    failure = sent(made(way, receiver.url + SECRET_PATH, timeout=0.2))
    assert failure is not None
    assert (failure.status, failure.may_pass, len(receiver.requests)) == (0, True, 3)


def test_a_receiver_that_is_not_there_is_told_at_once(way: str) -> None:
    failure = sent(made(way, f"http://127.0.0.1:{_closed_port()}{SECRET_PATH}"))
    assert failure is not None
    assert failure.status == -1
    assert "refused" in failure.text


def test_a_certificate_that_nobody_trusts_is_a_failure(way: str, tmp_path: Path) -> None:
    with _https(certificate(tmp_path)) as port:
        failure = sent(made(way, f"https://127.0.0.1:{port}{SECRET_PATH}"))
    assert failure is not None
    assert failure.status == -1
    assert "certificate verify failed" in failure.text


# --- mail -------------------------------------------------------------------------------------------------------


def mailer(port: int, security: str = "none", **given: object) -> MailNotifier:
    """What sends mail to a port."""
    login = {"user": USER, "password": PASSWORD} if given.pop("login", False) else {}
    server = MailServer(host="127.0.0.1", port=port, security=security, sender="p@example.org", **login)
    options = {"patience": QUICK, "timeout": 20.0, **given}
    return MailNotifier(server, lambda: Moment(parse("2026-03-06")), **options)  # type: ignore[arg-type]


def mailed(notifier: MailNotifier) -> Failure | None:
    """What became of the mail."""
    return sent(notifier, "ann@example.org")


def test_a_mail_server_gets_text_and_html_with_an_id(tmp_path: Path) -> None:
    with postbox() as state:
        assert mailed(mailer(state.port)) is None
    ((sender, recipients, mail),) = state.mails
    assert (sender, recipients) == ("p@example.org", ["ann@example.org"])
    assert (mail["Message-ID"], mail["Subject"]) == ("<0123abcd@palimpsest.invalid>", MESSAGE.title)
    assert [part.get_content_type() for part in mail.iter_parts()] == ["text/plain", "text/html"]
    assert "orders.discount: column gone" in mail.get_body(("plain",)).get_content()  # type: ignore[union-attr]


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_connection_is_encrypted_before_the_password_goes(security: str, tmp_path: Path) -> None:
    files = certificate(tmp_path)
    trusting = ssl.create_default_context(cafile=str(files[0]))
    with postbox(files, tls=security == "tls") as state:
        assert mailed(mailer(state.port, security, context=trusting, login=True)) is None
    assert (state.encrypted, state.logins, len(state.mails)) == (1, 1, 1)


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_mail_server_that_nobody_trusts_gets_nothing(security: str, tmp_path: Path) -> None:
    with postbox(certificate(tmp_path), tls=security == "tls") as state:
        failure = mailed(mailer(state.port, security, login=True))
    assert failure is not None
    assert failure.status == -1
    assert "certificate verify failed" in failure.text
    assert (state.logins, state.mails) == (0, [])


def test_a_mail_server_without_starttls_gets_nothing() -> None:
    with postbox() as state:
        failure = mailed(mailer(state.port, "starttls", login=True))
    assert failure is not None
    assert (failure.may_pass, state.logins, state.mails) == (False, 0, [])


@pytest.mark.parametrize("command", ["MAIL", "RCPT", "DATA"])
def test_mail_that_may_be_taken_later_is_tried_again(command: str) -> None:
    with postbox() as state:
        state.answers[command] = deque(["451 greylisted"] * 2)
        assert mailed(mailer(state.port)) is None
    assert (state.sessions, len(state.mails)) == (3, 1)


@pytest.mark.parametrize("command", ["MAIL", "RCPT", "DATA"])
def test_mail_that_is_refused_is_a_clear_failure_at_once(command: str) -> None:
    with postbox() as state:
        state.answers[command] = deque(["550 no such person"])
        assert mailed(mailer(state.port)) == Failure(status=400, text="550 no such person")
    assert (state.sessions, state.mails) == (1, [])


def test_a_wrong_password_is_a_failure_that_does_not_tell_it() -> None:
    with postbox() as state:
        state.answers["AUTH"] = deque([f"535 no: {PASSWORD}"] * 3)
        failure = mailed(mailer(state.port, login=True))
    assert failure == Failure(status=401, text="535 it refused user or password")


def test_a_mail_server_that_says_nothing_or_is_not_there_is_a_failure() -> None:
    with postbox() as state:
        state.silent = True
        silent = mailed(mailer(state.port, timeout=0.2))
        assert state.sessions == 3
    absent = mailed(mailer(_closed_port()))
    assert silent is not None
    assert absent is not None
    assert (silent.status, absent.status) == (0, -1)


def test_a_dot_alone_on_a_line_ends_no_mail() -> None:
    with postbox() as state:
        told = Message(key="1", title="t", lines=(Line(text=".", impact=Impact.MINOR),), link="", changes=1, breaking=0)
        assert mailer(state.port).send(told, "ann@example.org") is None
    assert len(state.mails) == 1


def _closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class _https:
    """A server over TLS while the block lasts."""

    def __init__(self, files: tuple[Path, Path]) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)

        class Quiet(HTTPServer):
            def handle_error(self, request: object, client_address: object) -> None:
                """A client that does not trust us is no news."""

        self._server = Quiet(("127.0.0.1", 0), BaseHTTPRequestHandler)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> int:
        self._thread.start()
        return self._server.server_port

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
