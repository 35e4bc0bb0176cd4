"""The facts that every memory is given, in order, the questions it is asked, and the facts as DataHub metadata files.

Six facts a dataset, each of an aspect of its own; two thirds of all facts are first ones, one third supersedes one of
these. Nothing but the standard library: the other memories' environments read this too.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_DAYS_MS = (1_772_438_400_000, 1_772_524_800_000)  # 2026-03-02T08:00:00Z and the day after
_PREDICATES = ("description", "owner", "domain", "tag", "term", "retention")
_KINDS = ("owner", "domain", "retention", "rare words", "common words")


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_NOUNS = _split(
    "order customer account invoice payment product shipment refund basket session visit campaign coupon supplier "
    "parcel ticket review address device contract price category employee region tax bundle event lead stock return"
)
_OFTEN = _split("the a of for each per with after before from and first last total amount number date value daily")
_SYLLABLES = _split("ba ke lo mi nu ra se ti vo za pri con ter mal den fos gur hel jin kup")
_DOMAINS = _split("finance logistics marketing support security research sales legal people platform retail pricing")
_SENTENCES = {
    "description": "dataset {0} (postgres): description: {1}",
    "owner": "dataset {0} (postgres): owned by {1} (technical owner)",
    "domain": "dataset {0} (postgres): in domain {1}",
    "tag": "dataset {0} (postgres): tagged {1}",
    "term": "dataset {0} (postgres): means {1}",
    "retention": "dataset {0} (postgres): property retention is {1}",
}


@dataclass(frozen=True, slots=True)
class Fact:
    """What a dataset has for a predicate. A later fact of the same subject and predicate supersedes an earlier one."""

    subject: str
    predicate: str
    value: str

    @property
    def sentence(self) -> str:
        """The fact in words, about as Palimpsest itself puts it."""
        return _SENTENCES[self.predicate].format(self.subject, self.value)


@dataclass(frozen=True, slots=True)
class Question:
    """A question; where one fact answers it, its subject and its value after all supersession, else nothing."""

    kind: str
    text: str
    subject: str = ""
    value: str = ""


def facts(count: int, seed: int = 1) -> tuple[list[Fact], list[Fact]]:
    """The first facts, and those that supersede a third as many of all: each another of the first."""
    chance = random.Random(seed)
    words = ["".join(chance.choices(_SYLLABLES, k=chance.randint(2, 4))) for _ in range(20_000)]
    later = count // 3
    first: list[Fact] = []
    number = 0
    while len(first) < count - later:
        subject = _name(chance, number)
        first += [Fact(subject, predicate, _value(chance, words, predicate)) for predicate in _PREDICATES]
        number += 1
    del first[count - later :]
    return first, [_superseding(chance, words, fact) for fact in chance.sample(first, later)]


def _superseding(chance: random.Random, words: Sequence[str], fact: Fact) -> Fact:
    value = fact.value
    while value == fact.value:
        value = _value(chance, words, fact.predicate)
    return Fact(fact.subject, fact.predicate, value)


def _name(chance: random.Random, number: int) -> str:
    one, other = chance.sample(_NOUNS, 2)
    return f"{chance.choice(('shop', 'crm', 'web', 'erp'))}.{chance.choice(_NOUNS)}.{one}_{other}_{number}"


def _value(chance: random.Random, words: Sequence[str], predicate: str) -> str:
    match predicate:
        case "description":
            return " ".join(_word(chance, words) for _ in range(chance.randint(8, 24))).capitalize()
        case "owner":
            return f"person{chance.randint(1, 3_000)}"
        case "domain":
            return chance.choice(_DOMAINS)
        case "retention":
            return f"{chance.randint(1, 999)} days"
        case _:
            return f"{chance.choice(_NOUNS)}-{chance.choice(words)}"


def _word(chance: random.Random, words: Sequence[str]) -> str:
    if chance.random() < 0.35:
        return chance.choice(_OFTEN)
    return words[min(len(words) - 1, int(chance.paretovariate(0.7) * 20))]


def questions(first: Sequence[Fact], later: Sequence[Fact], count: int = 200) -> list[Question]:
    """Questions of five kinds in turn; half of those with one answer are about something that was superseded."""
    chance = random.Random(7)
    now = {(fact.subject, fact.predicate): fact.value for fact in (*first, *later)}
    by_predicate: dict[str, list[list[Fact]]] = {
        predicate: [[fact for fact in given if fact.predicate == predicate] for given in (first, later)]
        for predicate in _PREDICATES
    }
    found = []
    for at in range(count):
        kind = _KINDS[at % len(_KINDS)]
        if kind == "common words":
            found.append(Question(kind, f"{' '.join(chance.sample(_NOUNS, 2))} table of {chance.choice(_DOMAINS)}"))
            continue
        predicate = "description" if kind == "rare words" else kind
        fact = chance.choice(by_predicate[predicate][at // len(_KINDS) % 2])
        value = now[fact.subject, predicate]
        text = {
            "owner": f"who owns {fact.subject}?",
            "domain": f"which domain is {fact.subject.rsplit('.', 1)[-1]} in?",
            "retention": f"what is the retention of {fact.subject}?",
            "rare words": " ".join(_longest(set(value.lower().split()) - set(_OFTEN))[:3]),
        }[kind]
        found.append(Question(kind, text, fact.subject, value))
    return found


def _longest(words: set[str]) -> list[str]:
    return sorted(words, key=lambda one: (-len(one), one))


# --- as DataHub metadata files ------------------------------------------------------------------------------------


def write_catalogs(folder: Path, first: Sequence[Fact], later: Sequence[Fact]) -> tuple[Path, Path]:
    """The whole catalog on the first day, and on the second, as DataHub would give it out."""
    held = {(fact.subject, fact.predicate): fact.value for fact in first}
    paths = folder / "first.json", folder / "second.json"
    _write(paths[0], held, _DAYS_MS[0])
    held |= {(fact.subject, fact.predicate): fact.value for fact in later}
    _write(paths[1], held, _DAYS_MS[1])
    return paths


def _write(path: Path, held: dict[tuple[str, str], str], observed: int) -> None:
    by_subject: dict[str, dict[str, str]] = {}
    for (subject, predicate), value in held.items():
        by_subject.setdefault(subject, {})[predicate] = value
    records = (record for subject, values in by_subject.items() for record in _records(subject, values, observed))
    with path.open("w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(record, separators=(",", ":")) for record in records) + "\n]\n")


def _records(subject: str, values: dict[str, str], observed: int) -> Iterator[dict[str, Any]]:
    for aspect, value in _aspects(values):
        yield {
            "entityType": "dataset",
            "entityUrn": f"urn:li:dataset:(urn:li:dataPlatform:postgres,{subject},PROD)",
            "changeType": "UPSERT",
            "aspectName": aspect,
            "aspect": {"json": value},
            "systemMetadata": {"lastObserved": observed, "runId": f"load-{observed}"},
        }


def _aspects(values: dict[str, str]) -> Iterator[tuple[str, Any]]:
    stamp = {"time": _DAYS_MS[0], "actor": "urn:li:corpuser:datahub"}
    properties = {"retention": values["retention"]} if "retention" in values else {}
    yield "datasetProperties", {"description": values.get("description", ""), "customProperties": properties}
    if "owner" in values:
        owner = {"owner": f"urn:li:corpuser:{values['owner']}", "type": "TECHNICAL_OWNER"}
        yield "ownership", {"owners": [owner], "lastModified": stamp}
    if "domain" in values:
        yield "domains", {"domains": [f"urn:li:domain:{values['domain']}"]}
    if "tag" in values:
        yield "globalTags", {"tags": [{"tag": f"urn:li:tag:{values['tag']}"}]}
    if "term" in values:
        yield "glossaryTerms", {"terms": [{"urn": f"urn:li:glossaryTerm:{values['term']}"}], "auditStamp": stamp}
