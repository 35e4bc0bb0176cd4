"""`palimpsest show`: everything that is held about one entity, for people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.surfaces.cli import asking, output
from palimpsest.surfaces.cli.asking import AsJson, AsOf, KnownAt

if TYPE_CHECKING:
    from palimpsest.queries.held import BeliefView
    from palimpsest.queries.show import ColumnView, EntityPage, NeighbourView

_MOST_NEIGHBOURS = 20
_TEXT_WIDTH = 70


def show(
    ctx: typer.Context,
    urn: Annotated[str, typer.Argument(metavar="URN", help="An entity: its URN, its name, or a part of them.")],
    as_of: AsOf = None,
    known_at: KnownAt = None,
    as_json: AsJson = False,
) -> None:
    """Show everything that is held about one entity."""
    from palimpsest.queries import show as query

    when = asking.question(as_of, known_at)
    with asking.remembered(ctx) as store:
        page = query.show(store, urn, when)
    if as_json:
        output.emit_json("show", page)
    else:
        output.emit_text(page_lines(page))


def page_lines(page: EntityPage) -> list[str]:
    """The page as text."""
    from palimpsest.queries.confidence import usual

    entity = page.entity
    kind = " ".join(part for part in (entity.platform, entity.kind) if part)
    lines = [f"{entity.name}  ({kind})", entity.urn, *_presence_lines(page), *([page.label] if page.label else [])]
    confirmed = usual([*(one.confirmed for one in page.beliefs), *(one.confirmed for one in page.columns)])
    if confirmed is not None:
        lines.append(f"confirmed {asking.spoken(confirmed)}, where no other time is told")
    lines += _belief_lines("held", page.beliefs, confirmed)
    lines += _beside_lines(page.beside)
    lines += _column_lines(page.columns, confirmed)
    lines += _neighbour_lines("made from", page.upstreams)
    lines += _neighbour_lines("read by", page.downstreams)
    for place in page.disagreements:
        lines += ["", f"sources disagree: {place.aspect}{' ' + place.key if place.key else ''}"]
        rows = [(f"  {said.source}", said.statement, asking.since(said.since_text, said.by)) for said in place.said]
        lines += output.table(rows)
    if page.stale:
        lines += ["", "stale", *(f"  {one.said}{''.join(f' [{ref}]' for ref in one.refs)}" for one in page.stale)]
    if page.changes:
        lines += ["", "last changes"]
        lines += output.table(
            [(f"  {asking.spoken(change.at)}", change.impact, change.text) for change in page.changes]
        )
    lines += _belief_lines("last held, not current", page.last_held)
    return [output.neutral_line(line) for line in lines]


def _presence_lines(page: EntityPage) -> list[str]:
    if not page.presence:
        return ["nothing was held of it then"]
    alike = {(said.exists, said.statement, said.since_text) for said in page.presence}
    if len(alike) == 1:
        return [_presence(said.statement, said.since_text, said.exists) for said in page.presence[:1]]
    return [f"{said.source}: {_presence(said.statement, said.since_text, said.exists)}" for said in page.presence]


def _presence(statement: str, since_text: str, exists: bool) -> str:
    return f"{statement}, {since_text}" if exists else f"GONE ({statement}), {since_text}: nothing of it is current"


def _belief_lines(title: str, beliefs: Sequence[BeliefView], confirmed: datetime | None = None) -> list[str]:
    if not beliefs:
        return []
    sources = {belief.source for belief in beliefs}
    rows = [
        (
            f"  {belief.statement}" + (f" [{belief.source}]" if len(sources) > 1 else ""),
            asking.since(belief.since_text, belief.by),
            asking.times(belief.revised),
            asking.sure(belief.confidence, belief.confirmed, confirmed),
            belief.ref,
        )
        for belief in beliefs
    ]
    return ["", title, *_ragged(rows)]


def _beside_lines(beliefs: Sequence[BeliefView]) -> list[str]:
    """What is contested or proposed, named as the inbox names it."""
    if not beliefs:
        return []
    rows = [
        (f"  {one.state}: {one.statement}", asking.since(one.since_text, one.by), "", "", f"{one.ref}@{one.version}")
        for one in beliefs
    ]
    return ["", "not current: contested or proposed", *_ragged(rows)]


def _ragged(rows: Sequence[tuple[str, str, str, str, str]]) -> list[str]:
    """A table whose first column may be long: a longer cell pushes its own row only."""
    longest = max((output.width(row[0]) for row in rows if output.width(row[0]) <= _TEXT_WIDTH), default=0)
    lines = []
    for text, since, revised, sure, ref in rows:
        padding = " " * max(0, longest - output.width(text))
        details = "; ".join(part for part in (since, revised, sure) if part)
        lines.append(f"{text}{padding}  {details}  [{ref}]")
    return lines


def _column_lines(columns: Sequence[ColumnView], confirmed: datetime | None) -> list[str]:
    if not columns:
        return []
    header = ("  COLUMN", "TYPE", "NULL", "TEXT", "SINCE", "REVISED", "SURE")
    rows: list[tuple[str, ...]] = []
    for column in columns:
        marks = ("key" if column.part_of_key else "") or ("null" if column.nullable else "not null")
        text = _short(" ".join([column.text, *(f"#{label}" for label in column.labels)]).strip())
        revised = str(column.revised) if column.revised else ""
        sure = asking.sure(column.confidence, column.confirmed, confirmed)
        rows.append((f"  {column.key}", column.type, marks, text, column.since_text, revised, sure))
        if column.source_text:
            rows.append(("", "", "", f"under it: {_short(column.source_text)}"))
    return ["", f"columns ({len(columns)})", *output.table(rows, header=header)]


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _TEXT_WIDTH else flat[: _TEXT_WIDTH - 1].rstrip() + "…"


def _neighbour_lines(title: str, neighbours: Sequence[NeighbourView]) -> list[str]:
    if not neighbours:
        return []
    rows = []
    for one in neighbours[:_MOST_NEIGHBOURS]:
        mark = "" if one.exists and one.known else "not remembered" if not one.known else "gone"
        rows.append((f"  {one.name}", one.platform, mark))
    more = [f"  and {len(neighbours) - _MOST_NEIGHBOURS} more"] if len(neighbours) > _MOST_NEIGHBOURS else []
    return ["", f"{title} ({len(neighbours)})", *output.table(rows), *more]
