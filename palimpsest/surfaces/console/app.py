"""The web application: a route for each page and its JSON twin, all of them GET or HEAD, and their description."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import orjson
from fastapi import FastAPI, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException

from palimpsest import __version__
from palimpsest.core.errors import PalimpsestError
from palimpsest.store import migrate
from palimpsest.surfaces.console import rendering, schemas
from palimpsest.surfaces.console.answering import SAID, Answers, Problem, Settled, response
from palimpsest.surfaces.console.pages import PAGES, Desk, Page
from palimpsest.surfaces.console.security import COOKIE, COOKIE_SECONDS

READ_MS = 10_000  # after so long a transaction is broken off, and its page given up
_METHODS = ["GET", "HEAD"]
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_REQUEST = inspect.Parameter("request", _KEYWORD, annotation=Request)


def create_app(desk: Desk, settled: Settled | None = None) -> FastAPI:
    """The application."""
    settled = settled or Settled()
    app = FastAPI(
        title="Palimpsest console",
        version=__version__,
        description="What is remembered of a catalog, read-only. Readers see what the scanning token saw.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.root_path = settled.root  # a proxy may take it off the path or leave it: both are understood
    answers = Answers(desk, settled)
    for page in PAGES:
        _add_page(app, answers, page)
    _add_others(app, answers)
    app.add_exception_handler(HTTPException, answers.refused)
    app.add_exception_handler(RequestValidationError, answers.misunderstood)
    return app


def openapi(app: FastAPI) -> dict[str, Any]:
    """The description of the JSON twins."""
    found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    views = [page.view_type for page in PAGES]
    found.setdefault("components", {})["schemas"] = schemas.components([*views, Problem])
    return found


def _add_page(app: FastAPI, answers: Answers, page: Page) -> None:
    """Both forms of a page. The twin comes first: `{id}` would take its ending for a part of the id."""
    twin, html = _endpoint(answers, page, answers.document), _endpoint(answers, page, answers.page)
    summary = page.title or f"One {page.name}"
    app.add_api_route(
        page.json_path, twin, methods=["GET"], operation_id=page.name, summary=summary, response_class=Response,
        responses=_documented(page),
    )  # fmt: skip
    app.add_api_route(page.json_path, twin, methods=["HEAD"], include_in_schema=False)
    app.add_api_route(page.path, html, methods=_METHODS, include_in_schema=False)


def _endpoint(answers: Answers, page: Page, make: Callable[..., Response]) -> Callable[..., Response]:
    """What FastAPI calls; the question and the id are read off its signature."""

    def endpoint(request: Request, asked: Any, id: str = "") -> Response:
        return answers.guarded(request, lambda: make(request, page, asked, id))

    parameters = [_REQUEST, inspect.Parameter("asked", _KEYWORD, annotation=Annotated[page.asked, Query()])]
    if page.id_form:
        parameters.append(inspect.Parameter("id", _KEYWORD, annotation=Annotated[str, Path(pattern=page.id_form)]))
    return _signed(endpoint, parameters)


def _signed(endpoint: Callable[..., Response], parameters: list[inspect.Parameter]) -> Callable[..., Response]:
    endpoint.__signature__ = inspect.Signature(parameters, return_annotation=Response)  # type: ignore[attr-defined]
    return endpoint


def _documented(page: Page) -> dict[int | str, dict[str, Any]]:
    """The answers of a twin."""
    problem = {"content": {"application/json": {"schema": schemas.document("problem", Problem)}}}
    found: dict[int | str, dict[str, Any]] = {
        status: {"description": SAID[status][0], **problem}
        for status in (401, 404, 414, 421, 422, 500, 503)
        if status != 404 or page.id_form
    }
    schema = schemas.document(page.name, page.view_type)
    found[200] = {"description": "The page.", "content": {"application/json": {"schema": schema}}}
    return found


def _add_others(app: FastAPI, answers: Answers) -> None:
    """The files that pages load, the description of the twins, the way in with a token, and how the server does."""

    def static(request: Request, name: str) -> Response:
        if name not in rendering.static_names():
            return answers.problem(request, 404)
        file = rendering.static_file(name)
        return response(file.read_bytes(), _TYPES[file.suffix], cache="public, max-age=86400")

    def described(request: Request) -> Response:
        return answers.guarded(request, lambda: response(orjson.dumps(openapi(app)), "application/json"))

    def enter(request: Request) -> Response:
        return answers.guarded(request, lambda: _entered(request, answers.settled))

    def healthz(request: Request) -> Response:
        return response("ok\n", "text/plain")

    def readyz(request: Request) -> Response:
        ready = _is_ready(answers.desk)
        return response("ready\n" if ready else "not ready\n", "text/plain", 200 if ready else 503)

    name = inspect.Parameter("name", _KEYWORD, annotation=str)
    app.add_api_route("/static/{name}", _signed(static, [_REQUEST, name]), methods=_METHODS, include_in_schema=False)
    others = (("/openapi.json", described), ("/enter", enter), ("/healthz", healthz), ("/readyz", readyz))
    for path, endpoint in others:
        app.add_api_route(path, _signed(endpoint, [_REQUEST]), methods=_METHODS, include_in_schema=False)


def _is_ready(desk: Desk) -> bool:
    """Whether the store can be read, and has the tables of this version."""
    try:
        return migrate.status(desk.store).is_current
    except PalimpsestError:
        return False


def _entered(request: Request, settled: Settled) -> Response:
    """On to the overview, with a cookie in place of the token where that was given."""
    made = response("", "text/plain", 303)
    made.headers["Location"] = f"{settled.root}/"
    if settled.door.admits(request.headers.get("authorization", "")):
        made.set_cookie(
            COOKIE, settled.door.cookie(), max_age=COOKIE_SECONDS, path=settled.root or "/", secure=settled.secure,
            httponly=True, samesite="lax",
        )  # fmt: skip
    return made
