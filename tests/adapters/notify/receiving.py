"""Loopback receivers: a mail server that speaks SMTP, and certificates that nobody trusts unless told to."""

from __future__ import annotations

import socketserver
import ssl
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from ipaddress import ip_address
from pathlib import Path
from typing import cast

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

USER, PASSWORD = "palimpsest", "password-of-the-test"


@dataclass
class Postbox:
    """A mail server at work: what it took, and what it will say in place of yes, by command (`MAIL`, `RCPT`, `DATA`).

    `silent`: it never greets.
    """

    port: int = 0
    mails: list[tuple[str, list[str], EmailMessage]] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    answers: dict[str, deque[str]] = field(default_factory=dict)
    sessions: int = 0
    encrypted: int = 0
    logins: int = 0
    silent: bool = False
    ended: threading.Event = field(default_factory=threading.Event)


@contextmanager
def postbox(certificate: tuple[Path, Path] | None = None, *, tls: bool = False) -> Iterator[Postbox]:
    """A mail server on a free port while the block lasts; with a certificate it knows STARTTLS, or speaks TLS."""
    state = Postbox()
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            state.sessions += 1
            if state.silent:
                state.ended.wait()
                return
            session = _Session(self, state, context, tls=tls)
            try:
                session.talk()
            finally:
                session.file.close()
                session.socket.close()

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that gave up is no news."""

    server = Server(("127.0.0.1", 0), Handler)
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        state.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Session:
    """One connection, as RFC 5321 has it, as far as it is needed."""

    def __init__(
        self, handler: socketserver.StreamRequestHandler, state: Postbox, context: ssl.SSLContext | None, *, tls: bool
    ) -> None:
        self.socket, self.state, self.context, self.tls = handler.connection, state, context, tls
        self.is_secret = False
        if tls and context is not None:
            self._secure()
        self.file = self.socket.makefile("rwb")

    def _secure(self) -> None:
        assert self.context is not None
        self.socket = self.context.wrap_socket(self.socket, server_side=True)
        self.is_secret = True
        self.state.encrypted += 1

    def say(self, line: str) -> None:
        self.file.write(line.encode() + b"\r\n")
        self.file.flush()

    def answer(self, command: str, yes: str) -> bool:
        """Say yes, or what was planned in its place."""
        planned = self.state.answers.get(command)
        said = planned.popleft() if planned else yes
        self.say(said)
        return said == yes

    def talk(self) -> None:
        sender, recipients = "", []
        self.say("220 postbox")
        while line := self.file.readline():
            command, _, rest = line.decode().strip().partition(" ")
            match command.upper():
                case "EHLO" | "HELO":
                    extensions = ["postbox", *(["STARTTLS"] if self.context and not self.is_secret else [])]
                    extensions += ["AUTH PLAIN"]
                    for one in extensions[:-1]:
                        self.say(f"250-{one}")
                    self.say(f"250 {extensions[-1]}")
                case "STARTTLS":
                    self.say("220 go on")
                    self._secure()
                    self.file = self.socket.makefile("rwb")
                case "AUTH":
                    self.state.logins += self.answer("AUTH", "235 welcome")
                case "MAIL":
                    sender = rest.partition("<")[2].partition(">")[0]
                    self.answer("MAIL", "250 yes")
                case "RCPT":
                    if self.answer("RCPT", "250 yes"):
                        recipients.append(rest.partition("<")[2].partition(">")[0])
                case "DATA":
                    self._take(sender, recipients)
                    sender, recipients = "", []
                case "QUIT":
                    self.say("221 bye")
                    return
                case _:
                    self.say("250 yes")

    def _take(self, sender: str, recipients: list[str]) -> None:
        self.say("354 go on")
        lines = []
        while (line := self.file.readline()) not in (b".\r\n", b""):
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        if not self.answer("DATA", "250 taken"):
            return
        raw = b"".join(lines)
        self.state.raw.append(raw)
        mail = cast(EmailMessage, message_from_bytes(raw, policy=policy.default))
        self.state.mails.append((sender, recipients, mail))


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of this machine that it signed itself, and its key, as files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback of a test")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2100, 1, 1, tzinfo=UTC))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = (folder / "certificate.pem", folder / "key.pem")
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return files
