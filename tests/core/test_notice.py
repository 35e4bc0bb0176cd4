"""Which change goes to whom by which rule, and what goes into one message."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.moment import Moment
from palimpsest.core.notice import (
    EpisodeId,
    News,
    Plan,
    Recipient,
    Rule,
    address_of,
    is_mail_address,
    matches,
    plan,
    recipients_of,
)
from tests.core.news import dataset, news, user

ANN, BOB, SALES = user("ann@example.org"), user("bob"), "urn:li:corpGroup:sales"


def rule(**given: Any) -> Rule:
    """A rule that sends mail to one address, unless it says otherwise."""
    return Rule(**{"name": "r", "to": "mail", "recipient": "team@example.org", **given})


def never(_rule: str, _recipient: Recipient, _at: Moment, _episode: EpisodeId) -> bool:
    """Nothing was told before."""
    return False


def sent(planned: Plan) -> dict[str, list[News]]:
    """What goes to each address."""
    return {parcel.recipient.address: list(parcel.news) for parcel in planned.parcels}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, True),
        ({"platforms": ("postgres", "dbt")}, True),
        ({"platforms": ("dbt",)}, False),
        ({"environments": ("PROD",)}, True),
        ({"environments": ("DEV",)}, False),
        ({"domains": ("urn:li:domain:crm",)}, True),
        ({"domains": ("CRM",)}, True),
        ({"domains": ("finance",)}, False),
        ({"tags": ("pii",)}, True),
        ({"tags": ("gold",)}, False),
        ({"owners": ("bob",)}, True),
        ({"owners": (SALES,)}, True),
        ({"owners": ("sales",)}, True),
        ({"owners": ("mira",)}, False),
        ({"aspects": ("ownership",)}, True),
        ({"aspects": ("column", "existence")}, False),
        ({"kinds": ("dataset",)}, True),
        ({"kinds": ("dashboard",)}, False),
        ({"impact": Impact.MINOR}, True),
        ({"impact": Impact.NOTABLE}, True),
        ({"impact": Impact.BREAKING}, False),
        ({"tags": ("pii",), "platforms": ("dbt",)}, False),
    ],
)
def test_every_filter_of_a_rule_decides(given: dict[str, Any], told: bool) -> None:
    one = news(owners=(BOB, SALES), tags=("urn:li:tag:pii",), domains=("urn:li:domain:crm",))
    assert matches(rule(**given), one) is told


def test_what_is_quiet_is_told_by_no_rule() -> None:
    assert not matches(rule(impact=Impact.QUIET), news(impact=Impact.QUIET))


def test_siblings_match_where_one_of_them_does() -> None:
    folded = news(1, dataset("orders", "dbt"), dataset("shop.orders", "snowflake"))
    assert matches(rule(platforms=("snowflake",)), folded)


def test_each_owner_is_told_where_they_are_reached_and_nobody_twice() -> None:
    to_owners = rule(recipient="owners", addresses={SALES: "sales@example.org", "bob": "ann@example.org"})
    found = recipients_of(to_owners, news(owners=(ANN, BOB, SALES, user("nobody"))))
    assert found == (Recipient("mail", "ann@example.org"), Recipient("mail", "sales@example.org"))


def test_an_owner_whose_urn_is_an_address_is_reached_by_mail_alone() -> None:
    assert address_of(rule(recipient="owners"), ANN) == "ann@example.org"
    assert address_of(rule(recipient="owners"), BOB) == ""
    assert address_of(rule(to="slack", recipient="owners"), ANN) == ""
    assert address_of(rule(to="slack", recipient="owners", addresses={ANN: "ANN_URL"}), ANN) == "ANN_URL"


@pytest.mark.parametrize(
    "text",
    [
        "ann", "ann@", "@example.org", "ann@example.org,eve@example.org", "ann@example.org\nBcc: eve@example.org",
        "Ann <ann@example.org>", "ann@ex ample.org", "ann@@example.org", "änn@example.org", f"{'a' * 250}@b.org",
    ],
)  # fmt: skip
def test_what_could_be_more_than_one_address_is_none(text: str) -> None:
    assert is_mail_address("ann.b+c@mail.example.org")
    assert not is_mail_address(text)


def test_what_has_no_owner_who_can_be_reached_goes_to_the_other_address_or_is_counted() -> None:
    lost, owned = news(1, owners=(BOB,)), news(2, owners=(ANN,))
    without = plan([rule(recipient="owners")], [lost, owned], never)
    assert (sent(without), dict(without.unreached)) == ({"ann@example.org": [owned]}, {"r": (lost,)})
    fallback = plan([rule(recipient="owners", otherwise="data@example.org")], [lost, owned], never)
    assert sent(fallback) == {"ann@example.org": [owned], "data@example.org": [lost]}
    assert fallback.unreached == {}


def test_a_recipient_gets_one_parcel_by_all_rules_with_each_change_once() -> None:
    both, one = news(1, tags=("urn:li:tag:pii",)), news(2)
    planned = plan([rule(name="all"), rule(name="pii", tags=("pii",))], [both, one], never)
    assert sent(planned) == {"team@example.org": [both, one]}
    assert planned.parcels[0].by_rule == {"all": (both, one), "pii": (both,)}


def test_what_was_told_by_a_rule_to_a_recipient_is_told_to_the_others_only() -> None:
    one = news(1, owners=(ANN,))

    def is_told(name: str, recipient: Recipient, at: Moment, episode: EpisodeId) -> bool:
        return (name, recipient.address, at, episode) == ("owners", "ann@example.org", one.at, one.episodes[0])

    planned = plan([rule(name="owners", recipient="owners"), rule(name="team")], [one], is_told)
    assert sent(planned) == {"team@example.org": [one]}


def test_the_channels_of_two_ways_are_two_recipients() -> None:
    planned = plan([rule(recipient="X"), rule(name="s", to="slack", recipient="X")], [news()], never)
    assert [str(parcel.recipient) for parcel in planned.parcels] == ["mail X", "slack X"]
