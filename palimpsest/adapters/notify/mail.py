"""Messages by mail, over SMTP: text and HTML. No header is made of a catalog's text.

A message that is sent again has the Message-ID that it had, by which it is known (RFC 5322, 3.6.4).
"""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import format_datetime
from html import escape

from palimpsest.adapters.notify.patient import PATIENCE, TIMEOUT_S, NotSent, patiently
from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.moment import Moment, to_datetime
from palimpsest.core.notice import Line, Message
from palimpsest.core.patience import Failure, Patience

PORTS = {"starttls": 587, "tls": 465, "none": 25}


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """The server that takes mail: `security` is `starttls`, `tls` or `none`; no user: it asks for none."""

    host: str
    port: int
    security: str
    sender: str
    user: str = ""
    password: str = ""


class MailNotifier:
    """Sends mail by an SMTP server. `now` tells the date that a mail bears."""

    def __init__(
        self,
        server: MailServer,
        now: Callable[[], Moment],
        *,
        patience: Patience = PATIENCE,
        timeout: float = TIMEOUT_S,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._server, self._now, self._patience, self._timeout = server, now, patience, timeout
        self._context = context

    def send(self, message: Message, address: str) -> Failure | None:
        """Send one message."""
        mail = written(message, sender=self._server.sender, to=address, now=self._now())

        def work() -> None:
            try:
                self._hand_over(mail, address)
            except smtplib.SMTPException as error:
                raise NotSent(_failure(error)) from None
            except TimeoutError:
                raise NotSent(Failure(status=0, text="the mail server said nothing")) from None
            except OSError as error:  # refused, unknown, no trust
                raise NotSent(Failure(status=-1, text=str(error))) from None

        return patiently(work, self._patience)

    def close(self) -> None:
        """Nothing is kept open."""

    def _hand_over(self, mail: EmailMessage, address: str) -> None:
        server = self._server
        context = self._context or ssl.create_default_context()
        if server.security == "tls":
            session: smtplib.SMTP = smtplib.SMTP_SSL(server.host, server.port, timeout=self._timeout, context=context)
        else:
            session = smtplib.SMTP(server.host, server.port, timeout=self._timeout)
        try:
            if server.security == "starttls":
                session.starttls(context=context)
            if server.user:
                session.login(server.user, server.password)
            session.send_message(mail, from_addr=server.sender, to_addrs=[address])
        except BaseException:
            session.close()
            raise
        try:
            session.quit()
        except (smtplib.SMTPException, OSError):  # it took the message: how it says goodbye is its own business
            session.close()


def written(message: Message, *, sender: str, to: str, now: Moment) -> EmailMessage:
    """The mail. Raises ValueError for an address that is none: it would be more than one header."""
    mail = EmailMessage()
    mail["Subject"] = message.title
    mail["From"] = sender
    mail["To"] = to
    mail["Date"] = format_datetime(to_datetime(now))
    mail["Message-ID"] = f"<{message.key}@palimpsest.invalid>"
    mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: nobody's absence note answers
    mail.set_content(text(message))
    mail.add_alternative(html(message), subtype="html")
    return mail


def text(message: Message) -> str:
    """The message as text."""
    lines = [message.title, *(f"- {line.text}" for line in message.lines)]
    return "\n".join([*lines, *([f"All changes: {message.link}"] if message.link else [])]) + "\n"


def html(message: Message) -> str:
    """The message as HTML; nothing of a catalog's text is taken for any."""
    items = "".join(f"<li>{_item(line)}</li>" for line in message.lines)
    more = f'<p><a href="{escape(message.link)}">All changes</a></p>' if message.link else ""
    return f"<!doctype html><html><body><p><b>{escape(message.title)}</b></p><ul>{items}</ul>{more}</body></html>\n"


def _item(line: Line) -> str:
    said = escape(line.text)
    said = f"<b>{said}</b>" if line.impact is Impact.BREAKING else said
    return f'{said} <a href="{escape(line.link)}">more</a>' if line.link else said


def _failure(error: smtplib.SMTPException) -> Failure:
    """What a mail server said, as a failure: 4xx of SMTP may pass, 5xx does not (RFC 5321, 4.2.1)."""
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return Failure(status=401, text=f"{error.smtp_code} it refused user or password")
    if isinstance(error, smtplib.SMTPServerDisconnected):
        if isinstance(error.__context__, TimeoutError):
            return Failure(status=0, text="the mail server said nothing")
        return Failure(status=502, text="it broke the connection off")
    said: bytes | str
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, said = next(iter(error.recipients.values()))
    elif isinstance(error, smtplib.SMTPResponseException):
        code, said = error.smtp_code, error.smtp_error
    else:
        return Failure(status=400, text=str(error))
    words = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    return Failure(status=503 if 400 <= code < 500 else 400, text=f"{code} {words}")
