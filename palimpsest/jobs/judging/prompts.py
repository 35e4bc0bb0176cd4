"""Prompts: Markdown with a head that names them and their version. The hash is that of the file, whoever wrote it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from palimpsest.core.errors import ConfigError

NAMES = ("restated", "sorted")
"""The prompts there are: `restated` judges rewritten text, `sorted` sorts notes."""
_HEAD = re.compile(r"---\n(?P<head>.*?)\n---\n(?P<prose>.*)", re.DOTALL)
_LINE = re.compile(r"(?P<name>[a-z]+): *(?P<value>\S+) *")
_VERSION = re.compile(r"[1-9]\d{0,3}")
_MOST_BYTES = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Instructions to a model. `digest` is the beginning of the file's SHA-256."""

    name: str
    version: int
    digest: str
    instructions: str

    @property
    def tag(self) -> str:
        """How verdicts name it: `restated@1:ab12cd34`."""
        return f"{self.name}@{self.version}:{self.digest}"


def parse(name: str, data: bytes, where: str) -> Prompt:
    """The prompt of that name in a file's bytes; `where` tells people which file. Raises ConfigError if it is none."""
    hint = f"write a head of two lines between --- lines (name: {name}, version: 1), and the instructions under it"
    if len(data) > _MOST_BYTES:
        raise ConfigError(f"{where}: a prompt of {len(data)} bytes, and at most {_MOST_BYTES} are sent", "shorten it")
    try:
        text = data.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{where}: not UTF-8 at byte {error.start}", hint) from error
    parts = _HEAD.fullmatch(text)
    if parts is None:
        raise ConfigError(f"{where}: the prompt has no head", hint)
    head = _head_of(parts["head"], where, hint)
    if head["name"] != name:
        raise ConfigError(f"{where}: its head says name: {head['name']}", hint)
    if not _VERSION.fullmatch(head["version"]):
        raise ConfigError(f"{where}: {head['version']!r} is no version", "write a whole number from 1: version: 2")
    instructions = parts["prose"].strip()
    if not instructions:
        raise ConfigError(f"{where}: the prompt has no instructions", hint)
    digest = hashlib.sha256(data).hexdigest()[:8]
    return Prompt(name=name, version=int(head["version"]), digest=digest, instructions=instructions)


def _head_of(text: str, where: str, hint: str) -> dict[str, str]:
    head: dict[str, str] = {}
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        if found is None or found["name"] not in ("name", "version") or found["name"] in head:
            raise ConfigError(f"{where}: its head has a line that it should not: {line[:60]!r}", hint)
        head[found["name"]] = found["value"]
    for name in ("name", "version"):
        if name not in head:
            raise ConfigError(f"{where}: its head lacks {name}", hint)
    return head
