"""Which embedder a set of plain values names. Each provider's module is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from palimpsest.core.errors import ConfigError

if TYPE_CHECKING:
    from palimpsest.ports import Embedder

_KEY_VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
_EXTRAS = {"minilm": "local", "gemini": "gemini", "ollama": "ollama"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is wanted of an embedder; empty texts are what the provider takes by default."""

    provider: str
    model: str = ""
    url: str = ""
    key: str = ""
    path: str = ""
    sha256: str = ""
    cut: bool = False
    batch: int = 32
    threads: int = 2
    timeout_seconds: float = 60


def build(wanted: Wanted, environ: Mapping[str, str]) -> Embedder:
    """The embedder. Raises ConfigError for what is missing: a package, a file, a key."""
    try:
        return _BUILDERS[wanted.provider](wanted, environ)
    except ImportError as error:
        extra = _EXTRAS[wanted.provider]
        raise ConfigError(
            f"embed.provider {wanted.provider} needs more packages: {error.name} is missing",
            f"install them: pip install 'datahub-palimpsest[{extra}]'",
        ) from error


def build_named(name: str, wanted: Wanted, environ: Mapping[str, str]) -> Embedder | None:
    """The embedder that gave itself a name, to ask in its terms; None where it cannot be had (any more) as it was."""
    provider, _, rest = name.partition(":")
    if provider not in _BUILDERS:
        return None
    other = wanted if wanted.provider == provider else Wanted(provider=provider, threads=wanted.threads)
    for asked in (_as_named(other, rest), replace(_as_named(other, rest), path="", sha256="")):
        try:
            made = build(asked, environ)
        except ConfigError:
            continue
        if made.name == name:
            return made
        made.close()
    return None


def _as_named(wanted: Wanted, rest: str) -> Wanted:
    match wanted.provider:
        case "gemini":
            return replace(wanted, model=rest.rpartition(":")[0])
        case "ollama":
            return replace(wanted, model=rest.removesuffix(":cut"), cut=rest.endswith(":cut"))
        case _:
            return wanted


def _hashed(wanted: Wanted, environ: Mapping[str, str]) -> Embedder:
    from palimpsest.adapters.embed.hashed import HashedEmbedder

    return HashedEmbedder()


def _minilm(wanted: Wanted, environ: Mapping[str, str]) -> Embedder:
    from palimpsest.adapters.embed import minilm

    path = Path(wanted.path).expanduser() if wanted.path else minilm.packaged_path()
    sha256 = wanted.sha256 or minilm.PINNED_SHA256
    return minilm.MiniLmEmbedder(path, sha256=sha256, batch=wanted.batch, threads=wanted.threads)


def _gemini(wanted: Wanted, environ: Mapping[str, str]) -> Embedder:
    from palimpsest.adapters.embed import gemini

    key = wanted.key or next((environ[name] for name in _KEY_VARIABLES if environ.get(name)), "")
    if not key:
        raise ConfigError("Gemini wants a key, and none is set", "set GEMINI_API_KEY, or embed.key")
    return gemini.GeminiEmbedder(
        key=key,
        url=wanted.url or gemini.DEFAULT_URL,
        model=wanted.model or gemini.DEFAULT_MODEL,
        batch=wanted.batch,
        timeout=wanted.timeout_seconds,
    )


def _ollama(wanted: Wanted, environ: Mapping[str, str]) -> Embedder:
    from palimpsest.adapters.embed import ollama

    return ollama.OllamaEmbedder(
        url=wanted.url or environ.get("OLLAMA_HOST") or ollama.DEFAULT_URL,
        model=wanted.model or ollama.DEFAULT_MODEL,
        key=wanted.key,
        cut=wanted.cut,
        batch=wanted.batch,
        timeout=wanted.timeout_seconds,
    )


_BUILDERS: dict[str, Callable[[Wanted, Mapping[str, str]], Embedder]] = {
    "hashed": _hashed,
    "minilm": _minilm,
    "gemini": _gemini,
    "ollama": _ollama,
}
