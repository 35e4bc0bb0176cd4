"""Finding the passages that may answer a question, by terms and by vectors, in bounded steps; nothing is shown here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise

from palimpsest.core.ids import EntityId
from palimpsest.core.question import Question, Role, Word
from palimpsest.core.ranking import WEIGHTS, Read, Scored, Sought, Weights, head_terms, score, sought
from palimpsest.core.terms import likeness, mark, tokens_of, trigrams
from palimpsest.store import search
from palimpsest.store.engine import Connection
from palimpsest.store.search import Candidate, Group

MOST_CANDIDATES = 200
_MOST_OF_WORD = 2_000  # passages that are walked for one word
_MOST_OF_LEADING = 1_000
_MOST_OF_TRIGRAM = 3_000
_MOST_CORRECTED = 3  # words of a question that are looked for as misspelt
_MOST_COMPARED = 150
_MOST_OF_ENTITIES = 20_000
_SHORTEST_CORRECTED = 4
_NAMED_ENTITIES = 20
# What a statement tells of an entity that is only named in a question, where a description tells all.
_TELLS = {"description": 1.0, "name": 0.9, "ownership": 0.8, "deprecation": 0.8, "upstreams": 0.75, "tags": 0.7}
_TELLS_LITTLE = {"existence": 0.45, "attribute": 0.45, "platform_instance": 0.4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowed:
    """What is searched: passages of these entities, this aspect and platform; `past`: of what is not current too."""

    entities: tuple[EntityId, ...] | None = None
    aspect: str | None = None
    platform: str | None = None
    past: bool = False

    def groups(self) -> list[Group]:
        """The terms that narrow a search."""
        found = [("aspect", self.aspect), ("platform", self.platform)]
        return [(mark(name, value),) for name, value in found if value is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The candidates in the order of their texts, and how the question's words were looked for."""

    order: tuple[Scored, ...]
    candidates: Mapping[int, Candidate]
    wanted: tuple[Sought, ...]


class Search:
    """One search by terms."""

    def __init__(self, connection: Connection, question: Question, narrowed: Narrowed, weights: Weights) -> None:
        self.connection, self.question, self.narrowed, self.weights = connection, question, narrowed, weights
        self.groups = narrowed.groups()
        self.total = search.count(connection)
        self.walked: dict[str, list[int]] = {}  # stem → passages, as far as they were walked
        self.frequencies: dict[str, int] = {}

    def run(self, also: Sequence[int] = ()) -> Found:
        """The candidates, the best first; `also` are some that were found in another way."""
        self._walk()
        corrections = self._corrections()
        wanted = sought(self.question, self.frequencies, self.total, corrections, self.weights)
        chosen = dict.fromkeys([*self._chosen(wanted), *also])
        candidates = {one.id: one for one in search.candidates(self.connection, list(chosen))}
        reads = [read_of(one, self.question) for one in candidates.values()]
        order = score(reads, wanted, self.weights)
        return Found(order=tuple(order), candidates=candidates, wanted=tuple(wanted))

    def _find(self, groups: Sequence[Group], most: int) -> list[int]:
        return search.find(self.connection, [*groups, *self.groups], most, past=self.narrowed.past)

    def _walk(self) -> None:
        """Walk the passages of each word, as far as is bearable; of a word that goes on, guess how many it has."""
        for word in self.question.words:
            if word.stem not in self.walked:
                most = _MOST_OF_WORD if word.role is Role.NAMED else _MOST_OF_LEADING
                self._walk_term(word.stem, most)

    def _walk_term(self, term: str, most: int) -> None:
        found = self._find([(term,)], most + 1)
        self.walked[term] = found
        self.frequencies[term] = search.guessed(found, most)

    def _corrections(self) -> dict[str, list[tuple[str, float]]]:
        """Stem → what was perhaps meant by a word that is nowhere, with its likeness."""
        found: dict[str, list[tuple[str, float]]] = {}
        for word in self.question.words:
            is_known = bool(self.walked[word.stem]) or len(found) >= _MOST_CORRECTED
            if is_known or word.role is not Role.NAMED or word.is_pair or len(word.text) < _SHORTEST_CORRECTED:
                continue
            if self.groups and search.find(self.connection, [(word.stem,)], 1, past=True):
                continue
            near = self._near(word)
            if near:
                found[word.stem] = near
                for term, _ in near:
                    if term not in self.walked:
                        self._walk_term(term, _MOST_OF_WORD)
        return found

    def _near(self, word: Word) -> list[tuple[str, float]]:
        """The words of names that a word is most like."""
        grams = trigrams(word.text)
        counts: Counter[int] = Counter()
        for group in (*((gram,) for gram in grams), *pairwise(grams)):
            counts.update(
                search.find(self.connection, [(gram,) for gram in group], _MOST_OF_TRIGRAM, past=self.narrowed.past)
            )
        compared = [number for number, _ in counts.most_common(_MOST_COMPARED)]
        likely: dict[str, float] = {}
        for candidate in search.candidates(self.connection, compared):
            for token in tokens_of(candidate.text.partition(": ")[0]):
                if token.text not in likely:
                    likely[token.text] = likeness(word.text, token.text)
        best = max(likely.values(), default=0.0)
        near = sorted(
            (term for term, like in likely.items() if like and like >= best - 0.02), key=lambda t: (-likely[t], t)
        )
        return [(term, likely[term]) for term in near[:3]]

    def _chosen(self, wanted: Sequence[Sought]) -> list[int]:
        """The candidates that are worth reading, by the rarity of the words that they are known to have."""
        points: dict[int, float] = {}
        named = [one for one in wanted if one.word.role is Role.NAMED]
        for one in wanted:
            weight = 1.0 if one.word.role is Role.NAMED else self.weights.leading
            for term, worth in one.terms:
                for number in self.walked.get(term, ()):
                    points[number] = points.get(number, 0.0) + one.idf * weight * min(1.0, worth)
        for number, more in self._deeper(named):
            points[number] = points.get(number, 0.0) + more
        if self.question.asking and not named:
            for number in self._find([self._asked()], MOST_CANDIDATES):
                points.setdefault(number, 0.0)
        if self.narrowed.entities is not None:
            allowed = search.passages_about(
                self.connection, self.narrowed.entities, _MOST_OF_ENTITIES, past=self.narrowed.past
            )
            points = {number: points.get(number, 0.0) for number in allowed}
        return sorted(points, key=lambda number: (-points[number], number))[:MOST_CANDIDATES]

    def _asked(self) -> Group:
        return tuple(mark("aspect", aspect) for aspect in sorted(self.question.aspects()))

    def _deeper(self, named: Sequence[Sought]) -> Iterable[tuple[int, float]]:
        """Passages beyond the stretch of words that was walked: with several of them, of the aspect that is asked
        about, or of entities with the word in their name. Each with what it is worth more."""
        long = [one for one in named if len(self.walked.get(one.word.stem, ())) > _MOST_OF_WORD]
        if not long:
            return
        rare = tuple(term for one in named if one not in long for term, _ in one.terms)
        stems = [one.word.stem for one in long]
        if rare:
            for one in long:
                for number in self._find([rare, (one.word.stem,)], MOST_CANDIDATES):
                    yield number, one.idf
        whole = sum(one.idf for one in long)
        together = self._find([(stem,) for stem in stems], MOST_CANDIDATES)
        yield from ((number, whole) for number in together)
        if len(together) < MOST_CANDIDATES // 6 and len(long) > 2:
            for one, other in combinations(long[:4], 2):
                for number in self._find([(one.word.stem,), (other.word.stem,)], MOST_CANDIDATES):
                    yield number, one.idf + other.idf
        least = min(one.idf for one in long)
        if self.question.asking:
            for number in self._find([tuple(stems), self._asked()], MOST_CANDIDATES):
                yield number, least
        if not self.narrowed.aspect:
            yield from ((number, least) for number in self._of_named(stems))

    def _of_named(self, stems: Sequence[str]) -> list[int]:
        """Passages of entities with the words in their names: those that have most of them first."""
        counts: Counter[int] = Counter()
        for stem in stems:
            counts.update(self._find([(stem,), (mark("aspect", "existence"),)], MOST_CANDIDATES))
        first = [number for number, _ in counts.most_common(_NAMED_ENTITIES)]
        entities = list(dict.fromkeys(one.entity for one in search.candidates(self.connection, first)))
        return search.passages_about(self.connection, entities, MOST_CANDIDATES, past=self.narrowed.past)


def read_of(candidate: Candidate, question: Question) -> Read:
    """A candidate as it is ranked."""
    head = head_terms(candidate.text)
    last = candidate.name.rstrip("/").rsplit("/", 1)[-1].rsplit(".", 1)[-1]
    return Read(
        id=candidate.id,
        terms=candidate.terms,
        head=head,
        shorts=(short_terms(last),),
        asked=question.aspects(head).get(candidate.aspect, 0.0),
        worth=_TELLS.get(candidate.aspect, _TELLS_LITTLE.get(candidate.aspect, 0.6)),
    )


@lru_cache(maxsize=20_000)
def short_terms(name: str) -> frozenset[str]:
    """The stems of a short name that a question must say to say it whole."""
    return frozenset(token.stem for token in tokens_of(name) if token.kind != "whole")


def find(
    connection: Connection,
    question: Question,
    narrowed: Narrowed,
    also: Sequence[int] = (),
    weights: Weights = WEIGHTS,
) -> Found:
    """The passages that may answer a question, by their terms; `also` some that were found in another way."""
    return Search(connection, question, narrowed, weights).run(also)
