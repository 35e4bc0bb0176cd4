"""Agreement of a judge with labels: the four counts and what follows from them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from benchmarks.judging.pairs import Pair
from palimpsest.core.likeness import cosine, overlap, plain, words_of

Judged = Callable[[Pair], bool]


class Agreement(NamedTuple):
    """Pairs by what was said and what is so. `wrong` is the error that harms: said to be alike, and they are not."""

    right: int
    wrong: int
    missed: int
    apart: int

    @property
    def pairs(self) -> int:
        """How many were judged."""
        return sum(self)

    @property
    def precision(self) -> float:
        """Of those said to be alike, the share that is."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        """Of those that are alike, the share that was said to be."""
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0

    @property
    def share(self) -> float:
        """The share in which judge and label agree."""
        return (self.right + self.apart) / self.pairs if self.pairs else 1.0


def agreement(pairs: Iterable[Pair], judged: Judged) -> Agreement:
    """How a judge agrees with the labels."""
    counts = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    for pair in pairs:
        counts[judged(pair), pair.is_alike] += 1
    return Agreement(counts[True, True], counts[True, False], counts[False, True], counts[False, False])


def by_form(pair: Pair) -> bool:
    """The same plain form: the least that a rule can do."""
    return plain(pair.one) == plain(pair.other)


def by_similarity(least_overlap: float, least_cosine: float) -> Judged:
    """Two thresholds and nothing else: what a rule without a look at the words would do."""

    def judged(pair: Pair) -> bool:
        one, other = words_of(pair.one), words_of(pair.other)
        return overlap(one, other) >= least_overlap and cosine(one, other) >= least_cosine

    return judged


def table(rows: Sequence[tuple[str, str, str, Agreement]], alike: str, apart: str) -> str:
    """A Markdown table of (pairs, half, judge, agreement)."""
    head = (
        "pairs", "half", "judge", "n", f"{alike}, said so", f"{apart}, said {alike}", f"{alike}, said {apart}",
        f"{apart}, said so", "precision", "recall", "agreement",
    )  # fmt: skip
    told = [
        (*names, str(one.pairs), *map(str, one), f"{one.precision:.2f}", f"{one.recall:.2f}", f"{one.share:.1%}")
        for *names, one in rows
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ("---",) * len(head), *told))
