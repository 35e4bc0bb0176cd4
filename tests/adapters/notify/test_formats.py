"""What each way writes: within the receiver's limits, and nothing of a catalog breaks out of it."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from email import message_from_bytes, policy
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.adapters.notify import mail, slack, teams, webhook
from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.moment import parse
from palimpsest.core.notice import Line, Message
from palimpsest.core.notice_lines import MOST_LETTERS, MOST_LINES, plain

NOW = parse("2026-03-06T08:00:00Z")
LINK = "https://console.example.org/run/aa"
HOSTILE = [
    "<!channel> <!here|x> <@U123> <#C1> <!subteam^S1>",
    "@here @channel @everyone @group.",
    "<https://evil.example|Click> http://evil.example www.evil.example",
    "*bold* _it_ ~gone~ `code` ```block``` > quote &amp; &lt;!channel&gt;",
    "[Click](https://evil.example) ![x](https://evil.example/p.png) # head",
    "<script>alert(1)</script><img src=x onerror=alert(1)> \" ' </li></ul>",
    "x\r\nBcc: eve@example.org\r\n\r\nbody",
    "\r\n.\r\nMAIL FROM:<eve@example.org>",
    "<at>everyone</at> {{DATE(2017-02-14T06:08:00Z)}} ${evil}",
]


def message(*texts: str, link: str = LINK, impact: Impact = Impact.NOTABLE) -> Message:
    """A message with these lines."""
    lines = tuple(Line(text=plain(text), impact=impact, link=link) for text in texts)
    return Message(key="0123", title="2 changes in the catalog", lines=lines, link=link, changes=2, breaking=0)


def sections(payload: dict[str, Any]) -> list[str]:
    """The texts of the sections of Slack's blocks."""
    return [block["text"]["text"] for block in payload["blocks"] if block["type"] == "section"]


def check_slack(payload: dict[str, Any]) -> None:
    """Slack's documented limits and forms."""
    assert set(payload) == {"text", "blocks", "unfurl_links", "unfurl_media"}
    blocks = payload["blocks"]
    assert 1 <= len(blocks) <= 50
    for block in blocks:
        text = block["text"]
        if block["type"] == "header":
            assert text["type"] == "plain_text"
            assert 1 <= len(text["text"]) <= 150
        else:
            assert block["type"] == "section"
            assert (text["type"], text["verbatim"]) == ("mrkdwn", True)
            assert 1 <= len(text["text"]) <= 3_000
            # The only angle brackets are those of our own links.
            assert (
                re.sub(r"<https://console\.example\.org/run/aa\|(more|All changes)>", "", text["text"]).count("<") == 0
            )


class Tags(HTMLParser):
    """The tags of a document, with their attributes, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[tuple[str, str | None], ...]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("text", HOSTILE)
def test_slack_shows_hostile_text_to_the_letter(text: str) -> None:
    payload = slack.payload(message(text))
    check_slack(payload)
    body = sections(payload)[0]
    assert not re.search(r"@(channel|here|everyone|group)\b", body, re.IGNORECASE)
    assert not re.search(r"[*~`]", body)
    assert body.count("\n") == 0


def test_slack_escapes_once_and_as_documented() -> None:
    assert slack.escaped("a < b && c > d") == "a &lt; b &amp;&amp; c &gt; d"
    assert slack.escaped("&lt;!here&gt;") == "&amp;lt;!here&amp;gt;"
    assert slack.escaped("order_id ann@example.org") == "order_id ann@example.org"


def test_a_full_message_of_the_worst_letters_keeps_slacks_limits() -> None:
    worst = message(*["&" * MOST_LETTERS] * (MOST_LINES - 2))
    payload = slack.payload(worst)
    check_slack(payload)
    assert sum(text.count("&amp;") for text in sections(payload)) == MOST_LETTERS * (MOST_LINES - 2)


def test_a_full_message_of_the_worst_letters_keeps_teams_limit() -> None:
    for letter in "\U0001f600*":
        worst = message(*[letter * MOST_LETTERS] * (MOST_LINES - 2))
        size = len(json.dumps(teams.payload(worst), ensure_ascii=False, separators=(",", ":")).encode())
        assert size <= teams.MOST_BYTES


def test_teams_gets_an_adaptive_card_in_a_message() -> None:
    payload: Any = teams.payload(message("orders: owner changed", impact=Impact.BREAKING))
    assert payload["type"] == "message"
    (attachment,) = payload["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card = attachment["content"]
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    assert [block["type"] for block in card["body"]] == ["TextBlock", "TextBlock"]
    assert card["body"][1]["color"] == "Attention"
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "All changes", "url": LINK}]


@pytest.mark.parametrize("text", HOSTILE)
def test_teams_shows_hostile_text_to_the_letter(text: str) -> None:
    payload: Any = teams.payload(message(text))
    shown = payload["attachments"][0]["content"]["body"][1]["text"]
    assert not re.search(r"(?<!\\)[*_\[\]()<>`#!{}]", shown)
    assert "://" not in shown
    assert "entities" not in json.dumps(payload)


@pytest.mark.parametrize("text", HOSTILE)
def test_mail_takes_no_tag_and_no_header_of_hostile_text(text: str) -> None:
    raw = mail.written(message(text), sender="p@example.org", to="ann@example.org", now=NOW).as_bytes()
    read = message_from_bytes(raw, policy=policy.default)
    assert sorted(read.keys()) == [
        "Auto-Submitted", "Content-Type", "Date", "From", "MIME-Version", "Message-ID", "Subject", "To",
    ]  # fmt: skip
    assert (read["To"], read["Subject"]) == ("ann@example.org", "2 changes in the catalog")
    seen = Tags()
    seen.feed(read.get_body(("html",)).get_content())  # type: ignore[attr-defined]
    link = ("a", (("href", LINK),))
    assert seen.tags == [
        ("html", ()),
        ("body", ()),
        ("p", ()),
        ("b", ()),
        ("ul", ()),
        ("li", ()),
        link,
        ("p", ()),
        link,
    ]
    assert plain(text) in seen.text
    assert f"- {plain(text)}\n" in read.get_body(("plain",)).get_content()  # type: ignore[attr-defined]


def test_mail_to_what_is_no_address_is_refused() -> None:
    with pytest.raises(ValueError, match="linefeed"):
        mail.written(message("x"), sender="p@example.org", to="ann@example.org\nBcc: eve@example.org", now=NOW)


def test_a_mail_that_is_sent_again_bears_the_same_id() -> None:
    first, again = (
        mail.written(message("x"), sender="p@example.org", to="ann@example.org", now=parse(day))
        for day in ("2026-03-06", "2026-03-07")
    )
    assert first["Message-ID"] == again["Message-ID"] == "<0123@palimpsest.invalid>"


def test_the_webhook_gets_one_versioned_document_signed_by_its_secret() -> None:
    told = message("orders: column gone", impact=Impact.BREAKING)
    assert webhook.payload(told) == {
        "palimpsest": 1,
        "kind": "notice",
        "data": {
            "key": "0123",
            "title": "2 changes in the catalog",
            "changes": 2,
            "breaking": 0,
            "lines": [{"text": "orders: column gone", "impact": "breaking", "link": LINK}],
            "link": LINK,
        },
    }
    expected = hmac.new(b"secret", b"body", hashlib.sha256).hexdigest()
    assert webhook.signature(b"body", "secret") == f"sha256={expected}"


@given(st.lists(st.text(max_size=400), min_size=1, max_size=MOST_LINES - 2))
def test_whatever_a_catalog_says_every_format_holds(texts: list[str]) -> None:
    told = message(*texts)
    check_slack(slack.payload(told))
    json.dumps(teams.payload(told)).encode()
    seen = Tags()
    seen.feed(mail.html(told))
    assert {tag for tag, _ in seen.tags} == {"html", "body", "p", "b", "ul", "li", "a"}
    raw = mail.written(told, sender="p@example.org", to="ann@example.org", now=NOW).as_bytes()
    assert message_from_bytes(raw, policy=policy.default)["To"] == "ann@example.org"
