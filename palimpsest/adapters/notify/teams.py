"""Messages as workflows of Microsoft Teams take them: an adaptive card in a message.

Format: https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using (28 KB);
text: https://learn.microsoft.com/adaptive-cards/authoring-cards/text-features. A catalog's text is no Markdown.
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

MOST_BYTES = 28_000
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~&])")
_SCHEME = re.compile(r"(?<=[A-Za-z])://|\bwww(?=\\?\.)", re.IGNORECASE)


class TeamsNotifier:
    """Sends to webhooks of Teams workflows."""

    def __init__(self, urls: Mapping[str, str], *, patience: Patience = PATIENCE, timeout: float = TIMEOUT_S) -> None:
        self._posts = Posts(urls, patience=patience, timeout=timeout, most=MOST_BYTES)

    def send(self, message: Message, address: str) -> Failure | None:
        """Send one message."""
        body = json.dumps(payload(message), ensure_ascii=False, separators=(",", ":")).encode()
        return self._posts.post(address, body, {})

    def close(self) -> None:
        """Close the connections."""
        self._posts.close()


def payload(message: Message) -> dict[str, object]:
    """The body of the request."""
    title = {"type": "TextBlock", "text": escaped(message.title), "weight": "Bolder", "size": "Medium", "wrap": True}
    card: dict[str, object] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [title, *(_block(line) for line in message.lines)],
    }
    if message.link:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "All changes", "url": message.link}]
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def escaped(text: str) -> str:
    """A text of a catalog as a card shows it to the letter; what looks like an address is none."""
    text = _MARKDOWN.sub(r"\\\1", text)
    return _SCHEME.sub(lambda found: found[0][:-2] + "\N{WORD JOINER}" + found[0][-2:], text)


def _block(line: Line) -> dict[str, object]:
    colour = {"color": "Attention"} if line.impact is Impact.BREAKING else {}
    return {"type": "TextBlock", "text": f"\N{BULLET} {escaped(line.text)}", "wrap": True, "spacing": "Small", **colour}
