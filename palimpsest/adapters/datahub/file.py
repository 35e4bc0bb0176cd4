"""The file source: DataHub metadata files as its `file` sink writes them, MCE and MCP mixed, one file or a folder.

One bad record is skipped, counted and named; a file that is no metadata at all is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from palimpsest.adapters.datahub.cells import READERS, TIME_SERIES, read_part
from palimpsest.adapters.datahub.patch import read_patches
from palimpsest.adapters.datahub.records import files_of, stream
from palimpsest.adapters.datahub.wire import part_of_class, record, stamps_of_part, without_stamps
from palimpsest.core.aspects.aspect import Json
from palimpsest.core.entity import is_remembered, kind_of
from palimpsest.core.errors import CatalogError
from palimpsest.core.jsontext import clean, dumps, loads
from palimpsest.core.moment import Moment, told
from palimpsest.core.observation import Failed, Patch, RawAspect, Seen, Skip, Skipped

# DataHub does not always spell a raw aspect as its class: `editableMlModelProperties` of `EditableMLModelProperties`.
_SPELLED = {part.casefold(): part for part in (*READERS, *TIME_SERIES)}
_LONGEST_URN = 2_000  # bytes: DataHub takes 512 itself, and an index of PostgreSQL 2,700
_CHANGE_TYPES = frozenset({"UPSERT", "CREATE", "CREATE_ENTITY", "UPDATE", "RESTATE", "PATCH", None})


class FileReader:
    """Reads a metadata file, or the files of a folder as one reading.

    `complete` says that the files list every entity of the catalog: one that they lack is gone.
    """

    kind = "file"
    origin = "file"
    listing_is_proof = True
    kept = None

    def __init__(self, path: Path, *, complete: bool = False) -> None:
        self.path = path
        self.is_complete = complete

    def records(self) -> Iterator[RawAspect | Skipped | Failed]:
        """Every raw aspect of every record, in reading order. Raises CatalogError and UsageError."""
        understood = 0
        unreadable = 0
        for file in files_of(self.path):
            for number, value in enumerate(stream(file)):
                for found in _read(value, f"{file.name} record {number}"):
                    if isinstance(found, Failed):
                        unreadable += 1
                    else:
                        understood += 1
                    yield found
        if unreadable and not understood:
            raise CatalogError(
                f"{self.path} is not DataHub metadata: none of its {unreadable} records could be read",
                "MCE and MCP records are expected, as DataHub's file sink writes them",
            )

    def observe(self, urn: str, part: str, payload: bytes) -> Seen:
        """The cells that a raw aspect states, and its stamp. Raises ValueError when it is not of the expected form."""
        return read_part(urn, part, payload)

    def patches(self, urn: str, part: str, payload: bytes) -> tuple[list[Patch], list[str]]:
        """The member changes that a PATCH states, and the paths it cannot turn into any."""
        return read_patches(urn, part, loads(payload))

    def confirm(self, wanted: Iterable[tuple[str, str]]) -> Iterator[RawAspect | Failed]:
        """Nothing: a file says what it says."""
        return iter(())

    def confirm_gone(self, urns: Iterable[str]) -> Iterator[RawAspect | Failed]:
        """Nothing: `--complete` itself is the proof."""
        return iter(())

    def close(self) -> None:
        """Nothing is held open."""


def _read(value: Json, where: str) -> Iterator[RawAspect | Skipped | Failed]:
    """The raw aspects of one record."""
    if not isinstance(value, dict):
        yield Failed(where, f"a record is an object, not {type(value).__name__}")
        return
    observed_at, run = _system_metadata(value.get("systemMetadata"))
    snapshot = value.get("proposedSnapshot")
    if snapshot is not None:
        yield from _snapshot(snapshot, where, observed_at, run)
    elif "entityUrn" in value or "aspectName" in value:
        yield _proposal(value, where, observed_at, run)
    else:
        yield Failed(where, "neither an MCE nor an MCP: no proposedSnapshot, no entityUrn")


def _system_metadata(value: Json) -> tuple[Moment | None, str]:
    if not isinstance(value, dict):
        return None, ""
    seen, run = value.get("lastObserved"), value.get("runId")
    return told(seen), clean(run) if isinstance(run, str) and run != "no-run-id-provided" else ""


def _snapshot(value: Json, where: str, observed_at: Moment | None, run: str) -> Iterator[RawAspect | Skipped | Failed]:
    try:
        body = record(value)
        urn = body.get("urn")
        aspects = body.get("aspects")
        if not isinstance(urn, str) or not isinstance(aspects, list):
            raise ValueError("a snapshot needs urn and aspects")
    except ValueError as error:
        yield Failed(where, str(error))
        return
    if not aspects:
        yield Skipped(Skip.UNKNOWN_ASPECT, "(snapshot without aspects)")
    for entry in aspects:
        if not isinstance(entry, dict) or len(entry) != 1:
            yield Failed(f"{where} {urn}", "an aspect of a snapshot has one name and one value")
            continue
        (name, body_of), *_ = entry.items()
        part = part_of_class(name)
        yield _aspect(urn, _SPELLED.get(part.casefold(), part), body_of, False, where, observed_at, run)


def _proposal(value: dict[str, Json], where: str, observed_at: Moment | None, run: str) -> RawAspect | Skipped | Failed:
    urn, part, change = value.get("entityUrn"), value.get("aspectName"), value.get("changeType")
    if not isinstance(urn, str) or not isinstance(part, str):
        return Failed(where, "an MCP needs entityUrn and aspectName")
    if change == "DELETE":
        return Skipped(Skip.UNKNOWN_ASPECT, f"{part} (DELETE)")
    if change is not None and (not isinstance(change, str) or change not in _CHANGE_TYPES):
        return Failed(f"{where} {urn}", f"unknown changeType {str(change)[:40]!r}")
    aspect = value.get("aspect")
    body = aspect
    if isinstance(aspect, dict):
        if "json" in aspect:
            body = aspect["json"]
        elif isinstance(aspect.get("value"), str):
            if part not in READERS:
                return _aspect(urn, part, {}, False, where, observed_at, run)
            try:
                body = loads(str(aspect["value"]))
            except ValueError:
                return Failed(f"{where} {urn} {part}", "the aspect's value is no JSON")
    return _aspect(urn, part, body, change == "PATCH", where, observed_at, run)


def _aspect(
    urn: str, part: str, body: Json, is_patch: bool, where: str, observed_at: Moment | None, run: str
) -> RawAspect | Skipped | Failed:
    if part not in READERS:
        return Skipped(Skip.TIME_SERIES if part in TIME_SERIES else Skip.UNKNOWN_ASPECT, part)
    kind = kind_of(urn)
    if kind is None or not urn.isprintable() or "\ufffd" in urn or len(urn.encode()) > _LONGEST_URN:
        return Failed(f"{where} {part}", f"{urn[:80]!r} is no URN")
    if not is_remembered(kind):
        return Skipped(Skip.OTHER_ENTITY, kind)
    if not isinstance(body, list if is_patch else dict) and not (is_patch and isinstance(body, dict)):
        return Failed(f"{where} {urn} {part}", f"an aspect is an object, not {type(body).__name__}")
    try:
        payload = dumps(body)
        digest_of = payload if is_patch else without_stamps(body, payload, stamps_of_part(part))
    except (ValueError, RecursionError) as error:
        return Failed(f"{where} {urn} {part}", str(error))
    return RawAspect(urn, part, payload, is_patch, digest_of, observed_at, run)
