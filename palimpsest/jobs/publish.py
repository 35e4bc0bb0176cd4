"""publish: give each dataset with a revision one link to its page, labelled from what is in memory.

Nothing is written where nothing changed: a label moves only when the revision count does, or the page's address.
A running catalog is looked at in every run: a link that an ingestion wiped is put back, one that a person took away
stays away.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from palimpsest.core.errors import ConfigError
from palimpsest.core.ids import EntityId
from palimpsest.core.link import is_ours, label_of, url_of
from palimpsest.core.link_list import LinkOutcome, LinkResult, ShownLink, WantedLink
from palimpsest.core.moment import Moment
from palimpsest.ports import CatalogLinks, Clock, LinkWriter, PageProbe
from palimpsest.store import publications
from palimpsest.store.engine import Store
from palimpsest.store.publications import Candidate, Published

_CHANGES = frozenset({LinkResult.WRITTEN, LinkResult.RESTORED})
_LOOKED_AT = frozenset({LinkResult.UNCHANGED, LinkResult.KEPT_DELETED})
_NOT_FOUND = "not found again after writing"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkChange:
    """One link to write: what stood there before, None for a new one, and what will.

    The whole lists, ours and everybody else's, where the target is a running catalog.
    """

    urn: str
    url: str
    before: str | None
    label: str
    restored: bool = False
    list_before: tuple[ShownLink, ...] = ()
    list_after: tuple[ShownLink, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFailure:
    """A dataset whose link is not as it should be, and why."""

    urn: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishReport:
    """What was published: the links written, those that stood already, those that stay deleted, those that failed.

    `notes`: what else a person should know of a dataset, as `URN: text`.
    """

    target: str
    dry_run: bool
    changes: tuple[LinkChange, ...]
    unchanged: int
    kept_deleted: tuple[str, ...] = ()
    failed: tuple[LinkFailure, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def lost(self) -> tuple[str, ...]:
        """The datasets whose link is not as it should be."""
        return tuple(failure.urn for failure in self.failed)


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
    """Write links down. Raises ConfigError without a public address, CatalogError when the page or the target fails."""
    address = check_address(public_url, allow_local=allow_local)
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
        target=writer.target,
        dry_run=dry_run,
        changes=changes,
        unchanged=len(found) - len(plan),
        failed=tuple(LinkFailure(urn=urn, why=_NOT_FOUND) for urn in lost),
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


def publish_in_catalog(
    store: Store,
    links: CatalogLinks,
    probe: PageProbe,
    *,
    public_url: str | None,
    clock: Clock,
    all_datasets: bool = False,
    allow_local: bool = False,
    force: bool = False,
    dry_run: bool = False,
) -> PublishReport:
    """Publish links in a running catalog, and look after those published before. `force`: those that people deleted.

    Raises ConfigError without a public address, CatalogError when the page does not answer or the catalog fails.
    """
    address = check_address(public_url, allow_local=allow_local)
    before = store.read(lambda connection: publications.published(connection, links.target))
    found = store.read(lambda connection: publications.candidates(connection, all_datasets=True))
    if not all_datasets:
        found = [candidate for candidate in found if candidate.revisions or candidate.entity in before]
    now = clock.now()
    wanted = {
        candidate.urn: _wanted(candidate, before.get(candidate.entity), address, now, force=force)
        for candidate in found
    }
    planned = list(links.plan(wanted.values()))
    due = [wanted[outcome.urn] for outcome in planned if outcome.result in _CHANGES]
    outcomes = [outcome for outcome in planned if dry_run or outcome.result not in _CHANGES]
    if due and not dry_run:
        probe.check(due[0].url)
    if not dry_run:
        try:
            outcomes.extend(links.apply(due))
        finally:  # what was written is remembered, whatever stops the rest
            _remember(store, links.target, found, before, wanted, outcomes, now)
    return _report(links.target, outcomes, wanted, dry_run=dry_run)


def _wanted(candidate: Candidate, before: Published | None, address: str, now: Moment, *, force: bool) -> WantedLink:
    url = url_of(address, candidate.entity)
    deleted = before is not None and not before.label
    same = before is not None and before.url == url and before.revisions == candidate.revisions
    return WantedLink(
        urn=candidate.urn,
        url=url,
        label=label_of(candidate.beliefs, candidate.revisions, candidate.latest),
        at=now,
        settled=same and not deleted,
        published=before is not None,
        kept_deleted=deleted,
        force=force,
    )


def _remember(
    store: Store,
    target: str,
    found: list[Candidate],
    before: dict[EntityId, Published],
    wanted: dict[str, WantedLink],
    outcomes: Iterable[LinkOutcome],
    now: Moment,
) -> None:
    """Note what the last look at each list found: the link, no link, or that a person took it away."""
    candidates = {candidate.urn: candidate for candidate in found}
    rows: list[dict[str, object]] = []
    seen: list[EntityId] = []
    for outcome in outcomes:
        link, candidate = wanted[outcome.urn], candidates[outcome.urn]
        if outcome.result is LinkResult.FAILED and not outcome.missing:
            continue  # nothing is known that was not known before
        as_noted = link.settled if outcome.result is LinkResult.UNCHANGED else link.kept_deleted
        if outcome.result in _LOOKED_AT and as_noted and candidate.entity in before:
            seen.append(candidate.entity)
            continue
        rows.append(
            {
                "entity_id": candidate.entity,
                "url": link.url,
                "label": "" if outcome.result is LinkResult.KEPT_DELETED else link.label,
                "revisions": candidate.revisions,
                "published_at": now,
                "reread_at": None if outcome.missing else now,
            }
        )

    store.write(lambda connection: publications.note(connection, target, rows=rows, found_again=seen, at=now))


def _report(
    target: str, outcomes: Iterable[LinkOutcome], wanted: dict[str, WantedLink], *, dry_run: bool
) -> PublishReport:
    changes, kept, failed, notes, unchanged = [], [], [], [], 0
    for outcome in outcomes:
        link = wanted[outcome.urn]
        if outcome.note:
            notes.append(f"{outcome.urn}: {outcome.note}")
        match outcome.result:
            case LinkResult.FAILED:
                failed.append(LinkFailure(urn=outcome.urn, why=outcome.problem))
            case LinkResult.KEPT_DELETED:
                kept.append(outcome.urn)
            case LinkResult.WRITTEN | LinkResult.RESTORED:
                changes.append(
                    LinkChange(
                        urn=outcome.urn,
                        url=link.url,
                        before=next((each.label for each in outcome.before if is_ours(each.url)), None),
                        label=link.label,
                        restored=outcome.result is LinkResult.RESTORED,
                        list_before=outcome.before,
                        list_after=outcome.after,
                    )
                )
            case _:
                unchanged += 1
    return PublishReport(
        target=target,
        dry_run=dry_run,
        changes=tuple(changes),
        unchanged=unchanged,
        kept_deleted=tuple(kept),
        failed=tuple(failed),
        notes=tuple(notes),
    )


def check_address(public_url: str | None, *, allow_local: bool) -> str:
    """The console's address, when it is one that people reach. Raises ConfigError."""
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
