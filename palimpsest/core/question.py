"""What a question in words asks for: the words to be found, those that only lead there, and the aspects it is about."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from palimpsest.core.terms import Token, fold, tokens_of

MOST_WORDS = 32
MOST_LETTERS = 4_000  # of a question; the rest is not looked at


class Role(StrEnum):
    """What a word of a question is for."""

    NAMED = "named"  # to be found; an answer that lacks it answers less
    LEADING = "leading"  # about kinds and aspects: helps where it is found, and is not missed
    WHOLE = "whole"  # neighbours or parts written as one; helps where it is found, and is not missed


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word of a question: as written and folded, its stem, its role, and whether it is a pair of letters."""

    text: str
    stem: str
    role: Role
    is_pair: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The words of a question, each once, and what asks about aspects: a word's stem, or nothing for a turn of phrase,
    with each aspect and how much it is meant, 0 to 1."""

    words: tuple[Word, ...]
    asking: tuple[tuple[str, Mapping[str, float]], ...]

    def aspects(self, named: Collection[str] = ()) -> dict[str, float]:
        """The aspects that are asked about; empty: about anything. A word that is of the `named` ones asks nothing."""
        found: dict[str, float] = {}
        for word, aspects in self.asking:
            if not word or word not in named:
                for aspect, share in aspects.items():
                    found[aspect] = max(share, found.get(aspect, 0.0))
        if found.get("column") == 1.0 and found.get("upstreams") == 1.0:
            found |= {"column_upstreams": 1.0, "column": 0.3, "upstreams": 0.6}
        return found


_STOP = """
a about after all am an and any are as at be been before being but by can could currently did do does doing done each
earlier ever every find for former formerly from get give had has have he her his how i if in into is it its know latest
let like list look many may me mentioned might much must my nor not now of on once or original originally our out over
please previous previously put say says shall she should show so some still stored such tell than that the their them
then there these they this those through to today under until up us was we were what whats when where whether which
while who whom whos whose why will with without would yet you your s t d ll re ve m
а без бы был была были было быть в вам вас весь во вот все всего вы где да для до его ее если есть еще же за и из или им
их к как какая какие какой какое ко когда кто кому кем чей чья чье чьи ли либо мне может мы на над надо нас не него нее
нет ни них но ну о об он она они оно от по под при с со так также такой там те тем то того тоже той только том ты у уже
хотя чего чем что чтобы эта эти это этот я
der die das den dem des ein eine einer ist sind war von zu mit und oder wer was wo wann wie le la les un une du de est
sont qui que quoi quel quelle et ou el los las una es son quien cual y o
"""
# Kinds of things, as people call them.
_KINDS = (
    "table tables dataset datasets data view views pipeline pipelines flow flows job jobs task tasks report reports "
    "dashboard dashboards chart charts database databases warehouse catalog entity entities asset assets topic topics "
    "model models file files collection таблица таблицы таблице таблицу таблиц данные данных набор отчет дашборд поле "
    # what is said of anything
    "come comes came made make makes calculated computed write writes written produce produces hold holds contain "
    "contains look looks happen happened use uses used using work works store stores keep keeps kept need needs see "
    "called stand stands hat haben liegt steht хранится лежит содержит"
)
# Words that ask about an aspect.
_ASKING: Mapping[str, str] = {
    "ownership": "own owns owned owner owners ownership responsible steward stewards maintains maintainer charge "
    "belongs contact team владелец владельца владельцы владеет владеют ответственный ответственная отвечает "
    "принадлежит besitzer gehört verantwortlich propriétaire dueño propietario",
    "column": "column columns field fields type types datatype nullable колонка колонки колонку столбец столбцы "
    "столбца столбцов поля тип типа spalte spalten colonne colonnes columna columnas",
    "upstreams": "upstream upstreams downstream lineage source sources derived derives feeds fed feed depends depend "
    "dependency dependencies built reads read origin consumes consumers источник источники источников происходит "
    "зависит",
    "tags": "tag tags tagged label labels labelled labeled тег теги тегов метка метки",
    "terms": "term terms glossary термин термины",
    "domain": "domain domains домен домена",
    "deprecation": "deprecated deprecation deprecate sunset retired obsolete decommissioned replaced устарела "
    "устарело устаревший",
    "description": "describe describes described description documentation documented mean means meaning explain "
    "purpose definition описание описания означает значит beschreibung description descripción",
    "view_definition": "view sql definition query logic запрос",
    "existence": "exist exists existed existing gone deleted removed dropped disappeared удалена удален существует",
    "property": "property properties retention sla setting свойство свойства",
    "structured_property": "property properties свойство свойства",
    "container": "container schema database folder контейнер схема",
    "data_product": "product",
    "foreign_key": "foreign key references внешний ключ",
    "links": "link links url page runbook ссылка ссылки",
    "name": "name called title название называется",
    "sub_type": "subtype",
    "siblings": "sibling siblings",
    "platform_instance": "instance",
    "outputs": "output outputs",
}
# Aspects that are asked about with the same words as another.
_WITH = {
    "column": ("column_edit",),
    "upstreams": ("column_upstreams",),
    "description": ("column", "column_edit"),
    "tags": ("column", "column_edit"),
    "terms": ("column", "column_edit"),
    "property": ("structured_property",),
}
# The same for scripts without blanks, found anywhere in the text.
_ASKING_UNSPACED = {
    "ownership": "负责人 负责 所有者 拥有者 拥有 属于 归属 所有人 责任人 担当者 担当 責任者 オーナー "
    "소유자 담당자 주인 소유",
    "column": "字段 列名 カラム 列 컬럼 필드 类型 型",
    "upstreams": "上游 下游 来源 血缘 上流 下流 업스트림 다운스트림",
    "tags": "标签 标记 タグ 태그",
    "terms": "术语 用語 용어",
    "domain": "领域 域 ドメイン 도메인",
    "deprecation": "弃用 废弃 非推奨 廃止 폐기",
    "description": "描述 说明 含义 意思 説明 意味 설명 의미",
    "existence": "存在 删除 削除 삭제",
}
# Turns of phrase that ask about an aspect, whatever stands between their words.
_PHRASES = (
    (
        re.compile(
            r"\b(?:com(?:e|es|ing)|came|made|built|gets?|computed|calculated|taken|derived)\b.{0,60}\bfrom\b", re.I
        ),
        "upstreams",
    ),
    (re.compile(r"\bwhat (?:is|was|are|were)\b.{0,60}\bmade of\b", re.I), "upstreams"),
    (re.compile(r"\b(?:looks? after|take(?:s|n)? care|(?:who|whom).{0,30}\b(?:ask|belong|call))\b", re.I), "ownership"),
    (re.compile(r"\b(?:writes?|written|loads?|saves?) (?:it |them )?(?:in)?to\b", re.I), "outputs"),
)
_STOP_UNSPACED = re.compile(
    "谁|什么|哪个|哪些|哪里|哪|多少|怎么|如何|为什么|请问|的|是|在|有|吗|呢|了|和|与|由|表示|这个|那个|"
    "誰|何|どこ|どの|どれ|いつ|ですか|ますか|ました|でした|です|ます|して|した|する|ください|教えて|この|その|"
    "(?<![ぁ-ん])[はがをのにでとかも]|누가|누구|무엇|뭐|어디|언제|어떤|입니까|인가요|있나요|하나요"
)
_KOREAN_PARTICLE = re.compile(r"(?<=[가-힣]{2})(?:은|는|이|가|을|를|의|에서|에|로|와|과|도)(?![가-힣])")
_ALL_STOP = re.compile(r"表(?![\u4e00-\u9fff])|テーブル|테이블|数据集")


def read(text: str) -> Question:
    """Take a question apart. A text of only common words asks by those."""
    text, aspects = _without_asking(text[:MOST_LETTERS])
    asking = [("", _meant(aspect)) for aspect in aspects]
    asking += [("", _meant(aspect)) for phrase, aspect in _PHRASES if phrase.search(text)]
    words: dict[tuple[str, Role], Word] = {}
    before: Token | None = None
    for token in tokens_of(text):
        if token.kind == "word" and token.text in _stop():
            before = None
            continue
        asked = _asking().get(token.text, ()) if token.kind == "word" else ()
        asking += [(token.stem, _meant(aspect)) for aspect in asked]
        _add(words, token, is_leading=bool(asked) or (token.kind == "word" and token.text in _leading()))
        if token.kind in {"word", "part"}:
            if before is not None and not before.text.isdigit():
                whole = before.text + token.text
                words.setdefault((whole, Role.WHOLE), Word(text=whole, stem=whole, role=Role.WHOLE))
            before = token
    found = tuple(words.values())
    named = [word for word in found if word.role is Role.NAMED][:MOST_WORDS]
    others = [word for word in found if word.role is not Role.NAMED][:MOST_WORDS]
    return Question(words=(*named, *others), asking=tuple(asking))


def _meant(aspect: str) -> Mapping[str, float]:
    """An aspect that is asked about, and by half those that are asked about with the same words."""
    return {aspect: 1.0} | dict.fromkeys(_WITH.get(aspect, ()), 0.5)


def _add(words: dict[tuple[str, Role], Word], token: Token, *, is_leading: bool) -> None:
    match token.kind:
        case "whole":
            words.setdefault((token.text, Role.WHOLE), Word(text=token.text, stem=token.stem, role=Role.WHOLE))
        case "pair":
            words.setdefault(
                (token.stem, Role.NAMED), Word(text=token.text, stem=token.stem, role=Role.NAMED, is_pair=True)
            )
        case _:
            role = Role.LEADING if is_leading else Role.NAMED
            words.setdefault((token.stem, role), Word(text=token.text, stem=token.stem, role=role))


def _without_asking(text: str) -> tuple[str, set[str]]:
    """The text without the words of scripts without blanks that ask, and the aspects they ask about."""
    aspects: set[str] = set()
    if text.isascii():
        return text, aspects
    text = _KOREAN_PARTICLE.sub(" ", text)
    for aspect, listed in _ASKING_UNSPACED.items():
        for word in listed.split():
            if word in text:
                text = text.replace(word, " ")
                aspects.add(aspect)
    return _ALL_STOP.sub(" ", _STOP_UNSPACED.sub(" ", text)), aspects


@cache
def _asking() -> dict[str, tuple[str, ...]]:
    """Folded word → the aspects that it asks about."""
    found: dict[str, tuple[str, ...]] = {}
    for aspect, listed in _ASKING.items():
        for word in listed.split():
            found[fold(word)] = (*found.get(fold(word), ()), aspect)
    return found


@cache
def _stop() -> frozenset[str]:
    return frozenset(_STOP.split())


@cache
def _leading() -> frozenset[str]:
    return frozenset(fold(word) for word in _KINDS.split())
