"""Palimpsest: a memory for a data catalog that shows its edits."""

__version__ = "0.1.0"
