"""The one place where stores and adapters are built from settings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import platformdirs
from pydantic import SecretStr

from palimpsest.adapters.clock import SystemClock
from palimpsest.adapters.datahub import credentials
from palimpsest.adapters.datahub.credentials import Credentials
from palimpsest.adapters.datahub.file import FileReader
from palimpsest.adapters.datahub.file_size import size_of
from palimpsest.adapters.datahub.proposals import ProposalsFile
from palimpsest.adapters.dump_file import DumpFile, lines_in, lines_of
from palimpsest.adapters.embed.building import Wanted, build, build_named
from palimpsest.adapters.page_probe import HttpPageProbe, NoPageProbe
from palimpsest.config import NotifyRule, Settings, without_password
from palimpsest.core.aspects import ASPECTS
from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.errors import CatalogError, ConfigError, PalimpsestError, UsageError
from palimpsest.core.moment import Moment
from palimpsest.core.noise import DEFAULT_IGNORE, Scope
from palimpsest.core.notice import OWNERS, News, Rule, is_mail_address
from palimpsest.jobs import estimate as estimate_job
from palimpsest.jobs import load as load_job
from palimpsest.jobs import notify as notify_job
from palimpsest.jobs import publish as publish_job
from palimpsest.jobs import unpublish as unpublish_job
from palimpsest.jobs.estimate import Estimate
from palimpsest.jobs.notify import NotifyReport, NotifyRequest
from palimpsest.jobs.publish import PublishReport
from palimpsest.jobs.unpublish import UnpublishReport
from palimpsest.ports import CatalogReader, Clock, Embedder, HistoryReader, LanguageModel, PageProbe, Progress
from palimpsest.queries.health import DatahubFacts, ModelFacts
from palimpsest.store import embedders, migrate
from palimpsest.store.embedders import kind_of
from palimpsest.store.engine import PATIENCE_S, Store, open_store

if TYPE_CHECKING:
    from palimpsest.adapters.datahub.kept import KeptReading
    from palimpsest.adapters.datahub.links import GmsLinks
    from palimpsest.adapters.models.building import Wanted as WantedModel
    from palimpsest.adapters.notify.building import Ways
    from palimpsest.adapters.notify.mail import MailServer
    from palimpsest.jobs.judging.judging import Judging
    from palimpsest.jobs.judging.prompts import Prompt
    from palimpsest.queries.recall import Meaning

DATAHUB = "datahub"  # publish.to: the running DataHub, and no file

_LOOK_SECONDS = 10.0


def clock() -> Clock:
    """The clock of the machine."""
    return SystemClock()


def store_for_writing(settings: Settings) -> Store:
    """The store, migrated when it is the embedded one. Raises StoreError."""
    store = open_store(settings.store)
    migrate.ready(store, now=SystemClock().now(), may_write=True)
    return store


def store_for_reading(settings: Settings, *, patience: float = PATIENCE_S) -> Store:
    """The store, as it is; `patience` in seconds. Raises StoreError when it is empty, behind or ahead."""
    store = open_store(settings.store, writing=False, patience=patience)
    migrate.ready(store, now=SystemClock().now(), may_write=False)
    return store


def store_for_dry_run(settings: Settings) -> Store:
    """The store, as it is; a missing one is made, empty: there is nothing else to compare a first reading with."""
    missing = open_store(settings.store, writing=False).is_missing
    return store_for_writing(settings) if missing else store_for_reading(settings)


def store_for_loading(settings: Settings, *, again: bool) -> Store:
    """The store that a dump goes into, the embedded one made and migrated. Raises StoreError.

    `again`: one whose load did not end is emptied first.
    """
    store = open_store(settings.store)
    if again:
        load_job.abandon_unfinished(store)
    migrate.ready(store, now=SystemClock().now(), may_write=True)
    return store


def dump_file(path: Path) -> DumpFile:
    """A dump to be written. Enter it; raises UsageError when there can be none."""
    return DumpFile(path)


def dump_lines(path: Path) -> Iterator[bytes]:
    """The lines of a dump. Raises UsageError when it cannot be read."""
    return lines_of(path)


def dump_lines_in(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a dump that comes by a stream. Raises UsageError when it cannot be read."""
    return lines_in(stream, "standard input")


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


def history_reader(what: str, settings: Settings) -> HistoryReader:
    """What reads the versions that the catalog behind a source keeps: only `datahub-graphql` can. Close it after use.

    Raises UsageError for another, ConfigError when DataHub is not named or its extra is not installed.
    """
    if what != "datahub-graphql":
        raise UsageError(
            f"{what!r} tells nothing of earlier versions",
            "write datahub-graphql: it reads the same DataHub, and is a source of its own",
        )
    try:
        from palimpsest.adapters.datahub.history_source import DatahubHistory
    except ImportError as error:
        raise _lacks_datahub(error) from error
    found, datahub = _credentials(settings), settings.datahub
    return DatahubHistory(found.url, found.token, concurrency=datahub.concurrency, timeout=datahub.timeout_seconds)


def estimate(what: str, settings: Settings) -> Estimate:
    """What a first scan of a source will take. Raises as `reader` does, and CatalogError."""
    kind, separator, rest = what.partition(":")
    if kind == "file" and separator and rest:
        return estimate_job.of_file(*size_of(Path(rest).expanduser()))
    source = reader(what, settings)
    with closing(source):
        return estimate_job.of_live(
            cast(estimate_job.Counting, source), concurrency=settings.datahub.concurrency, clock=clock()
        )


def datahub_facts(settings: Settings) -> DatahubFacts | None:
    """What a look at DataHub finds; None when none is named. Raises ConfigError for one that is named wrongly."""
    datahub = settings.datahub
    named = credentials.is_named(datahub.url or "", environ=os.environ, home=Path.home())
    if not named and not datahub.mcp_url:
        return None
    missing = tuple(name for name in ("httpx", "mcp") if find_spec(name) is None)
    if missing:
        return DatahubFacts(missing=missing)
    from palimpsest.adapters.datahub import probe

    facts = DatahubFacts(mcp_url=datahub.mcp_url or "")
    if named:
        found = _credentials(settings)
        seen = probe.look(found.url, found.token, timeout=min(_LOOK_SECONDS, datahub.timeout_seconds))
        facts = replace(
            facts,
            url=found.url,
            has_token=bool(found.token),
            version=seen.version,
            actor=seen.actor,
            problem=seen.problem,
            refused=seen.refused,
            hint=seen.hint,
        )
        if (settings.publish.to == DATAHUB or settings.publish.token) and not (seen.problem or seen.refused):
            writing = _credentials(settings, settings.publish.token)
            links = probe.may_edit_links(
                writing.url, writing.token, timeout=min(_LOOK_SECONDS, datahub.timeout_seconds)
            )
            facts = replace(facts, asks_links=True, may_link=links.may, links_refused=links.refused)
    if datahub.mcp_url:
        return _counted(facts, "datahub-mcp", settings)
    place, version = probe.server_version(datahub.mcp_command)
    facts = replace(facts, mcp_command=datahub.mcp_command[0], mcp_place=place, mcp_version=version)
    return facts if facts.problem or facts.refused else _counted(facts, "datahub-graphql", settings)


def embedder(settings: Settings) -> Embedder | None:
    """The embedder of the settings, None where there is to be none. Close it after use. Raises ConfigError."""
    if settings.embed.provider == "none":
        return None
    return build(_wanted(settings), os.environ)


def question_embedder(settings: Settings, name: str) -> Embedder | None:
    """The embedder of that name, to ask for its vectors while the settings may name another already.

    None where it cannot be built from the settings and the environment: then text alone is searched.
    """
    return build_named(kind_of(name), _wanted(settings), os.environ)


def meaning(settings: Settings, store: Store, question: str) -> Meaning | None:
    """A question as a vector of the embedder whose vectors the store searches; None where there is none to be had.

    Raises ModelError when the embedder cannot be used.
    """
    from palimpsest.core.ranking import nearness_of
    from palimpsest.queries.recall import Meaning

    known = store.read(embedders.current)
    if known is None or not question.strip():
        return None
    made = question_embedder(settings, known.name)
    if made is None:
        return None
    with closing(made):
        nearness = nearness_of(made.name)
        return Meaning(embedder=made.name, vector=made.embed_question(question), nearness=nearness)


def embedder_facts(settings: Settings) -> ModelFacts:
    """What a look at the embedder finds: it is built, and embeds one word."""
    try:
        made = embedder(settings)
        if made is None:
            return ModelFacts()
        with closing(made):
            made.embed_question("palimpsest")
            return ModelFacts(name=made.name)
    except PalimpsestError as error:
        return ModelFacts(problem=error.message, hint=error.hint)


def language_model(settings: Settings, *, shares: int = 1) -> LanguageModel | None:
    """The language model of the settings, None where there is to be none. Close it after use. Raises ConfigError.

    `shares`: among how many of its kind what a run may spend is divided.
    """
    from palimpsest.adapters.models import building

    if settings.model.provider == "none" and not settings.model.replay:
        return None
    return building.build(_wanted_model(settings, shares), os.environ)


def judging(settings: Settings, *, workers: int = 1) -> list[Judging]:
    """A model for each of so many workers, to judge what rules do not; none where the settings name no model.

    What a run may spend is divided among them. Raises ConfigError for a model or a prompt that cannot be used.
    """
    from palimpsest.jobs.judging.judging import Judging

    found = []
    for _ in range(workers):
        model = language_model(settings, shares=workers)
        if model is None:
            return []
        found.append(Judging(model, restated=_prompt("restated", settings), sorting=_prompt("sorted", settings)))
    return found


def _prompt(name: str, settings: Settings) -> Prompt:
    """The prompt of that name: from the folder of the settings, where it has one, else as it was shipped."""
    from palimpsest import shipped
    from palimpsest.jobs.judging.prompts import parse

    path = shipped.folder("prompts") / f"{name}.md"
    if settings.model.prompts:
        folder = Path(settings.model.prompts).expanduser()
        if not folder.is_dir():
            raise ConfigError(f"{folder}: no folder of prompts", "see model.prompts")
        path = folder / path.name if (folder / path.name).exists() else path
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}", "see model.prompts") from error
    return parse(name, data, str(path))


def language_model_facts(settings: Settings) -> ModelFacts:
    """What a look at the language model finds: it can be built, and is there, where looking costs nothing."""
    from palimpsest.adapters.models import building

    try:
        if settings.model.provider == "none" and not settings.model.replay:
            return ModelFacts()
        return ModelFacts(name=building.look(_wanted_model(settings), os.environ))
    except PalimpsestError as error:
        return ModelFacts(problem=error.message, hint=error.hint)


def _wanted_model(settings: Settings, shares: int = 1) -> WantedModel:
    from palimpsest.adapters.models.building import Wanted as WantedModel

    model = settings.model
    return WantedModel(
        provider=model.provider,
        model=model.model or "",
        url=model.url or "",
        key=model.key.get_secret_value() if model.key else "",
        timeout_seconds=model.timeout_seconds,
        tokens_per_run=-(-model.tokens_per_run // shares),
        dollars_per_run=model.dollars_per_run / shares,
        price_input=model.price_input,
        price_output=model.price_output,
        record=model.record or "",
        replay=model.replay or "",
    )


def _wanted(settings: Settings) -> Wanted:
    embed = settings.embed
    return Wanted(
        provider=embed.provider,
        model=embed.model or "",
        url=embed.url or "",
        key=embed.key.get_secret_value() if embed.key else "",
        path=embed.path or "",
        sha256=embed.sha256 or "",
        cut=embed.cut,
        batch=embed.batch,
        threads=embed.threads,
        timeout_seconds=embed.timeout_seconds,
    )


def _counted(facts: DatahubFacts, source: str, settings: Settings) -> DatahubFacts:
    counting = reader(source, settings)
    with closing(counting):
        try:
            return replace(facts, entities=cast(estimate_job.Counting, counting).count())
        except CatalogError as error:
            return replace(facts, uncounted=error.message, hint=error.hint)


def _credentials(settings: Settings, token: SecretStr | None = None) -> Credentials:
    token = token or settings.datahub.token
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
    return GraphqlReader(
        found.url,
        found.token,
        concurrency=datahub.concurrency,
        timeout=datahub.timeout_seconds,
        kept=_kept(settings),
    )


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
            kept=_kept(settings),
        )
    return McpReader(
        _credentials(settings),
        command=datahub.mcp_command,
        environ=os.environ,
        concurrency=datahub.concurrency,
        timeout=datahub.timeout_seconds,
        kept=_kept(settings),
    )


def _kept(settings: Settings) -> KeptReading:
    """What a reading for this store keeps of itself, in the user's cache folder."""
    from palimpsest.adapters.datahub.kept import KeptReading

    return KeptReading(
        Path(platformdirs.user_cache_dir("palimpsest")) / "readings",
        store=without_password(settings.store),
        minutes=settings.datahub.resume_minutes,
        clock=SystemClock(),
    )


def _lacks_datahub(error: ImportError) -> ConfigError:
    return ConfigError(
        f"a running DataHub needs more packages: {error.name} is missing",
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
    force: bool = False,
    dry_run: bool = False,
) -> PublishReport:
    """Publish links to the running DataHub or the proposals file of the settings. Raises ConfigError without either."""
    if not settings.publish.to:
        raise ConfigError(
            "publish.to is not set",
            "name the proposals file, or the running DataHub: palimpsest publish --to links.json, or --to datahub",
        )
    probe: PageProbe = NoPageProbe() if unchecked or dry_run else HttpPageProbe()
    public_url, asked = settings.console.public_url, {"all_datasets": all_datasets, "allow_local": allow_local}
    if settings.publish.to != DATAHUB:
        writer = ProposalsFile(Path(settings.publish.to).expanduser())
        return publish_job.publish(
            store, writer, probe, public_url=public_url, clock=SystemClock(), dry_run=dry_run, **asked
        )
    publish_job.check_address(public_url, allow_local=allow_local)
    with closing(_links(settings)) as links:
        return publish_job.publish_in_catalog(
            store, links, probe, public_url=public_url, clock=SystemClock(), force=force, dry_run=dry_run, **asked
        )


def notice_rules(settings: Settings) -> list[Rule]:
    """The rules of notices. Raises ConfigError for one that cannot be followed."""
    rules = [_notice_rule(one) for one in settings.notify]
    for rule in rules:
        if sum(1 for one in rules if one.name == rule.name) > 1:
            raise ConfigError(f"notify: two rules are named {rule.name!r}", "give each a name of its own")
    return rules


def _notice_rule(one: NotifyRule) -> Rule:
    where = f"notify rule {one.name!r}"
    if unknown := [aspect for aspect in one.aspects if aspect not in ASPECTS]:
        raise ConfigError(f"{where}: {unknown[0]!r} is no aspect", f"one of: {', '.join(sorted(ASPECTS))}")
    to_owners = one.recipient == OWNERS
    if (one.addresses or one.otherwise) and not to_owners:
        raise ConfigError(f"{where}: addresses of owners, and none is told", 'set recipient = "owners"')
    fixed = one.recipient if one.to == "mail" else one.url_env
    if not to_owners and (not fixed or (one.to != "mail" and one.recipient)):
        wanted = "recipient, a mail address" if one.to == "mail" else "url_env, the variable with the webhook's address"
        raise ConfigError(f"{where}: it does not tell whom to send to", f'set {wanted}, or recipient = "owners"')
    otherwise = one.otherwise or (one.url_env if to_owners else "")
    for address in (*one.addresses.values(), *filter(None, [otherwise if to_owners else fixed])):
        if one.to == "mail" and not is_mail_address(address):
            raise ConfigError(f"{where}: {address!r} is no mail address", "write one plain address: ann@example.org")
    return Rule(
        name=one.name,
        to=one.to,
        recipient=OWNERS if to_owners else fixed,
        addresses=one.addresses,
        otherwise=otherwise,
        platforms=one.platforms,
        environments=one.environments,
        domains=one.domains,
        tags=one.tags,
        owners=one.owners,
        aspects=one.aspects,
        kinds=one.kinds,
        impact=Impact[one.impact.upper()],
    )


def begin_notices(settings: Settings, store: Store) -> None:
    """Have rules of notices that are new begin now: what is scanned from here on is told.

    Raises ConfigError for a rule that cannot be followed, before there is anything to tell.
    """
    if settings.notify:
        rules = notice_rules(settings)
        _ways(settings, rules)
        notify_job.begin(store, rules, clock=SystemClock())


def notify(
    settings: Settings,
    store: Store,
    progress: Progress,
    *,
    holder: str,
    since: Moment | None = None,
    dry_run: bool = False,
) -> NotifyReport:
    """Tell who is to be told by the rules of the settings what is new. Raises ConfigError, LeaseHeldError."""
    from palimpsest.adapters.notify.building import built
    from palimpsest.queries.notices import news_since

    rules, console = notice_rules(settings), settings.console.public_url or ""
    request = NotifyRequest(rules=rules, since=since, console=console)

    def read(moment: Moment) -> Sequence[News]:
        return news_since(store, moment, SystemClock().now(), console)

    if dry_run:
        return notify_job.preview(store, request, read, clock=SystemClock())
    with built(_ways(settings, rules), SystemClock().now) as notifiers:
        return notify_job.notify(store, request, read, notifiers, clock=SystemClock(), progress=progress, holder=holder)


def _ways(settings: Settings, rules: Sequence[Rule]) -> Ways:
    """The addresses that the rules name, out of the environment. Raises ConfigError for one that is not there."""
    from palimpsest.adapters.notify.building import Ways

    urls: dict[str, dict[str, str]] = {}
    for rule in rules:
        if rule.to == "mail":
            continue
        fixed = () if rule.recipient == OWNERS else (rule.recipient,)
        for variable in filter(None, (*fixed, *rule.addresses.values(), rule.otherwise)):
            url = _from_environment(variable, rule.name)
            if not url.startswith(("https://", "http://")):
                where = f"notify rule {rule.name!r}: {variable}"
                raise ConfigError(f"{where} holds no http(s) address", "docs/notify.md tells how to get one")
            urls.setdefault(rule.to, {})[variable] = url
    secrets = {
        variable: _from_environment(one.secret_env, one.name)
        for one in settings.notify
        if one.secret_env and one.to == "webhook"
        for variable in (one.url_env, one.otherwise, *one.addresses.values())
        if variable
    }
    return Ways(urls=urls, secrets=secrets, mail=_mail_server(settings) if any(r.to == "mail" for r in rules) else None)


def _from_environment(variable: str, rule: str) -> str:
    found = os.environ.get(variable, "").strip()
    if not found:
        raise ConfigError(f"notify rule {rule!r}: {variable} is not set", "it holds a secret: set it where this runs")
    return found


def _mail_server(settings: Settings) -> MailServer:
    from palimpsest.adapters.notify.mail import PORTS, MailServer

    smtp = settings.smtp
    if not smtp.host or not smtp.sender or not is_mail_address(smtp.sender):
        raise ConfigError("smtp.host and smtp.sender are not set, and mail goes by them", "docs/notify.md tells how")
    return MailServer(
        host=smtp.host,
        port=smtp.port or PORTS[smtp.security],
        security=smtp.security,
        sender=smtp.sender,
        user=smtp.user or "",
        password=smtp.password.get_secret_value() if smtp.password else "",
    )


def unpublish(
    settings: Settings, store: Store, urns: Sequence[str] | None, *, dry_run: bool = False
) -> UnpublishReport:
    """Take our links away from the running DataHub, from all where we published any if none are named."""
    if settings.publish.to not in (None, "", DATAHUB):
        raise ConfigError(
            f"publish.to is {settings.publish.to}: what was applied from a proposals file is not known here",
            "to take links away from the running DataHub: palimpsest unpublish --from datahub",
        )
    with closing(_links(settings)) as links:
        return unpublish_job.unpublish(store, links, urns, clock=SystemClock(), dry_run=dry_run)


def _links(settings: Settings) -> GmsLinks:
    try:
        from palimpsest.adapters.datahub.links import GmsLinks
    except ImportError as error:
        raise _lacks_datahub(error) from error
    found = _credentials(settings, settings.publish.token)
    return GmsLinks(found.url, found.token, timeout=settings.datahub.timeout_seconds)
