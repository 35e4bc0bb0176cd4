"""Links as a proposals file for `datahub ingest`: PATCH records that add our link by its URL and touch no other."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from palimpsest.adapters.datahub.records import stream
from palimpsest.adapters.datahub.wire import listing, record, text
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.errors import CatalogError, UsageError
from palimpsest.core.link import is_ours
from palimpsest.core.moment import Moment

_ACTOR = "urn:li:corpuser:palimpsest"


class ProposalsFile:
    """Writes links into one file. Links of ours that it holds already and that are not written anew stay in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.target = f"file:{path.resolve()}"

    def write(self, links: Iterable[tuple[str, str, str, Moment]]) -> set[str]:
        """Write (URN, URL, label, time), whole or not at all. Returns the URLs that a re-read found exactly once.

        Raises UsageError when the file holds something that is not ours, CatalogError when it cannot be written.
        """
        records = self._held()
        for urn, url, label, at in links:
            records[urn] = _proposal(urn, url, label, at)
        content = json.dumps(list(records.values()), ensure_ascii=False, indent=2) + "\n"
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        try:
            beside.write_text(content, encoding="utf-8")
            beside.replace(self.path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise CatalogError(f"cannot write {self.path}: {error.strerror}", "name another file with --to") from error
        return self._reread()

    def _held(self) -> dict[str, Json]:
        if not self.path.exists():
            return {}
        held: dict[str, Json] = {}
        for value in stream(self.path):
            url = _url_of(value)
            if url is None or not is_ours(url) or not isinstance(value, dict):
                raise UsageError(f"{self.path} is no proposals file of ours", "name another file with --to")
            held[str(value["entityUrn"])] = value
        return held

    def _reread(self) -> set[str]:
        found = Counter(_url_of(value) for value in stream(self.path))
        return {url for url, times in found.items() if url is not None and times == 1}


def _proposal(urn: str, url: str, label: str, at: Moment) -> Json:
    element: Json = {"url": url, "description": label, "createStamp": {"time": at, "actor": _ACTOR}}
    path = "/elements/" + url.replace("~", "~0").replace("/", "~1")
    operations: Json = [{"op": "add", "path": path, "value": element}]
    return {
        "entityType": "dataset",
        "entityUrn": urn,
        "changeType": "PATCH",
        "aspectName": "institutionalMemory",
        "aspect": {"json": {"arrayPrimaryKeys": {"elements": ["url"]}, "patch": operations}},
    }


def _url_of(value: Json) -> str | None:
    """The URL that a proposal adds, None when it is anything but one PATCH that adds one link by its URL."""
    try:
        body = record(record(record(value).get("aspect")).get("json"))
        operations = listing(body.get("patch"))
        operation = record(operations[0]) if len(operations) == 1 else {}
        if record(value).get("changeType") != "PATCH" or record(value).get("aspectName") != "institutionalMemory":
            return None
        if operation.get("op") != "add":
            return None
        return text(record(operation.get("value")).get("url")) or None
    except ValueError:
        return None
