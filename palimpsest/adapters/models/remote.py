"""A language model behind a server: one request, what an error means, and what an answer must be.

How each provider is spoken to is a `Wire` in a module of its own; trying again is `Patient`'s.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from palimpsest.adapters.models.known import Price
from palimpsest.adapters.models.replies import Reply, RequestFailed, body_of, flaw_of
from palimpsest.core import jsontext
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.errors import BadAnswerError, ModelError, RefusedTextError
from palimpsest.core.language import Answer, Ask, Usage
from palimpsest.core.patience import Failure

Result = TypeVar("Result")

_LATER = "run again later: what is pending stays pending"
_ANOTHER = "it is asked again the next time; another model.model may fare better"
_BEFORE_HOST = re.compile(r"//[^/@]*@")  # a name and a password
_NOT_THERE = frozenset(
    {"ConnectError", "ConnectionError", "ConnectionRefusedError", "ProxyError", "UnsupportedProtocol"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a model is and how to speak of it. `on_refused_key`, `on_unknown_model`: what to do in these cases."""

    provider: str
    label: str
    url: str
    model: str
    timeout: float
    on_refused_key: str
    on_unknown_model: str = "name another in model.model"
    key: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"{self.label} at {_BEFORE_HOST.sub('//', self.url)}"


class FailedRequestError(ModelError):
    """A request that failed, told to a person; `failure` is what it was."""

    def __init__(self, message: str, hint: str, failure: Failure) -> None:
        super().__init__(message, hint)
        self.failure = failure


class Wire(Protocol):
    """How a provider is spoken to, by its SDK. It can be pickled; the client that it makes cannot."""

    @property
    def place(self) -> Place:
        """Where the model is."""

    @property
    def room(self) -> int:
        """How many tokens a request gives the model to think with, beside the answer's."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What the SDK raises that `failure_of` understands."""

    def connect(self) -> Any:
        """A client of the SDK, which tries nothing again by itself."""

    def send(self, client: Any, ask: Ask) -> str:
        """Ask, and give the body of what came back. Raises RequestFailed, or one of `errors`."""

    def failure_of(self, error: Any) -> Failure:
        """What one of `errors` means."""

    def reply_of(self, body: dict[str, Json]) -> Reply:
        """What a body says. Raises RequestFailed for one that is none of the provider's. Pure."""

    def look(self, client: Any) -> None:
        """Look whether the model is there, where that costs nothing. Raises as `send` does."""


class RemoteModel:
    """A `LanguageModel` behind a server, asked once a request. Its connection is made with the first one."""

    def __init__(self, wire: Wire, price: Price | None = None) -> None:
        self.name = f"{wire.place.provider}:{wire.place.model}"
        self.used = Usage()
        self._wire, self._price = wire, price
        self._client: Any = None

    def answer(self, ask: Ask) -> Answer:
        """Ask once. Raises BadAnswerError, whose usage is counted too, or ModelError."""
        reply = self._told(lambda client: self._reply(client, sendable(ask)))
        usage = reply.used.at(self._price)
        self.used += usage
        text = jsontext.clean(reply.text).strip()
        flaw = reply.flaw or flaw_of(text)
        if flaw:
            said = Failure(status=200, text=flaw).said(self._wire.place.key)
            raise BadAnswerError(f"{self._wire.place}: the answer to {ask.prompt} {said}", _ANOTHER)
        return Answer(text=text, usage=usage)

    def look(self) -> None:
        """Look whether the model is there, where that costs nothing. Raises ModelError."""
        self._told(self._wire.look)

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _reply(self, client: Any, ask: Ask) -> Reply:
        return self._wire.reply_of(body_of(self._wire.send(client, ask)))

    def _told(self, work: Callable[[Any], Result]) -> Result:
        """Do `work` with a client; what goes wrong is told as a FailedRequestError."""
        if self._client is None:
            self._client = self._wire.connect()
        try:
            return work(self._client)
        except RequestFailed as error:
            raise explained(error.failure, self._wire.place) from error
        except self._wire.errors as error:
            raise explained(self._wire.failure_of(error), self._wire.place) from error
        except transport_errors() as error:
            raise explained(broken(error), self._wire.place) from error


def sendable(ask: Ask) -> Ask:
    """The request as servers take it: valid text, and no empty one. The order within the schema says something."""
    schema = json.loads(jsontext.clean(json.dumps(ask.schema, ensure_ascii=False)))
    material = jsontext.clean(ask.material)
    return replace(
        ask,
        instructions=jsontext.clean(ask.instructions),
        material=material if material.strip() else "(empty)",
        schema=schema,
    )


def with_schema(ask: Ask) -> str:
    """The instructions and the schema, for servers that keep a model to a schema without showing it, or do neither."""
    schema = json.dumps(ask.schema, ensure_ascii=False)
    return f"{ask.instructions}\n\nAnswer with one JSON object of this JSON schema, and nothing else:\n{schema}"


def tokens_of(ask: Ask) -> int:
    """How many tokens a request may be to read: one for three bytes, which is more than texts mostly have."""
    sent = (jsontext.clean(ask.instructions + ask.material).encode(), jsontext.dumps(ask.schema))
    return -(-sum(map(len, sent)) // 3)


def transport_errors() -> tuple[type[Exception], ...]:
    """What the HTTP libraries that are in use raise."""
    loaded = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]
    return (OSError, *(library.HTTPError for library in loaded))


def broken(error: BaseException) -> Failure:
    """What an error of an HTTP library means: nobody there, no answer in time, or one that broke off."""
    name = type(error).__name__
    return Failure(status=-1 if name in _NOT_THERE else 0, text=f"{name}: {error}")


def explained(failure: Failure, place: Place) -> ModelError:
    """The error that a person can act on; it never shows the key."""
    said = failure.said(place.key)
    match failure.status:
        case 400 | 413 | 422:
            return RefusedTextError(f"{place} does not take this request: {said}", "see model.model")
        case -1:
            told, hint = f"cannot be reached: {said}", "is it running, and is model.url right?"
        case 0:
            told, hint = f"did not answer in whole: {said}", "try again later, or raise model.timeout_seconds"
        case 200:
            told, hint = f"answered with an error: {said}", _LATER
        case 401 | 403:
            told, hint = f"refused the key: {said}", place.on_refused_key
        case 404:
            told, hint = f"has no model {place.model}: {said}", place.on_unknown_model
        case 429:
            after = f"; it says to wait {failure.retry_after:.0f} s" if failure.retry_after else ""
            told, hint = f"takes no more requests now: {said}{after}", _LATER
        case status:
            told, hint = f"failed ({status}): {said}", _LATER
    return FailedRequestError(f"{place} {told}", hint, failure)
