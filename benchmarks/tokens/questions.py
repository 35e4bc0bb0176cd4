"""Thirty questions about two catalogs: the calls that answer each by DataHub's own MCP server and by ours, and what the
answer must hold. DataHub's calls are the fewest that an agent needs which knows the URN already.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question. `answer`: a pattern that must be found in what is returned, for the question to be answered."""

    catalog: str
    text: str
    datahub: tuple[Call, ...]
    palimpsest: tuple[Call, ...]
    answer: str


def dataset(name: str, platform: str) -> str:
    """The URN of a dataset."""
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


ORDERS = dataset("shop.public.orders", "postgres")
CUSTOMERS = dataset("shop.public.customers", "postgres")
CARTS = dataset("shop.public.legacy_carts", "postgres")
EVENTS = dataset("shop.checkout_events", "kafka")
VALUE = dataset("shop.marts.customer_value", "snowflake")
FACTS = dataset("shop.marts.order_facts", "dbt")
REVENUE = dataset("shop.marts.umsätze", "snowflake")

_ENTRY = "b2fd91.order_entry_db.order_entry."
DETAILS = dataset("b2fd91.order_entry_db.analytics.order_details", "snowflake")
DBT_DETAILS = dataset("b2fd91.ORDER_ENTRY_DB.analytics.order_details", "dbt")
DBT_HISTORY = dataset("b2fd91.ORDER_ENTRY_DB.analytics.order_history", "dbt")
EXPLORE = dataset("b2fd91.order-entry.explore.order_details", "looker")
PROMOTIONS, ADDRESSES, PRODUCTS, REGIONS, ITEMS = (
    dataset(_ENTRY + name, "dbt") for name in ("promotions", "addresses", "products", "regions", "order_items")
)


def _entity(urn: str) -> Call:
    return "get_entities", {"urns": [urn]}


def _past(urn: str, aspect: str) -> Call:
    return "get_aspect_history", {"urns": [urn], "aspect_names": [aspect]}


def _below(urn: str) -> Call:
    return "get_lineage", {"urn": urn, "upstream": False}


def _above(urn: str) -> Call:
    return "get_lineage", {"urn": urn, "upstream": True}


def _brief(urn: str) -> Call:
    return "brief", {"entities": [urn]}


_WEEK: Call = ("changes", {"since": "2026-03-02"})


def _demo(text: str, datahub: tuple[Call, ...], palimpsest: Call, answer: str) -> Question:
    return Question(catalog="demo", text=text, datahub=datahub, palimpsest=(palimpsest,), answer=answer)


def _showcase(text: str, datahub: tuple[Call, ...], palimpsest: Call, answer: str) -> Question:
    return Question(catalog="showcase", text=text, datahub=datahub, palimpsest=(palimpsest,), answer=answer)


# The datasets of the sample that change at all: without a feed, each is to be asked for its past.
_EACH = tuple(
    _past(urn, aspect)
    for urn in (ORDERS, CUSTOMERS, CARTS, EVENTS, VALUE, FACTS, REVENUE)
    for aspect in ("ownership", "schemaMetadata", "globalTags", "status")
)

QUESTIONS = (
    _demo("Who owns orders?", (_entity(ORDERS),), _brief(ORDERS), "lena"),
    _demo("Who owned orders before, and who changed it?", (_past(ORDERS, "ownership"),), _brief(ORDERS), "jonas"),
    _demo("Which column of orders went away?", (_past(ORDERS, "schemaMetadata"),), _brief(ORDERS), "discount"),
    _demo("What is orders, in a sentence?", (_entity(ORDERS),), _brief(ORDERS), "One row for each order"),
    _demo("Who reads orders?", (_below(ORDERS),), _brief(ORDERS), "customer_value"),
    _demo("Is customer_value deprecated, and why?", (_entity(VALUE),), _brief(VALUE), "Counts voided orders"),
    _demo(
        "What is customer_value no longer made from?", (_past(VALUE, "upstreamLineage"),), _brief(VALUE), "checkout_ev"
    ),
    _demo("Is legacy_carts still there?", (_past(CARTS, "status"),), _brief(CARTS), r"soft-deleted|\"removed\":true"),
    _demo(
        "Which column of customers changed its type?",
        (_past(CUSTOMERS, "schemaMetadata"),),
        _brief(CUSTOMERS),
        "integer",
    ),
    _demo("Since when has checkout_events held personal data?", (_past(EVENTS, "globalTags"),), _brief(EVENTS), "pii"),
    _demo(
        "What did the description of umsätze say before?",
        (_past(REVENUE, "editableDatasetProperties"),),
        _brief(REVENUE),
        "brutto",
    ),
    _demo("What is order_facts made from?", (_above(FACTS),), _brief(FACTS), "orders"),
    _demo("What changed this week?", _EACH, _WEEK, "loyalty_points"),
    _demo("What broke this week?", _EACH, ("changes", {"since": "2026-03-02", "impact": "breaking"}), "discount"),
    _demo(
        "What changed in orders this week?",
        (_past(ORDERS, "ownership"), _past(ORDERS, "schemaMetadata")),
        ("changes", {"since": "2026-03-02", "entity": ORDERS}),
        "lena",
    ),
    _showcase("Who owns order_details in Snowflake?", (_entity(DETAILS),), _brief(DETAILS), "brock1"),
    _showcase("Which terms has order_details?", (_entity(DETAILS),), _brief(DETAILS), "26e268c3"),
    _showcase("How many read order_details?", (_below(DETAILS),), _brief(DETAILS), r"read by 14|\"total\":14"),
    _showcase("What is order_details made from?", (_above(DETAILS),), _brief(DETAILS), "addresses"),
    _showcase("Who is called when order_details is late?", (_entity(DETAILS),), _brief(DETAILS), "EMP006"),
    _showcase(
        "What does the dbt model order_details say of itself?",
        (_entity(DBT_DETAILS),),
        _brief(DBT_DETAILS),
        "comprehensive view|central hub",
    ),
    _showcase(
        "How long are rows of the dbt order_details kept?", (_entity(DBT_DETAILS),), _brief(DBT_DETAILS), "90 days"
    ),
    _showcase("How is the dbt order_history made?", (_entity(DBT_HISTORY),), _brief(DBT_HISTORY), "incremental"),
    _showcase(
        "What is the Looker explore order_details made from?",
        (_above(EXPLORE),),
        _brief(EXPLORE),
        "order-entry-looker.view",
    ),
    _showcase("Who owns promotions?", (_entity(PROMOTIONS),), _brief(PROMOTIONS), "ORG_DATA_PLATFORM|Data Platform"),
    _showcase(
        "What are promotions, in a sentence?", (_entity(PROMOTIONS),), _brief(PROMOTIONS), "marketing promotions"
    ),
    _showcase("Who reads addresses?", (_below(ADDRESSES),), _brief(ADDRESSES), "order_details"),
    _showcase("Which columns has regions?", (_entity(REGIONS),), _brief(REGIONS), "(?i)region_id"),
    _showcase("How fresh must products be?", (_entity(PRODUCTS),), _brief(PRODUCTS), "(?i)daily|weekly|hourly"),
    _showcase(
        "What do I need to know before I change order_items?",
        (_entity(ITEMS), _below(ITEMS)),
        _brief(ITEMS),
        "order_details",
    ),
)
