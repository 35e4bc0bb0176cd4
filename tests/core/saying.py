"""What is said on one matter, in tests: scenarios as text, and a memory of one belief that judges and keeps them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from palimpsest.core.aspects import Impact
from palimpsest.core.belief import State, Version
from palimpsest.core.cluster import Cluster, in_time
from palimpsest.core.episode import Episode, Ground, Kind
from palimpsest.core.ids import BeliefId, CellId, EntityId
from palimpsest.core.jsontext import dumps, loads
from palimpsest.core.matter import Matter, Opinion, Opinions, matter_of
from palimpsest.core.moment import Moment
from palimpsest.core.observer import observer, rank_of
from palimpsest.core.reconcile import judged
from palimpsest.core.verdict import Verdict, VerdictKind

BELIEF, ENTITY = BeliefId(b"b" * 16), EntityId(b"b" * 8 + bytes(8))
DAY = 86_400_000
_SAID = re.compile(
    r"day (?P<day>\d+)  (?P<kind>person|agent|document) (?P<name>\S+?)"
    r"(?:: (?P<text>.+?)| (?P<does>accepts|edits): (?P<told>.+?)| rejects (?P<number>\d+)|(?P<withdraws> withdraws))"
    r"(?: \[(?:restates (?P<restates>\d+)|(?P<unsure>unsure))\])?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One thing said: the JSON value, by whom, when; what a judge would hold of it.

    It restates a version by its number, or an earlier statement by its place, counted round.
    """

    at: Moment
    observer: str
    value: str
    ground: Ground | None = None
    restates: int | None = None
    place: int | None = None
    sure: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A scenario of the golden file."""

    title: str
    aspect: str
    said: tuple[Said, ...]
    becomes: tuple[str, ...]
    held: tuple[str, ...]


def scenarios(path: Path) -> list[Scenario]:
    """The scenarios of a golden file."""
    found = []
    for block in path.read_text().split("\n## ")[1:]:
        title, *lines = (line for line in block.splitlines() if line.strip())
        aspect = lines.pop(0).split()[1] if lines[0].startswith("aspect ") else "quality"
        becomes, held = lines.index("becomes"), lines.index("held")
        found.append(
            Scenario(
                title=title,
                aspect=aspect,
                said=tuple(said_of(line) for line in lines[:becomes]),
                becomes=tuple(lines[becomes + 1 : held]),
                held=tuple(lines[held + 1 :]),
            )
        )
    return found


def said_of(line: str) -> Said:
    """`day 2  agent bot: orders has 3 partitions [restates 1]`."""
    match = _SAID.fullmatch(line)
    assert match is not None, line
    value: object = match["text"] or match["told"]
    if match["number"]:
        value = {"decision": "reject", "version": int(match["number"])}
    elif match["withdraws"]:
        value = {"decision": "withdraw"}
    decides = match["text"] is None
    return Said(
        at=Moment(int(match["day"]) * DAY),
        observer=observer(match["kind"], match["name"]),
        value=dumps(value).decode(),
        ground=Ground.DECISION if decides else None,
        restates=int(match["restates"]) if match["restates"] else None,
        sure=match["unsure"] is None,
    )


@dataclass
class Told:
    """A memory of one belief. What is said is pending until it is judged, and kept as the store keeps it."""

    aspect: str = "quality"
    versions: dict[int, Version] = field(default_factory=dict)
    evidence: list[tuple[int, Episode, str]] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    pending: list[tuple[Episode, Said]] = field(default_factory=list)
    lasts: dict[str, int] = field(default_factory=dict)

    def say(self, said: Said) -> None:
        """Write it down."""
        number = self.lasts[said.observer] = self.lasts.get(said.observer, 0) + 1
        cell = CellId(ENTITY[:8] + said.observer.encode()[-8:].rjust(8, b"\0"))
        episode = Episode(
            cell, number, Kind.SAID, Impact.MINOR, False, said.value, said.at, None, None, said.ground, said.observer
        )
        self.pending.append((episode, said))

    def judge(self) -> list[Verdict]:
        """Judge everything pending, with the opinions that come with it, and keep the verdicts."""
        if not self.pending:
            return []
        of = {(episode.cell, episode.number): said for episode, said in self.pending}
        cluster = in_time(Cluster(BELIEF, ENTITY, self.aspect, "matter", [episode for episode, _ in self.pending]))
        so_far = [self.versions[number] for number in sorted(self.versions)]
        verdicts = judged(cluster, so_far, self._opinions(cluster, so_far, of)).every
        for verdict in verdicts:
            self._keep(verdict)
        decided = {(verdict.episode.cell, verdict.episode.number) for verdict in verdicts}
        self.pending = [one for one in self.pending if (one[0].cell, one[0].number) not in decided]
        self.verdicts += verdicts
        return verdicts

    def _opinions(self, cluster: Cluster, so_far: list[Version], of: dict[tuple[CellId, int], Said]) -> Opinions:
        matter = matter_of(cluster, so_far)
        if matter is None:
            return {}
        opinions = {}
        for place in matter.asked:
            position = matter.statements[place].episode
            episode = cluster.episodes[position]
            said = of[episode.cell, episode.number]
            restated = self._place_of(matter, place, said.restates, of)
            if said.place is not None:
                restated = said.place % place
            opinions[place] = Opinion(restated, "", said.sure)
        return opinions

    def _place_of(
        self, matter: Matter, place: int, number: int | None, of: dict[tuple[CellId, int], Said]
    ) -> int | None:
        """The place of the statement that founds, or is, the version of that number: it counts what is new before."""
        if number is None:
            return None
        for at, statement in enumerate(matter.statements[:place]):
            if statement.version == number:
                return at
        trial = Told(self.aspect, dict(self.versions), list(self.evidence), [], [], dict(self.lasts))
        last = matter.statements[place].episode
        trial.pending = [(one, of[one.cell, one.number]) for one in matter.cluster.episodes[:last]]
        founded = {
            verdict.opened.number: (verdict.episode.cell, verdict.episode.number)
            for verdict in trial.judge()
            if verdict.opened is not None
        }
        for at, statement in enumerate(matter.statements[:place]):
            if statement.episode is not None:
                one = matter.cluster.episodes[statement.episode]
                if founded.get(number) == (one.cell, one.number):
                    return at
        return None

    def _keep(self, verdict: Verdict) -> None:
        for closed in verdict.every_closed:
            state = State.SUPERSEDED if closed.successor is not None else State.RETRACTED
            self.versions[closed.number] = self.versions[closed.number]._replace(state=state, valid_to=closed.valid_to)
            if closed.successor is None:
                self.evidence.append((closed.number, verdict.episode, "ended"))
        if verdict.opened is not None:
            one, episode = verdict.opened, verdict.episode
            self.versions[one.number] = Version(
                BELIEF, one.number, one.state, episode.cell, episode.number, episode.value, one.valid_from,
                None, None, episode.observer,
            )  # fmt: skip
        if verdict.witness is not None:
            role = "bears_out" if verdict.kind is VerdictKind.REINFORCE else "ended"
            self.evidence.append((verdict.witness, verdict.episode, role))
            if role == "bears_out":
                was = self.versions[verdict.witness]
                newer = max((was.observer, verdict.episode.observer), key=rank_of)
                self.versions[verdict.witness] = was._replace(wording=verdict.episode.value, observer=newer)

    def held(self) -> list[str]:
        """`1 current  orders has 3 partitions`, for each version."""
        return [
            f"{number} {one.state.value}  {loads(one.wording or one.value)}"
            for number, one in sorted(self.versions.items())
        ]


def told(verdict: Verdict) -> str:
    """`supersede 1 by 3, ends 2 (said otherwise since)`."""
    opened, closed = verdict.opened, verdict.closed
    others = "".join(f", ends {one.number}" for one in verdict.also_closed)
    match verdict.kind:
        case VerdictKind.SUPERSEDE:
            assert opened is not None
            assert closed is not None
            return f"supersede {closed.number} by {opened.number}{others} ({opened.reason})"
        case VerdictKind.RETRACT if closed is not None:
            return f"retract {closed.number}{others} ({closed.reason})"
        case VerdictKind.RETRACT:
            return f"retract {verdict.witness} (nothing ended)"
        case VerdictKind.REINFORCE:
            return f"reinforce {verdict.witness}"
        case _:
            assert opened is not None
            reason = "" if opened.reason == "said for the first time" else f" ({opened.reason})"
            return f"{verdict.kind.value} {opened.number}{others}{reason}"
