"""Measures against the goals, each beside its baseline in the same run: `python -m benchmarks`."""
