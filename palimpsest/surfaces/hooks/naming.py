"""Finds what a prompt names: whole URNs, and dotted names. Pure, and linear in the prompt."""

from __future__ import annotations

import re

MOST_NAMED = 200
_URN = "urn:li:"
_NAME = re.compile(r"[\w$-]+(?:[./][\w$-]+)+")
_LONGEST = 500
_ENDS = " \t\r\n'\"`<>"


def urns_in(prompt: str) -> list[str]:
    """The URNs that stand in a prompt, brackets balanced: a bracket of the sentence is none of the URN."""
    found: dict[str, None] = {}
    at = prompt.find(_URN)
    while at >= 0 and len(found) < MOST_NAMED:
        urn = _urn_at(prompt, at)
        found[urn] = None
        at = prompt.find(_URN, at + max(len(urn), len(_URN)))
    return [one for one in found if len(one) > len(_URN)]


def names_in(prompt: str) -> list[str]:
    """The dotted names that stand in a prompt, each also without its last part: that may be a column."""
    found: dict[str, None] = {}
    for match in _NAME.finditer(prompt):
        name = match[0]
        if len(name) <= _LONGEST:
            found[name] = None
            found[name[: max(name.rfind("."), 0)]] = None
        if len(found) > MOST_NAMED:
            break
    return [one for one in found if one]


def _urn_at(prompt: str, start: int) -> str:
    depth = 0
    for at in range(start, min(len(prompt), start + _LONGEST)):
        letter = prompt[at]
        depth += (letter == "(") - (letter == ")")
        if letter in _ENDS or depth < 0:
            return prompt[start:at].rstrip(".,;:!?")
        if letter == ")" and depth == 0:
            return prompt[start : at + 1]
    return prompt[start : start + _LONGEST].rstrip(".,;:!?")
