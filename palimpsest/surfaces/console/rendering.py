"""Turns views into HTML: Jinja with autoescape and no undefined names, Markdown cleaned, hostile characters spelt out.

Whatever a template writes passes `neutral`: control characters and bidirectional overrides are shown, not obeyed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from functools import cache
from pathlib import Path

import jinja2
import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markupsafe import Markup, escape

from palimpsest import __version__, shipped
from palimpsest.core import say
from palimpsest.core.aspects import ASPECTS
from palimpsest.core.entity import platform_of, short_name
from palimpsest.core.moment import from_datetime
from palimpsest.queries.entity_page import LayersView
from palimpsest.surfaces.cli.output import neutral
from palimpsest.surfaces.console import charts, diffing
from palimpsest.surfaces.console.diffing import Piece
from palimpsest.surfaces.console.links import Links

MOST_TEXT = 20_000  # characters of one text on a page
_MOST_MARKDOWN = 20_000
_LETTERS = re.compile(r"[\W_]+")
_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "hr", "li", "ol", "p", "pre", "s", "strong", "table", "tbody", "td",
    "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}


def static_file(name: str) -> Path:
    """A file that pages load."""
    return shipped.folder("console") / "static" / name


@cache
def static_names() -> frozenset[str]:
    """The files that pages may load."""
    return frozenset(path.name for path in (shipped.folder("console") / "static").iterdir() if path.is_file())


@cache
def stamp() -> str:
    """Changes when a file that pages load does."""
    digest = hashlib.blake2b(digest_size=6)
    for name in sorted(static_names()):
        digest.update(static_file(name).read_bytes())
    return digest.hexdigest()


def html(template: str, view: object, links: Links, context: Mapping[str, object]) -> str:
    """A page. `context` is what every page needs beside its view."""
    return _environment().get_template(template).render(view=view, links=links, **context)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(shipped.folder("console") / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(
        markdown=markdown,
        moment=moment,
        day=day,
        cut=cut,
        count=_count,
        marked=marked,
        said=said,
        short=short_name,
        pretty=pretty,
    )
    environment.globals.update(
        version=__version__,
        by_words=diffing.by_words,
        changes_by_day=charts.changes_by_day,
        told=charts.description,
        subject=say.subject,
        platform_of=platform_of,
        short=short_name,
        since=since,
        usual=usual,
        by_key=by_key,
        prose_aspects=frozenset(
            name for name, aspect in ASPECTS.items() if aspect.prose is not None and not aspect.paths
        ),
    )
    return environment


def _shown(value: object) -> object:
    """What is written into a page: text without characters that act."""
    return neutral(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def markdown(text: str) -> Markup:
    """Markdown of a catalog as HTML that cannot act: no HTML of its own, no picture, only http(s) links."""
    if len(text) > _MOST_MARKDOWN:
        return Markup('<p class="plain">{}</p>').format(cut(text))
    made = _markdown().render(neutral(text))
    cleaned = nh3.clean(
        made,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https"},
        url_relative="deny",
        link_rel="noopener nofollow",
    )
    return Markup(cleaned)


class _Quiet(RendererHTML):
    """Headings of a catalog are no headings of the page."""

    def heading_open(self, *_: object) -> str:
        """A paragraph."""
        return "<p><strong>"

    def heading_close(self, *_: object) -> str:
        """Its end."""
        return "</strong></p>\n"


@cache
def _markdown() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}, renderer_cls=_Quiet)
    return made.enable(["table", "strikethrough"]).disable(["image", "html_block", "html_inline"])


def cut(text: str, most: int = MOST_TEXT) -> str:
    """A text that is not longer than a page bears; what is left out is counted."""
    if len(text) <= most:
        return text
    return f"{text[:most]}… ({len(text) - most:,} more characters)"


def moment(when: datetime | None, *, seconds: bool = False) -> Markup:
    """A time, for people and for programs; a dash for none."""
    if when is None:
        return Markup("–")
    spoken = when.strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M")
    exact = when.isoformat().replace("+00:00", "Z")
    return Markup(f'<time datetime="{exact}">{spoken}</time>')


def day(when: date | None) -> Markup:
    """A day; a dash for none."""
    if when is None:
        return Markup("–")
    text = when.strftime("%Y-%m-%d")
    return Markup(f'<time datetime="{text}">{text}</time>')


def _count(number: int, noun: str = "", plural: str = "") -> str:
    """`1,234`, or with its noun `1 change`, `1,234 changes`."""
    if not noun:
        return f"{number:,}"
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def marked(pieces: tuple[Piece, ...], tag: str) -> Markup:
    """A text in pieces, the changed ones in `del` or `ins`."""
    whole = [
        Markup("<{0}>{1}</{0}>").format(Markup(tag), escape(neutral(piece.text)))
        if piece.is_changed
        else escape(neutral(piece.text))
        for piece in pieces
    ]
    return Markup("").join(whole)


def without(statement: str, what: str) -> str:
    """A statement without the words that head it already: `owner: lena` under the heading `owner` is `lena`."""
    if statement.casefold().startswith(f"{what} ".casefold()) and len(statement) > len(what) + 1:
        return statement[len(what) + 1 :]
    head, colon, rest = statement.partition(": ")
    named, heading = (_LETTERS.sub("", text.casefold()) for text in (head, what))
    repeats = bool(named) and (heading.endswith(named) or heading == f"{named}s" or named == f"{heading}s")
    return rest if colon and rest and repeats else statement


def usual(layers: Iterable[LayersView]) -> datetime | None:
    """When most of what is current was last confirmed; None where nothing is."""
    counted = Counter(one.history.confirmed for one in layers if one.history.confirmed is not None)
    return counted.most_common(1)[0][0] if counted else None


def by_key(layers: Iterable[LayersView]) -> dict[str, list[LayersView]]:
    """Layers by the key of their belief: by column."""
    found: dict[str, list[LayersView]] = {}
    for one in layers:
        found.setdefault(one.history.key, []).append(one)
    return found


def said(version: object, what: str) -> str:
    """What a layer says under its heading: its text where it is one, else its statement."""
    value, statement = getattr(version, "value", None), str(getattr(version, "statement", ""))
    return value if isinstance(value, str) and value else without(statement, what)


def since(valid_from: datetime, valid_after: datetime | None) -> str:
    """Since when a change holds, in words."""
    after = from_datetime(valid_after) if valid_after is not None else None
    return say.since(from_datetime(valid_from), after)


def pretty(value: object) -> str:
    """A value of the catalog as JSON, to be read."""
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)
