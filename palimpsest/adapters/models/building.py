"""Which language model a set of plain values names. Each provider's module is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from palimpsest.adapters.models.known import DEFAULT_MODELS, Price, price_of
from palimpsest.adapters.models.recording import Recording, Replay
from palimpsest.adapters.models.remote import Place, RemoteModel, Wire
from palimpsest.adapters.models.wrappers import Budgeted, Patient
from palimpsest.core.errors import ConfigError

if TYPE_CHECKING:
    from palimpsest.core.patience import Patience
    from palimpsest.ports import LanguageModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is wanted of a language model; empty texts and None are what the provider takes by default.

    `tokens_per_run`, `dollars_per_run`: what may be used in all, 0 for no limit. `record`: the file to write what is
    asked and answered to; `replay`: the file to answer from, without asking anybody.
    """

    provider: str
    model: str = ""
    url: str = ""
    key: str = field(default="", repr=False)
    timeout_seconds: float = 120
    tokens_per_run: int = 0
    dollars_per_run: float = 0
    price_input: float | None = None
    price_output: float | None = None
    record: str = ""
    replay: str = ""


def build(wanted: Wanted, environ: Mapping[str, str], patience: Patience | None = None) -> LanguageModel:
    """The model. It can be pickled until it is asked. Raises ConfigError for what is missing: a package, a key."""
    if wanted.replay:
        return _replay(wanted)
    remote, room = _remote(wanted, environ)
    limited = Budgeted(
        Patient(remote, patience),
        tokens=wanted.tokens_per_run,
        dollars=wanted.dollars_per_run,
        price=_price(wanted),
        room=room,
    )
    return Recording(limited, Path(wanted.record).expanduser()) if wanted.record else limited


def look(wanted: Wanted, environ: Mapping[str, str]) -> str:
    """The name of the model, after a look at it that costs nothing. Raises ConfigError or ModelError."""
    built = build(wanted, environ)
    if not wanted.replay:
        with closing(_remote(wanted, environ)[0]) as remote:
            remote.look()
    return built.name


def _remote(wanted: Wanted, environ: Mapping[str, str]) -> tuple[RemoteModel, int]:
    """The model itself, and how many tokens it is given to think with."""
    if wanted.provider not in _WIRES:
        raise ConfigError(
            f"model.provider is {wanted.provider}, and a model is wanted", f"one of: {', '.join(sorted(_WIRES))}"
        )
    try:
        wire = _WIRES[wanted.provider](wanted, environ)
    except ImportError as error:
        raise ConfigError(
            f"model.provider {wanted.provider} needs more packages: {error.name} is missing",
            f"install them: pip install 'datahub-palimpsest[{wanted.provider}]'",
        ) from error
    return RemoteModel(wire, _price(wanted)), wire.room


def _replay(wanted: Wanted) -> Replay:
    if wanted.record:
        raise ConfigError("model.record and model.replay are both set", "leave one of them out")
    if wanted.provider not in _WIRES:
        raise ConfigError("model.replay is set, and model.provider does not say whose answers", "set model.provider")
    path = Path(wanted.replay).expanduser()
    if not path.is_file():
        raise ConfigError(f"{path}: no such file", "see model.replay")
    return Replay(f"{wanted.provider}:{_model(wanted)}", path)


def _model(wanted: Wanted) -> str:
    return wanted.model or DEFAULT_MODELS[wanted.provider]


def _price(wanted: Wanted) -> Price | None:
    """By the settings, else as we know it. Raises ConfigError when a limit in dollars needs one, and there is none."""
    known = price_of(wanted.provider, _model(wanted))
    if (wanted.price_input is None) != (wanted.price_output is None):
        raise ConfigError("only one of model.price_input and model.price_output is set", "set both, or none")
    if wanted.price_input is not None and wanted.price_output is not None:
        return Price(wanted.price_input, wanted.price_output)
    if known is None and wanted.dollars_per_run:
        raise ConfigError(
            f"model.dollars_per_run is set, and what {_model(wanted)} costs is not known",
            "set model.price_input and model.price_output",
        )
    return known


def _key(wanted: Wanted, environ: Mapping[str, str], variables: tuple[str, ...]) -> str:
    """The key of the settings or the environment; empty where there is none. It is never in an error."""
    key = (wanted.key or next((environ[name] for name in variables if environ.get(name)), "")).strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"the key of {wanted.provider} has letters that no key has", f"see {variables[0]}")
    return key


def _with_key(label: str, wanted: Wanted, environ: Mapping[str, str], module: ModuleType) -> Place:
    """A place that only opens to a key."""
    variables: tuple[str, ...] = module.KEY_VARIABLES
    key = _key(wanted, environ, variables)
    if not key:
        raise ConfigError(f"{label} wants a key, and none is set", f"set {variables[0]}, or model.key")
    return Place(
        provider=wanted.provider,
        label=label,
        url=wanted.url or module.DEFAULT_URL,
        model=_model(wanted),
        timeout=wanted.timeout_seconds,
        key=key,
        on_refused_key=f"set {variables[0]}, or model.key, to a valid key",
    )


def _anthropic(wanted: Wanted, environ: Mapping[str, str]) -> Wire:
    from palimpsest.adapters.models import anthropic

    return anthropic.AnthropicWire(_with_key("Anthropic", wanted, environ, anthropic))


def _groq(wanted: Wanted, environ: Mapping[str, str]) -> Wire:
    from palimpsest.adapters.models import groq

    return groq.GroqWire(_with_key("Groq", wanted, environ, groq))


def _gemini(wanted: Wanted, environ: Mapping[str, str]) -> Wire:
    from palimpsest.adapters.models import gemini

    return gemini.GeminiWire(_with_key("Gemini", wanted, environ, gemini))


def _ollama(wanted: Wanted, environ: Mapping[str, str]) -> Wire:
    from palimpsest.adapters.models import ollama

    model = _model(wanted)
    place = Place(
        provider=wanted.provider,
        label="Ollama",
        url=wanted.url or environ.get("OLLAMA_HOST") or ollama.DEFAULT_URL,
        model=model,
        timeout=wanted.timeout_seconds,
        key=_key(wanted, environ, ollama.KEY_VARIABLES),
        on_refused_key=f"set {ollama.KEY_VARIABLES[0]}, or model.key, to a valid key of the server before it",
        on_unknown_model=f"run: ollama pull {model}",
    )
    return ollama.OllamaWire(place)


_WIRES: dict[str, Callable[[Wanted, Mapping[str, str]], Wire]] = {
    "anthropic": _anthropic,
    "groq": _groq,
    "gemini": _gemini,
    "ollama": _ollama,
}
