"""What words say about a matter: which of them name it, and which only say how it stands (negations, how much, how
often). Closed lists, for notes about tables; a word in none of them names a matter of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from palimpsest.core.terms import fold, stem, tokens_of


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


# In the languages that notes are mostly written in.
_NEGATIONS = _listed(
    "no not never none nobody nothing neither nor without cannot non isn't aren't wasn't weren't don't doesn't didn't "
    "hasn't haven't hadn't can't couldn't won't wouldn't shouldn't mustn't nicht kein keine keinen keiner keines nie "
    "niemals ohne pas sans jamais aucun aucune ni sin nunca ningun ninguna jamas nao sem nem senza mai nessuno niet "
    "geen nooit zonder inte ingen aldrig utan ikke не нет никогда без ни нельзя nie bez ne yok degil "
    "不 没 沒 无 無 非 未 없"
)
# Where one of them stands for another, something else is claimed.
_OPPOSED = _listed(
    "all some any every each most few many several both either only always sometimes often rarely usually before "
    "after since until include includes included including exclude excludes excluded excluding required optional "
    "mandatory deprecated active inactive enabled disabled enable disable true false yes hourly daily weekly monthly "
    "quarterly yearly nightly annually min max minimum maximum first last latest earliest oldest newest up down "
    "increase decrease increases decreases increased decreased more less fewer above below over under internal "
    "external public private gross net new old open closed current former allowed forbidden valid invalid complete "
    "incomplete and or with if unless except must may can should"
)
# A matter, and the words that speak of it.
_MATTERS = {
    "freshness": (
        "refresh refreshed update updated load loaded reload run schedule scheduled ingest ingested arrive land late "
        "delay delayed lag stale fresh freshness latency frequency sla hourly daily weekly monthly yearly nightly "
        "backfill backfilled batch streamed realtime aktualisiert stundlich taglich wochentlich geladen actualise "
        "actualisee actualiza actualizada diario diaria обновляется обновляются ежедневно ежечасно"
    ),
    "privacy": (
        "pii personal sensitive gdpr confidential privacy anonymized anonymised anonymous masked mask pseudonymized "
        "pseudonymised personenbezogene personenbezogenen personnelles personales"
    ),
    "ownership": (
        "owner own owned maintain maintained maintainer steward responsible belongs contact gehort eigentumer "
        "verantwortlich proprietaire"
    ),
    "deprecation": (
        "deprecated deprecate deprecation retire retired obsolete sunset replaced replace replacement successor "
        "superseded legacy instead decommissioned veraltet ersetzt"
    ),
    "nulls": "null nullable empty missing blank filled populated leer vide vacio",
    "uniqueness": "unique uniqueness duplicate duplicated dedup deduplicated distinct grain primary eindeutig",
    "joining": "join joined joining foreign lookup",
    "time zone": "timezone utc cet cest est pst tz zone zeitzone",
    "money": "currency currencies eur usd gbp chf dollar euro cent vat tax wahrung",
    "partitioning": "partition partitioned partitioning cluster clustered clustering",
    "retention": (
        "retention retained keep kept purge purged expire expires archive archived delete deleted deletion geloscht "
        "aufbewahrt"
    ),
    "cost": "slow fast performance expensive cheap cost bytes timeout",
    "origin": ("source sourced upstream import imported derived derive copied comes feed fed built originates"),
    "filtering": "include included including exclude excluded excluding filter filtered bot robot test",
    "quality": ("wrong broken incorrect correct reliable unreliable trust trusted quality bug accurate inaccurate"),
    "usage": "dashboard report reporting consumer used",
}
_HOW_IT_STANDS = _listed(
    "a an the this that these those it its is are was were be been being am do does did has have had will would shall "
    "there here now then currently today longer anymore still already yet just also too very quite really please note "
    "as at by for from in into of on onto to per than so because but however though while when where which who whom "
    "whose what why how again once twice time times day days hour hours week weeks month months year years minute "
    "minutes second seconds night morning evening noon midnight monday tuesday wednesday thursday friday saturday "
    "sunday january february march april june july august september october november december row rows table tables "
    "column columns field fields data dataset datasets record records value values entry entries contain contains "
    "contained hold holds held store stores stored use uses using about between within through we you they i he she "
    "our your their people someone team teams one two three four five six seven eight nine ten der die das den dem "
    "des ein eine einen einer wird werden ist sind war von zu im mit und oder auch mehr spalte tabelle le la les un "
    "une des du de est sont et ou en au aux par plus colonne el los las del es son y con por una se columna tabla и в "
    "на с по это таблица колонка"
)


def _stem(word: str) -> str:
    return stem(fold(word))


_MATTER_OF = {_stem(word): matter for matter, words in _MATTERS.items() for word in words.split()}
_CLAIMS_AS_IT_IS = _NEGATIONS | _OPPOSED
_SAYS_HOW = _HOW_IT_STANDS | {word for word in _CLAIMS_AS_IT_IS if _stem(word) not in _MATTER_OF}


def opposes(word: str) -> bool:
    """Whether a word denies, or says how much, how often or which of two: another one in its place claims otherwise."""
    return word in _CLAIMS_AS_IT_IS or fold(word) in _CLAIMS_AS_IT_IS


def matters_of(words: Iterable[str], leave_out: frozenset[str] = frozenset()) -> dict[str, float]:
    """What a text speaks of, with weights: a matter of the list counts twice what any other word does.

    `leave_out` are stems that count nothing.
    """
    found: dict[str, float] = {}
    for word in words:
        if word in _SAYS_HOW or fold(word) in _SAYS_HOW or not any(letter.isalpha() for letter in word):
            continue
        for stemmed in _stems(word):
            if stemmed not in leave_out:
                matter = _MATTER_OF.get(stemmed)
                found[matter or f"={stemmed}"] = 2.0 if matter else 1.0
    return found


def _stems(word: str) -> list[str]:
    """Those of one word; of a script without blanks its pairs of letters."""
    return [_stem(word)] if word.isascii() else list(dict.fromkeys(token.stem for token in tokens_of(word)))
