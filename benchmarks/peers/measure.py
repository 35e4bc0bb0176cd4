"""One memory measured, in a process of its own: `python -m benchmarks.peers.measure SYSTEM FOLDER FACTS [SECONDS]`.

Prints one JSON object. Seconds are processor seconds of the process and its children, user and system, all threads.
Opening the empty memory is not counted. `SECONDS` bound the inserts, a quarter of them the searches; the counts tell
what was left out then.
"""

from __future__ import annotations

import importlib
import json
import random
import resource
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from benchmarks.peers.facts import Fact, Question, facts, questions

MOST = 10  # answers to a question
_WARM = 5
_TOLD = 80  # letters of a value that an answer must have: some cut what they show


class Bound:
    """Processor seconds since it was made, and whether they are used up."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.start = seconds, cpu()

    def used(self) -> float:
        """Seconds so far."""
        return cpu() - self.start

    def is_used_up(self) -> bool:
        """Whether no more is to be begun."""
        return self.used() >= self.seconds


class Memory(Protocol):
    """A memory under test. It is made empty, at a folder of its own, by its module's `open_memory`."""

    def insert(self, first: Sequence[Fact], later: Sequence[Fact], bound: Bound) -> int:
        """Take all facts in, durably; the later ones supersede. How many were taken in before the bound."""

    def search(self, question: str) -> list[str]:
        """The texts of the ten best answers, the best first."""

    def facts_about(self) -> dict[str, object]:
        """What it holds afterwards, by its own count, to see that it did the work."""


def cpu() -> float:
    """Processor seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def asked(memory: Memory, given: Sequence[Question], bound: Bound) -> dict[str, object]:
    """Every question once, in an order in which any first few are a fair choice, after some that are not counted."""
    order = random.Random(3).sample(given, len(given))
    for question in order[: _WARM if bound.seconds > 60 else 1]:
        memory.search(question.text)
    bound.start = cpu()
    took: list[float] = []
    right = [0, 0, 0]  # of how many, first, among ten
    while order and not (took and bound.is_used_up()):
        question = order.pop()
        before = cpu()
        answers = memory.search(question.text)
        took.append((cpu() - before) * 1_000)
        if question.subject:
            place = [question.subject in one and question.value.lower()[:_TOLD] in one.lower() for one in answers]
            right = [right[0] + 1, right[1] + any(place[:1]), right[2] + any(place)]
    return {
        "questions": len(took),
        "mean_ms": statistics.fmean(took),
        "median_ms": statistics.median(took),
        "p95_ms": statistics.quantiles(took, n=20)[18] if len(took) > 1 else took[0],
        "right_of": right[0],
        "right_first": right[1],
        "right_among_ten": right[2],
    }


def measure(open_memory: Callable[[Path], Memory], folder: Path, count: int, seconds: float) -> dict[str, object]:
    """Insert, then ask."""
    first, later = facts(count)
    memory = open_memory(folder)
    bound = Bound(seconds)
    inserted = memory.insert(first, later, bound)
    used = bound.used()
    found: dict[str, object] = {
        "facts": inserted,
        "insert_seconds": used,
        "inserts_a_second": inserted / used,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    sys.stderr.write(f"{json.dumps(found)}\n")
    found["search"] = asked(memory, questions(first, later), Bound(seconds / 4))
    found["holds"] = memory.facts_about()
    if hasattr(memory, "search_recorded"):
        memory.search = memory.search_recorded  # type: ignore[method-assign]
        found["search_recorded"] = asked(memory, questions(first, later), Bound(seconds / 4))
    found["disk_mb"] = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    return found


def main() -> None:
    """Measure the system that the arguments name."""
    name, _, variant = sys.argv[1].partition(":")
    folder, count = Path(sys.argv[2]), int(sys.argv[3])
    seconds = float(sys.argv[4]) if len(sys.argv) > 4 else float("inf")
    module = importlib.import_module(f"benchmarks.peers.with_{name}")
    found = measure(lambda at: module.open_memory(at, variant), folder, count, seconds)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
