"""Messages as Slack's incoming webhooks take them: blocks.

Limits: https://docs.slack.dev/reference/block-kit/blocks (50 blocks; 150 characters in a header, 3,000 in a section);
escaping: https://docs.slack.dev/messaging/formatting-message-text. Nothing of a catalog can mention, link or format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from palimpsest.adapters.notify.patient import PATIENCE, TIMEOUT_S
from palimpsest.adapters.notify.remote import Posts
from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.notice import Line, Message
from palimpsest.core.patience import Failure, Patience

MOST_BLOCKS, MOST_IN_HEADER, MOST_IN_SECTION = 50, 150, 3_000
_MARKS = {Impact.BREAKING: "\N{LARGE RED CIRCLE}", Impact.NOTABLE: "\N{BULLET}", Impact.MINOR: "\N{WHITE BULLET}"}
# What would format a text has no escape: it is written with a letter that looks alike.
_LOOKALIKES = str.maketrans(
    {"*": "\N{ASTERISK OPERATOR}", "~": "\N{TILDE OPERATOR}", "`": "\N{MODIFIER LETTER GRAVE ACCENT}"}
)
_EVERYBODY = re.compile(r"@(?=(?:channel|here|everyone|group)\b)", re.IGNORECASE)
_EDGE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")


class SlackNotifier:
    """Sends to incoming webhooks of Slack."""

    def __init__(self, urls: Mapping[str, str], *, patience: Patience = PATIENCE, timeout: float = TIMEOUT_S) -> None:
        self._posts = Posts(urls, patience=patience, timeout=timeout)

    def send(self, message: Message, address: str) -> Failure | None:
        """Send one message."""
        return self._posts.post(address, json.dumps(payload(message)).encode(), {})

    def close(self) -> None:
        """Close the connections."""
        self._posts.close()


def payload(message: Message) -> dict[str, object]:
    """The body of the request."""
    blocks: list[dict[str, object]] = [
        {"type": "header", "text": {"type": "plain_text", "text": message.title[:MOST_IN_HEADER], "emoji": False}}
    ]
    blocks += [_section(text) for text in _packed([_said(line) for line in message.lines])]
    if message.link:
        blocks.append(_section(f"<{_address(message.link)}|All changes>"))
    return {
        "text": escaped(message.title),
        "blocks": blocks[:MOST_BLOCKS],
        "unfurl_links": False,
        "unfurl_media": False,
    }


def escaped(text: str) -> str:
    """A text of a catalog as Slack shows it to the letter: no mention, no link, no format."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").translate(_LOOKALIKES)
    return _EVERYBODY.sub("@\N{WORD JOINER}", _EDGE.sub("\N{LOW LINE}\N{WORD JOINER}", text))


def _said(line: Line) -> str:
    more = f" <{_address(line.link)}|more>" if line.link else ""
    return f"{_MARKS[line.impact]} {escaped(line.text)}{more}"


def _address(url: str) -> str:
    """An address of ours within <…|…>."""
    return url.replace("&", "&amp;").replace("<", "%3C").replace(">", "%3E").replace("|", "%7C")


def _packed(lines: list[str]) -> list[str]:
    """Lines in as few texts as a section takes."""
    found: list[str] = []
    for line in lines:
        if found and len(found[-1]) + 1 + len(line) <= MOST_IN_SECTION:
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found


def _section(text: str) -> dict[str, object]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}
