"""The parts of a hook by themselves: which store it reads, what a prompt names, what is news, what is counted."""

from __future__ import annotations

import json
import os
import re
from hashlib import md5
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest import config
from palimpsest.core.brief import FRAME, tokens_of
from palimpsest.core.moment import Moment
from palimpsest.surfaces.hooks import counting
from palimpsest.surfaces.hooks.naming import names_in, urns_in
from palimpsest.surfaces.hooks.news import Version, news_of
from palimpsest.surfaces.hooks.outcome import Outcome
from palimpsest.surfaces.hooks.settings import sqlite_file, store_url
from palimpsest.surfaces.hooks.speech import BUDGET, MOST_LINES, prompt, session
from tests.building import dataset

ROOT = Path(__file__).resolve().parents[3]
DAY = 86_400_000
ORDERS, CARTS = dataset("shop.orders"), dataset("shop.carts")


# --- which store ------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in [name for name in os.environ if name.startswith(("PALIMPSEST_", "XDG_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "code" / "deep").mkdir(parents=True)
    (tmp_path / ".config" / "palimpsest").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "code" / "deep")
    return tmp_path


PLACES = {
    "no file": {},
    "the project's": {"code/palimpsest.toml": "sqlite:///a.db"},
    "above the project's": {"palimpsest.toml": "sqlite:///a.db"},
    "the user's": {".config/palimpsest/palimpsest.toml": "sqlite:///b.db"},
    "both": {"code/palimpsest.toml": "sqlite:///a.db", ".config/palimpsest/palimpsest.toml": "sqlite:///b.db"},
    "one without a store": {"code/palimpsest.toml": "", ".config/palimpsest/palimpsest.toml": "sqlite:///b.db"},
    "beyond a git tree": {"code/deep/.git": "", "code/palimpsest.toml": "sqlite:///a.db"},
    "the home folder": {"code/palimpsest.toml": "sqlite:///~/c.db"},
    "a whole path": {"code/palimpsest.toml": "sqlite:////var/x.db"},
    "a query": {"code/palimpsest.toml": "sqlite:///a.db?mode=ro"},
    "a server": {"code/palimpsest.toml": "postgresql://me@db/x"},
    "memory": {"code/palimpsest.toml": "sqlite:///:memory:"},
}


@pytest.mark.parametrize("files", PLACES.values(), ids=PLACES.keys())
@pytest.mark.parametrize("variable", [None, "", "sqlite:///v.db", "sqlite:///~/v.db", "cockroachdb://db/x"])
def test_the_store_is_the_one_that_every_other_command_uses(
    files: dict[str, str], variable: str | None, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, url in files.items():
        (home / name).write_text(f'store = "{url}"\n' if url else "")
    if variable is not None:
        monkeypatch.setenv("PALIMPSEST_STORE", variable)
    assert store_url(Path.cwd()) == config.load().settings.store
    flag = {"store": "sqlite:///f.db"}
    assert store_url(Path.cwd(), flag="sqlite:///f.db") == config.load(None, flag).settings.store


def test_the_named_settings_file_goes_before_the_found_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two", "code/palimpsest"):
        (home / f"{name}.toml").write_text(f'store = "sqlite:///{name[:1]}.db"\n')
    assert store_url(Path.cwd(), config=home / "one.toml") == config.load(home / "one.toml").settings.store
    monkeypatch.setenv("PALIMPSEST_CONFIG", "~/two.toml")
    assert store_url(Path.cwd()) == config.load().settings.store == f"sqlite:///{home}/t.db"


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite:////var/x.db", "/var/x.db"),
        ("sqlite+pysqlite:////var/x.db", "/var/x.db"),
        ("sqlite:////var/x.db?mode=ro", None),
        ("sqlite:///:memory:", None),
        ("sqlite:///file:x.db", None),
        ("postgresql+psycopg://db/x", None),
    ],
)
def test_only_a_plain_file_is_read_here(url: str, file: str | None) -> None:
    assert sqlite_file(url) == (Path(file) if file else None)


# --- what a prompt names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "urns"),
    [
        (f"Look at {ORDERS}.", [ORDERS]),
        (f"({ORDERS}), and '{CARTS}'", [ORDERS, CARTS]),
        (f"{ORDERS}{CARTS} {ORDERS}", [ORDERS, CARTS]),
        ("see urn:li:domain:sales, please", ["urn:li:domain:sales"]),
        ("urn:li:dataset:(never closed", ["urn:li:dataset:(never"]),
        ("urn:li: alone", []),
    ],
)
def test_urns_are_found_whole(text: str, urns: list[str]) -> None:
    assert urns_in(text) == urns


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Drop shop.public.orders.discount, please.", ["shop.public.orders.discount", "shop.public.orders"]),
        ("orders and customers", []),
        ("`db/schema.table`", ["db/schema.table", "db/schema"]),
        ("über.umsätze", ["über.umsätze", "über"]),
        ("a sentence.Another", ["sentence.Another", "sentence"]),
    ],
)
def test_dotted_names_are_found_with_and_without_their_last_part(text: str, names: list[str]) -> None:
    assert names_in(text) == names


@given(st.text(alphabet="urn:li()., a", max_size=200))
def test_whatever_stands_in_a_prompt_something_finite_is_found(text: str) -> None:
    assert all(one in text for one in [*urns_in(text), *names_in(text)])


# --- what is news -----------------------------------------------------------------------------------------------


def version(
    number: int,
    value: object,
    *,
    at: int,
    until: int | None = None,
    state: str = "",
    urn: str = ORDERS,
    aspect: str = "ownership",
    observer: str = "",
    belief: bytes | None = None,
) -> Version:
    """A version of one belief, the first one a first reading; its times are days."""
    return Version(
        belief=belief or md5(f"{urn}{aspect}".encode()).digest(),
        number=number,
        state=state or ("current" if until is None else "superseded"),
        recorded_at=at * DAY,
        closed_at=until * DAY if until is not None else None,
        valid_from=at * DAY,
        valid_to=until * DAY if until is not None else None,
        urn=urn,
        source="notes" if observer else "file",
        observer=observer,
        aspect=aspect,
        key="",
        kind="said" if observer else "first" if number == 1 else "changed",
        baseline=number == 1 and not observer,
        value=json.dumps(value),
        forgotten_at=None,
        actor="",
        stamped_at=None,
        after_at=None,
        observed_at=at * DAY,
    )


def owner(*names: str) -> list[list[str]]:
    return [[f"urn:li:corpuser:{name}", "TECHNICAL_OWNER"] for name in names]


def told(versions: list[Version], since: int) -> list[str]:
    return [one.said for one in news_of(versions, {ORDERS: Moment(since * DAY), CARTS: Moment(since * DAY)})]


CHAIN = [
    version(1, owner("a"), at=1, until=3),
    version(2, owner("b"), at=3, until=5),
    version(3, owner("c"), at=5),
]


@pytest.mark.parametrize(
    ("since", "said"),
    [
        (6, []),
        (5, []),
        (4, ["owner was b, now c"]),
        (2, ["owner was a, now c"]),  # what came and went in between is no news
        (0, ["owner was a, now c"]),  # a first reading is none (R14), what followed it is
    ],
)
def test_news_is_the_difference_between_then_and_now(since: int, said: list[str]) -> None:
    assert told(CHAIN, since) == said


def test_what_was_reverted_is_no_news() -> None:
    back = [version(1, owner("a"), at=1, until=3), version(2, owner("b"), at=3, until=5), version(3, owner("a"), at=5)]
    assert told(back, 2) == []
    assert told(back, 4) == ["owner was b, now a"]


def test_what_ended_is_news_until_it_is_old() -> None:
    ended = [version(1, owner("a"), at=1, until=3, state="retracted")]
    assert told(ended, 2) == ["owner a removed, no owners left"]
    assert told(ended, 4) == []


def test_nothing_contested_or_proposed_is_told_as_current() -> None:
    for state in ("contested", "proposed"):
        assert told([version(1, owner("a"), at=1), version(2, owner("x"), at=3, state=state)], 2) == []


def test_what_an_agent_noted_is_news_once() -> None:
    note = version(1, "counts voided orders", at=3, aspect="note", observer="agent:codex")
    (news,) = news_of([note], {ORDERS: Moment(2 * DAY)})
    assert (news.said, news.by) == ("note: counts voided orders", "agent codex")
    assert told([note], 3) == []


def test_an_aspect_of_a_later_version_of_us_is_passed_over() -> None:
    assert told([version(1, 1, at=1, until=3, aspect="mood"), version(2, 2, at=3, aspect="mood")], 2) == []


def test_what_breaks_comes_first_then_the_newest() -> None:
    renamed = [version(1, owner("a"), at=1, until=4, urn=CARTS), version(2, owner("b"), at=4, urn=CARTS)]
    gone = [
        version(1, {"exists": True}, at=1, until=3, aspect="existence", urn=CARTS),
        version(2, {"exists": False, "ground": "status"}, at=3, aspect="existence", urn=CARTS),
    ]
    changed = [version(1, owner("a"), at=1, until=3), version(2, owner("b"), at=3)]
    assert told([*changed, *renamed], 2) == ["owner was a, now b"] * 2
    found = news_of([*changed, *renamed], {ORDERS: Moment(0), CARTS: Moment(0)})
    assert [one.urn for one in found] == [CARTS, ORDERS]
    assert told([*changed, *renamed, *gone], 2) == ["gone (soft-deleted)", "owner was a, now b"]


@given(st.lists(st.text(max_size=400), min_size=1, max_size=40))
def test_whatever_the_catalog_holds_the_answer_is_within_its_budget_and_lines(names: list[str]) -> None:
    versions, since = [], {}
    for at, name in enumerate(names):
        urn = dataset(f"{name}{at}")
        belief = at.to_bytes(16)
        since[urn] = Moment(2 * DAY)
        versions += [
            version(1, owner("a"), at=1, until=3, urn=urn, belief=belief),
            version(2, owner(f"b{name}"), at=3, urn=urn, belief=belief),
        ]
    found = news_of(versions, since)
    for said in (
        session(found, last=Moment(2 * DAY), agent="codex", now=Moment(9 * DAY)),
        session(found, last=None, agent="codex", now=Moment(9 * DAY)),
        prompt(found, now=Moment(9 * DAY)),
    ):
        lines = said.text.split("\n")
        assert tokens_of(said.text) <= BUDGET
        if said.text:
            assert lines[1] == FRAME
            stated = [line for line in lines if line.startswith('- "')]
            assert len(said.urns) <= len(stated) <= MOST_LINES
            left = len(names) - len(stated)
            assert (f"- and {left:,} more" in lines) is (left > 0)


# --- what is counted --------------------------------------------------------------------------------------------


def test_a_file_of_counts_makes_way_for_a_new_one(home: Path) -> None:
    for _ in range(30):
        counting.count("prompt", "codex", Outcome.LOCKED, at=1, milliseconds=2)
    file = home / ".local/state/palimpsest/hooks.log"
    file.write_text(file.read_text() + "1 stop codex stopped 3\n" * 10_000)
    counting.count("prompt", "a b\nc", Outcome.LATE, at=1, milliseconds=2)
    assert not file.exists()
    counting.count("prompt", "codex", Outcome.ANSWERED, at=1, milliseconds=2)
    tally = counting.tally()
    assert tally.outcomes == {"locked": 30, "stopped": 10_000, "late": 1, "answered": 1}
    assert (tally.clients, tally.newest, tally.amiss) == (("a_b_c", "codex"), 20, 1)


def test_every_outcome_that_is_counted_is_explained() -> None:
    explained = re.findall(r"`(\w+)`", (ROOT / "docs" / "hooks.md").read_text().partition("| word |")[2])
    assert [one for one in Outcome if one not in explained] == []


def test_what_cannot_be_counted_is_no_error(home: Path) -> None:
    (home / ".local").write_text("no folder")
    counting.count("prompt", "codex", Outcome.LATE, at=1, milliseconds=2)
    assert counting.tally().outcomes == {}
