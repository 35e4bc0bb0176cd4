"""News for tests: changes of datasets, as they would be read."""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Impact
from palimpsest.core.entity import short_name
from palimpsest.core.ids import CellId
from palimpsest.core.moment import Moment
from palimpsest.core.notice import EpisodeId, News


def user(name: str) -> str:
    """The URN of a user."""
    return f"urn:li:corpuser:{name}"


def dataset(name: str, platform: str = "postgres", environment: str = "PROD") -> str:
    """The URN of a dataset."""
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},{environment})"


def news(
    number: int = 1,
    *urns: str,
    said: str = "owner was ann, now bob",
    short: str = "owner changed",
    edit: str = "owner changed",
    aspect: str = "ownership",
    impact: Impact = Impact.NOTABLE,
    alike: str = "",
    owners: tuple[str, ...] = (),
    tags: tuple[str, ...] = (),
    domains: tuple[str, ...] = (),
    below: frozenset[bytes] = frozenset(),
    run: str = "aa",
    by: str = "",
    at: int = 1_000,
) -> News:
    """One change of a dataset, or of siblings; `number` tells it apart."""
    urns = urns or (dataset(f"shop.t{number:03}"),)
    names = tuple(short_name(urn) for urn in urns)
    return News(
        episodes=tuple(EpisodeId(CellId(bytes([place]) + number.to_bytes(15, "big")), 2) for place in range(len(urns))),
        at=Moment(at),
        run=run,
        urns=urns,
        names=names,
        aspect=aspect,
        impact=impact,
        line=f"{names[0]}: {said}",
        said=said,
        short=short,
        edit=edit,
        alike=alike or f"change {number}",
        by=by,
        link="",
        below=below,
        owners=frozenset(owners),
        tags=frozenset(tags),
        domains=frozenset(domains),
    )
