"""Puts one value into JSON text and takes it out again, changing no other byte of it. Pure.

The text may hold comments and trailing commas. What goes in comes first in its list or object, so that what stands
behind others (a comment, a trailing comma) stays there. Taking out is the inverse: it must give the very text into
which putting in gives what was found.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Path: TypeAlias = "tuple[str, ...]"

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_LEAD = re.compile(r"\s*?(\r?\n)([ \t]*)", re.DOTALL)
_COMMA = re.compile(r"\s*,")
_DEEPEST = 100
_MOST_BLANK = 100


class NotEditable(Exception):
    """The text is no JSON that can be edited in place. The message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A value in a text: where it stands, its parts in order, and for an object their keys; `value` of others."""

    start: int
    end: int
    kind: str
    parts: tuple[Node, ...] = ()
    keys: tuple[str, ...] = ()
    key_starts: tuple[int, ...] = ()
    value: Any = None

    def plain(self) -> Any:
        """The value, as json.loads gives it."""
        if self.kind == "{":
            return {key: part.plain() for key, part in zip(self.keys, self.parts, strict=True)}
        return [part.plain() for part in self.parts] if self.kind == "[" else self.value


def parse(text: str) -> Node:
    """The value of a text. Raises NotEditable."""
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    node = _parse(text, start, 0)
    if _skip(text, node.end) != len(text):
        raise NotEditable("something stands behind its end")
    return node


def put(text: str, path: Path, entry: Any) -> str:
    """The text with `entry` first in the list at `path`; what is missing of the path is made. Raises NotEditable."""
    node = parse(text)
    if node.kind != "{":
        raise NotEditable("it is not an object")
    depth = 0
    for depth, key in enumerate(path):  # noqa: B007
        inner = _part(node, key)
        if inner is None:
            break
        node = inner
    else:
        depth = len(path)
    if node.kind != ("[" if depth == len(path) else "{"):
        raise NotEditable(f"{'.'.join(path[:depth])} is of another kind")
    value = entry
    if depth < len(path):
        value = [entry]
        for key in reversed(path[depth + 1 :]):
            value = {key: value}
    made = _put_first(text, node, path[depth] if depth < len(path) else None, value, depth + 1)
    if parse(made).plain() != _expected(parse(text).plain(), path, entry):
        raise NotEditable("it cannot be edited in place")
    return made


def take(text: str, path: Path, index: int) -> str:
    """The text without the element `index` of the list at `path`. Raises NotEditable.

    Where it was put in by `put` and nothing around it was edited since, the text is the one before, to the byte.
    """
    chain = _chain(parse(text), path)
    entry = chain[-1].parts[index].plain()
    for depth in range(len(path) + 1):
        holder = chain[depth]
        at = index if depth == len(path) else holder.keys.index(path[depth])
        for candidate in _without(text, holder, at):
            if _gives(candidate, path, entry, text):
                return candidate
    return _taken_apart(text, path, index)


def _gives(candidate: str, path: Path, entry: Any, text: str) -> bool:
    try:
        return put(candidate, path, entry) == text
    except NotEditable:
        return False


def _taken_apart(text: str, path: Path, index: int) -> str:
    """The text without an element that was moved or edited since; lists and objects that it leaves empty go too."""
    chain = _chain(parse(text), path)
    depth = len(path)
    while depth > 0 and len(chain[depth].parts) == 1:
        depth -= 1
    at = index if depth == len(path) else chain[depth].keys.index(path[depth])
    made = _without(text, chain[depth], at)[-1]
    left = chain[depth].plain()
    del left[at if depth == len(path) else path[depth]]
    if _at(parse(made).plain(), path[:depth]) != left:
        raise NotEditable("it cannot be edited in place")
    return made


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def _chain(node: Node, path: Path) -> list[Node]:
    """The node, and each on the path below it. Raises NotEditable."""
    chain = [node]
    for key in path:
        inner = _part(chain[-1], key)
        if inner is None:
            raise NotEditable(f"no {key}")
        chain.append(inner)
    return chain


def _part(node: Node, key: str) -> Node | None:
    if node.kind != "{":
        raise NotEditable(f"what should hold {key} is no object")
    if node.keys.count(key) > 1:
        raise NotEditable(f"{key} stands in it twice")
    return node.parts[node.keys.index(key)] if key in node.keys else None


def _expected(value: Any, path: Path, entry: Any) -> Any:
    if not path:
        return [entry, *value]
    missing: Any = {} if len(path) > 1 else []
    return {**value, path[0]: _expected(value.get(path[0], missing), path[1:], entry)}


# --- writing ----------------------------------------------------------------------------------------------------


def _put_first(text: str, holder: Node, key: str | None, value: Any, depth: int) -> str:
    """The text with a new first part of a list or an object.

    No two texts give the same one: what is put into an empty list or object is spaced as nothing else is.
    """
    at = holder.start + 1
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = _unit(text)
    lead = _LEAD.match(text, at)
    if holder.parts and lead is not None:
        made = f"{newline}{lead[2]}{_indented(key, value, unit, lead[2], newline)},"
    elif holder.parts:
        made = f"{_compact(key, value)},"
    elif depth == 1:
        made = f"{newline}{unit}{_indented(key, value, unit, unit, newline)}{newline}"
    else:
        made = f" {_compact(key, value)} "
    return text[:at] + made + text[at:]


def _without(text: str, holder: Node, at: int) -> list[str]:
    """The ways to cut one part out of a list or an object, the likeliest first."""
    start = holder.key_starts[at] if holder.kind == "{" else holder.parts[at].start
    end = holder.parts[at].end
    start -= len(text[:start]) - len(text[:start].rstrip(" \t\r\n"))
    comma = _COMMA.match(text, end)
    if comma is not None:
        return [text[:start] + text[comma.end() :]]
    if at:
        last = text.rindex(",", holder.parts[at - 1].end, start)
        return [text[:last] + text[last + 1 : start] + text[end:]]
    behind = _SPACE.match(text, end)
    most = min(behind.end() if behind is not None else end, end + _MOST_BLANK)
    return [text[:start] + text[stop:] for stop in range(end, most + 1)]


def _unit(text: str) -> str:
    """What one step of indentation is in a text."""
    found = re.search(r"[{\[][ \t]*\r?\n([ \t]+)\S", text)
    return found[1] if found is not None else "  "


def _member(key: str | None, written: str) -> str:
    return written if key is None else f"{json.dumps(key)}: {written}"


def _compact(key: str | None, value: Any) -> str:
    return _member(key, json.dumps(value, ensure_ascii=False))


def _indented(key: str | None, value: Any, unit: str, indent: str, newline: str) -> str:
    written = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + indent)
    return _member(key, written)


# --- reading ----------------------------------------------------------------------------------------------------


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found is not None else at


def _parse(text: str, at: int, depth: int) -> Node:
    if depth > _DEEPEST:
        raise NotEditable("it is nested too deep")
    if text[at : at + 1] in ("{", "["):
        return _parse_parts(text, at, depth)
    found = _STRING.match(text, at) or _WORD.match(text, at)
    if found is None:
        raise NotEditable(f"no JSON in line {text.count(chr(10), 0, at) + 1}")
    try:
        return Node(start=at, end=found.end(), kind="", value=json.loads(found[0]))
    except ValueError as error:
        raise NotEditable(f"no JSON in line {text.count(chr(10), 0, at) + 1}") from error


@dataclass(slots=True)
class _Parts:
    """Parts as they are read."""

    nodes: list[Node] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    key_starts: list[int] = field(default_factory=list)


def _parse_parts(text: str, start: int, depth: int) -> Node:
    kind, close = text[start], "}" if text[start] == "{" else "]"
    parts = _Parts()
    at = _skip(text, start + 1)
    while text[at : at + 1] != close:
        if kind == "{":
            key = _STRING.match(text, at)
            if key is None:
                raise NotEditable(f"no key in line {text.count(chr(10), 0, at) + 1}")
            parts.keys.append(str(_parse(text, at, depth + 1).value))
            parts.key_starts.append(at)
            at = _skip(text, key.end())
            if text[at : at + 1] != ":":
                raise NotEditable(f"no colon in line {text.count(chr(10), 0, at) + 1}")
            at = _skip(text, at + 1)
        node = _parse(text, at, depth + 1)
        parts.nodes.append(node)
        at = _skip(text, node.end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != close:
            raise NotEditable(f"no comma in line {text.count(chr(10), 0, at) + 1}")
    return Node(
        start=start,
        end=at + 1,
        kind=kind,
        parts=tuple(parts.nodes),
        keys=tuple(parts.keys),
        key_starts=tuple(parts.key_starts),
    )
