"""The settings: one frozen model, read in one place, each value with its origin.

`load` gathers the layers flag > PALIMPSEST_* > palimpsest.toml > user file > default; nothing else reads them.
Only surfaces and wiring import this module: every layer below takes plain values as arguments.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, cast
from urllib.parse import urlsplit

import platformdirs
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from palimpsest.core.errors import ConfigError

FILE_NAME = "palimpsest.toml"
ENV_PREFIX = "PALIMPSEST_"
ENV_TEST_PREFIX = "PALIMPSEST_TEST_"
# Read by others than the model: which file to read, tracebacks, the level of the log.
ENV_BESIDE_SETTINGS = frozenset({"PALIMPSEST_CONFIG", "PALIMPSEST_DEBUG", "PALIMPSEST_LOG"})

_SQLITE_FILE = re.compile(r"(?P<scheme>sqlite(?:\+\w+)?:///)(?P<path>[^?]+)(?P<query>\?.*)?", re.DOTALL)
_URL_SCHEME = re.compile(r"[a-z][a-z0-9_]*(\+[a-z0-9_]+)?://", re.IGNORECASE)
_IGNORE_RULE = re.compile(r"[a-z_]+(:.+)?", re.DOTALL)


def _default_store() -> str:
    return f"sqlite:///{Path(platformdirs.user_data_dir('palimpsest')).absolute() / 'memory.db'}"


def _database_url(value: str) -> str:
    if not _URL_SCHEME.match(value):
        raise ValueError("not an SQLAlchemy URL; a file is written sqlite:///PATH")
    return value


def _web_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("not an http(s) URL")
    return value.rstrip("/")


def _ignore_rule(value: str) -> str:
    if not _IGNORE_RULE.fullmatch(value):
        raise ValueError("an ignore rule is ASPECT or ASPECT:KEYGLOB")
    return value


class Section(BaseModel):
    """One table of the settings file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ScanSettings(Section):
    """What a scan reads, what it passes over, and when it stops."""

    include: tuple[str, ...] = Field(
        default=(), description="Only entities whose URN matches one of these patterns (* and ?); empty: all.",
        examples=[["urn:li:dataset:*shop*"]],
    )  # fmt: skip
    exclude: tuple[str, ...] = Field(
        default=(), description="No entity whose URN matches one of these patterns (* and ?).",
        examples=[["*__dbt_tmp*"]],
    )  # fmt: skip
    platforms: tuple[str, ...] = Field(
        default=(), description="Only entities of these platforms; empty: all.", examples=[["snowflake", "dbt"]]
    )
    environments: tuple[str, ...] = Field(
        default=(), description="Only entities of these environments; empty: all.", examples=[["PROD"]]
    )
    domains: tuple[str, ...] = Field(
        default=(), description="Only entities of these domains; empty: all.", examples=[["urn:li:domain:sales"]]
    )
    ignore: tuple[Annotated[str, AfterValidator(_ignore_rule)], ...] = Field(
        default=(), description="Changes to pass over, beside the default rules: ASPECT, or ASPECT:KEYGLOB.",
        examples=[["property:last_refreshed*"]],
    )  # fmt: skip
    ignore_defaults: bool = Field(
        default=True, description="Whether the documented default rules for machine-written values apply."
    )
    mass_change_share: float = Field(
        default=0.2, gt=0, le=1,
        description="A scan that would empty or remove more than this share of a source's cells on one platform stops"
        " before writing.",
    )  # fmt: skip
    mass_change_cells: int = Field(
        default=100, ge=1, description="A scan never stops for emptying or removing fewer cells than this."
    )


class DatahubSettings(Section):
    """The running DataHub that `scan datahub-graphql` and `scan datahub-mcp` read."""

    url: str | None = Field(
        default=None, description="DataHub's GMS; if not set, DATAHUB_GMS_URL or ~/.datahubenv tell.",
        examples=["https://datahub.example.org/gms"],
    )  # fmt: skip
    token: SecretStr | None = Field(
        default=None, description="The token to read with; if not set, DATAHUB_GMS_TOKEN or ~/.datahubenv tell."
    )
    mcp_command: tuple[str, ...] = Field(
        default=("uvx", "mcp-server-datahub@0.8.0"), description="What starts DataHub's MCP server over stdio.",
        examples=[["mcp-server-datahub"]],
    )  # fmt: skip
    mcp_url: str | None = Field(
        default=None, description="A running MCP server (streamable HTTP), in place of starting one.",
        examples=["https://datahub.example.org/mcp"],
    )  # fmt: skip
    concurrency: int = Field(default=4, ge=1, le=32, description="How many requests are under way at once.")
    timeout_seconds: float = Field(default=30, gt=0, description="After how long a request is given up.")
    resume_minutes: float = Field(
        default=60, ge=0,
        description="How old what a scan had read before it broke may be for the next scan to take it; 0: never.",
    )  # fmt: skip


class RunSettings(Section):
    """What `palimpsest run` does."""

    source: str | None = Field(
        default=None, description="What to scan, as `palimpsest scan` takes it.", examples=["file:catalog.json.gz"]
    )
    source_name: str | None = Field(
        default=None, description="The name the source is remembered by, if not its kind.", examples=["warehouse"]
    )
    complete: bool = Field(
        default=False, description="Whether the reading lists every entity there is: what it lacks is then gone."
    )
    consolidate: bool = Field(default=True, description="Whether to consolidate after the scan.")
    verify: bool = Field(default=True, description="Whether to verify the rules at the end.")
    publish: bool = Field(default=False, description="Whether to publish links to the catalog.")
    fail_on: Literal["", "change", "breaking"] = Field(
        default="", description='Exit 6 after a change, or after a breaking one: "change", "breaking", or "" for never.'
    )


class PublishSettings(Section):
    """Where links to the memory's pages go."""

    to: str | None = Field(
        default=None, description="`datahub` for the running DataHub, or a proposals file for `datahub ingest`.",
        examples=["datahub", "links.json"],
    )  # fmt: skip
    token: SecretStr | None = Field(
        default=None, description="The token to write links with; if not set, the one to read with."
    )


class ConsoleSettings(Section):
    """Where people read the memory."""

    public_url: Annotated[str, AfterValidator(_web_url)] | None = Field(
        default=None, description="The address under which people reach the console; published links start with it.",
        examples=["https://palimpsest.example.org"],
    )  # fmt: skip
    token: SecretStr | None = Field(
        default=None,
        description="What readers must give, 16 characters or more; without it only this machine is served.",
    )


class EmbedSettings(Section):
    """Who makes the vectors by which passages are found by meaning."""

    provider: Literal["hashed", "minilm", "gemini", "ollama", "none"] = Field(
        default="hashed",
        description="`hashed` (words and letters, built in), `minilm` (a sentence model on this machine), `gemini`,"
        " `ollama`, or `none`. To change it: `palimpsest embed --all`.",
    )  # fmt: skip
    model: str | None = Field(
        default=None, description="The model of `gemini` (if not set, gemini-embedding-001) or `ollama` (all-minilm).",
        examples=["nomic-embed-text"],
    )  # fmt: skip
    url: Annotated[str, AfterValidator(_web_url)] | None = Field(
        default=None, description="The address of `gemini` or `ollama`; if not set, the provider's own.",
        examples=["http://127.0.0.1:11434"],
    )  # fmt: skip
    key: SecretStr | None = Field(
        default=None, description="The key of `gemini` (if not set, GEMINI_API_KEY), or of what stands before `ollama`."
    )
    cut: bool = Field(
        default=False, description="Cut longer vectors of `ollama` to 384 numbers: only for Matryoshka models."
    )
    path: str | None = Field(
        default=None, description="An ONNX file for `minilm`, in place of the packaged one.",
        examples=["models/model.onnx"],
    )  # fmt: skip
    sha256: str | None = Field(
        default=None, pattern=r"^[0-9a-fA-F]{64}$", description="The SHA-256 that the ONNX file must have.",
        examples=["8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"],
    )  # fmt: skip
    batch: int = Field(default=32, ge=1, le=1_000, description="How many texts go to a model at once.")
    threads: int = Field(default=2, ge=1, le=64, description="How many threads `minilm` takes.")
    timeout_seconds: float = Field(default=60, gt=0, description="After how long a request to a server is given up.")


class ModelSettings(Section):
    """The language model that judges what rules cannot."""

    provider: Literal["none", "anthropic", "groq", "gemini", "ollama"] = Field(
        default="none", description="Whose language model judges prose: `anthropic`, `groq`, `gemini`, `ollama`, or"
        " `none`: the rules alone.",
    )  # fmt: skip
    model: str | None = Field(
        default=None, description="Which language model of the provider; if not set, a small one (docs/models.md).",
        examples=["claude-sonnet-5-5"],
    )  # fmt: skip
    url: Annotated[str, AfterValidator(_web_url)] | None = Field(
        default=None, description="The address of the language model; if not set, the provider's own, for `ollama`"
        " OLLAMA_HOST.",
        examples=["http://127.0.0.1:11434"],
    )  # fmt: skip
    key: SecretStr | None = Field(
        default=None, description="The key to the language model; if not set, ANTHROPIC_API_KEY, GROQ_API_KEY,"
        " GEMINI_API_KEY, or, for what stands before `ollama`, OLLAMA_API_KEY.",
    )  # fmt: skip
    timeout_seconds: float = Field(
        default=120, gt=0, description="After how long a request to the language model is given up."
    )
    tokens_per_run: int = Field(
        default=0, ge=0, description="How many tokens a run may use, read and written together; 0: no limit."
    )
    dollars_per_run: float = Field(default=0, ge=0, description="How many US dollars a run may cost; 0: no limit.")
    price_input: float | None = Field(
        default=None, ge=0, description="What the language model costs, in US dollars per million tokens that it reads;"
        " if not set, what we know.",
        examples=[0.1],
    )  # fmt: skip
    price_output: float | None = Field(
        default=None, ge=0, description="The same per million tokens that it writes.", examples=[0.5]
    )
    record: str | None = Field(
        default=None, description="A file to write down what the language model is asked and answers.",
        examples=["answers.jsonl"],
    )  # fmt: skip
    replay: str | None = Field(
        default=None, description="Such a file, to answer from it and ask nobody.", examples=["answers.jsonl"]
    )
    prompts: str | None = Field(
        default=None, description="A folder with prompts of your own: what it lacks is as it was shipped.",
        examples=["prompts"],
    )  # fmt: skip


class BriefSettings(Section):
    """What an agent is handed."""

    budget: int = Field(default=2000, ge=1, description="How many tokens a brief may take.")


class KeepSettings(Section):
    """How long records are kept. What is held, and what it rests on, is kept for ever."""

    recalls_days: int = Field(
        default=90, ge=0, description="Forget recorded questions that are older than so many days; 0 keeps them all."
    )
    runs_days: int = Field(
        default=365, ge=0, description="Forget runs that wrote nothing and are older than so many days; 0 keeps all."
    )
    deliveries_days: int = Field(
        default=90, ge=0, description="Forget what agents were handed more than so many days ago; 0 keeps it all."
    )


class McpSettings(Section):
    """The MCP server, by which agents ask."""

    token: SecretStr | None = Field(
        default=None,
        description="What clients must give as bearer token over HTTP; without, only this machine is served.",
    )
    hosts: tuple[str, ...] = Field(
        default=(), description="The names under which clients reach the MCP server over HTTP; else this machine's.",
        examples=[["palimpsest.example.org"]],
    )  # fmt: skip
    timeout_seconds: float = Field(default=10, gt=0, description="After how long a question of an agent is broken off.")


class NotifyRule(Section):
    """One rule of notices, `[[notify]]`: which changes are told to whom."""

    name: str = Field(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$", description="The rule's name; under another it is another rule, and new."
    )
    to: Literal["slack", "teams", "mail", "webhook"] = Field(
        description="By what: `slack`, `teams`, `mail` or `webhook`."
    )
    recipient: str = Field(default="", description="A mail address; or `owners`: each owner is told of what is theirs.")
    url_env: str = Field(
        default="", description="The variable that holds the webhook's address, which is a secret (not for `mail`)."
    )
    secret_env: str = Field(
        default="", description="The variable that holds what requests to a `webhook` are signed with."
    )
    addresses: dict[str, str] = Field(
        default={}, description="With `owners`: owner (URN, or name) = mail address, or the variable that holds the"
        " address of the owner's webhook.",
    )  # fmt: skip
    otherwise: str = Field(
        default="", description="With `owners`: such an address for what has no owner who can be reached."
    )
    platforms: tuple[str, ...] = Field(default=(), description="Only entities of these platforms.")
    environments: tuple[str, ...] = Field(default=(), description="Only entities of these environments.")
    domains: tuple[str, ...] = Field(default=(), description="Only entities of these domains, by URN or name.")
    tags: tuple[str, ...] = Field(default=(), description="Only entities with one of these tags, by URN or name.")
    owners: tuple[str, ...] = Field(
        default=(), description="Only entities of these owners, users or groups, by URN or name."
    )
    aspects: tuple[str, ...] = Field(default=(), description="Only changes of these aspects.")
    kinds: tuple[str, ...] = Field(default=(), description="Only entities of these kinds: `dataset`, `dashboard`, …")
    impact: Literal["minor", "notable", "breaking"] = Field(
        default="notable", description="The least impact that is told: `minor`, `notable` or `breaking`."
    )


class SmtpSettings(Section):
    """The server that sends mail."""

    host: str | None = Field(
        default=None, description="The mail server that notices go by.", examples=["mail.example.org"]
    )
    port: int = Field(default=0, ge=0, le=65_535, description="Its port; 0: 587, 465 or 25, by smtp.security.")
    security: Literal["starttls", "tls", "none"] = Field(
        default="starttls", description="How the connection to the mail server is kept secret: `starttls`, `tls` or"
        " `none`.",
    )  # fmt: skip
    user: str | None = Field(
        default=None, description="Who sends, to the mail server; without, it is not asked.", examples=["palimpsest"]
    )
    password: SecretStr | None = Field(default=None, description="The password of smtp.user.")
    sender: str | None = Field(
        default=None, description="The address that mail comes from.", examples=["palimpsest@example.org"]
    )


class Settings(BaseSettings):
    """Every setting, validated and frozen. Built by `load`; `Settings()` is the defaults and reads nothing."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid")

    store: Annotated[str, AfterValidator(_database_url)] = Field(
        default_factory=_default_store, repr=False,
        description="The database that holds the memory, as an SQLAlchemy URL. A relative SQLite path starts at the"
        " folder of the file that names it; ~ is the home folder.",
    )  # fmt: skip
    notify: tuple[NotifyRule, ...] = Field(
        default=(), description="Who is told of which changes: one [[notify]] table for each rule (docs/notify.md)."
    )
    scan: ScanSettings = ScanSettings()
    datahub: DatahubSettings = DatahubSettings()
    run: RunSettings = RunSettings()
    publish: PublishSettings = PublishSettings()
    console: ConsoleSettings = ConsoleSettings()
    embed: EmbedSettings = EmbedSettings()
    model: ModelSettings = ModelSettings()
    keep: KeepSettings = KeepSettings()
    brief: BriefSettings = BriefSettings()
    mcp: McpSettings = McpSettings()
    smtp: SmtpSettings = SmtpSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Takes the values `load` merged, and no others: merged here, their origins would be lost."""
        return (init_settings,)


class OriginKind(StrEnum):
    """Where a value can come from, strongest first."""

    FLAG = "flag"
    ENVIRONMENT = "environment"
    PROJECT_FILE = "project file"
    USER_FILE = "user file"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where one value came from: its kind, and the variable or the file."""

    kind: OriginKind
    name: str = ""

    def __str__(self) -> str:
        return self.name or self.kind.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One setting as it is documented. `name` is dotted; `example` is a value worth writing, if the default is not."""

    name: str
    description: str
    default: object
    example: object | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The settings, and for every dotted key the origin of its value."""

    settings: Settings
    origins: Mapping[str, Origin]

    def value(self, key: str) -> object:
        """The value of a dotted key. Raises KeyError for an unknown one."""
        return _value_at(self.settings, key)


@dataclass(frozen=True, slots=True)
class _Given:
    """A value as a layer gives it: not yet validated. `folder` is where its relative paths start."""

    value: object
    origin: Origin
    folder: Path


def all_keys() -> tuple[Key, ...]:
    """Every setting, in the order of the model."""
    defaults = Settings()
    return tuple(
        Key(
            name=name,
            description=field.description or "",
            default=_value_at(defaults, name),
            example=next(iter(field.examples or ()), None),
        )
        for name, field in _FIELDS.items()
    )


def load(config_path: Path | None = None, overrides: Mapping[str, object] | None = None) -> Loaded:
    """Read the settings of this process.

    `config_path` (else PALIMPSEST_CONFIG) names the project file; without it, palimpsest.toml is looked for in the
    current folder and above it. `overrides` are flags: dotted key to value, None where the flag was not given.
    Raises ConfigError for a file that cannot be read, an unknown key or variable, or a value of the wrong form.
    """
    given: dict[str, _Given] = {}
    user_file = Path(platformdirs.user_config_dir("palimpsest")) / FILE_NAME
    if user_file.is_file():
        given |= _from_file(user_file, OriginKind.USER_FILE)
    project_file = _named_file(config_path) or _found_file(Path.cwd(), Path.home())
    if project_file is not None:
        given |= _from_file(project_file, OriginKind.PROJECT_FILE)
    given |= _from_environment(os.environ)
    given |= _from_flags(overrides or {})
    if (store := given.get("store")) and isinstance(store.value, str):
        given["store"] = _Given(_absolute_store(store.value, store.folder), store.origin, store.folder)
    default = Origin(kind=OriginKind.DEFAULT)
    origins = {name: given[name].origin if name in given else default for name in _FIELDS}
    return Loaded(settings=_validated(given), origins=origins)


def shown(value: object) -> object:
    """A setting's value as it may be shown: a secret only as set or unset, a URL without its password."""
    match value:
        case SecretStr():
            return "set" if value.get_secret_value() else "unset"
        case str():
            return without_password(value)
        case tuple():
            return tuple(one.model_dump(exclude_unset=True) if isinstance(one, BaseModel) else one for one in value)
        case _:
            return value


def without_password(url: str) -> str:
    """The URL with any password in it replaced by ***; other text unchanged."""
    url = re.sub(r"(://[^:/?#@]*):.*@", r"\1:***@", url, flags=re.DOTALL)
    return re.sub(r"([?&][^=&]*(?:password|token|secret)=)[^&]*", r"\1***", url, flags=re.IGNORECASE)


def _fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _fields(field.annotation, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field


def _value_at(settings: BaseModel, key: str) -> object:
    if key not in _FIELDS:
        raise KeyError(key)
    value: object = settings
    for part in key.split("."):
        value = getattr(value, part)
    return value


def _named_file(config_path: Path | None) -> Path | None:
    named = config_path or os.environ.get("PALIMPSEST_CONFIG")
    return Path(named).expanduser() if named else None


def _found_file(start: Path, home: Path) -> Path | None:
    """palimpsest.toml in `start` or above it, no higher than the top of its git tree or the home folder."""
    for folder in (start, *start.parents):
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
        if (folder / ".git").exists() or folder == home:
            return None
    return None


def _from_file(path: Path, kind: OriginKind) -> dict[str, _Given]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as err:
        raise ConfigError(f"{path}: cannot be read: {err.strerror}", "`palimpsest init` writes a new one") from err
    except UnicodeDecodeError as err:
        raise ConfigError(f"{path}: not UTF-8 text", "save the file as UTF-8") from err
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as err:
        at = re.search(r"\(at line (\d+)", str(err))
        line = at[1] if at else text.count("\n") + 1
        what = str(err).partition(" (at ")[0]
        raise ConfigError(f"{path}:{line}: not TOML: {what}", f"mend line {line}") from err
    origin = Origin(kind=kind, name=str(path))
    folder = path.absolute().parent
    return {name: _Given(value, origin, folder) for name, value in _flattened(tables, "", path)}


def _flattened(table: Mapping[str, object], prefix: str, path: Path) -> Iterator[tuple[str, object]]:
    for part, value in table.items():
        name = f"{prefix}{part}"
        if name in _FIELDS:
            yield name, value
        elif name not in _SECTIONS:
            raise ConfigError(f"{path}: unknown key: {name}", _nearest(name))
        elif isinstance(value, dict):
            yield from _flattened(cast(dict[str, object], value), f"{name}.", path)
        else:
            raise ConfigError(f"{path}: {name} is a section, not a value", f"write it as [{name}]")


def _from_environment(environ: Mapping[str, str]) -> dict[str, _Given]:
    given = {}
    for variable, text in sorted(environ.items()):
        name = variable.removeprefix(ENV_PREFIX).lower().replace("__", ".")
        if not variable.startswith(ENV_PREFIX) or variable.startswith(ENV_TEST_PREFIX):
            continue
        if variable in ENV_BESIDE_SETTINGS or (name in _FIELDS and not text):
            continue
        if name not in _FIELDS:
            raise ConfigError(f"unknown variable: {variable}", _nearest_variable(variable))
        value = _list_in(text, variable) if _is_list(_FIELDS[name]) else text
        given[name] = _Given(value, Origin(kind=OriginKind.ENVIRONMENT, name=variable), Path.cwd())
    return given


def _list_in(text: str, variable: str) -> object:
    """A list in a variable: a JSON array, or one item without a comma (a URN has commas: never guess)."""
    if not text.startswith("[") and "," not in text:
        return [text]
    try:
        return json.loads(text)
    except ValueError as err:
        raise ConfigError(f"{variable}: not a list", f"""write a JSON array: {variable}='["a", "b"]'""") from err


def _from_flags(overrides: Mapping[str, object]) -> dict[str, _Given]:
    for name in overrides.keys() - _FIELDS.keys():
        raise ConfigError(f"unknown setting: {name}", _nearest(name))
    origin = Origin(kind=OriginKind.FLAG)
    return {name: _Given(value, origin, Path.cwd()) for name, value in overrides.items() if value is not None}


def _absolute_store(url: str, folder: Path) -> str:
    """A SQLite URL with its path made absolute; every other URL, and a database in memory, as it is."""
    match = _SQLITE_FILE.fullmatch(url)
    if match is None or match["path"].startswith((":memory:", "file:")):
        return url
    return f"{match['scheme']}{folder / Path(match['path']).expanduser()}{match['query'] or ''}"


def _validated(given: Mapping[str, _Given]) -> Settings:
    nested: dict[str, object] = {}
    for name, each in given.items():
        *sections, last = name.split(".")
        table = nested
        for section in sections:
            table = cast(dict[str, object], table.setdefault(section, {}))
        table[last] = each.value
    try:
        return Settings.model_validate(nested)
    except ValidationError as err:
        first = err.errors(include_url=False, include_context=False, include_input=False)[0]
        name = ".".join(part for part in first["loc"] if isinstance(part, str))
        key = next((field for field in _FIELDS if name == field or name.startswith(f"{field}.")), name)
        what = first["msg"].removeprefix("Value error, ")
        origin = given[key].origin if key in given else OriginKind.DEFAULT.value
        message = f"{key} (from {origin}): {what[:1].lower()}{what[1:]}"
        raise ConfigError(message, _FIELDS[key].description or "") from err


def _nearest(name: str) -> str:
    close = difflib.get_close_matches(name, [*_FIELDS, *_SECTIONS], n=1, cutoff=0.0)
    return f"the nearest valid key is {close[0]}"


def _nearest_variable(variable: str) -> str:
    known = [_variable(name) for name in _FIELDS] + sorted(ENV_BESIDE_SETTINGS)
    return f"the nearest valid one is {difflib.get_close_matches(variable, known, n=1, cutoff=0.0)[0]}"


def _variable(name: str) -> str:
    return ENV_PREFIX + name.upper().replace(".", "__")


def _is_list(field: FieldInfo) -> bool:
    return str(field.annotation).startswith("tuple[")


_FIELDS = dict(_fields(Settings))
_SECTIONS = {name.rpartition(".")[0] for name in _FIELDS if "." in name}
