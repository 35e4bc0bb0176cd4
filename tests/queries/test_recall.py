"""recall: what is held is found by its own words, nothing is made up, the current stands above the past."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palimpsest.core.entity import name_of
from palimpsest.core.errors import UsageError
from palimpsest.core.moment import parse
from palimpsest.queries.beliefs import BeliefsRequest, beliefs
from palimpsest.queries.held import When
from palimpsest.queries.recall import RecalledView, RecallRequest, RecallView, recall
from palimpsest.store.engine import Store
from tests.building import Memory, dataset, lineage, mcp, owners, schema, status, tags, text

ORDERS, ITEMS, CARTS = dataset("shop.public.orders"), dataset("shop.public.order_items"), dataset("shop.old_carts")
SCRIPTS = dataset("商城.订单明细", "mysql")
RUSSIAN = dataset("warehouse.payments_ru", "hive")
MONDAY, TUESDAY = "2026-03-02T08:00:00Z", "2026-03-03T08:00:00Z"
NOW = When(now=parse("2026-03-09"))
CATALOG = Path(__file__).resolve().parents[2] / "demo" / "catalog"


def ask(store: Store, question: str, when: When = NOW, **asked: object) -> RecallView:
    return recall(store, RecallRequest(question=question, **asked), when)  # type: ignore[arg-type]


def statements(view: RecallView) -> list[str]:
    return [one.belief.statement for one in view.answers]


def first(view: RecallView) -> tuple[str, str, str]:
    one: RecalledView = view.answers[0]
    return view.answer, one.belief.urn, one.belief.statement


@pytest.fixture
def memory(tmp_path: Path, dialect: str) -> Memory:
    memory = Memory(tmp_path)
    memory.remember(
        [
            mcp(ORDERS, "ownership", owners("jonas")),
            mcp(ORDERS, "datasetProperties", text("One row for each purchase that was paid")),
            mcp(ORDERS, "schemaMetadata", schema(("id", "bigint", "Counts up"), ("discount", "numeric", "Rebate"))),
            mcp(ITEMS, "ownership", owners("ana")),
            mcp(ITEMS, "upstreamLineage", lineage([ORDERS])),
            mcp(CARTS, "globalTags", tags("gold")),
            mcp(SCRIPTS, "datasetProperties", text("每个订单的商品明细，包括实付金额")),
            mcp(SCRIPTS, "ownership", owners("张伟")),
            mcp(RUSSIAN, "datasetProperties", text("Платежи клиентов по заказам")),
        ],
        at=MONDAY,
    )
    memory.remember([mcp(ORDERS, "ownership", owners("lena")), mcp(CARTS, "status", status(removed=True))], at=TUESDAY)
    memory.index()
    return memory


@pytest.mark.parametrize(
    ("question", "urn", "statement"),
    [
        ("who owns the orders pipeline", ORDERS, "owner: lena"),
        ("Who is the owner of shop.public.order_items?", ITEMS, "owner: ana"),
        ("orderItems owner", ITEMS, "owner: ana"),
        ("who owns ordrs", ORDERS, "owner: lena"),
        ("purchases paid", ORDERS, "description: One row for each purchase that was paid"),
        ("what is the discount of orders", ORDERS, "column discount numeric, not null: Rebate"),
        ("what is order_items made from", ITEMS, "upstream: shop.public.orders"),
        ("谁负责订单明细", SCRIPTS, "owner: 张伟"),
        ("实付金额", SCRIPTS, "description: 每个订单的商品明细，包括实付金额"),
        ("платёж клиента", RUSSIAN, "description: Платежи клиентов по заказам"),
    ],
)
def test_a_question_is_answered(memory: Memory, question: str, urn: str, statement: str) -> None:
    found = ask(memory.store, question)
    assert (found.answers[0].belief.urn, found.answers[0].belief.statement.replace(", nullable", ", not null")) == (
        urn,
        statement,
    )
    assert found.answer == "confident"


@pytest.mark.parametrize(
    "question", ["", "flux capacitor", "the of a", "🔥", "зарплата", "给与", "who owns flux_capacitor"]
)
def test_nothing_is_made_up(memory: Memory, question: str) -> None:
    found = ask(memory.store, question)
    assert (found.answer, found.answers, found.waiting) == ("nothing", (), ())


def test_what_an_answer_rests_on_is_told(memory: Memory) -> None:
    (one,) = ask(memory.store, "who owns orders", entity="public.orders", aspect="ownership").answers
    assert (one.belief.since_text, one.evidence.kind, one.evidence.source) == (
        "between 2026-03-02 08:00 and 2026-03-03 08:00",
        "changed",
        "file",
    )
    assert (one.state, one.is_current, one.until, one.sure, one.matched) == ("current", True, "", True, ("orders",))
    assert len(one.belief.id) == 32


def test_superseded_versions_come_on_request_marked_and_below_the_current_one(memory: Memory) -> None:
    assert "owner: jonas" not in statements(ask(memory.store, "who owns orders"))
    found = ask(memory.store, "jonas owner of orders", include_superseded=True).answers
    mine = [(one.belief.statement, one.state, one.is_current, one.until) for one in found if one.belief.urn == ORDERS]
    assert mine[:2] == [
        ("owner: lena", "current", True, ""),
        ("owner: jonas", "superseded", False, "until 2026-03-03 08:00"),
    ]


def test_a_question_about_the_past_is_answered_by_what_held_then(memory: Memory) -> None:
    then = When(now=NOW.now, as_of=parse("2026-03-02T12:00:00Z"))
    found = ask(memory.store, "who owns orders", then, aspect="ownership", entity="public.orders").answers
    assert [(one.belief.statement, one.state, one.is_current) for one in found] == [
        ("owner: jonas", "superseded", True)
    ]
    assert ask(memory.store, "who owns orders", When(now=NOW.now, as_of=parse("2025-01-01"))).answer == "nothing"
    known = When(now=NOW.now, known_at=parse("2026-03-02T12:00:00Z"))
    assert statements(ask(memory.store, "who owns orders", known, aspect="ownership", entity="public.orders")) == [
        "owner: jonas"
    ]


def test_what_is_gone_is_not_shown_as_current(memory: Memory) -> None:
    assert statements(ask(memory.store, "old_carts")) == ["soft-deleted"]
    assert ask(memory.store, "gold", aspect="tags").answer == "nothing"
    then = When(now=NOW.now, as_of=parse("2026-03-02T12:00:00Z"))
    assert statements(ask(memory.store, "gold", then, aspect="tags")) == ["tag: gold"]


def test_answers_are_narrowed(memory: Memory) -> None:
    found = ask(memory.store, "orders", platform="mysql")
    assert {one.belief.urn for one in found.answers} <= {SCRIPTS}
    assert {one.belief.aspect for one in ask(memory.store, "orders", aspect="column").answers} == {"column"}
    since = ask(memory.store, "orders", since=parse("2026-03-02T12:00:00Z"))
    assert statements(since) == ["owner: lena"]
    assert len(ask(memory.store, "orders", limit=1).answers) == 1
    with pytest.raises(UsageError, match="no aspect"):
        ask(memory.store, "orders", aspect="colour")
    with pytest.raises(UsageError, match="nothing is remembered"):
        ask(memory.store, "orders", entity="flux")


def test_what_waits_is_told_apart_from_what_is_held(memory: Memory) -> None:
    memory.scan(
        [mcp(ORDERS, "ownership", owners("mira")), mcp(dataset("shop.flux"), "globalTags", tags("x"))], at="2026-03-04"
    )
    found = ask(memory.store, "who owns orders")
    assert first(found) == ("confident", ORDERS, "owner: lena")
    assert [(one.urn, one.statement) for one in found.waiting] == [(ORDERS, "owner: mira")]
    only = ask(memory.store, "flux")
    assert (only.answer, only.answers) == ("nothing", ())
    assert {one.urn for one in only.waiting} == {dataset("shop.flux")}


def test_what_was_consolidated_and_not_indexed_yet_is_never_shown_as_it_was(memory: Memory) -> None:
    memory.remember([mcp(ORDERS, "ownership", owners("mira"))], at="2026-03-04")
    assert "owner: lena" not in statements(ask(memory.store, "who owns orders"))
    memory.index()
    assert first(ask(memory.store, "who owns orders"))[2] == "owner: mira"


HOSTILE = [
    "'", '"', "''", '""', "\\", "a'b", 'NEAR("orders", 5)', "orders*", "orders AND", "OR", "NOT orders", "^orders",
    "terms:orders", "orders:*", "!orders", "(orders", "orders)", "orders <-> items", "\x00orders\x00", "%s %(x)s :x ?",
    "orders\n\t\r", "\u202eorders", "\ud800", "-orders", "{orders}", "+orders", "a" * 10_000, "orders " * 2_000,
    "'; DROP TABLE passage; --", "=", "aspect=ownership", "3=ord", "_", "__", "orders_",
]  # fmt: skip


@pytest.mark.parametrize("question", HOSTILE)
def test_no_question_is_a_syntax_error(memory: Memory, question: str) -> None:
    assert ask(memory.store, question).answer in {"confident", "weak", "nothing"}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """The sample catalog on its three days."""
    memory = Memory(tmp_path_factory.mktemp("demo"))
    for path in sorted(CATALOG.glob("*.json")):
        memory.remember(path, at=f"{path.name[:10]}T08:00:00Z", source="shop")
    memory.index()
    return memory


def test_every_current_belief_is_found_by_its_own_words(demo: Memory) -> None:
    held = beliefs(demo.store, BeliefsRequest(limit=0), NOW).beliefs
    assert len(held) > 100
    missed = []
    for one in held:
        question = f"{name_of(one.belief.urn)} {one.belief.statement}"
        found = ask(demo.store, question, limit=20)
        if one.belief.id not in [answer.belief.id for answer in found.answers]:
            missed.append(question)
    assert missed == []


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(question=st.text(max_size=200))
def test_any_text_is_answered_by_what_is_current_or_by_nothing(demo: Memory, question: str) -> None:
    found = ask(demo.store, question)
    assert all(one.is_current for one in found.answers)
    assert bool(found.answers) == (found.answer != "nothing")


def test_common_words_lead_to_something(demo: Memory) -> None:
    assert ask(demo.store, "shop").answer == "confident"
    assert ask(demo.store, "shop orders").answers[0].belief.urn.endswith("shop.public.orders,PROD)")
