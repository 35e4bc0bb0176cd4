"""Batches read by a few threads at once, and their answers in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from itertools import islice
from queue import SimpleQueue
from types import TracebackType
from typing import TypeVar

from palimpsest.core.moment import Moment

T = TypeVar("T")
Batch = TypeVar("Batch")
Found = TypeVar("Found")
_Task = Callable[[], None]


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of so many items, the last of the rest."""
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some


def read_at_once(
    batches: Iterable[Batch],
    read: Callable[[Batch], list[Found]],
    *,
    workers: int,
    name: str,
    now: Callable[[], Moment],
) -> Iterator[tuple[Moment, list[Found]]]:
    """(when it was asked for at the earliest, what was found) of each batch, in order; raises what `read` raises.

    `workers` batches are under way and one waits, so memory is flat. Left early, it begins no other batch.
    """
    rest = iter(batches)
    waiting: deque[tuple[Moment, Future[list[Found]]]] = deque()
    with _Threads(workers, name) as threads:

        def fill() -> None:
            for batch in islice(rest, workers + 1 - len(waiting)):
                future: Future[list[Found]] = Future()
                waiting.append((now(), future))
                threads.give(_task(future, read, batch))

        fill()
        while waiting:
            asked_at, future = waiting.popleft()
            found = future.result()
            fill()
            yield asked_at, found


def _task(future: Future[list[Found]], read: Callable[[Batch], list[Found]], batch: Batch) -> _Task:
    def work() -> None:
        with _Delivery(future):
            future.set_result(read(batch))

    return work


class _Threads:
    """Threads that no process waits for at its end, as it would for a pool's: a question may hang, Ctrl-C may not."""

    def __init__(self, count: int, name: str) -> None:
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._is_left = False
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{place}", daemon=True) for place in range(count)
        ]

    def __enter__(self) -> _Threads:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_left = True
        for _ in self._threads:
            self._tasks.put(None)

    def give(self, task: _Task) -> None:
        """Have something done by the next thread that is free."""
        self._tasks.put(task)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None and not self._is_left:
            task()


class _Delivery:
    """Whatever is raised goes to whom the answer is for."""

    def __init__(self, future: Future[list[Found]]) -> None:
        self._future = future

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is not None:
            self._future.set_exception(error)
        return True
