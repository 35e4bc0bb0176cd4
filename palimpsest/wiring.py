"""The one place where stores and adapters are built from settings."""

from __future__ import annotations

import os
from pathlib import Path

from palimpsest.adapters.clock import SystemClock
from palimpsest.adapters.datahub import credentials
from palimpsest.adapters.datahub.credentials import Credentials
from palimpsest.adapters.datahub.file import FileReader
from palimpsest.adapters.datahub.proposals import ProposalsFile
from palimpsest.adapters.page_probe import HttpPageProbe, NoPageProbe
from palimpsest.config import Settings
from palimpsest.core.aspects import ASPECTS
from palimpsest.core.errors import ConfigError, UsageError
from palimpsest.core.noise import DEFAULT_IGNORE, Scope
from palimpsest.jobs import publish as publish_job
from palimpsest.jobs.publish import PublishReport
from palimpsest.ports import CatalogReader, Clock
from palimpsest.store import migrate
from palimpsest.store.engine import Store, open_store


def clock() -> Clock:
    """The clock of the machine."""
    return SystemClock()


def store_for_writing(settings: Settings) -> Store:
    """The store, migrated when it is the embedded one. Raises StoreError."""
    store = open_store(settings.store)
    migrate.ready(store, now=SystemClock().now(), may_write=True)
    return store


def store_for_reading(settings: Settings) -> Store:
    """The store, as it is. Raises StoreError when it is empty, behind or ahead."""
    store = open_store(settings.store, writing=False)
    migrate.ready(store, now=SystemClock().now(), may_write=False)
    return store


def store_for_dry_run(settings: Settings) -> Store:
    """The store, as it is; a missing one is made, empty: there is nothing else to compare a first reading with."""
    missing = open_store(settings.store, writing=False).is_missing
    return store_for_writing(settings) if missing else store_for_reading(settings)


def reader(what: str, settings: Settings, *, complete: bool = False) -> CatalogReader:
    """The source that `scan` names: `file:PATH`, `datahub-graphql` or `datahub-mcp`. Close it after use.

    Raises UsageError for anything else, ConfigError when DataHub is not named or its extra is not installed.
    """
    kind, separator, rest = what.partition(":")
    if kind == "file" and separator and rest:
        return FileReader(Path(rest).expanduser(), complete=complete)
    if what == "datahub-graphql":
        return _graphql_reader(settings)
    if what == "datahub-mcp":
        return _mcp_reader(settings)
    hint = "write file:PATH (a DataHub metadata file or a folder of them), datahub-graphql or datahub-mcp"
    if not separator and Path(what).exists():
        hint = f"write file:{what}"
    raise UsageError(f"{what!r} names no source", hint)


def _credentials(settings: Settings) -> Credentials:
    token = settings.datahub.token
    return credentials.find(
        settings.datahub.url or "",
        token.get_secret_value() if token else "",
        environ=os.environ,
        home=Path.home(),
    )


def _graphql_reader(settings: Settings) -> CatalogReader:
    try:
        from palimpsest.adapters.datahub.graphql import GraphqlReader
    except ImportError as error:
        raise _lacks_datahub(error) from error
    found, datahub = _credentials(settings), settings.datahub
    return GraphqlReader(found.url, found.token, concurrency=datahub.concurrency, timeout=datahub.timeout_seconds)


def _mcp_reader(settings: Settings) -> CatalogReader:
    try:
        from palimpsest.adapters.datahub.mcp_source import McpReader
    except ImportError as error:
        raise _lacks_datahub(error) from error
    datahub = settings.datahub
    if datahub.mcp_url:
        token = datahub.token.get_secret_value() if datahub.token else os.environ.get("DATAHUB_GMS_TOKEN", "")
        return McpReader(
            url=datahub.mcp_url,
            token=token,
            environ=os.environ,
            concurrency=datahub.concurrency,
            timeout=datahub.timeout_seconds,
        )
    return McpReader(
        _credentials(settings),
        command=datahub.mcp_command,
        environ=os.environ,
        concurrency=datahub.concurrency,
        timeout=datahub.timeout_seconds,
    )


def _lacks_datahub(error: ImportError) -> ConfigError:
    return ConfigError(
        f"reading a running DataHub needs more packages: {error.name} is missing",
        "install them: pip install 'datahub-palimpsest[datahub]'",
    )


def scope(settings: Settings) -> Scope:
    """What is observed, by the settings. Raises ConfigError for an ignore rule about an unknown aspect."""
    scan = settings.scan
    for rule in scan.ignore:
        aspect = rule.partition(":")[0]
        if aspect not in ASPECTS:
            raise ConfigError(f"scan.ignore: {aspect!r} is no aspect", f"one of: {', '.join(sorted(ASPECTS))}")
    return Scope(
        include=tuple(scan.include),
        exclude=tuple(scan.exclude),
        platforms=tuple(scan.platforms),
        environments=tuple(scan.environments),
        domains=tuple(scan.domains),
        ignore=(*(DEFAULT_IGNORE if scan.ignore_defaults else ()), *scan.ignore),
        exclude_defaults=scan.ignore_defaults,
    )


def publish(
    settings: Settings,
    store: Store,
    *,
    all_datasets: bool = False,
    allow_local: bool = False,
    unchecked: bool = False,
    dry_run: bool = False,
) -> PublishReport:
    """Publish links to the proposals file of the settings. Raises ConfigError when none is named."""
    if not settings.publish.to:
        raise ConfigError("publish.to is not set", "name the proposals file: palimpsest publish --to links.json")
    return publish_job.publish(
        store,
        ProposalsFile(Path(settings.publish.to).expanduser()),
        NoPageProbe() if unchecked or dry_run else HttpPageProbe(),
        public_url=settings.console.public_url,
        clock=SystemClock(),
        all_datasets=all_datasets,
        allow_local=allow_local,
        dry_run=dry_run,
    )
