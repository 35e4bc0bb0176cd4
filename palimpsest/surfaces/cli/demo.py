"""`palimpsest demo`: the main job on a small sample catalog, read on three days into a store of its own."""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.core.errors import UsageError
from palimpsest.surfaces.cli import output
from palimpsest.surfaces.cli.diagnostics import ExitCode

if TYPE_CHECKING:
    from palimpsest.jobs.run import RunReport
    from palimpsest.queries.held import When
    from palimpsest.store.engine import Store

_DAYS = (
    ("Monday", "2026-03-02", ""),
    ("Tuesday", "2026-03-03", ", the same facts with new stamps in another order"),
    ("Friday", "2026-03-06", ""),
)
_FIVE_MINUTES = 5 * 60 * 1000
_SECRET = bytes(16)
_ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
_BUDGET = 800


def demo(
    keep: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the store in this new file, to look around in it.")
    ] = None,
    serve_gms: Annotated[
        bool,
        typer.Option(
            "--serve-gms", help="Serve the sample catalog as DataHub would, to try the whole loop without one."
        ),
    ] = False,
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="Where --serve-gms listens; 0 is any free port.")
    ] = 0,
) -> ExitCode:
    """Show the main job on a sample catalog, in a store of its own."""
    if serve_gms:
        if keep is not None:
            raise UsageError("--keep and --serve-gms do not go together", "--serve-gms writes no store: leave one out")
        return _serve(port)
    if keep is not None and keep.exists():
        raise UsageError(f"{keep} exists", "name a new file: the demo writes a store of its own")
    with tempfile.TemporaryDirectory(prefix="palimpsest-demo-") as folder:
        database = keep or Path(folder) / "demo.db"
        lines, broken = _walk(database.absolute())
    if keep is not None:
        lines.append(f"  palimpsest --store sqlite:///{keep.absolute()} show {_ORDERS!r}")
    output.emit_text(lines)
    return ExitCode.FAILED if broken else ExitCode.OK


def _serve(port: int) -> ExitCode:
    """A stand-in for DataHub with the sample catalog, until it is interrupted; each line of input is a day."""
    from palimpsest import shipped

    try:
        from palimpsest.testing.gms import GmsDouble
    except ImportError as error:
        raise UsageError(
            "the stand-in for DataHub needs graphql-core", "pip install 'datahub-palimpsest[gms]'"
        ) from error
    catalog = shipped.folder("demo") / "catalog"
    (name, day, _), *later = _DAYS
    try:
        with GmsDouble.serving(load=[next(catalog.glob(f"{day}-*.json"))], port=port) as gms:
            output.emit_text(
                [
                    f"A stand-in for DataHub, with the sample catalog of {name} {day}. Enter brings the next day, "
                    "Ctrl-C ends it.",
                    f"  export DATAHUB_GMS_URL={gms.url}",
                    f"  export DATAHUB_GMS_TOKEN={gms.token}",
                    "  palimpsest run datahub-graphql",
                ]
            )
            for (name, day, _), _line in zip(later, sys.stdin, strict=False):
                gms.load(next(catalog.glob(f"{day}-*.json")))
                output.emit_text(f"The catalog is that of {name} {day}.")
            threading.Event().wait()
    except OSError as error:
        raise UsageError(f"port {port} cannot be listened on: {error.strerror}", "name another, or 0") from error
    except KeyboardInterrupt:
        pass
    return ExitCode.OK


def _walk(database: Path) -> tuple[list[str], int]:
    """What the demo says, and how many rows break a rule."""
    from palimpsest import shipped
    from palimpsest.adapters.clock import SetClock
    from palimpsest.core.moment import parse
    from palimpsest.queries.held import When
    from palimpsest.store import migrate
    from palimpsest.store.engine import open_store

    catalog = shipped.folder("demo") / "catalog"
    store = open_store(f"sqlite:///{database}")
    start = parse(_DAYS[0][1])
    migrate.upgrade(store, now=start, secret=_SECRET)
    lines = ["A sample catalog of a small web shop, as its DataHub files told it on three days.", ""]
    broken = 0
    clock = SetClock(start)
    for name, day, note in _DAYS:
        path = next(catalog.glob(f"{day}-*.json"))
        clock = SetClock(type(start)(parse(f"{day}T08:00:00Z") + _FIVE_MINUTES))
        report = _read(store, path, clock)
        lines += _day_lines(name, day, note, report)
        broken += report.verify.broken if report.verify else 0
    when = When(now=clock.now())
    lines += [f"  {line}" for line in _changes(store, when)]
    lines += ["", *_past(store, when), *_brief(store, when, path)]
    assert report.verify is not None
    rules = sum(rule.checked is not None for rule in report.verify.rules)
    lines += [f"verify: {report.verify.checked:,} checks of {rules} rules, {broken} broken", ""]
    lines += [
        "For your own catalog (the output of DataHub's file sink, or an export):",
        "  palimpsest run file:metadata.json.gz",
        "  palimpsest changes --since last",
    ]
    store.dispose()
    return lines, broken


def _read(store: Store, path: Path, clock: object) -> RunReport:
    """One day: scan, consolidate, verify."""
    from palimpsest.adapters.datahub.file import FileReader
    from palimpsest.jobs.run import run
    from palimpsest.jobs.scan import ScanRequest
    from palimpsest.ports import NoProgress

    return run(
        store,
        FileReader(path),
        ScanRequest(source="shop"),
        with_consolidate=True,
        with_verify=True,
        clock=clock,  # type: ignore[arg-type]
        progress=NoProgress(),
        holder="demo",
    )


def _day_lines(name: str, day: str, note: str, report: RunReport) -> list[str]:
    scan = report.scan
    head = f"{name} {day}{note}:"
    if scan.is_first:
        return [f"{head} {scan.entities} entities, {scan.written} written; a first reading is no change"]
    if not scan.written:
        return [f"{head} {scan.written} written, {scan.unchanged} skipped (100 %)"]
    share = f"{scan.unchanged_share * 100:.0f} %"
    changes = sum(scan.changes.values())
    return [
        f"{head} {scan.written} written, {scan.unchanged} skipped ({share}); {changes} changes, "
        f"{scan.contradicting} contradicting a held belief:"
    ]


def _changes(store: Store, when: When) -> tuple[str, ...]:
    from palimpsest.queries.changes import ChangesRequest, changes

    return changes(store, ChangesRequest(since="2026-03-02"), when).lines


def _past(store: Store, when: When) -> list[str]:
    """One question about the past."""
    from dataclasses import replace

    from palimpsest.core.moment import parse
    from palimpsest.queries.beliefs import BeliefsRequest, beliefs

    request = BeliefsRequest(entity=_ORDERS, aspect="ownership")
    then = beliefs(store, request, replace(when, as_of=parse("2026-03-04"))).beliefs[0].belief
    now = beliefs(store, request, when).beliefs[0].belief
    return [
        f"Who owned orders on Wednesday 2026-03-04?  {then.statement} ({then.since_text})",
        f"And now?                                   {now.statement} ({now.since_text})",
        "",
    ]


def _brief(store: Store, when: When, path: Path) -> list[str]:
    """What a brief of one dataset costs beside the records that the catalog holds about it."""
    import json

    from palimpsest.core.brief import tokens_of
    from palimpsest.queries.brief import brief

    told = brief(store, [_ORDERS], _BUDGET, when)
    records = [record for record in json.loads(path.read_text(encoding="utf-8")) if _ORDERS in _subject(record)]
    raw = tokens_of(json.dumps(records, ensure_ascii=False))
    return [f"A brief of orders for an agent: {told.tokens} tokens, where its raw records take {raw:,}"]


def _subject(record: dict[str, object]) -> str:
    """The URN that a record of the sample is about."""
    snapshot = record.get("proposedSnapshot")
    body = next(iter(snapshot.values())) if isinstance(snapshot, dict) else {}
    return str(record.get("entityUrn") or body.get("urn"))
