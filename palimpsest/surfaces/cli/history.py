"""`palimpsest history`: every version of what is held about an entity, older layers under the current one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.surfaces.cli import asking, output
from palimpsest.surfaces.cli.asking import AsJson, AsOf, KnownAt

if TYPE_CHECKING:
    from palimpsest.queries.held import EvidenceView
    from palimpsest.queries.history import BeliefHistory, HistoryView, VersionView


def history(
    ctx: typer.Context,
    urn: Annotated[str, typer.Argument(metavar="URN", help="An entity: its URN, its name, or a part of them.")],
    aspect: Annotated[str | None, typer.Argument(help="Only this aspect: ownership, column, …")] = None,
    key: Annotated[str | None, typer.Argument(help="Only this key: a column, a property.")] = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    as_json: AsJson = False,
) -> None:
    """Show every version of what is held, with its evidence."""
    from palimpsest.queries import history as query

    when = asking.question(as_of, known_at)
    with asking.remembered(ctx) as store:
        view = query.history(store, urn, aspect, key, when)
    if as_json:
        output.emit_json("history", view)
    else:
        output.emit_text(history_lines(view))


def history_lines(view: HistoryView) -> list[str]:
    """The history as text."""
    lines = [f"{view.entity.name}  {view.entity.urn}"]
    if not view.beliefs:
        lines.append("nothing was held of it then")
    many = len({belief.source for belief in view.beliefs}) > 1
    for belief in view.beliefs:
        lines += ["", *belief_lines(belief, name_source=many)]
    return [output.neutral_line(line) for line in lines]


def belief_lines(belief: BeliefHistory, *, name_source: bool) -> list[str]:
    """One belief: its layers, the newest on top, each older one showing through under it."""
    source = f" [{belief.source}]" if name_source else ""
    sure = asking.sure(belief.confidence, belief.confirmed)
    lines = [f"{belief.what}{source}  {belief.ref}" + (f"  {sure}" if sure else "")]
    for depth, version in enumerate(belief.versions):
        lines += _version_lines(version, depth)
    if len(belief.versions) > 1 and belief.members:
        members = ", ".join(f"{one.label} since {asking.spoken(one.since)}" for one in belief.members)
        lines.append(f"  each: {members}")
    return lines


def _version_lines(version: VersionView, depth: int) -> list[str]:
    word = _word(version)
    quiet = "  (quiet)" if version.quiet else ""
    margin = "  " if depth == 0 else "  ┊ "
    lines = [f"{margin}{word} {version.statement}{quiet}"]
    inner = f"{margin}    "
    until = f" until {asking.spoken(version.until)}" if version.until is not None else ""
    when = asking.since(f"{version.since_text}{until}", version.evidence.by)
    lines.append(f"{inner}{when}; version {version.number}, recorded {asking.spoken(version.recorded)}")
    clipped = [(one.start, one.end) for one in version.held]
    if clipped != [(version.since, version.until)]:
        spans = [f"{asking.spoken(start)} to {asking.spoken(end) if end else 'now'}" for start, end in clipped]
        lines.append(f"{inner}while the entity existed: {', '.join(spans) or 'never'}")
    lines.append(f"{inner}why: {version.reason}; {evidence_text(version.evidence)}")
    for told in version.rewordings:
        judge = f", judged by {told.judge}" if told.judge else ""
        lines.append(
            f"{inner}worded {asking.since(f'since {asking.spoken(told.at)}', told.by)}: {told.statement}{judge}"
        )
    if version.until is not None and version.successor is None:
        by = f"; {evidence_text(version.ended_by)}" if version.ended_by else ""
        lines.append(f"{inner}ended: {version.ended_reason}{by}")
    return lines


def _word(version: VersionView) -> str:
    """What a version is to what is current: contested and proposed ones never were."""
    if version.beside:
        return version.beside if version.until is None else f"was {version.beside}"
    return "now" if version.current else "was" if version.until is not None else "not"


def evidence_text(seen: EvidenceView) -> str:
    """An episode as evidence, in words."""
    parts = [f"episode {seen.episode} ({seen.kind}) of {seen.source}, read {asking.spoken(seen.observed)}"]
    if seen.not_yet_at is not None:
        parts.append(f"not so at {asking.spoken(seen.not_yet_at)}")
    if seen.stamped is not None:
        parts.append(f"stamped {asking.spoken(seen.stamped)}")
    if seen.actor:
        parts.append(f"written by {seen.actor}")
    elif seen.by:
        parts.append(f"said by {seen.by}")
    if seen.catalog_run:
        parts.append(f"catalog run {seen.catalog_run}")
    parts.append(f"run {seen.run[:12]}")
    return ", ".join(parts)
