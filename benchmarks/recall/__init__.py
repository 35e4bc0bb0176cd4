"""Labelled questions for `palimpsest recall`, the memories they are asked of, and how answers are scored."""
