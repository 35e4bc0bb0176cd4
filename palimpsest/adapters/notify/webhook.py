"""Messages as JSON for a program: one versioned document, signed, with a key by which one that comes twice is known."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping

from palimpsest.adapters.notify.patient import PATIENCE, TIMEOUT_S
from palimpsest.adapters.notify.remote import Posts
from palimpsest.core.notice import Message
from palimpsest.core.patience import Failure, Patience

VERSION = 1
SIGNATURE, KEY = "x-palimpsest-signature", "idempotency-key"


class WebhookNotifier:
    """Sends to webhooks. `secrets` has, by address, what requests are signed with, where they are to be."""

    def __init__(
        self,
        urls: Mapping[str, str],
        secrets: Mapping[str, str],
        *,
        patience: Patience = PATIENCE,
        timeout: float = TIMEOUT_S,
    ) -> None:
        self._posts = Posts(urls, patience=patience, timeout=timeout)
        self._secrets = secrets

    def send(self, message: Message, address: str) -> Failure | None:
        """Send one message."""
        body = json.dumps(payload(message), ensure_ascii=False, separators=(",", ":")).encode()
        headers = {KEY: message.key}
        if address in self._secrets:
            headers[SIGNATURE] = signature(body, self._secrets[address])
        return self._posts.post(address, body, headers)

    def close(self) -> None:
        """Close the connections."""
        self._posts.close()


def payload(message: Message) -> dict[str, object]:
    """The document."""
    lines = [{"text": line.text, "impact": line.impact.word, "link": line.link or None} for line in message.lines]
    data = {
        "key": message.key,
        "title": message.title,
        "changes": message.changes,
        "breaking": message.breaking,
        "lines": lines,
        "link": message.link or None,
    }
    return {"palimpsest": VERSION, "kind": "notice", "data": data}


def signature(body: bytes, secret: str) -> str:
    """`sha256=` and the HMAC of the body in hexadecimal digits."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
