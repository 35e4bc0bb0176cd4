"""One GMS over HTTP: asks a GraphQL question and gives back its data and its errors, or says why there is none.

Retries what may pass (429, 5xx, a connection that breaks), honouring Retry-After. Not here: what is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import httpx
import stamina

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.errors import CatalogError
from palimpsest.core.jsontext import dumps, loads

_TOKEN_HINT = "set DATAHUB_GMS_TOKEN to a valid token that may read the catalog"
_PASSING = frozenset({429, 500, 502, 503, 504})
_LONGEST_WAIT_S = 30.0
# How GraphQL servers word a question that their schema does not know.
_UNKNOWN_WORDS = (
    "fieldundefined",
    "validationerror",
    "invalidsyntax",
    "cannot query field",
    "unknown ",
    "invalid value",
    "is not defined",
    "not present",
    "not contained",
    "variable ",
)


class Answer(NamedTuple):
    """What GMS answered: the data, and its errors as (message, path)."""

    data: dict[str, Json]
    errors: list[tuple[str, list[Json]]]


class UnknownToServer(Exception):
    """The server's schema does not know a word of the question. The message is the server's own."""


class Unanswered(Exception):
    """The server answers, but not this question: too slow, or broken over it. The next may go well."""


class _Silent(CatalogError):
    """No answer to one request, after every try."""


class _Passing(Exception):
    """A failure that may pass; `wait` is how long the server asks to wait."""

    def __init__(self, what: str, *, wait: float | None = None) -> None:
        super().__init__(what)
        self.wait = wait


class GraphqlClient:
    """Asks one server. Threads may share it."""

    def __init__(self, url: str, token: str, *, timeout: float = 30.0, attempts: int = 5) -> None:
        headers = {"User-Agent": "palimpsest", "Accept": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self.url = url
        self.requests = 0
        self._attempts = attempts
        self._http = httpx.Client(headers=headers, timeout=timeout, follow_redirects=False)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def check(self) -> dict[str, Json]:
        """See that a GMS is there; what it says of itself. Raises CatalogError."""
        response = self._retried(lambda: self._send("GET", "/config"))
        try:
            config = loads(response.content)
        except ValueError:
            config = None
        if not isinstance(config, dict) or str(config.get("noCode")).lower() != "true":
            raise CatalogError(
                f"{self.url} is no DataHub GMS: its /config says nothing of the kind",
                "name the GMS: https://HOST:8080, or https://HOST/api/gms behind the frontend",
            )
        return config

    def ask(self, query: str, variables: dict[str, Json], *, attempts: int | None = None) -> Answer:
        """The answer to a question, after so many attempts at most.

        Raises CatalogError when the server cannot be used, UnknownToServer and Unanswered.
        """
        body = dumps({"query": query, "variables": variables})
        try:
            response = self._retried(lambda: self._send("POST", "/api/graphql", body), attempts)
        except _Silent as error:
            self._retried(lambda: self._send("GET", "/config"))  # raises when the server itself is gone
            raise Unanswered(error.message) from None
        return self._read(response)

    def post(self, path: str, body: Json) -> Json:
        """The JSON answer to a JSON body. Raises CatalogError when the server cannot be used, and Unanswered."""
        payload = dumps(body)
        try:
            response = self._retried(lambda: self._send("POST", path, payload))
        except _Silent as error:
            self._retried(lambda: self._send("GET", "/config"))  # raises when the server itself is gone
            raise Unanswered(error.message) from None
        if response.status_code != 200:
            raise Unanswered(f"HTTP {response.status_code}")
        try:
            return loads(response.content)
        except (ValueError, RecursionError) as error:
            raise Unanswered("the answer is no JSON") from error

    def _retried(self, send: Callable[[], httpx.Response], attempts: int | None = None) -> httpx.Response:
        most = attempts or self._attempts
        try:
            for attempt in stamina.retry_context(on=_wait, attempts=most, timeout=120.0, wait_max=10.0):
                with attempt:
                    return send()
        except _Passing as error:
            raise _Silent(f"{self.url} gives no answer: {error}", "is DataHub up? try again later") from error
        raise AssertionError("a retry ends with an answer or an error")

    def _send(self, method: str, path: str, body: bytes | None = None) -> httpx.Response:
        self.requests += 1
        try:
            headers = {"Content-Type": "application/json"} if body is not None else {}
            response = self._http.request(method, self.url + path, content=body, headers=headers)
        except httpx.ReadTimeout as error:
            raise _Silent(f"{self.url} gives no answer in time", "is DataHub overloaded? try again later") from error
        except httpx.TransportError as error:
            raise _Passing(str(error) or type(error).__name__) from error
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise CatalogError(f"{self.url} cannot be asked: {error}", "check the address") from error
        status = response.status_code
        if status in _PASSING:
            raise _Passing(f"HTTP {status}", wait=_asked_wait(response))
        if status == 401:
            raise CatalogError(f"{self.url} refuses the token (401)", _TOKEN_HINT)
        if status == 403:
            raise CatalogError(f"{self.url} forbids reading to this token (403)", _TOKEN_HINT)
        if status == 400 and method == "POST":
            return response
        if status != 200:
            raise CatalogError(f"{self.url} is no DataHub GMS: HTTP {status} at {path}", "check the address")
        return response

    def _read(self, response: httpx.Response) -> Answer:
        try:
            body = loads(response.content)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict) or not ("data" in body or "errors" in body):
            raise CatalogError(f"{self.url} is no DataHub GMS: its answer is not GraphQL", "check the address")
        listed = body.get("errors")
        errors = [_error(entry) for entry in listed] if isinstance(listed, list) else []
        data = body.get("data")
        for entry in listed if isinstance(listed, list) else []:
            if _is_forbidden(entry):
                raise CatalogError(f"{self.url} forbids reading to this token: {_error(entry)[0]}", _TOKEN_HINT)
        if not isinstance(data, dict):
            what = "; ".join(message for message, _ in errors) or "no data"
            if any(word in what.casefold() for word in _UNKNOWN_WORDS):
                raise UnknownToServer(what)
            raise Unanswered(what)
        return Answer(data, errors)


def _error(entry: Json) -> tuple[str, list[Json]]:
    if not isinstance(entry, dict):
        return str(entry)[:300], []
    path = entry.get("path")
    return str(entry.get("message") or "an error without a message")[:300], path if isinstance(path, list) else []


def _is_forbidden(entry: Json) -> bool:
    """Whether the whole question was refused: an error of one entity has a path that leads to it."""
    if not isinstance(entry, dict) or len(_error(entry)[1]) > 1:
        return False
    extensions = entry.get("extensions")
    code = extensions.get("code") if isinstance(extensions, dict) else None
    return code in {401, 403, "401", "403", "UNAUTHORIZED"}


def _wait(error: Exception) -> bool | float:
    """Whether, and after how many seconds, to try again."""
    if not isinstance(error, _Passing):
        return False
    return True if error.wait is None else error.wait


def _asked_wait(response: httpx.Response) -> float | None:
    """The seconds of a Retry-After header, as a number or counted from the answer's own Date."""
    asked = response.headers.get("Retry-After", "").strip()
    if not asked:
        return None
    if asked.isdigit():
        return min(float(asked), _LONGEST_WAIT_S)
    try:
        wait = (parsedate_to_datetime(asked) - parsedate_to_datetime(response.headers["Date"])).total_seconds()
    except (ValueError, TypeError, KeyError):
        return None
    return min(max(wait, 0.0), _LONGEST_WAIT_S)
