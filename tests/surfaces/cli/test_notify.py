"""`palimpsest notify`, and `run` with rules: who is told, what is printed, the exit code; no secret anywhere."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from palimpsest.surfaces.cli.app import main
from tests.adapters.embed.serving import Fault, Serving, served
from tests.adapters.notify.receiving import postbox
from tests.building import Record, dataset, mcp, owners, status
from tests.robustness.catalogs import write

ORDERS = dataset("shop.orders")
MONDAY = [mcp(ORDERS, "status", status()), mcp(ORDERS, "ownership", owners("jonas"))]
FRIDAY = [mcp(ORDERS, "status", status()), mcp(ORDERS, "ownership", owners("ana"))]
GONE = [mcp(ORDERS, "status", status(removed=True))]
SECRET = "/services/secret-of-the-test"
TEAM = """
[[notify]]
name = "team"
to = "slack"
url_env = "TEAM_URL"
"""
BY_MAIL = """
[smtp]
host = "127.0.0.1"
port = {port}
security = "none"
sender = "palimpsest@example.org"

[[notify]]
name = "owners"
to = "mail"
recipient = "owners"
addresses = {{ jonas = "jonas@example.org" }}
"""

Told = tuple[int, list[str], list[str]]
Call = Callable[..., Told]


class Receiving(Serving):
    """A receiver of messages over HTTP."""

    def answer(self, path: str, headers: dict[str, str], body: dict[str, object]) -> tuple[int, object]:
        """It takes what comes."""
        self.requests.append((path, headers, body))
        return 200, "ok"


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiving]:
    """One that TEAM_URL names."""
    with served(Receiving()) as state:
        monkeypatch.setenv("TEAM_URL", state.url + SECRET)
        yield state


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Calls a command under settings; the exit code, the lines on stdout, those on stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def go(settings: str, *arguments: str) -> Told:
        head = f'store = "sqlite:///{tmp_path}/memory.db"\n'
        (tmp_path / "palimpsest.toml").write_text(head + settings, encoding="utf-8")
        code = main(list(arguments))
        out, err = capsys.readouterr()
        assert "secret-of-the-test" not in out + err
        return code, out.splitlines(), err.splitlines()

    return go


@pytest.fixture
def run(call: Call, tmp_path: Path) -> Call:
    """Runs on records of a day in March."""

    def go(settings: str, records: list[Record], day: int, *options: str) -> Told:
        write(tmp_path, "catalog.json", records)
        return call(settings, "run", "file:catalog.json", "--at", f"2026-03-{day:02}T08:00:00Z", *options)

    return go


def test_a_run_tells_what_it_found_even_the_one_before_which_the_rule_was_written(
    run: Call, receiver: Receiving
) -> None:
    assert run("", MONDAY, 2)[0] == 0
    code, out, _ = run(TEAM, FRIDAY, 6)
    assert (code, out[-1]) == (0, "notify: slack TEAM_URL (rule team): 1 change in the catalog")
    ((path, _, body),) = receiver.requests
    assert (path, body["text"]) == (SECRET, "1 change in the catalog")
    code, out, _ = run(TEAM, FRIDAY, 7)
    assert (code, len(receiver.requests)) == (0, 1)
    assert not any(line.startswith("notify") for line in out)


def test_a_run_whose_receiver_is_down_exits_1_and_the_next_one_tells_it(run: Call, receiver: Receiving) -> None:
    run(TEAM, MONDAY, 2)
    receiver.faults.append(Fault(status=404, body=f"no_service {SECRET}"))
    code, out, _ = run(TEAM, FRIDAY, 6)
    said = "notify: slack TEAM_URL (rule team): did not accept it (404): no_service …; kept for the next time"
    assert (code, out[-1]) == (1, said)
    code, out, _ = run(TEAM, FRIDAY, 7)
    assert (code, out[-1]) == (0, "notify: slack TEAM_URL (rule team): 1 change in the catalog")


def test_a_run_with_a_rule_that_cannot_be_followed_exits_2_before_it_reads_anything(run: Call) -> None:
    code, out, err = run(TEAM, MONDAY, 2)
    assert (code, out, err[0]) == (2, [], "error: notify rule 'team': TEAM_URL is not set")


def test_notify_alone_tells_once_and_in_one_json_document(call: Call, run: Call, receiver: Receiving) -> None:
    run(TEAM, MONDAY, 2)
    run("", GONE, 6)
    code, out, _ = call(TEAM, "notify", "--json")
    told = json.loads(out[0])
    assert (code, told["kind"], told["data"]["notices"][0]["message"]["breaking"]) == (0, "notify", 1)
    assert len(receiver.requests) == 1
    assert call(TEAM, "notify")[:2] == (0, ["nothing is new: nobody was told"])
    assert call(TEAM, "-q", "notify")[:2] == (0, [])


def test_a_dry_run_prints_what_would_go_to_whom_sends_nothing_and_needs_no_address(
    call: Call, run: Call, monkeypatch: pytest.MonkeyPatch, receiver: Receiving, tmp_path: Path
) -> None:
    run(TEAM, MONDAY, 2)
    run("", FRIDAY, 6)
    monkeypatch.delenv("TEAM_URL")
    with sqlite3.connect(tmp_path / "memory.db") as connection:
        before = list(connection.iterdump())
    code, out, _ = call(TEAM, "notify", "--dry-run")
    assert (code, out) == (0, [
        "slack TEAM_URL (rule team):",
        "  1 change in the catalog",
        "  - orders: owner was jonas, now ana, between 2026-03-02 08:00 and 2026-03-06 08:00",
    ])  # fmt: skip
    with sqlite3.connect(tmp_path / "memory.db") as connection:
        assert list(connection.iterdump()) == before
    assert receiver.requests == []


def test_owners_are_mailed_and_the_others_are_counted(run: Call) -> None:
    with postbox() as state:
        settings = BY_MAIL.format(port=state.port)
        run(settings, MONDAY, 2)
        assert run(settings, FRIDAY, 6)[0] == 0
        code, out, _ = run(settings, GONE, 7)
    assert [recipients for _, recipients, _ in state.mails] == [["jonas@example.org"]]
    assert (code, out[-1]) == (0, "notify: rule owners: nobody can be told of 1 change")


def test_since_lets_a_rule_that_is_new_tell_of_the_past(call: Call, run: Call, receiver: Receiving) -> None:
    run("", MONDAY, 2)
    run("", FRIDAY, 6)
    assert call(TEAM, "notify", "--since", "1h")[0] == 0
    assert len(receiver.requests) == 1
    code, _, err = call(TEAM, "notify", "--since", "yesterday")
    assert (code, err[0]) == (2, "error: 'yesterday' is no time to look back to")


def test_without_rules_there_is_nothing_to_do(call: Call) -> None:
    code, _, err = call("", "notify")
    assert (code, err[0]) == (2, "error: there are no rules")


RULE = '[[notify]]\nname = "r"\nto = "{to}"\n{more}\n'


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (RULE.format(to="slack", more=""), "notify rule 'r': it does not tell whom to send to"),
        (RULE.format(to="mail", more=""), "notify rule 'r': it does not tell whom to send to"),
        (RULE.format(to="mail", more='recipient = "a@b.org, c@d.org"'), "notify rule 'r': 'a@b.org, c"),
        (RULE.format(to="slack", more='url_env = "BAD_URL"'), "notify rule 'r': BAD_URL holds no http(s) address"),
        (RULE.format(to="slack", more='url_env = "X"\naspects = ["owner"]'), "notify rule 'r': 'owner' is no aspect"),
        (RULE.format(to="mail", more='recipient = "a@b.org"'), "smtp.host and smtp.sender are not set"),
        (RULE.format(to="mail", more='recipient = "a@b.org"\naddresses = {a = "b@c.org"}'), "notify rule 'r': add"),
        (RULE.format(to="pigeon", more=""), "notify (from "),
        (RULE.format(to="slack", more='chanel = "x"'), "notify (from "),
        (RULE.format(to="slack", more='url_env = "X"') * 2, "notify: two rules are named 'r'"),
    ],
)  # fmt: skip
def test_a_rule_that_cannot_be_followed_is_a_clear_error(
    call: Call, monkeypatch: pytest.MonkeyPatch, rule: str, said: str
) -> None:
    monkeypatch.setenv("BAD_URL", "ftp://example.org/secret-of-the-test")
    code, _, err = call(rule, "notify")
    assert code == 2
    assert err[0].startswith(f"error: {said}")


def test_the_settings_show_rules_and_no_secret(call: Call, receiver: Receiving) -> None:
    code, out, _ = call(TEAM + '[smtp]\npassword = "secret-of-the-test"\n', "config", "show", "--json")
    shown = {one["key"]: one["value"] for one in json.loads(out[0])["data"]}
    assert code == 0
    assert shown["notify"] == [{"name": "team", "to": "slack", "url_env": "TEAM_URL"}]
    assert shown["smtp.password"] == "set"
