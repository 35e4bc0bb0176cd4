"""`palimpsest impact`: what lies downstream of a change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.surfaces.cli import asking, output
from palimpsest.surfaces.cli.asking import AsJson, AsOf

if TYPE_CHECKING:
    from palimpsest.queries.impact import ImpactView, LevelView, ReachedView

_MOST_OWNERS = 8


def impact(
    ctx: typer.Context,
    urn: Annotated[
        str, typer.Argument(metavar="URN[.COLUMN]", help="An entity, or a column of one: orders, orders.discount.")
    ],
    *,
    as_of: AsOf = None,
    depth: Annotated[int, typer.Option(min=0, help="How many levels down; 0 is all of them.")] = 0,
    most: Annotated[int, typer.Option(min=1, help="How many entities of a level are listed.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Tell what lies downstream, by level, with owners."""
    from palimpsest.queries import impact as query

    when = asking.question(as_of)
    with asking.remembered(ctx) as store:
        view = query.impact(store, urn, when, depth=depth, most=most)
    if as_json:
        output.emit_json("impact", view)
    else:
        output.emit_text(impact_lines(view))


def impact_lines(view: ImpactView) -> list[str]:
    """The levels as text, each with its owners."""
    from palimpsest.core import say

    what = f"{view.entity.name}.{view.column}" if view.column else view.entity.name
    then = f" on {asking.spoken(view.as_of)}" if view.as_of is not None else ""
    if not view.count:
        return [output.neutral_line(f"nothing is held to lie downstream of {what}{then}")]
    urns = [one.urn for level in view.levels for one in level.reached]
    head = f"{what}: {say.entities(view.count, urns)} downstream{then}"
    lines = [output.neutral_line(head)]
    if view.whole:
        lines.append("no lineage by column is held: what reads the table is listed")
    if view.owners:
        lines.append(output.neutral_line(f"owners: {say.list_of(view.owners, _MOST_OWNERS)}"))
    for level in view.levels:
        lines += ["", *_level_lines(level)]
    if view.deeper:
        lines += ["", "there is more below"]
    return lines


def _level_lines(level: LevelView) -> list[str]:
    lines = [f"level {level.level} ({level.count})", *output.table([_row(one) for one in level.reached])]
    left = level.count - len(level.reached)
    return [*lines, f"  {left} more"] if left else lines


def _row(one: ReachedView) -> tuple[str, ...]:
    from palimpsest.core.entity import short_name

    columns = f"  {one.name}" + (f" ({', '.join(one.columns)})" if one.columns else "")
    through = short_name(one.through) + (f".{one.through_column}" if one.through_column else "")
    owners = ", ".join(one.owners) or "no owner"
    return columns, one.platform, owners, f"from {through} [{one.ref}]"
