"""The arguments of a call, read one by one, and complaints that a model can act on: they name the parameter."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from palimpsest.core.brief import as_name, quoted
from palimpsest.core.errors import UsageError

_MOST_TEXT = 20_000
_COMMANDS = (
    (re.compile(r"palimpsest task (start|end) (\S.*)"), r'task(action="\1", name="\2")'),
    (re.compile(r"palimpsest task list"), 'task(action="list")'),
    (re.compile(r"palimpsest beliefs lists .*"), 'entities(search="...") lists what is remembered'),
    (re.compile(r"as palimpsest beliefs shows them"), "as they stand in brackets"),
    (re.compile(r"palimpsest scan \S+ reads a catalog"), "nothing was read yet: a person runs palimpsest scan"),
    (re.compile(r", or --[a-z-]+|--hours"), "hours"),
)


class CallError(Exception):
    """A call that cannot be answered as it was made: which parameter, what is wrong with it, what to write instead.

    Text of a catalog in it is quoted already.
    """

    def __init__(self, parameter: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.parameter, self.message, self.hint = parameter, message, hint

    def text(self) -> str:
        """The complaint, on one line."""
        about = f"{as_name(self.parameter)}: " if self.parameter else ""
        return f"{about}{self.message}" + (f"; {self.hint}" if self.hint else "")


@contextmanager
def about(parameter: str, hint: str = "") -> Iterator[None]:
    """What is wrong with what is done in the block is wrong with this parameter."""
    try:
        yield
    except UsageError as error:
        raise CallError(parameter, quoted(error.message), hint or for_agents(error.hint)) from error


def for_agents(hint: str) -> str:
    """A hint for people at a command line as one for who calls tools; what may hold text of a catalog, quoted."""
    said = hint
    for pattern, by in _COMMANDS:
        said = pattern.sub(by, said)
    return quoted(hint) if hint and said == hint else said


class Arguments:
    """What a call was given. Raises CallError for a parameter that there is not."""

    def __init__(self, given: Mapping[str, object], known: Collection[str]) -> None:
        self._given = {name: value for name, value in given.items() if value is not None}
        for name in self._given.keys() - set(known):
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
            raise CallError(str(name)[:80], "no such parameter", hint)

    def text(self, name: str, *, needed: bool = False) -> str:
        """A text; empty where none was given."""
        value = self._given.get(name, "")
        if not isinstance(value, str):
            raise CallError(name, f"a string is needed, not {_kind(value)}", f'write {name}="..."')
        if needed and not value.strip():
            raise CallError(name, "it is needed", f'write {name}="..."')
        if len(value) > _MOST_TEXT:
            raise CallError(name, f"it has {len(value):,} letters, at most {_MOST_TEXT:,} are taken", "give less")
        return value

    def choice(self, name: str, known: Sequence[str], *, default: str = "") -> str:
        """One of some words."""
        value = self.text(name).strip().casefold() or default
        if value and value not in known:
            near = difflib.get_close_matches(value, known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"one of: {', '.join(known)}"
            raise CallError(name, f"{quoted(value[:80])} is none of its values", hint)
        return value

    def number(self, name: str, *, default: int, least: int = 0, most: int = 1_000_000) -> int:
        """A whole number within bounds."""
        value = self._given.get(name, default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise CallError(name, f"a whole number from {least} to {most} is needed", f"write {name}={default}")
        return value

    def hours(self, name: str, *, default: float) -> float:
        """A number."""
        value = self._given.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise CallError(name, f"a number is needed, not {_kind(value)}", f"write {name}={default:g}")
        return float(value)

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self._given.get(name, False)
        if not isinstance(value, bool):
            raise CallError(name, f"true or false is needed, not {_kind(value)}", f"write {name}=true")
        return value

    def texts(self, name: str, *, most: int) -> tuple[str, ...]:
        """A list of texts; one text stands for a list of itself."""
        value = self._given.get(name, ())
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list | tuple) or not all(isinstance(one, str) and one.strip() for one in listed):
            raise CallError(name, "a list of strings is needed", f'write {name}=["..."]')
        if len(listed) > most:
            raise CallError(name, f"{len(listed)} are too many, at most {most} at once", "call again for the others")
        return tuple(listed)


def _kind(value: object) -> str:
    return {bool: "true or false", dict: "an object", list: "a list", int: "a number", float: "a number"}.get(
        type(value), "something else"
    )
