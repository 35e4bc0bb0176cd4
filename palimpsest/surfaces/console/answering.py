"""The one way to answer: it alone sets headers, asks who may read, and turns failures into pages without internals."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from palimpsest.core.errors import PalimpsestError, UsageError
from palimpsest.logs import logger
from palimpsest.queries.overview import OverviewView
from palimpsest.surfaces.cli.output import json_document
from palimpsest.surfaces.console import rendering
from palimpsest.surfaces.console.links import ServerLinks
from palimpsest.surfaces.console.pages import MENU, Asked, Desk, Page, context_of, times_of
from palimpsest.surfaces.console.rules import RulesView
from palimpsest.surfaces.console.security import COOKIE, HEADERS, LONGEST_PATH, LONGEST_QUERY, Door, Refusal

_COUNTED_UNASKED = 100_000  # episodes of a store whose rules are counted in a second or two
_OTHER = ("Not to be read here", "")
SAID = {
    401: _OTHER,
    404: ("Not here", "Nothing is remembered under this address."),
    405: ("Only to be read", "The console answers GET and HEAD."),
    414: ("Too long", "The address is longer than any question needs."),
    421: _OTHER,
    422: ("Not understood", "The question is not one that this page can be asked."),
    500: ("Something went wrong", "The page could not be made. The log tells why, under this number:"),
    503: (
        "The memory does not answer",
        "It cannot be read just now, or this page took too long. Ask for less at once.",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Settled:
    """How a console is served: below which path, and who is let in. `secure`: whether its cookie needs TLS."""

    root: str = ""
    door: Door = field(default_factory=lambda: Door(""))
    secure: bool = False


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Why there is no page: an HTTP status, a sentence, and for a failure of ours its number in the log."""

    status: int
    why: str
    id: str


class Answers:
    """Answers to requests."""

    def __init__(self, desk: Desk, settled: Settled) -> None:
        self.desk, self.settled, self.door = desk, settled, settled.door

    def guarded(self, request: Request, make: Callable[[], Response]) -> Response:
        """What `make` gives, to whom may read; failures as pages."""
        refusal = self._refusal(request)
        if refusal is not None:
            return self.problem(request, refusal.status, refusal.why, headers=refusal.headers)
        began = time.monotonic()
        try:
            return make()
        except UsageError as error:
            return self.problem(request, 422, error.message)
        except PalimpsestError as error:
            seconds = round(time.monotonic() - began, 2)
            return self._failed(request, 503, "page.unreadable", error=error.message, seconds=seconds)
        except Exception as error:  # noqa: BLE001 - a page without internals, whatever happened
            return self._failed(request, 500, "page.failed", error=repr(error), exc_info=error)

    def page(self, request: Request, page: Page, asked: Asked, place: str) -> Response:
        """A page as HTML."""
        view = page.view(self.desk, asked, place)
        if view is None:
            return self.problem(request, 404)
        links = ServerLinks(self.desk.store.ids, self.settled.root, rendering.stamp(), times_of(asked))
        rules = self._rules(view) if isinstance(view, OverviewView) else None
        given = asked.model_dump(mode="json", exclude_defaults=True)
        twin = links.page(page.json_path.replace("{id}", place), **given)
        context = context_of(page, asked, place, twin=twin, rules=rules)
        return response(rendering.html(page.template, view, links, context), "text/html")

    def _rules(self, view: OverviewView) -> RulesView:
        """The health of the rules for the overview: of a large store, as it was when somebody asked for it."""
        is_small = view.episodes <= _COUNTED_UNASKED
        return self.desk.rules.view(patience=1.0 if is_small else 0.0, begin=is_small)

    def document(self, request: Request, page: Page, asked: Asked, place: str) -> Response:
        """A page as JSON."""
        view = page.view(self.desk, asked, place)
        if view is None:
            return self.problem(request, 404)
        return response(json_document(page.name, view), "application/json")

    def problem(
        self,
        request: Request,
        status: int,
        why: str = "",
        *,
        number: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Why there is no page, in the form that was asked for."""
        title, text = SAID.get(status, _OTHER)
        view = Problem(status=status, why=rendering.cut(why or text, 600), id=number)
        if request.url.path.endswith(".json"):
            made = response(json_document("problem", view), "application/json", status)
        else:
            links = ServerLinks(None, self.settled.root, rendering.stamp(), {})
            context = {"page": "", "title": title, "menu": MENU, "is_timed": False, "twin": ""}
            made = response(rendering.html("problem.html", view, links, context), "text/html", status)
        made.headers.update(headers or {})
        return made

    def refused(self, request: Request, error: Exception) -> Response:
        """What routing says: no such path, no such method."""
        assert isinstance(error, HTTPException)
        refusal = self._refusal(request)
        if refusal is not None:
            return self.problem(request, refusal.status, refusal.why, headers=refusal.headers)
        return self.problem(request, error.status_code, headers=error.headers)

    def misunderstood(self, request: Request, error: Exception) -> Response:
        """A question that is not of the form that a page can be asked; an id of a wrong form names nothing."""
        assert isinstance(error, RequestValidationError)
        refusal = self._refusal(request)
        if refusal is not None:
            return self.problem(request, refusal.status, refusal.why, headers=refusal.headers)
        places = [one["loc"] for one in error.errors()]
        if any(place[0] == "path" for place in places):
            return self.problem(request, 404)
        named = sorted({str(place[-1]) for place in places})
        return self.problem(request, 422, f"Not understood: {', '.join(named)}.")

    def _refusal(self, request: Request) -> Refusal | None:
        if len(request.scope.get("query_string", b"")) > LONGEST_QUERY or len(request.url.path) > LONGEST_PATH:
            return Refusal(status=414, why="", headers={})
        given = request.headers
        return self.door.refuses(given.get("host", ""), given.get("authorization", ""), request.cookies.get(COOKIE, ""))

    def _failed(self, request: Request, status: int, event: str, **told: object) -> Response:
        """A failure of ours: what happened is in the log only, under a number that the page shows."""
        number = secrets.token_hex(4)
        logger().error(event, id=number, path=request.url.path, **told)
        return self.problem(request, status, number=number)


def response(body: str | bytes, media: str, status: int = 200, *, cache: str = "no-store") -> Response:
    """An answer with the headers that all have."""
    return Response(body, status, {**HEADERS, "Cache-Control": cache}, media)
