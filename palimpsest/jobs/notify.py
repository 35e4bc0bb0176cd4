"""notify: tell people what changed, one message a recipient: read, plan, send, and move on what was accepted.

What a receiver took is written down before the next one is sent to, so a job killed in between repeats one message at
the most, and loses none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from palimpsest.core.aspects import RULES
from palimpsest.core.ids import Ids
from palimpsest.core.moment import Moment
from palimpsest.core.notice import Message, News, Parcel, Plan, Recipient, Rule, nobody, plan
from palimpsest.core.notice_lines import message
from palimpsest.core.patience import Failure
from palimpsest.jobs.leased import released_on_failure
from palimpsest.ports import Clock, Notifier, Progress
from palimpsest.store import notices, runs
from palimpsest.store.engine import Connection, Store
from palimpsest.store.notices import RULE, Cursor, Told
from palimpsest.store.runs import Lease

_LEASE = "notify"
ReadNews = Callable[[Moment], Sequence[News]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyRequest:
    """What is asked: by which rules; from when on those tell that are new, None for now; the console's address."""

    rules: Sequence[Rule]
    since: Moment | None = None
    console: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What became of one message: `failure` is empty where it was accepted, or was only to be shown."""

    to: str
    address: str
    rules: tuple[str, ...]
    message: Message
    failure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyReport:
    """What was sent to whom. `begun` are rules that were new; `unreached` counts, by rule, what nobody is told."""

    dry_run: bool
    begun: tuple[str, ...]
    notices: tuple[Notice, ...]
    unreached: Mapping[str, int]

    @property
    def failed(self) -> int:
        """How many messages were not accepted."""
        return sum(1 for one in self.notices if one.failure)


def begin(store: Store, rules: Sequence[Rule], *, clock: Clock) -> list[str]:
    """Have rules that are new begin now: before a scan, so that they tell what it finds. Returns which are."""
    names, now = [rule.name for rule in rules], clock.now()
    if {name for name, _ in store.read(notices.cursors)} >= set(names):
        return []
    return store.write(lambda connection: notices.begin(connection, names, now))


def preview(store: Store, request: NotifyRequest, read: ReadNews, *, clock: Clock) -> NotifyReport:
    """What would be sent to whom; writes nothing."""
    held = store.read(notices.cursors)
    since = clock.now() if request.since is None else request.since
    new = [rule.name for rule in request.rules if (rule.name, RULE) not in held]
    cursors = held | {(name, RULE): Cursor(since, since) for name in new}
    work = _Work(store, request, cursors)
    planned = work.plan(read)
    found = tuple(_notice(parcel, work.message(parcel), None) for parcel in planned.parcels)
    return NotifyReport(dry_run=True, begun=tuple(new), notices=found, unreached=_counted(planned))


def notify(
    store: Store,
    request: NotifyRequest,
    read: ReadNews,
    notifiers: Mapping[str, Notifier],
    *,
    clock: Clock,
    progress: Progress,
    holder: str,
) -> NotifyReport:
    """Send what is new. `notifiers` are by the rules' `to`; `read` gives the news of the runs since a time.

    Raises LeaseHeldError while another process notifies. A receiver that does not accept is in the report.
    """
    lease = runs.acquire(store, job=notices.JOB, source_name=_LEASE, rules=RULES, now=clock.now(), holder=holder)
    with released_on_failure(store, lease, clock):
        since = lease.started_at if request.since is None else request.since
        names = [rule.name for rule in request.rules]
        begun = store.write(lambda connection: notices.begin(connection, names, since))
        position = store.read(lambda connection: notices.settled(connection, lease.started_at))
        work = _Work(store, request, store.read(notices.cursors))
        planned = work.plan(read)
        progress.start("notifying", len(planned.parcels))
        sent: list[Notice] = []
        behind: dict[tuple[str, bytes], Cursor] = {}
        for parcel in planned.parcels:
            text = work.message(parcel)
            failure = notifiers[parcel.recipient.to].send(text, parcel.recipient.address)
            if failure is None:
                _write_down(store, work.told_by(parcel), lease, clock)
            else:
                behind |= work.left_behind(parcel)
            sent.append(_notice(parcel, text, failure))
            progress.advance()
        progress.done()
        moved, unreached = dict.fromkeys(names, position), work.unreached(planned)

        def move(connection: Connection) -> None:
            notices.tell(connection, unreached)
            notices.move(connection, moved, behind)

        store.write(move)
        report = NotifyReport(dry_run=False, begun=tuple(begun), notices=tuple(sent), unreached=_counted(planned))
        counts = {"messages": len(sent), "failed": report.failed}
        runs.release(store, lease, state="done", now=clock.now(), counts=counts)
    return report


def _write_down(store: Store, told: Sequence[tuple[Told, Moment]], lease: Lease, clock: Clock) -> None:
    now = clock.now()

    def write(connection: Connection) -> None:
        notices.tell(connection, told)
        runs.beat(connection, lease, now)

    store.write(write)


class _Work:
    """What is held of whom was told what, and what follows for this time."""

    def __init__(self, store: Store, request: NotifyRequest, cursors: notices.Cursors) -> None:
        names = [rule.name for rule in request.rules]
        self._store, self._request, self._cursors = store, request, cursors
        self._ids: Ids = store.ids
        self._told = store.read(lambda connection: notices.told(connection, names))

    def plan(self, read: ReadNews) -> Plan:
        """What goes to whom."""
        names = {rule.name for rule in self._request.rules}
        floors = [cursor.floor for (rule, _), cursor in self._cursors.items() if rule in names]
        if not floors:
            return Plan(parcels=(), unreached={})
        return plan(self._request.rules, read(min(floors)), self._is_told)

    def message(self, parcel: Parcel) -> Message:
        """The message of a parcel, named by what is in it and whom it is for."""
        content = "\x1f".join(
            [str(parcel.recipient), *(f"{cell.hex()}:{number}" for one in parcel.news for cell, number in one.episodes)]
        )
        key = self._ids.person(f"notice\x1f{content}").hex()
        return message(parcel.news, key=key, console=self._request.console)

    def told_by(self, parcel: Parcel) -> list[tuple[Told, Moment]]:
        """What is told once a parcel is accepted, and was not before."""
        found: list[tuple[Told, Moment]] = []
        for rule, news in parcel.by_rule.items():
            found += self._told_of(rule, parcel.recipient, news)
        return found

    def unreached(self, planned: Plan) -> list[tuple[Told, Moment]]:
        """What is done with though nobody was told, for want of an owner who can be reached."""
        found: list[tuple[Told, Moment]] = []
        for rule in self._request.rules:
            found += self._told_of(rule.name, nobody(rule), planned.unreached.get(rule.name, ()))
        return found

    def _told_of(self, rule: str, recipient: Recipient, news: Sequence[News]) -> list[tuple[Told, Moment]]:
        who = self._recipient(recipient)
        found = [(Told(rule, who, episode), one.at) for one in news for episode in one.episodes]
        return [(one, at) for one, at in found if one not in self._told]

    def left_behind(self, parcel: Parcel) -> dict[tuple[str, bytes], Cursor]:
        """The cursors of a recipient who did not accept: where they were."""
        recipient = self._recipient(parcel.recipient)
        return {(rule, recipient): self._cursor(rule, recipient) for rule in parcel.by_rule}

    def _is_told(self, rule: str, recipient: Recipient, at: Moment, episode: tuple[object, ...]) -> bool:
        who = self._recipient(recipient)
        return at < self._cursor(rule, who).floor or Told(rule, who, episode) in self._told  # type: ignore[arg-type]

    def _cursor(self, rule: str, recipient: bytes) -> Cursor:
        return self._cursors.get((rule, recipient)) or self._cursors[rule, RULE]

    def _recipient(self, recipient: Recipient) -> bytes:
        return self._ids.person(f"{recipient.to}\x1f{recipient.address}")


def _notice(parcel: Parcel, text: Message, failure: Failure | None) -> Notice:
    return Notice(
        to=parcel.recipient.to,
        address=parcel.recipient.address,
        rules=tuple(sorted(parcel.by_rule)),
        message=text,
        failure=said(failure) if failure is not None else "",
    )


def _counted(planned: Plan) -> dict[str, int]:
    return {rule: len(news) for rule, news in sorted(planned.unreached.items())}


def said(failure: Failure) -> str:
    """A failure in words."""
    match failure.status:
        case -1:
            return f"cannot be reached: {failure.said()}"
        case 0:
            return f"did not answer in time: {failure.said()}"
        case 429:
            after = f"; it says to wait {failure.retry_after:.0f} s" if failure.retry_after else ""
            return f"takes no more messages now: {failure.said()}{after}"
        case status:
            return f"did not accept it ({status}): {failure.said()}"
