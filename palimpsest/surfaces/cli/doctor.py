"""`palimpsest doctor`: whether everything is in place, check by check, and what to do where it is not."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from palimpsest.core.errors import ConfigError, StoreError
from palimpsest.surfaces.cli import output
from palimpsest.surfaces.cli.asking import AsJson
from palimpsest.surfaces.cli.context import Context
from palimpsest.surfaces.cli.diagnostics import ExitCode

if TYPE_CHECKING:
    from palimpsest.config import Loaded
    from palimpsest.queries.health import Check

_OLDEST_PYTHON = (3, 11)


def doctor(ctx: typer.Context, as_json: AsJson = False) -> ExitCode:
    """Check that everything is in place.

    Exit 1 if anything is not.
    """
    from palimpsest.queries import health

    checks = [_python(), health.check_library(), *_settings(Context.of(ctx))]
    if as_json:
        output.emit_json("doctor", checks)
    else:
        output.emit_text(check_lines(checks))
    return ExitCode.FAILED if any(check.health is health.Health.FAIL for check in checks) else ExitCode.OK


def check_lines(checks: list[Check]) -> list[str]:
    """One line a check."""
    rows = [(check.health.value, check.name, check.found + (f": {check.do}" if check.do else "")) for check in checks]
    return output.table(rows)


def _python() -> Check:
    from palimpsest.queries.health import Check, Health

    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < _OLDEST_PYTHON:
        return Check(name="Python", health=Health.FAIL, found=version, do="use Python 3.11 or newer")
    return Check(name="Python", health=Health.OK, found=version)


def _settings(context: Context) -> list[Check]:
    """The settings, and what they name."""
    from palimpsest.queries.health import Check, Health

    try:
        loaded = context.loaded
    except ConfigError as error:
        return [Check(name="settings", health=Health.FAIL, found=error.message, do=error.hint)]
    files = sorted({origin.name for origin in loaded.origins.values() if origin.kind.value.endswith("file")})
    found = ", ".join(files) if files else "defaults, no file"
    return [
        Check(name="settings", health=Health.OK, found=found),
        *_store(context),
        _embedder(loaded),
        _language_model(loaded),
        _public_url(loaded),
        _hooks(),
        *_datahub(loaded),
        *_clients(),
    ]


def _store(context: Context) -> list[Check]:
    from palimpsest import wiring
    from palimpsest.config import shown
    from palimpsest.queries import health
    from palimpsest.queries.health import Check, Health
    from palimpsest.store.engine import open_store

    url = str(shown(context.settings.store))
    try:
        store = open_store(context.settings.store, writing=False)
        try:
            checks = health.check_store(store, wiring.clock().now())
        finally:
            store.dispose()
    except StoreError as error:
        return [Check(name="store", health=Health.FAIL, found=error.message, do=error.hint)]
    return [Check(name="store", health=Health.OK, found=url), *checks]


def _embedder(loaded: Loaded) -> Check:
    from palimpsest import wiring
    from palimpsest.queries import health

    return health.check_embedder(wiring.embedder_facts(loaded.settings))


def _language_model(loaded: Loaded) -> Check:
    from palimpsest import wiring
    from palimpsest.queries import health

    return health.check_language_model(wiring.language_model_facts(loaded.settings))


def _hooks() -> Check:
    """Where our hooks are set up for the user, and how they came out."""
    from palimpsest.queries.health import Check, Health
    from palimpsest.surfaces.hooks import counting
    from palimpsest.surfaces.hooks.clients import CLIENTS
    from palimpsest.surfaces.hooks.installing import installed, settings_file

    files = {one.name: settings_file(one, project=None) for one in CLIENTS.values() if one.file}
    placed = [name for name, file in files.items() if installed(CLIENTS[name], file)]
    tally = counting.tally()
    found = f"installed for {', '.join(placed)}" if placed else "not installed for this user"
    if tally.outcomes:
        found += f"; {tally.answered} answered, {sum(tally.outcomes.values()) - tally.answered} silent"
    if tally.gone_amiss:
        found += f" ({', '.join(f'{word} {count}' for word, count in tally.gone_amiss.items())})"
    if tally.amiss * 2 > tally.newest:
        do = "most of the last calls could not be answered: docs/hooks.md says what each word means"
        return Check(name="hooks", health=Health.WARN, found=found, do=do)
    return Check(name="hooks", health=Health.OK, found=found)


def _public_url(loaded: Loaded) -> Check:
    from palimpsest.queries.health import Check, Health

    url = loaded.settings.console.public_url
    if url is None:
        do = "publishing needs it: the address under which people reach the console"
        return Check(name="console.public_url", health=Health.WARN, found="not set", do=do)
    return Check(name="console.public_url", health=Health.OK, found=url)


def _clients() -> list[Check]:
    """The clients of agents on this machine, and whether they know our MCP server."""
    from pathlib import Path

    from palimpsest.queries.health import Check, Health
    from palimpsest.surfaces.mcp import clients

    checks = []
    for one in clients.found(Path.home(), Path.cwd()):
        name = f"client {one.client.name}"
        if one.problem:
            found = f"{one.path}: {one.problem}"
            checks.append(
                Check(name=name, health=Health.WARN, found=found, do="whether palimpsest is in it is not known")
            )
            continue
        found = f"{one.path}: palimpsest is {'' if one.has_ours else 'not '}in it"
        do = "" if one.has_ours else f"to let its agents ask: palimpsest mcp config {one.client.name}"
        checks.append(Check(name=name, health=Health.OK, found=found, do=do))
    return checks


def _datahub(loaded: Loaded) -> list[Check]:
    """The DataHub that the settings, the environment or ~/.datahubenv name, and what to read it with."""
    from palimpsest import wiring
    from palimpsest.jobs.estimate import recommended
    from palimpsest.queries import health
    from palimpsest.queries.health import Check, Health

    settings = loaded.settings
    try:
        facts = wiring.datahub_facts(settings)
    except ConfigError as error:
        return [Check(name="DataHub", health=Health.FAIL, found=error.message, do=error.hint)]
    if facts is None:
        return [Check(name="DataHub", health=Health.OK, found="not named")]
    checks = health.check_datahub(facts, needs_mcp=settings.run.source == "datahub-mcp")
    if facts.entities is not None and facts.url:
        source, why = recommended(facts.entities, concurrency=settings.datahub.concurrency)
        checks.append(Check(name="source", health=Health.OK, found=f"scan {source}: {why}"))
    return checks
