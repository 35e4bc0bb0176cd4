"""Reads the facts, asks the questions and prints the scores: `python -m benchmarks.factconsolidation`.

Each fact is one reading. With the claim key a fact supersedes the earlier one of its claim (hidden: the entity's name
is a hash of it, so that none of its words is searched twice); without it each stays an entity of its own, as in a
memory that only adds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from benchmarks.factconsolidation.claims import claim_of, key_of
from benchmarks.factconsolidation.memory import Asker, remember
from benchmarks.factconsolidation.score import Score, score, table
from benchmarks.factconsolidation.truth import (
    FILE,
    SHARED,
    Agreement,
    Asked,
    Fact,
    agreement,
    agreement_of,
    load,
    newest,
    wanted,
)
from palimpsest.adapters.embed.building import Wanted, build

PAIRS = Path(__file__).with_name("pairs.jsonl")
# What the entity of a fact is called, from its place and text.
_NAMINGS: Mapping[str, Callable[[int, str], str]] = {
    "claim key": lambda place, text: key_of(text),
    "claim key, hidden": lambda place, text: hashlib.sha256(key_of(text).encode()).hexdigest()[:12],
    "no claim key": lambda place, text: f"fact {place}",
}


def value_of(fact: str) -> str | None:
    """The value of a fact as its claim is cut."""
    claim = claim_of(fact)
    return claim.value if claim is not None else None


def pairs_agreement() -> Agreement:
    """The claim key on the pairs of sentences that were written by hand."""
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    return agreement_of((key_of(one["earlier"]) == key_of(one["later"]), one["replaces"]) for one in pairs)


def _ask_all(
    folder: Path, facts: Sequence[Fact], questions: Mapping[str, Sequence[Asked]], providers: Sequence[str]
) -> tuple[dict[str, dict[str, Score]], list[str]]:
    """The scores by hops and way, and the single-hop questions whose first fact does not answer. One copy of a memory
    for each embedder, so that none is changed over."""
    found: dict[str, dict[str, Score]] = {hops: {} for hops in questions}
    missed: list[str] = []
    for naming, name_of in _NAMINGS.items():
        made = folder / f"{naming}.db"
        remember(made, [fact.sentence for fact in facts], name_of)
        for provider in ["text", *providers]:
            way = f"{naming}, {provider}"
            copy = folder / f"{way}.db"
            shutil.copyfile(made, copy)
            with ExitStack() as stack:
                embedder = (
                    stack.enter_context(closing(build(Wanted(provider=provider), {}))) if provider != "text" else None
                )
                asker = stack.enter_context(closing(Asker(copy, len(facts), embedder)))
                for hops, asked in questions.items():
                    found[hops][way], lines = score(asker, asked, facts, value_of)
                    missed += [f"{way}: {line}" for line in lines if hops == "single"]
    return found, missed


def _said(name: str, one: Agreement) -> str:
    return (
        f"{name}: {one.told} pairs told to be one claim, {one.true} are, {one.both} both: "
        f"precision {one.precision:.2f}, recall {one.recall:.2f}\n"
    )


def main() -> None:
    """Read, ask, print."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.factconsolidation", description=__doc__)
    options.add_argument("--shared", type=Path, default=SHARED)
    options.add_argument("--embedder", action="append", help="hashed, minilm, …; may be given again")
    options.add_argument("--missed", action="store_true", help="also the questions whose first fact does not answer")
    given = options.parse_args()
    if not (given.shared / FILE).exists():
        raise SystemExit(f"{given.shared / FILE} is absent")
    facts, single, multi = load(given.shared)
    labels = [fact.claim for fact in facts]
    sys.stdout.write(f"{len(facts)} facts, {len(newest(facts))} claims\n")
    sys.stdout.write(_said("claim key on the set", agreement([key_of(fact.sentence) for fact in facts], labels)))
    sys.stdout.write(_said("claim key on own pairs", pairs_agreement()))
    sys.stdout.write(f"questions with one right fact: {sum(len(wanted(one, facts)) == 1 for one in single)}\n")
    with tempfile.TemporaryDirectory() as folder:
        questions = {"single": single, "multi": multi}
        scores, missed = _ask_all(Path(folder), facts, questions, given.embedder or ["hashed", "minilm"])
    for hops, ways in scores.items():
        sys.stdout.write(f"\n{hops}-hop, {len(questions[hops])} questions\n\n{table(ways)}\n")
    if given.missed:
        sys.stdout.write("\n" + "\n".join(missed) + "\n")


if __name__ == "__main__":
    main()
