"""Secrets in free text: what must not be written down. Pure.

Meant for what people and agents paste without a thought; not a scanner of repositories. It names the sort of secret,
never the secret.
"""

from __future__ import annotations

import re

_SORTS = (
    ("a private key", re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")),
    ("an AWS access key", re.compile(r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b")),
    ("a Google API key", re.compile(r"\bAIza[\w-]{35}")),
    ("a Google OAuth token", re.compile(r"\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{20,}")),
    ("a GitHub token", re.compile(r"\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{30,}")),
    ("a GitLab token", re.compile(r"\bglpat-[\w-]{20,}")),
    ("a Slack token", re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/T\w+/B\w+/\w+")),
    ("a key of a model provider", re.compile(r"\bsk-(?:ant-|proj-)?[\w-]{20,}|\bgsk_[A-Za-z0-9]{20,}")),
    ("a Stripe key", re.compile(r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}")),
    ("a JSON web token", re.compile(r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}")),
    ("a password in a URL", re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s/:@'\"]*:[^\s/@'\"]+@", re.IGNORECASE)),
    ("a bearer token", re.compile(r"\bauthorization\s*[:=]\s*(?:bearer|basic)\s+[\w.~+/=-]{12,}", re.IGNORECASE)),
)
# `password = x`, `"api_key": "x"`; a word about passwords, a placeholder and a reference to a variable are none.
_GIVEN = re.compile(
    r"""(?<![A-Za-z0-9])(?:password|passwd|passphrase|pwd|secret|api[_-]?key|access[_-]?key|secret[_-]?access[_-]?key|
    client[_-]?secret|(?:auth|access|refresh|api)[_-]?token|private[_-]?key)["']?\s{0,3}(?:=|:=|:)\s{0,3}
    (?:"(?P<double>[^"\n]{4,})"|'(?P<single>[^'\n]{4,})'|(?P<bare>[^\s"',;]{4,}))""",
    re.IGNORECASE | re.VERBOSE,
)
_STANDS_FOR_ONE = re.compile(
    r"[$%<{\[(*].*|x{4,}|\*+|\.{3,}|(?:null|none|true|false|string|varchar|redacted|hidden)\b.*", re.IGNORECASE
)


def secret_in(text: str) -> str | None:
    """The sort of secret that a text holds, as a message names it; None where it seems to hold none."""
    for sort, pattern in _SORTS:
        if pattern.search(text):
            return sort
    for found in _GIVEN.finditer(text):
        value = found["double"] or found["single"] or found["bare"]
        is_quoted = found["bare"] is None
        if _STANDS_FOR_ONE.fullmatch(value):
            continue
        if is_quoted or "=" in found[0][: found.start("bare") - found.start()] or _looks_made_up(value):
            return "a password or key"
    return None


def _looks_made_up(value: str) -> bool:
    """Whether what stands after `password:` is no word of a sentence: it mixes letters with digits or signs."""
    bare = value.strip(".,;:!?)")
    return any(char.isalpha() for char in bare) and any(not char.isalpha() and char not in "-'’/" for char in bare)
