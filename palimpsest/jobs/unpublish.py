"""unpublish: take our links away from a running catalog, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.core.ids import EntityId
from palimpsest.core.link_list import LinkResult, ShownLink, WantedLink
from palimpsest.jobs.publish import LinkFailure
from palimpsest.ports import CatalogLinks, Clock
from palimpsest.store import publications
from palimpsest.store.engine import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRemoval:
    """A list of links without ours: before, and after."""

    urn: str
    list_before: tuple[ShownLink, ...]
    list_after: tuple[ShownLink, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpublishReport:
    """Where our link was taken away, how many datasets had none, and which failed. `notes`: as `URN: text`."""

    target: str
    dry_run: bool
    removed: tuple[LinkRemoval, ...]
    unchanged: int
    failed: tuple[LinkFailure, ...]
    notes: tuple[str, ...]


def unpublish(
    store: Store, links: CatalogLinks, urns: Sequence[str] | None, *, clock: Clock, dry_run: bool = False
) -> UnpublishReport:
    """Take our links away from these datasets, or from all where we published any. Raises CatalogError."""
    target = links.target
    published = store.read(lambda connection: publications.urns_published(connection, target))
    now = clock.now()
    wanted = [WantedLink(urn=urn, at=now) for urn in dict.fromkeys(published if urns is None else urns)]
    removed, failed, notes, unchanged = [], [], [], 0
    gone: list[EntityId] = []
    try:
        for outcome in links.plan(wanted) if dry_run else links.apply(wanted):
            if outcome.note:
                notes.append(f"{outcome.urn}: {outcome.note}")
            if outcome.result is LinkResult.FAILED:
                failed.append(LinkFailure(urn=outcome.urn, why=outcome.problem))
                continue
            if outcome.urn in published:
                gone.append(published[outcome.urn])
            if outcome.result is LinkResult.REMOVED:
                removed.append(LinkRemoval(urn=outcome.urn, list_before=outcome.before, list_after=outcome.after))
            else:
                unchanged += 1
    finally:  # what was taken away is noted, whatever stops the rest
        if gone and not dry_run:
            store.write(lambda connection: publications.forget(connection, target, gone))
    return UnpublishReport(
        target=target,
        dry_run=dry_run,
        removed=tuple(removed),
        unchanged=unchanged,
        failed=tuple(failed),
        notes=tuple(notes),
    )
