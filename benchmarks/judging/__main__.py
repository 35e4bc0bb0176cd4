"""Prints how the rules for text agree with the labels: `python -m benchmarks.judging [--missed]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from benchmarks.judging.pairs import SHARED, Pair, note_pairs, own_pairs, rewritten_pairs
from benchmarks.judging.score import Agreement, Judged, agreement, by_form, by_similarity, table
from palimpsest.core.likeness import likeness, restates

HALVES = ("even", "odd")
_STEPS = [step / 20 for step in range(8, 20)]


def by_rules(pair: Pair) -> bool:
    """The rules, as consolidating asks them."""
    return restates(pair.one, pair.other)


def at_least(least: float) -> Judged:
    """Notes of the same matter, from a likeness on."""
    return lambda pair: likeness(pair.one, pair.other, about=pair.about) >= least


def best_similarity(pairs: Sequence[Pair]) -> tuple[float, float]:
    """The thresholds under which similarity alone agrees best with the labels of these pairs."""
    return max(product(_STEPS, _STEPS), key=lambda both: agreement(pairs, by_similarity(*both)).share)


def best_likeness(pairs: Sequence[Pair]) -> float:
    """The lowest threshold with the fewest pairs wrongly called the same matter, and then the fewest missed."""

    def cost(least: float) -> tuple[int, int]:
        found = agreement(pairs, at_least(least))
        return found.wrong, found.missed

    return min(_STEPS, key=cost)


def text_rows(pairs: Sequence[Pair]) -> Iterator[tuple[str, str, str, Agreement]]:
    """The rules by origin and half; then over all pairs, beside the plain form alone and similarity alone."""
    best = best_similarity([pair for pair in pairs if pair.half == "even"])
    for origin in dict.fromkeys(pair.origin for pair in pairs):
        yield from _by_half(origin, [pair for pair in pairs if pair.origin == origin], "rules", by_rules)
    yield from _by_half("all", pairs, "rules", by_rules)
    yield from _by_half("all", pairs, "plain form alone", by_form)
    yield from _by_half("all", pairs, "similarity alone, {} and {}".format(*best), by_similarity(*best))


def _by_half(
    origin: str, pairs: Sequence[Pair], name: str, judged: Judged
) -> Iterator[tuple[str, str, str, Agreement]]:
    for half in HALVES:
        yield origin, half, name, agreement([pair for pair in pairs if pair.half == half], judged)


def note_rows(pairs: Sequence[Pair]) -> list[tuple[str, str, str, Agreement]]:
    """The same matter or another one, with the threshold that the even half gives."""
    least = best_likeness([pair for pair in pairs if pair.half == "even"])
    return list(_by_half("notes", pairs, f"likeness from {least} on", at_least(least)))


def main() -> None:
    """Judge and print."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.judging", description=__doc__)
    options.add_argument("--shared", type=Path, default=SHARED)
    options.add_argument("--missed", action="store_true", help="also the pairs in which rules and label differ")
    given = options.parse_args()
    pairs = own_pairs()
    if given.shared.is_dir():
        pairs = [*rewritten_pairs(given.shared), *pairs]
    else:
        sys.stderr.write(f"{given.shared} is absent: own pairs only\n")
    notes = note_pairs()
    sys.stdout.write(table(list(text_rows(pairs)), "restates", "differs") + "\n\n")
    sys.stdout.write(table(note_rows(notes), "same", "other") + "\n")
    if given.missed:
        for pair in pairs:
            if by_rules(pair) != pair.is_alike:
                said = "missed" if pair.is_alike else "WRONG"
                sys.stdout.write(f"{said} {pair.origin} {pair.id} {pair.why}: {pair.one!r} -> {pair.other!r}\n")


if __name__ == "__main__":
    main()
