"""The facts of the demo: one invented web shop, as its catalog knows it on Monday, and what has changed by Friday.

Every change stands beside the truth about it. How a fact is spelled in a file is in `build.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

# The words of the facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Who wrote an aspect, and when (ISO 8601)."""

    at: str
    by: str = "urn:li:corpuser:datahub"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: `kind` is DataHub's type (`Number`), `native` the platform's (`bigint`), `path` its raw spelling."""

    path: str
    kind: str
    native: str
    nullable: bool = True
    key: bool = False
    text: str = ""
    tags: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """A dataset read from; `columns` are pairs of (own column, upstream columns)."""

    urn: str
    kind: str = "TRANSFORMED"
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deprecation:
    """Whether a dataset is deprecated, by whom, and from when on it is gone (ISO 8601, or empty)."""

    deprecated: bool
    by: str
    note: str = ""
    gone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """All that the catalog says of one dataset. `stamps` are by raw aspect; `only_status` writes nothing but that."""

    urn: str
    name: str
    columns: tuple[Column, ...]
    owners: tuple[tuple[str, str], ...]
    stamps: dict[str, Stamp]
    sub_type: str = "Table"
    text: str = ""
    edited: str = ""
    properties: dict[str, str] = field(default_factory=dict)
    retention_days: int | None = None
    tags: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    domain: str = ""
    container: str = ""
    upstreams: tuple[Upstream, ...] = ()
    siblings: tuple[str, ...] = ()
    column_edits: dict[str, str] = field(default_factory=dict)
    foreign_keys: tuple[tuple[str, str, str, str], ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    sql: str = ""
    deprecation: Deprecation | None = None
    removed: bool = False
    only_status: bool = False
    snapshot: bool = False


# The shop on Monday


def dataset_urn(platform: str, name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


def user(handle: str) -> str:
    return f"urn:li:corpuser:{handle}"


ORDERS = dataset_urn("postgres", "shop.public.orders")
CUSTOMERS = dataset_urn("postgres", "shop.public.customers")
LEGACY_CARTS = dataset_urn("postgres", "shop.public.legacy_carts")
GIFT_CARDS = dataset_urn("postgres", "shop.public.gift_cards")
CHECKOUT = dataset_urn("kafka", "shop.checkout_events")
FACTS_DBT = dataset_urn("dbt", "shop.marts.order_facts")
FACTS = dataset_urn("snowflake", "shop.marts.order_facts")
UMSAETZE = dataset_urn("snowflake", "shop.marts.umsätze")
CUSTOMER_VALUE = dataset_urn("snowflake", "shop.marts.customer_value")
REFUNDS = dataset_urn("snowflake", "shop.marts.refunds")
CHECKOUT_TEAM, CRM_TEAM = "urn:li:corpGroup:checkout", "urn:li:corpGroup:crm"
SALES, CRM = "urn:li:domain:sales", "urn:li:domain:crm"
PUBLIC, MARTS = "urn:li:container:shop-public", "urn:li:container:shop-marts"
PII, GOLD, STREAM = "urn:li:tag:pii", "urn:li:tag:gold", "urn:li:tag:stream"
NET_REVENUE = "urn:li:glossaryTerm:net_revenue"
_EVENT = "[version=2.0].[type=CheckoutEvent]."

SHOP: tuple[Dataset, ...] = (
    Dataset(
        urn=ORDERS,
        name="orders",
        text="One row for each order placed in the shop. Prices are in cents.",
        columns=(
            Column(path="id", kind="Number", native="bigint", nullable=False, key=True),
            Column(path="customer_id", kind="Number", native="bigint", nullable=False),
            Column(path="status", kind="String", native="varchar(20)", text="open, paid, sent or void"),
            Column(path="total", kind="Number", native="numeric(12,2)", nullable=False, text="Gross, in cents"),
            Column(path="discount", kind="Number", native="numeric(12,2)", text="Taken off the total, in cents"),
            Column(path="placed_at", kind="Time", native="timestamptz", nullable=False),
        ),
        owners=((user("jonas"), "TECHNICAL_OWNER"),),
        properties={"channel": "#shop-orders", "refresh": "continuous"},
        retention_days=3650,
        tags=(GOLD,),
        domain=SALES,
        container=PUBLIC,
        foreign_keys=(("orders_customer", "customer_id", CUSTOMERS, "id"),),
        links=(
            ("https://wiki.example.com/shop/orders", "Runbook"),
            ("https://example.com/orders.pdf", "Data contract"),
        ),
        stamps={
            "ownership": Stamp(at="2025-11-12T09:30:00Z", by=user("mira")),
            "schemaMetadata": Stamp(at="2026-01-19T06:00:00Z", by=user("jonas")),
        },
    ),
    Dataset(
        urn=CUSTOMERS,
        name="customers",
        text="Everyone who has an account.",
        edited="Everyone who has an account. Deleted accounts keep their row, without name and e-mail.",
        columns=(
            Column(path="id", kind="Number", native="bigint", nullable=False, key=True),
            Column(path="email", kind="String", native="varchar(254)", nullable=False, tags=(PII,)),
            Column(path="phone", kind="String", native="varchar(32)", text="رقم هاتف العميل", tags=(PII,)),
            Column(path="loyalty_points", kind="Number", native="bigint", text="Treuepunkte, nie negativ"),
            Column(path="created_at", kind="Time", native="timestamptz", nullable=False),
        ),
        owners=((CRM_TEAM, "BUSINESS_OWNER"), (user("mira"), "DATA_STEWARD")),
        properties={"channel": "#crm"},
        tags=(GOLD, PII),
        domain=CRM,
        container=PUBLIC,
        column_edits={"phone": "Only with consent. نص للعرض فقط"},
        snapshot=True,
        stamps={
            "ownership": Stamp(at="2025-12-01T10:00:00Z", by=user("mira")),
            "schemaMetadata": Stamp(at="2026-01-19T06:00:00Z", by=user("jonas")),
            "editableDatasetProperties": Stamp(at="2026-02-10T15:05:00Z", by=user("mira")),
        },
    ),
    Dataset(
        urn=LEGACY_CARTS,
        name="legacy_carts",
        text="Carts of the old shop 🛒, read only since 2024.",
        columns=(
            Column(path="id", kind="Number", native="integer", nullable=False, key=True),
            Column(path="items", kind="String", native="text", text="A list, as JSON"),
            Column(path="updated_at", kind="Time", native="timestamp"),
        ),
        owners=((CHECKOUT_TEAM, "TECHNICAL_OWNER"),),
        container=PUBLIC,
        snapshot=True,
        stamps={"ownership": Stamp(at="2024-08-01T12:00:00Z", by=user("jonas"))},
    ),
    Dataset(
        urn=GIFT_CARDS,
        name="gift_cards",
        text="ギフトカードの残高 🎁 (gift cards and what is left on them)",
        columns=(
            Column(path="id", kind="String", native="uuid", nullable=False, key=True),
            Column(path="balance", kind="Number", native="numeric(12,2)", nullable=False, text="残高 (in cents)"),
            Column(path="message", kind="String", native="text", text="Greeting 💌, free text"),
        ),
        owners=((CHECKOUT_TEAM, "TECHNICAL_OWNER"),),
        domain=SALES,
        container=PUBLIC,
        removed=True,
        snapshot=True,
        stamps={"ownership": Stamp(at="2025-10-06T08:15:00Z", by=user("lena"))},
    ),
    Dataset(
        urn=CHECKOUT,
        name="checkout_events",
        sub_type="Topic",
        text="What happens between cart and payment.",
        columns=(
            Column(path=_EVENT + "[type=long].order_id", kind="Number", native="long", nullable=False),
            Column(path=_EVENT + "[type=string].step", kind="String", native="string", text="cart, address, payment"),
            Column(path=_EVENT + "[type=Address].address", kind="Record", native="Address"),
            Column(path=_EVENT + "[type=Address].address.[type=string].city", kind="String", native="string"),
        ),
        owners=((CHECKOUT_TEAM, "TECHNICAL_OWNER"), (user("lena"), "BUSINESS_OWNER")),
        properties={"partitions": "12"},
        tags=(STREAM,),
        domain=SALES,
        snapshot=True,
        stamps={"ownership": Stamp(at="2025-09-15T07:45:00Z", by=user("lena"))},
    ),
    Dataset(
        urn=FACTS_DBT,
        name="order_facts",
        sub_type="Model",
        text="Orders with the discount taken off, one row each.",
        columns=(
            Column(path="order_id", kind="Number", native="NUMBER(38,0)", nullable=False),
            Column(path="net_total", kind="Number", native="NUMBER(12,2)", terms=(NET_REVENUE,)),
            Column(path="discount", kind="Number", native="NUMBER(12,2)"),
            Column(path="ordered_on", kind="Date", native="DATE"),
        ),
        owners=((user("amara"), "TECHNICAL_OWNER"),),
        properties={"materialization": "table", "dbt_package": "shop"},
        domain=SALES,
        upstreams=(
            Upstream(
                urn=ORDERS,
                columns=(
                    ("order_id", ("id",)),
                    ("net_total", ("total", "discount")),
                    ("discount", ("discount",)),
                    ("ordered_on", ("placed_at",)),
                ),
            ),
        ),
        siblings=(FACTS,),
        sql="select id as order_id, total - discount as net_total, discount, placed_at::date as ordered_on from orders",
        stamps={"ownership": Stamp(at="2026-01-08T11:00:00Z", by=user("amara"))},
    ),
    Dataset(
        urn=FACTS,
        name="ORDER_FACTS",
        columns=(
            Column(path="order_id", kind="Number", native="NUMBER(38,0)", nullable=False),
            Column(path="net_total", kind="Number", native="NUMBER(12,2)"),
            Column(path="discount", kind="Number", native="NUMBER(12,2)"),
            Column(path="ordered_on", kind="Date", native="DATE"),
        ),
        owners=((user("amara"), "TECHNICAL_OWNER"),),
        domain=SALES,
        container=MARTS,
        upstreams=(Upstream(urn=FACTS_DBT, kind="COPY"),),
        siblings=(FACTS_DBT,),
        stamps={"ownership": Stamp(at="2026-01-08T11:00:00Z", by=user("amara"))},
    ),
    Dataset(
        urn=UMSAETZE,
        name="umsätze",
        text="Umsätze je Tag",
        edited="Umsätze je Tag, brutto, in Euro. Größere Korrekturen stehen im Wiki 📊.",
        columns=(
            Column(path="tag", kind="Date", native="DATE", nullable=False),
            Column(path="brutto", kind="Number", native="NUMBER(14,2)", text="Vor Abzug der Rabatte, in €"),
            Column(path="netto", kind="Number", native="NUMBER(14,2)", terms=(NET_REVENUE,)),
        ),
        owners=((user("amara"), "BUSINESS_OWNER"), (user("mira"), "DATA_STEWARD")),
        retention_days=730,
        terms=(NET_REVENUE,),
        domain=SALES,
        container=MARTS,
        upstreams=(
            Upstream(
                urn=ORDERS,
                columns=(("tag", ("placed_at",)), ("brutto", ("total",)), ("netto", ("total", "discount"))),
            ),
        ),
        links=(("https://wiki.example.com/finanzen/umsätze", "Wiki: Umsätze"),),
        stamps={
            "ownership": Stamp(at="2026-01-08T11:00:00Z", by=user("amara")),
            "editableDatasetProperties": Stamp(at="2026-02-03T13:40:00Z", by=user("amara")),
        },
    ),
    Dataset(
        urn=CUSTOMER_VALUE,
        name="customer_value",
        sub_type="View",
        text="What each customer has spent so far.",
        columns=(
            Column(path="customer_id", kind="Number", native="NUMBER(38,0)", nullable=False),
            Column(path="orders_placed", kind="Number", native="NUMBER(18,0)"),
            Column(path="lifetime_value", kind="Number", native="NUMBER(14,2)"),
            Column(path="average_discount", kind="Number", native="FLOAT"),
        ),
        owners=((CRM_TEAM, "BUSINESS_OWNER"),),
        tags=(GOLD,),
        domain=CRM,
        container=MARTS,
        upstreams=(
            Upstream(
                urn=ORDERS,
                columns=(
                    ("orders_placed", ("id",)),
                    ("lifetime_value", ("total",)),
                    ("average_discount", ("discount",)),
                ),
            ),
            Upstream(urn=CUSTOMERS, columns=(("customer_id", ("id",)),)),
            Upstream(urn=CHECKOUT),
        ),
        deprecation=Deprecation(deprecated=False, by=user("mira")),
        stamps={"ownership": Stamp(at="2025-12-01T10:00:00Z", by=user("mira"))},
    ),
)


# Friday: each change beside the truth about it


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One true change: `op` is first, changed, removed or returned; `before` and `after` hold what differs."""

    urn: str
    aspect: str
    key: str
    op: str
    before: object
    after: object


_REFUNDS = Dataset(
    urn=REFUNDS,
    name="refunds",
    text="החזרים ללקוחות: money given back, one row each ↩️",
    columns=(
        Column(path="order_id", kind="Number", native="NUMBER(38,0)", nullable=False),
        Column(path="amount", kind="Number", native="NUMBER(12,2)", nullable=False, text="סכום ההחזר"),
        Column(path="refunded_at", kind="Time", native="TIMESTAMP_TZ(9)"),
    ),
    owners=((user("lena"), "TECHNICAL_OWNER"),),
    domain=SALES,
    container=MARTS,
    upstreams=(Upstream(urn=ORDERS, columns=(("order_id", ("id",)),)),),
    stamps={"ownership": Stamp(at="2026-03-05T10:30:00Z", by=user("lena"))},
)
_NOTE = "Counts voided orders. Ask crm before use."
_NETTO = "Umsätze je Tag, netto nach Rabatten, in Euro. Größere Korrekturen stehen im Wiki 📊."


def _role(urn: str, role: str) -> dict[str, str]:
    return {"owner": urn, "role": role}


def friday() -> tuple[tuple[Dataset, ...], tuple[Change, ...]]:
    """(the shop as it is on Friday, what has changed since Monday and Tuesday)."""
    held = {dataset.urn: dataset for dataset in SHOP}

    def edit(urn: str, stamps: dict[str, Stamp] | None = None, **facts: Any) -> None:
        held[urn] = replace(held[urn], stamps=held[urn].stamps | (stamps or {}), **facts)

    edit(
        ORDERS,
        owners=((user("lena"), "TECHNICAL_OWNER"),),
        columns=tuple(column for column in held[ORDERS].columns if column.path != "discount"),
        stamps={
            "ownership": Stamp(at="2026-03-05T14:20:00Z", by=user("mira")),
            "schemaMetadata": Stamp(at="2026-03-05T16:45:00Z", by=user("jonas")),
        },
    )
    edit(
        CUSTOMERS,
        columns=tuple(
            replace(column, native="integer") if column.path == "loyalty_points" else column
            for column in held[CUSTOMERS].columns
        ),
        stamps={"schemaMetadata": Stamp(at="2026-03-04T09:15:00Z", by=user("jonas"))},
    )
    edit(
        UMSAETZE,
        edited=_NETTO,
        stamps={"editableDatasetProperties": Stamp(at="2026-03-04T17:05:00Z", by=user("amara"))},
    )
    edit(CHECKOUT, tags=(STREAM, PII), stamps={"globalTags": Stamp(at="2026-03-04T11:30:00Z", by=user("lena"))})
    edit(
        CUSTOMER_VALUE,
        upstreams=held[CUSTOMER_VALUE].upstreams[:2],
        deprecation=Deprecation(deprecated=True, by=user("mira"), note=_NOTE, gone="2026-07-01T00:00:00Z"),
        stamps={"upstreamLineage": Stamp(at="2026-03-05T22:10:00Z")},
    )
    edit(LEGACY_CARTS, removed=True, only_status=True)
    edit(GIFT_CARDS, removed=False)
    held[REFUNDS] = _REFUNDS
    truth = (
        Change(
            urn=ORDERS,
            aspect="ownership",
            key="",
            op="changed",
            before=[_role(user("jonas"), "TECHNICAL_OWNER")],
            after=[_role(user("lena"), "TECHNICAL_OWNER")],
        ),
        Change(
            urn=ORDERS,
            aspect="column",
            key="discount",
            op="removed",
            before={"type": "Number", "native_type": "numeric(12,2)", "nullable": True},
            after=None,
        ),
        Change(
            urn=CUSTOMERS,
            aspect="column",
            key="loyalty_points",
            op="changed",
            before={"native_type": "bigint"},
            after={"native_type": "integer"},
        ),
        Change(
            urn=UMSAETZE,
            aspect="description",
            key="edited",
            op="changed",
            before=next(dataset.edited for dataset in SHOP if dataset.urn == UMSAETZE),
            after=_NETTO,
        ),
        Change(urn=CHECKOUT, aspect="tags", key="", op="changed", before=[STREAM], after=[PII, STREAM]),
        Change(
            urn=CUSTOMER_VALUE,
            aspect="upstreams",
            key="",
            op="changed",
            before=[CHECKOUT, CUSTOMERS, ORDERS],
            after=[CUSTOMERS, ORDERS],
        ),
        Change(
            urn=CUSTOMER_VALUE,
            aspect="deprecation",
            key="",
            op="changed",
            before={"deprecated": False},
            after={"deprecated": True, "note": _NOTE, "decommission": "2026-07-01"},
        ),
        Change(urn=LEGACY_CARTS, aspect="existence", key="", op="removed", before=True, after=False),
        Change(urn=GIFT_CARDS, aspect="existence", key="", op="returned", before=False, after=True),
        Change(urn=REFUNDS, aspect="existence", key="", op="first", before=None, after=True),
    )
    return tuple(held.values()), truth
