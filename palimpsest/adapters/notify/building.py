"""Builds the ways to reach people that rules name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from palimpsest.adapters.notify.mail import MailNotifier, MailServer
from palimpsest.core.errors import ConfigError
from palimpsest.core.moment import Moment
from palimpsest.ports import Notifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """What is to be built: the addresses over HTTP by way and name, what requests are signed with, the mail server."""

    urls: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    mail: MailServer | None = None


@contextmanager
def built(ways: Ways, now: Callable[[], Moment]) -> Iterator[dict[str, Notifier]]:
    """The notifiers by way, closed when the block ends. Raises ConfigError when a package is missing."""
    found: dict[str, Notifier] = {}
    with ExitStack() as stack:
        if ways.mail is not None:
            found["mail"] = MailNotifier(ways.mail, now)
        if ways.urls:
            found |= _over_http(ways)
        for notifier in found.values():
            stack.callback(notifier.close)
        yield found


def _over_http(ways: Ways) -> dict[str, Notifier]:
    try:
        from palimpsest.adapters.notify.slack import SlackNotifier
        from palimpsest.adapters.notify.teams import TeamsNotifier
        from palimpsest.adapters.notify.webhook import WebhookNotifier
    except ImportError as error:
        raise ConfigError(
            f"notices over HTTP need more packages: {error.name} is missing",
            "install them: pip install 'datahub-palimpsest[notify]'",
        ) from error
    made: dict[str, Callable[[Mapping[str, str]], Notifier]] = {
        "slack": SlackNotifier,
        "teams": TeamsNotifier,
        "webhook": lambda urls: WebhookNotifier(urls, ways.secrets),
    }
    return {way: made[way](urls) for way, urls in ways.urls.items()}
