"""labels: members of current sets, by any source that holds that the entity exists."""

from __future__ import annotations

import json

from palimpsest.core.belief import State
from palimpsest.core.ids import BeliefId
from palimpsest.core.labels import MOST_LETTERS, Label, is_gone, is_named, labels_of
from palimpsest.core.passage import Stated

ANA, LEA = "urn:li:corpuser:ana", "urn:li:corpuser:lea"


def stated(aspect: str, value: object, *, source: str = "file", state: State = State.CURRENT) -> Stated:
    return Stated(BeliefId(bytes(16)), 1, state, source, aspect, "", json.dumps(value))


def existing(exists: bool, source: str = "file") -> Stated:
    return stated("existence", {"exists": exists}, source=source)


def test_owners_tags_terms_and_domains_are_labels_and_roles_and_texts_are_none() -> None:
    versions = [
        stated("ownership", [[ANA, "TECHNICAL_OWNER"], [ANA, "DATAOWNER"]]),
        stated("tags", {"at_least": [["urn:li:tag:pii"]]}),
        stated("terms", [["urn:li:glossaryTerm:a.b"]]),
        stated("domain", [["urn:li:domain:x"]]),
        stated("description", "urn:li:tag:no"),
    ]
    assert labels_of(versions) == {
        Label("ownership", ANA),
        Label("tags", "urn:li:tag:pii"),
        Label("terms", "urn:li:glossaryTerm:a.b"),
        Label("domain", "urn:li:domain:x"),
    }


def test_what_is_not_current_gives_none() -> None:
    versions = [
        stated("ownership", [[ANA, ""]], state=State.SUPERSEDED),
        stated("ownership", [[LEA, ""]]),
        stated("tags", [["urn:li:tag:pii"]], state=State.RETRACTED),
    ]
    assert labels_of(versions) == {Label("ownership", LEA)}


def test_a_source_that_holds_the_entity_gone_gives_none_while_another_does() -> None:
    versions = [
        existing(False, "old"),
        existing(True, "new"),
        stated("ownership", [[ANA, ""]], source="old"),
        stated("ownership", [[LEA, ""]], source="new"),
    ]
    assert labels_of(versions) == {Label("ownership", LEA)}


def test_an_entity_is_gone_when_sources_say_so_and_none_denies_it() -> None:
    assert is_gone([existing(False)])
    assert not is_gone([existing(False), existing(True, "other")])
    assert not is_gone([stated("ownership", [])])


def test_a_member_that_is_too_long_or_empty_is_no_label() -> None:
    longest = "urn:li:tag:".ljust(MOST_LETTERS, "a")
    assert labels_of([stated("tags", [[longest], [longest + "a"], [""]])]) == {Label("tags", longest)}


def test_a_member_is_named_by_its_urn_or_the_name_in_it() -> None:
    assert is_named(ANA, ANA)
    assert is_named(ANA, "Ana")
    assert not is_named(ANA, "an")
    assert not is_named("urn:li:corpuser:anabel", "ana")
