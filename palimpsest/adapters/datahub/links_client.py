"""DataHub's OpenAPI v3 endpoints for one aspect of datasets, `institutionalMemory`: read with versions, write, patch.

The requests are those of the acryl-datahub emitter in OPENAPI mode, byte for byte the same URN whatever is in it; its
RESTLI mode writes a name that is not ASCII to another entity. The package itself is not needed. No request is repeated
here but reads; not here: what is written, and why.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

import httpx

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.errors import CatalogError
from palimpsest.core.jsontext import loads
from palimpsest.core.link_list import NO_RUN
from palimpsest.core.moment import Moment

ASPECT = "institutionalMemory"
_PATH = "/openapi/v3/entity/dataset"
_KEY = "datasetKey"
_PASSING = frozenset({429, 500, 502, 503, 504})
_LONGEST_WAIT_S = 30.0
_HINT = "set publish.token to a token of somebody who may edit the links of datasets"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The aspect as it stands: version "-1" where there is none, "" where DataHub does not tell it."""

    links: tuple[Json, ...] = ()
    rest: tuple[tuple[str, Json], ...] = ()
    version: str = "-1"
    actor: str = ""
    run_id: str = ""

    @property
    def number(self) -> int | None:
        """The version as a number, 0 where there is no aspect."""
        return max(0, int(self.version)) if self.version.removeprefix("-").isdecimal() else None


class RefusedError(Exception):
    """DataHub does not do this; the message says why, without the token. `status`: of the HTTP answer, 0 for none."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class PassingError(RefusedError):
    """It may go well the next time. `wait`: how many seconds the server asks to wait."""

    def __init__(self, message: str, status: int = 0, *, wait: float = 0.0) -> None:
        super().__init__(message, status)
        self.wait = wait


class ConflictError(Exception):
    """Another writer came first: the aspect has another version than the one expected."""


class LinksClient:
    """One GMS, asked by one thread at a time."""

    def __init__(self, url: str, token: str, *, timeout: float) -> None:
        headers = {"User-Agent": "palimpsest", "Accept": "application/json", "Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self.url = url
        self._http = httpx.Client(headers=headers, timeout=timeout, follow_redirects=False)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def check(self) -> None:
        """See that a GMS is there. Raises CatalogError."""
        try:
            config = self._send("GET", "/config", None)
        except RefusedError as error:
            raise CatalogError(f"{self.url} gives no answer: {error}", "is DataHub up? try again later") from error
        if not isinstance(config, dict) or "noCode" not in config:
            raise CatalogError(f"{self.url} is no DataHub GMS", "name the GMS: https://HOST:8080, or https://HOST/gms")

    def read(self, urns: Iterable[str], version: str = "0") -> dict[str, Standing]:
        """The aspect of each dataset that DataHub has, current or in an old version.

        Raises RefusedError, and CatalogError when the token is refused.
        """
        headers: dict[str, Json] = {} if version == "0" else {"headers": {"If-Version-Match": version}}
        asked: list[Json] = [{"urn": urn, ASPECT: headers, _KEY: {}} for urn in urns]
        try:
            answer = self._send("POST", f"{_PATH}/batchGet?systemMetadata=true", asked)
        except RefusedError as error:
            if error.status == 401:
                raise CatalogError(f"{self.url} refuses the token (401)", _HINT) from error
            raise
        if not isinstance(answer, list):
            raise RefusedError("the answer is no list of entities")
        return {str(entry["urn"]): _standing(entry) for entry in answer if isinstance(entry, dict) and "urn" in entry}

    def write(self, urn: str, base: Standing, links: Iterable[Json], at: Moment) -> None:
        """Put these links in place of those of `base`, if these stand there. Raises ConflictError, RefusedError."""
        value: Json = {**dict(base.rest), "elements": list(links)}
        self._change("POST", urn, value, at, {"If-Version-Match": base.version})

    def patch(self, urn: str, operations: list[Json], at: Moment) -> None:
        """Change single links by their URLs, whatever the version. Raises RefusedError."""
        self._change("PATCH", urn, {"arrayPrimaryKeys": {"elements": ["url"]}, "patch": operations}, at, {})

    def _change(self, method: str, urn: str, value: Json, at: Moment, headers: dict[str, Json]) -> None:
        system: Json = {"lastObserved": at, "runId": NO_RUN, "lastRunId": NO_RUN}
        aspect: Json = {"value": value, "systemMetadata": system, "headers": headers}
        try:
            self._send(method, f"{_PATH}?async=false", [{"urn": urn, ASPECT: aspect}])
        except RefusedError as error:
            if error.status == 412:
                raise ConflictError from error
            raise

    def _send(self, method: str, path: str, body: Json) -> Json:
        try:
            content = None if body is None else json.dumps(body).encode()
            response = self._http.request(method, self.url + path, content=content)
        except httpx.TimeoutException as error:
            raise PassingError("no answer in time") from error
        except httpx.TransportError as error:
            raise PassingError(str(error) or type(error).__name__) from error
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise RefusedError(f"cannot be asked: {error}") from error
        status = response.status_code
        if status in _PASSING:
            raise PassingError(f"HTTP {status}", status, wait=_asked_wait(response))
        if status in (401, 403):
            what = "the token is refused" if status == 401 else "the token may not do this"
            raise RefusedError(f"{what} ({status}): {_HINT}", status)
        if status not in (200, 201, 202):
            raise RefusedError(f"HTTP {status}", status)
        try:
            return loads(response.content) if response.content else None
        except (ValueError, RecursionError) as error:
            raise RefusedError("the answer is not JSON") from error


def _standing(entry: dict[str, Json]) -> Standing:
    aspect = entry.get(ASPECT)
    if aspect is None:
        return Standing()
    value, system, stamp = _record(aspect, "value"), _record(aspect, "systemMetadata"), _record(aspect, "auditStamp")
    links = value.get("elements")
    return Standing(
        links=tuple(links) if isinstance(links, list) else (),
        rest=tuple((name, part) for name, part in value.items() if name != "elements"),
        version=_text(system.get("version")),
        actor=_text(stamp.get("actor")),
        run_id=_text(system.get("runId")),
    )


def _record(value: Json, name: str) -> dict[str, Json]:
    part = value.get(name) if isinstance(value, dict) else None
    return part if isinstance(part, dict) else {}


def _text(value: Json) -> str:
    return "" if value is None else str(value)


def _asked_wait(response: httpx.Response) -> float:
    """The seconds of a Retry-After header; 0 for none, or for a date."""
    asked = response.headers.get("Retry-After", "").strip()
    return min(float(asked), _LONGEST_WAIT_S) if asked.isdigit() else 0.0
