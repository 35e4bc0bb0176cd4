"""What benchmarks/scale.py measured, as Markdown: what is asked beside the goals, what is filled, kinds of question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.growth import NAMES, times_bare

Figures = Mapping[str, Any]
_FILLED: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("episodes", lambda s: f"{s['episodes']:,}"),
    ("passages", lambda s: f"{s['passages']:,}"),
    ("scan", lambda s: _took(s["scan"])),
    ("consolidate", lambda s: _took(s["consolidate"])),
    ("index", lambda s: _took(s["index"])),
    ("embed", lambda s: _took(s.get("embed"))),
    ("on disk", lambda s: f"{s['megabytes']:,.0f} MB" if s["megabytes"] else ""),
    ("consolidate, an episode", lambda s: f"{times_bare(s):.2f} × bare" if s["consolidate"] else ""),
    ("dump, a row", lambda s: _dump(s) if "dump" in s else ""),
)


def markdown(figures: Mapping[str, Figures]) -> str:
    """Every table."""
    stores = sorted(figures.values(), key=lambda one: (list(NAMES).index(one["dialect"]), one["size"]))
    asked = [one for one in stores if "brief" in one]
    lines = ["## What is asked", "", *_asked(asked), "", "## What is filled", ""]
    lines += [
        *_filled([one for one in stores if "index" in one]),
        "",
        "## Recall by kind of question",
        "",
        *_kinds([one for one in asked if "recall" in one]),
    ]
    return "\n".join(lines) + "\n"


def _asked(stores: Sequence[Figures]) -> Iterator[str]:
    """Milliseconds of processors, then by the clock."""
    yield from _head("store", "measure", "goal", "processor p50", "p95", "worst", "clock p50", "p95", "worst", "load")
    for store in stores:
        goal = {100_000: "p95 ≤ 50 ms", 1_000_000: "p95 ≤ 200 ms"}.get(store["size"], "-")
        for measure, of, wanted in (("recall", "recall", goal), ("brief", "brief", "p95 ≤ 10 ms")):
            took = store.get(of)
            if took:
                each = [f"{took[f'{of}_{what}_ms']:.1f}" for of in ("cpu", "wall") for what in ("p50", "p95", "worst")]
                yield _row(_name(store), measure, wanted, *each, took["load"])
        if "cold" in store:
            cold = store["cold"]
            clock = (cold["wall_p50_s"], cold["wall_worst_s"])
            each = [f"{cold['cpu_p50_s'] * 1e3:,.0f}", "", "", f"{clock[0] * 1e3:,.0f}", "", f"{clock[1] * 1e3:,.0f}"]
            yield _row(_name(store), "recall from the shell", "≤ 2,000 ms", *each, cold["load"])


def _filled(stores: Sequence[Figures]) -> Iterator[str]:
    yield from _head("", *map(_name, stores))
    for title, of in _FILLED:
        yield _row(title, *map(of, stores))
    yield _row("load of the machine while filled", *(f"{s['scan']['load']} to {s['index']['load']}" for s in stores))


def _kinds(stores: Sequence[Figures]) -> Iterator[str]:
    yield from _head("processor ms, p50 and p95", *map(_name, stores))
    for kind in stores[0]["recall"]["kinds"] if stores else ():
        yield _row(kind, *(_both(store["recall"]["kinds"][kind]) for store in stores))


def _both(kind: Figures) -> str:
    return f"{kind['cpu_p50_ms']:.0f}, {kind['cpu_p95_ms']:.0f}"


def _took(job: Figures | None) -> str:
    return f"{job['cpu_s']:,.1f} s, {job['wall_s']:,.0f} s" if job else "not known"


def _dump(store: Figures) -> str:
    dump, bare = store["dump"], store["bare"]
    return f"{dump['cpu_s'] / dump['rows'] / (bare['cpu_s'] / bare['rows']):.2f} × bare"


def _name(store: Figures) -> str:
    return f"{NAMES[store['dialect']]} {store['size']:,}"


def _head(*names: str) -> Iterator[str]:
    yield _row(*names)
    yield "|" + "---|" + "---:|" * (len(names) - 1)


def _row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"
