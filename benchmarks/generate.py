"""Writes an invented catalog of any size as a DataHub metadata file, in flat memory and the same bytes for a seed.

Here: facts drawn dataset by dataset, chosen changes and their truth, and the records on disk. Nothing is measured here.
`python benchmarks/generate.py OUT.json --datasets 10000 --columns 40 [--seed 1] [--day N] [--changes K] [--restamp]`
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

Json = dict[str, Any]

_FIRST_DAY_MS = 1_772_438_400_000  # 2026-03-02T08:00:00Z
_DAY_MS = 86_400_000
_WINDOW = 256  # records held back while they are mixed
_PLATFORMS = ("snowflake", "postgres", "bigquery", "kafka", "redshift")
_SUB_TYPES = {"kafka": "Topic"}


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_NOUNS = _split(
    "order customer account invoice payment product shipment refund basket session visit campaign coupon supplier "
    "warehouse parcel ticket review address device contract price category employee store region tax bundle event lead"
)
_QUALITIES = _split(
    "id name status amount count created_at updated_at type code total rate owner channel currency note hash score "
    "position reason version"
)
_WORDS = _split(
    "the a of for each per with after before from in and at first last total net gross amount number date time when "
    "customer order payment invoice shop country currency cents euros identifier reference key unique source system "
    "copied computed daily hourly load value status open closed paid sent returned internal external legacy current "
    "previous address mail phone region category product price discount tax rate score model flag set null unknown "
    "used by finance report marketing team support which was is has been created updated deleted checked manually see "
    "wiki ledger channel campaign device session event stream partition segment margin größe straße 注文 مبلغ only"
)
# Native types, the DataHub type of each, and what a change narrows it to.
_TYPES = (
    ("BIGINT", "Number", "INTEGER"),
    ("VARCHAR(255)", "String", "VARCHAR(64)"),
    ("NUMERIC(18,4)", "Number", "NUMERIC(12,2)"),
    ("INTEGER", "Number", "SMALLINT"),
    ("VARCHAR(1024)", "String", "VARCHAR(32)"),
    ("DOUBLE PRECISION", "Number", "REAL"),
)
_ROLES = ("TECHNICAL_OWNER", "BUSINESS_OWNER", "DATA_STEWARD")
_KINDS = ("owner", "type", "nullable", "column text", "text", "tag", "property")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One changed fact, in the words of the demo's truth: what differs, before and after."""

    urn: str
    aspect: str
    key: str
    op: str
    before: object
    after: object


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    path: str
    kind: str
    native: str
    narrowed: str
    nullable: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dataset:
    """The facts of one dataset; everything in it follows from the seed and its number."""

    urn: str
    platform: str
    name: str
    text: str
    columns: tuple[_Column, ...]
    owners: tuple[tuple[str, str], ...]
    tags: tuple[str, ...]
    term: str | None
    domain: str | None
    retention: str
    container: str
    upstreams: tuple[str, ...]
    column_upstreams: tuple[tuple[str, str], ...]
    stamped: int
    changed: tuple[str, ...] = ()


def write_catalog(
    path: Path,
    *,
    datasets: int,
    columns: int = 40,
    seed: int = 1,
    day: int = 0,
    changes: int = 0,
    restamp: bool = False,
) -> list[Change]:
    """Writes the catalog to `path` and says what differs from the same catalog with `changes=0`, in dataset order.

    `day` moves the time of observation by that many days. `restamp` gives every aspect the audit stamp of that day's
    load and puts the records in another order. The same arguments write the same bytes.
    About 10 cells a dataset come on top of its `columns`.
    Raises ValueError for fewer than 1 dataset or 4 columns, or more changes than 7 a dataset.
    """
    if datasets < 1 or columns < 4:
        raise ValueError("a catalog needs at least 1 dataset and 4 columns")
    if not 0 <= changes <= datasets * len(_KINDS):
        raise ValueError(f"{datasets} datasets take 0 to {datasets * len(_KINDS)} changes, not {changes}")
    chosen = _choose(datasets, changes, seed)
    truth: list[tuple[int, Change]] = []
    spelling = _Spelling(observed=_FIRST_DAY_MS + day * _DAY_MS, restamp=restamp)

    def records() -> Iterator[Json]:
        yield from _surroundings(spelling, datasets)
        for number in _order(datasets, spelling.salt):
            dataset = _draw(number, columns, seed)
            for kind in chosen.get(number, ()):
                dataset, change = _EDITS[kind](dataset)
                truth.append((number, change))
            yield from _records(dataset, spelling)

    with path.open("w", encoding="utf-8", newline="\n") as file:
        separator = "[\n"
        for record in _mixed(records(), random.Random(seed * 31 + spelling.salt)):
            file.write(separator)
            file.write(json.dumps(record, separators=(",", ":"), ensure_ascii=False))
            separator = ",\n"
        file.write("\n]\n")
    return [change for _, change in sorted(truth, key=lambda numbered: numbered[0])]


def _choose(datasets: int, changes: int, seed: int) -> Mapping[int, list[str]]:
    """Dataset number → kinds of its changes; each pair at most once."""
    chosen: dict[int, list[str]] = {}
    for slot in sorted(random.Random(f"changes {seed}").sample(range(datasets * len(_KINDS)), changes)):
        chosen.setdefault(slot // len(_KINDS), []).append(_KINDS[slot % len(_KINDS)])
    return chosen


def _order(datasets: int, salt: int) -> Iterator[int]:
    """Every number below `datasets` once: in order for salt 0, else strided, without holding a list of them."""
    if salt == 0:
        yield from range(datasets)
        return
    stride = datasets * 618 // 1000 + salt
    while math.gcd(stride, datasets) != 1:
        stride += 1
    for position in range(datasets):
        yield (position * stride + salt) % datasets


def _mixed(records: Iterable[Json], chance: random.Random) -> Iterator[Json]:
    """The records a little out of order, since those of one entity are not adjacent in real files."""
    held: list[Json] = []
    for record in records:
        if len(held) < _WINDOW:
            held.append(record)
            continue
        place = int(chance.random() * _WINDOW)
        yield held[place]
        held[place] = record
    chance.shuffle(held)
    yield from held


# Facts


def _urn(number: int) -> str:
    platform = _PLATFORMS[number % len(_PLATFORMS)]
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{_qualified(number)},PROD)"


def _qualified(number: int) -> str:
    noun = _NOUNS[number * 7 % len(_NOUNS)]
    return f"db{number % 16:02d}.{_schema(number)}.{noun}_{number:06d}"


def _schema(number: int) -> str:
    return f"schema_{number // 200:04d}"


def _path(number: int, position: int) -> str:
    """The name of a dataset's column at a position: no two alike within a dataset, many alike between datasets."""
    noun = _NOUNS[(number + position) % len(_NOUNS)]
    rest = position // len(_NOUNS)
    name = f"{noun}_{_QUALITIES[(number + position + rest) % len(_QUALITIES)]}"
    return name if rest == 0 else f"{name}_{rest + 1}"


def _sentence(chance: random.Random, shortest: int, longest: int) -> str:
    """Words of a length between the two, in characters."""
    target = shortest + int(chance.random() * (longest - shortest))
    text = " ".join(chance.choices(_WORDS, k=target // 4 + 2))[: target + 1]
    return text.rsplit(" ", 1)[0].capitalize()


def _draw(number: int, columns: int, seed: int) -> _Dataset:
    chance = random.Random(seed * 1_000_003 + number)
    roll = chance.random
    drawn: list[_Column] = []
    for position in range(columns):
        native, kind, narrowed = _TYPES[int(roll() * len(_TYPES))]
        drawn.append(
            _Column(
                path=_path(number, position),
                kind=kind,
                native=native,
                narrowed=narrowed,
                nullable=roll() < 0.7,
                text=_sentence(chance, 32, 80) if roll() < 0.5 else "",
            )
        )
    owners = [(_person(int(roll() * 400)), _ROLES[0])]
    if roll() < 0.5:
        owners.append((f"urn:li:corpGroup:team_{int(roll() * 40):02d}", _ROLES[1 + int(roll() * 2)]))
    above = sorted({max(0, number - 1 - int(roll() * 1_000)) for _ in range(1 + int(roll() * 3))})
    if number == 0 or roll() < 0.45:
        above = []
    spots = sorted({int(roll() * columns) for _ in range(2)})
    pairs = [(_field(_urn(above[0]), _path(above[0], spot)), drawn[spot].path) for spot in spots if above]
    return _Dataset(
        urn=_urn(number),
        platform=_PLATFORMS[number % len(_PLATFORMS)],
        name=_qualified(number).rsplit(".", 1)[1],
        text=_sentence(chance, 60, 240) + ".",
        columns=tuple(drawn),
        owners=tuple(owners),
        tags=tuple(
            f"urn:li:tag:tag_{tag:02d}" for tag in sorted({int(roll() * 40) for _ in range(1 + int(roll() * 3))})
        ),
        term=f"urn:li:glossaryTerm:term_{int(roll() * 60):02d}" if roll() < 0.3 else None,
        domain=f"urn:li:domain:domain_{int(roll() * 12):02d}" if roll() < 0.5 else None,
        retention=str(30 * (1 + int(roll() * 24))),
        container=f"urn:li:container:{_schema(number)}",
        upstreams=tuple(_urn(upstream) for upstream in above),
        column_upstreams=tuple(pairs),
        stamped=_FIRST_DAY_MS - _DAY_MS - int(roll() * 400 * _DAY_MS),
    )


def _person(number: int) -> str:
    return f"urn:li:corpuser:person_{number:03d}"


# Changes: each takes a dataset and gives it back with one fact changed, and the truth about it


def _changed(
    dataset: _Dataset, raw: str, aspect: str, key: str, values: tuple[object, object], **facts: Any
) -> tuple[_Dataset, Change]:
    edited: _Dataset = replace(dataset, changed=(*dataset.changed, raw), **facts)
    before, after = values
    return edited, Change(urn=dataset.urn, aspect=aspect, key=key, op="changed", before=before, after=after)


def _new_owner(dataset: _Dataset) -> tuple[_Dataset, Change]:
    (owner, role), *others = dataset.owners
    owners = ((_person((int(owner.rsplit("_", 1)[1]) + 1) % 400), role), *others)
    before, after = ([{"owner": o, "role": r} for o, r in held] for held in (dataset.owners, owners))
    return _changed(dataset, "ownership", "ownership", "", (before, after), owners=owners)


def _new_column(dataset: _Dataset, position: int, part: str, word: str, after: object) -> tuple[_Dataset, Change]:
    """Changes one part of a column, which truth calls `word`."""
    column = dataset.columns[position]
    edited: _Column = replace(column, **{part: after})  # type: ignore[arg-type]
    columns = (*dataset.columns[:position], edited, *dataset.columns[position + 1 :])
    values = ({word: getattr(column, part)}, {word: after})
    return _changed(dataset, "schemaMetadata", "column", column.path, values, columns=columns)


def _new_type(dataset: _Dataset) -> tuple[_Dataset, Change]:
    return _new_column(dataset, 1, "native", "native_type", dataset.columns[1].narrowed)


def _new_nullable(dataset: _Dataset) -> tuple[_Dataset, Change]:
    return _new_column(dataset, 2, "nullable", "nullable", not dataset.columns[2].nullable)


def _new_column_text(dataset: _Dataset) -> tuple[_Dataset, Change]:
    return _new_column(dataset, 3, "text", "description", "Said anew: " + (dataset.columns[3].text or "nothing yet"))


def _new_text(dataset: _Dataset) -> tuple[_Dataset, Change]:
    text = "Rewritten. " + dataset.text
    return _changed(dataset, "datasetProperties", "description", "source", (dataset.text, text), text=text)


def _new_tag(dataset: _Dataset) -> tuple[_Dataset, Change]:
    tags = (*dataset.tags, "urn:li:tag:tag_new")
    return _changed(dataset, "globalTags", "tags", "", (list(dataset.tags), list(tags)), tags=tags)


def _new_property(dataset: _Dataset) -> tuple[_Dataset, Change]:
    days = str(int(dataset.retention) + 30)
    values = (dataset.retention, days)
    return _changed(dataset, "datasetProperties", "property", "retention_days", values, retention=days)


_EDITS: Mapping[str, Callable[[_Dataset], tuple[_Dataset, Change]]] = {
    "owner": _new_owner,
    "type": _new_type,
    "nullable": _new_nullable,
    "column text": _new_column_text,
    "text": _new_text,
    "tag": _new_tag,
    "property": _new_property,
}


# Records


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spelling:
    """When a reading was made (ms since 1970), and whether it rewrote the audit stamps."""

    observed: int
    restamp: bool

    @property
    def salt(self) -> int:
        """0, or a number for the day, by which the order of the records differs."""
        return 1 + self.observed // _DAY_MS if self.restamp else 0

    def stamp(self, dataset: _Dataset, aspect: str) -> Json:
        if aspect in dataset.changed:
            return {"time": self.observed - _DAY_MS // 8, "actor": dataset.owners[0][0]}
        if self.restamp:
            return {"time": self.observed - 300_000, "actor": "urn:li:corpuser:datahub"}
        return {"time": dataset.stamped, "actor": dataset.owners[0][0]}

    def record(self, kind: str, urn: str, aspect: str, value: Json) -> Json:
        return {
            "entityType": kind,
            "entityUrn": urn,
            "changeType": "UPSERT",
            "aspectName": aspect,
            "aspect": {"json": value},
            "systemMetadata": {"lastObserved": self.observed, "runId": f"load-{self.observed}"},
        }


def _surroundings(spelling: _Spelling, datasets: int) -> Iterator[Json]:
    """Tags, terms, domains, and a container for each 200 datasets."""
    for number in range(40):
        value: Json = {"name": f"Tag {number}", "description": f"The tag with number {number}"}
        yield spelling.record("tag", f"urn:li:tag:tag_{number:02d}", "tagProperties", value)
    for number in range(60):
        value = {"name": f"Term {number}", "definition": f"What term {number} means", "termSource": "INTERNAL"}
        yield spelling.record("glossaryTerm", f"urn:li:glossaryTerm:term_{number:02d}", "glossaryTermInfo", value)
    for number in range(12):
        value = {"name": f"Domain {number}", "description": f"The domain with number {number}"}
        yield spelling.record("domain", f"urn:li:domain:domain_{number:02d}", "domainProperties", value)
    for number in range(0, datasets, 200):
        schema = _schema(number)
        value = {"name": schema, "customProperties": {}}
        yield spelling.record("container", f"urn:li:container:{schema}", "containerProperties", value)


def _records(dataset: _Dataset, spelling: _Spelling) -> Iterator[Json]:
    for aspect, value in _aspects(dataset, spelling):
        yield spelling.record("dataset", dataset.urn, aspect, value)


def _aspects(dataset: _Dataset, spelling: _Spelling) -> Iterator[tuple[str, Json]]:
    platform = f"urn:li:dataPlatform:{dataset.platform}"
    yield "status", {"removed": False}
    yield "container", {"container": dataset.container}
    yield "subTypes", {"typeNames": [_SUB_TYPES.get(dataset.platform, "Table")]}
    instance = f"urn:li:dataPlatformInstance:({platform},main)"
    yield "dataPlatformInstance", {"platform": platform, "instance": instance}
    properties = {"retention_days": dataset.retention}
    yield "datasetProperties", {"name": dataset.name, "description": dataset.text, "customProperties": properties}
    owners = [{"owner": owner, "type": role} for owner, role in dataset.owners]
    yield "ownership", {"owners": owners, "lastModified": spelling.stamp(dataset, "ownership")}
    yield "globalTags", {"tags": [{"tag": tag} for tag in dataset.tags]}
    if dataset.term:
        stamp = spelling.stamp(dataset, "glossaryTerms")
        yield "glossaryTerms", {"terms": [{"urn": dataset.term}], "auditStamp": stamp}
    if dataset.domain:
        yield "domains", {"domains": [dataset.domain]}
    if dataset.upstreams:
        yield "upstreamLineage", _lineage(dataset, spelling)
    yield "schemaMetadata", _schema_metadata(dataset, platform, spelling)


def _field(urn: str, path: str) -> str:
    return f"urn:li:schemaField:({urn},{path})"


def _lineage(dataset: _Dataset, spelling: _Spelling) -> Json:
    stamp = spelling.stamp(dataset, "upstreamLineage")
    return {
        "upstreams": [{"auditStamp": stamp, "dataset": urn, "type": "TRANSFORMED"} for urn in dataset.upstreams],
        "fineGrainedLineages": [
            {
                "upstreamType": "FIELD_SET",
                "upstreams": [upstream],
                "downstreamType": "FIELD",
                "downstreams": [_field(dataset.urn, own)],
                "confidenceScore": 1.0,
            }
            for upstream, own in dataset.column_upstreams
        ],
    }


def _schema_metadata(dataset: _Dataset, platform: str, spelling: _Spelling) -> Json:
    fields: list[Json] = []
    for column in dataset.columns:
        field: Json = {
            "fieldPath": column.path,
            "nullable": column.nullable,
            "type": {"type": {f"com.linkedin.schema.{column.kind}Type": {}}},
            "nativeDataType": column.native,
            "recursive": False,
        }
        if column.text:
            field["description"] = column.text
        fields.append(field)
    return {
        "schemaName": dataset.name,
        "platform": platform,
        "version": 0,
        "created": {"time": 0, "actor": "urn:li:corpuser:unknown"},
        "lastModified": spelling.stamp(dataset, "schemaMetadata"),
        "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": fields,
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Write an invented catalog as a DataHub metadata file.")
    parser.add_argument("out", type=Path, metavar="OUT.json")
    parser.add_argument("--datasets", type=int, required=True)
    parser.add_argument("--columns", type=int, default=40, help="columns of each dataset (default 40)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--day", type=int, default=0, help="days by which the time of observation moves")
    parser.add_argument("--changes", type=int, default=0, help="facts to change; they are printed as JSON lines")
    parser.add_argument("--restamp", action="store_true", help="new audit stamps and another order, the same facts")
    given = parser.parse_args(arguments)
    try:
        truth = write_catalog(
            given.out,
            datasets=given.datasets,
            columns=given.columns,
            seed=given.seed,
            day=given.day,
            changes=given.changes,
            restamp=given.restamp,
        )
    except ValueError as error:
        parser.error(str(error))
    for change in truth:
        sys.stdout.write(json.dumps(asdict(change), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
