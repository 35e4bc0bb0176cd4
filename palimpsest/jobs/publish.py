"""publish: give each dataset with a revision one link to its page, labelled from what is in memory.

Nothing is written where nothing changed: a label moves only when the revision count does, or the page's address.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from palimpsest.core.errors import ConfigError
from palimpsest.core.ids import EntityId
from palimpsest.core.link import label_of, url_of
from palimpsest.ports import Clock, LinkWriter, PageProbe
from palimpsest.store import publications
from palimpsest.store.engine import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkChange:
    """One link to write: what stood there before, None for a new one, and what will."""

    urn: str
    url: str
    before: str | None
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishReport:
    """What was published: the links written, those that stood already, and those a re-read did not find."""

    target: str
    dry_run: bool
    changes: tuple[LinkChange, ...]
    unchanged: int
    lost: tuple[str, ...]


def publish(
    store: Store,
    writer: LinkWriter,
    probe: PageProbe,
    *,
    public_url: str | None,
    clock: Clock,
    all_datasets: bool = False,
    allow_local: bool = False,
    dry_run: bool = False,
) -> PublishReport:
    """Publish links. Raises ConfigError without a public address, CatalogError when the page or the target fails."""
    address = _checked(public_url, allow_local=allow_local)
    found = store.read(lambda connection: publications.candidates(connection, all_datasets=all_datasets))
    before = store.read(lambda connection: publications.published(connection, writer.target))
    plan: list[tuple[EntityId, LinkChange, int]] = []
    for candidate in found:
        url = url_of(address, candidate.entity)
        old = before.get(candidate.entity)
        if old is not None and old.revisions == candidate.revisions and old.url == url:
            continue
        label = label_of(candidate.beliefs, candidate.revisions, candidate.latest)
        change = LinkChange(urn=candidate.urn, url=url, before=old.label if old else None, label=label)
        plan.append((candidate.entity, change, candidate.revisions))
    changes = tuple(change for _, change, _ in plan)
    lost: tuple[str, ...] = ()
    if plan and not dry_run:
        probe.check(changes[0].url)
        lost = _apply(store, writer, plan, clock)
    return PublishReport(
        target=writer.target, dry_run=dry_run, changes=changes, unchanged=len(found) - len(plan), lost=lost
    )


def _apply(
    store: Store, writer: LinkWriter, plan: list[tuple[EntityId, LinkChange, int]], clock: Clock
) -> tuple[str, ...]:
    now = clock.now()
    seen = writer.write((change.urn, change.url, change.label, now) for _, change, _ in plan)
    rows: list[dict[str, object]] = [
        {
            "entity_id": entity,
            "url": change.url,
            "label": change.label,
            "revisions": revisions,
            "published_at": now,
            "reread_at": now if change.url in seen else None,
        }
        for entity, change, revisions in plan
    ]
    store.write(lambda connection: publications.remember(connection, writer.target, rows))
    return tuple(change.urn for _, change, _ in plan if change.url not in seen)


def _checked(public_url: str | None, *, allow_local: bool) -> str:
    if not public_url:
        raise ConfigError(
            "console.public_url is not set: a link needs an address that people reach",
            "set it in palimpsest.toml, or as PALIMPSEST_CONSOLE__PUBLIC_URL",
        )
    if not allow_local and _is_local(urlsplit(public_url).hostname or ""):
        raise ConfigError(
            f"console.public_url is {public_url}: nobody else reaches this machine's own address",
            "set the public address, or publish with --allow-local",
        )
    return public_url


def _is_local(host: str) -> bool:
    """Whether a host is this machine for everybody."""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified
