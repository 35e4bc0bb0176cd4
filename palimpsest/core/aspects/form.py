"""What is form and no fact: white space, and DataHub's many ways to say nothing."""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Json


def squeeze(text: str) -> str:
    """Text with every run of white space as one blank, none at the ends: white space is no fact."""
    return " ".join(text.split()) if text else text


def compact(value: Json) -> Json:
    """A value without its empty parts: null, "", [], {} and false are DataHub's ways to say nothing; text squeezed."""
    if isinstance(value, str):
        return squeeze(value)
    if isinstance(value, dict):
        kept: dict[str, Json] = {}
        for name, part in value.items():
            if part is None or part is False:
                continue
            small = part if part is True else " ".join(part.split()) if isinstance(part, str) else compact(part)
            if small is True or not is_empty(small):
                kept[name] = small
        return kept
    if isinstance(value, list):
        return [compact(part) for part in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def is_empty(value: Json) -> bool:
    """Whether DataHub means "nothing" by it. Zero is a number, and no emptiness."""
    return value is None or value is False or (isinstance(value, str | list | dict) and not value)
