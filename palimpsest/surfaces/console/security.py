"""Who may look, and what a browser may do with a page. Nothing here knows what pages say."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import ip_address
from urllib.parse import urlsplit

from palimpsest.core.errors import ConfigError

COOKIE = "palimpsest"
COOKIE_SECONDS = 12 * 3600
LONGEST_QUERY = 4_096  # bytes of a query string
LONGEST_PATH = 2_048
LEAST_TOKEN = 16  # characters

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
CHALLENGE = {"WWW-Authenticate": 'Basic realm="Palimpsest", charset="UTF-8"'}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a request is not answered: an HTTP status, a sentence, and headers that go with it."""

    status: int
    why: str
    headers: Mapping[str, str]


class Door:
    """Lets in who has the token; without one, who asks by this machine's own names, so that no other site's page can.

    The token comes as a bearer, as the password of Basic (any user name), or by the cookie that stands for it.
    """

    def __init__(self, token: str, public_url: str = "") -> None:
        self._token = token
        self._names = {"localhost", urlsplit(public_url).hostname or "localhost"}

    @property
    def has_token(self) -> bool:
        """Whether a token is asked for."""
        return bool(self._token)

    def refuses(self, host: str, authorization: str, cookie: str) -> Refusal | None:
        """Why a request with these headers is not answered; None where it is."""
        if not self._token:
            if _name_of(host) in self._names or is_loopback(_name_of(host)):
                return None
            return Refusal(status=421, why="This console does not answer under that name.", headers={})
        by_token, by_cookie = _same(token_of(authorization), self._token), _same(cookie, self.cookie())
        if by_token or by_cookie:
            return None
        return Refusal(status=401, why="A token is needed to read here.", headers=CHALLENGE)

    def admits(self, authorization: str) -> bool:
        """Whether the token itself was given."""
        return bool(self._token) and _same(token_of(authorization), self._token)

    def cookie(self) -> str:
        """What stands for the token in a browser; another token makes another."""
        return hmac.new(self._token.encode(), b"palimpsest console cookie", sha256).hexdigest()


def token_of(authorization: str) -> str:
    """The token in an Authorization header; empty where there is none."""
    kind, _, rest = authorization.strip().partition(" ")
    if kind.casefold() == "bearer":
        return rest.strip()
    if kind.casefold() != "basic":
        return ""
    try:
        return base64.b64decode(rest.strip(), validate=True).decode().partition(":")[2]
    except ValueError:  # no base64, or no text in it
        return ""


def check_binding(host: str, token: str) -> None:
    """See that what can be reached from elsewhere asks for a token, and that none is short. Raises ConfigError."""
    if token and len(token) < LEAST_TOKEN:
        raise ConfigError(f"the console's token is shorter than {LEAST_TOKEN} characters", "make a longer one")
    if not token and host != "localhost" and not is_loopback(host):
        raise ConfigError(
            f"without a token the console listens on this machine only, not on {host}",
            "set PALIMPSEST_CONSOLE__TOKEN, or put a proxy that knows its readers before 127.0.0.1",
        )


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _name_of(host: str) -> str:
    """The host of a Host header, without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _same(given: str, right: str) -> bool:
    """Whether both are the same, in a time that does not tell where they differ or how long either is."""
    one, other = (sha256(text.encode("utf-8", "surrogateescape")).digest() for text in (given, right))
    return hmac.compare_digest(one, other)
