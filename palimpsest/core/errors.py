"""The one tree of errors. Each says what happened, to which thing, and what to do.

Split only where a caller decides differently; the command line maps each class to one exit code.
Expected outcomes (a cell that is unknown, a record that is not memory) are values, not errors.

    PalimpsestError
    ├── UsageError          the request is wrong                         exit 2
    │   └── ConfigError     a setting is wrong
    ├── StoppedError        stopped on purpose before writing            exit 1
    │   ├── LeaseHeldError  somebody else is at work on this source
    │   └── MassChangeError too much of the source would vanish
    ├── CatalogError        the catalog could not be read or written     exit 3
    ├── StoreError          the memory's database could not be used      exit 4
    └── ModelError          a model could not be used, or answered wrongly  exit 5
        ├── RefusedTextError    it does not take this text
        ├── BadAnswerError      it answered, and not usably: others may fare better
        └── BudgetError         what a run may spend is spent
"""

from __future__ import annotations

from collections.abc import Mapping


class PalimpsestError(Exception):
    """A failure that a person can act on.

    `message` is one line: what happened, to which thing. `hint` is one line: what to do; may be empty.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(PalimpsestError):
    """What was asked for cannot be asked."""


class ConfigError(UsageError):
    """A setting is unknown, missing or of the wrong form."""


class StoppedError(PalimpsestError):
    """The job ran and stopped before writing."""


class LeaseHeldError(StoppedError):
    """Another process holds the lease on the source."""


class MassChangeError(StoppedError):
    """A reading would empty or remove too large a share of what a source holds. `ending`: cells by platform."""

    def __init__(self, message: str, hint: str = "", *, ending: Mapping[str, int] | None = None) -> None:
        super().__init__(message, hint)
        self.ending = dict(ending or {})


class CatalogError(PalimpsestError):
    """The catalog, or a file of it, could not be read or written."""


class StoreError(PalimpsestError):
    """The database that holds the memory could not be used."""


class ModelError(PalimpsestError):
    """A model could not be reached, refused us, or gave an answer that is none."""


class RefusedTextError(ModelError):
    """The model is there and refuses one of these texts: others may be taken."""


class BadAnswerError(ModelError):
    """The model answered, and the answer is none: cut off, not JSON, not of the schema, empty, or a refusal."""


class BudgetError(ModelError):
    """What this run may spend on models is spent: nothing more is asked."""
