"""embed: every passage gets a vector in time, whatever fails in between, and a change of embedder is never felt."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa

from palimpsest.adapters.embed.hashed import HashedEmbedder
from palimpsest.core.errors import ModelError, StoppedError, StoreError
from palimpsest.core.vector import Vectors
from palimpsest.jobs.embed import EmbedReport, embed
from palimpsest.ports import Embedder
from palimpsest.queries.runs import runs
from palimpsest.store import embedders, vector_index, vector_signs, vector_types, vectors
from palimpsest.store.engine import Store, open_store
from palimpsest.testing import NoProgress
from palimpsest.testing.embedder import WordEmbedder
from tests.building import Memory
from tests.passages import add_passages, drop_passages
from tests.robustness.command import ROOT

TEXTS = [f"table number{place} of schema{place % 7}" for place in range(60)]


def run(memory: Memory, embedder: Embedder, *, change: bool = False, holder: str = "test:1:") -> EmbedReport:
    """One pass, in small pages."""
    clock = memory._tick()
    return embed(memory.store, embedder, clock=clock, progress=NoProgress(), holder=holder, change=change, page=8)


def filled(store: Store) -> dict[str, tuple[str, int]]:
    """The state and the vectors of each embedder, by its name."""
    return {one.name: (one.state.value, one.vectors) for one in store.read(embedders.filled)}


def nearest(store: Store, embedder: Embedder, text: str) -> int | None:
    """The passage that is nearest to a question, by the vectors that are searched; None if they are another's."""
    of = store.read(embedders.current)
    if of is None or embedders.kind_of(of.name) != embedder.name:
        return None
    found = store.read(lambda c: vectors.nearest(c, of, embedder.embed_question(text), 1))
    return found[0].passage if found else None


def test_every_passage_gets_its_vector_and_nothing_to_do_writes_nothing(tmp_path: Path, dialect: str) -> None:
    memory, embedder = Memory(tmp_path), WordEmbedder()
    numbers = add_passages(memory.store, TEXTS)
    report = run(memory, embedder)
    assert (report.embedded, report.left, report.refused, report.switched, report.other) == (60, 0, 0, False, "")
    assert sorted(embedder.seen) == sorted(TEXTS)
    for place in (0, 31, 59):
        assert nearest(memory.store, embedder, TEXTS[place]) == numbers[place]
    assert run(memory, embedder).run == ""
    assert [(one.job, one.state) for one in runs(memory.store, 0).runs] == [("embed", "done")]


def test_only_what_is_new_is_embedded_and_what_is_gone_is_forgotten(tmp_path: Path, dialect: str) -> None:
    memory, embedder = Memory(tmp_path), WordEmbedder()
    numbers = add_passages(memory.store, TEXTS[:40])
    run(memory, embedder)
    drop_passages(memory.store, numbers[:30])
    add_passages(memory.store, TEXTS[40:], first=40)
    embedder.seen.clear()
    assert run(memory, embedder).embedded == 20
    assert sorted(embedder.seen) == sorted(TEXTS[40:])
    assert filled(memory.store) == {"words:1": ("current", 30)}
    if dialect == "sqlite":
        of = memory.store.read(embedders.current)
        assert of is not None
        assert memory.store.read(lambda c: vector_signs.count(c, of.id)) == 30


def test_as_part_of_another_job_it_leaves_no_run(tmp_path: Path) -> None:
    memory, embedder = Memory(tmp_path), WordEmbedder()
    add_passages(memory.store, TEXTS)
    report = embed(
        memory.store, embedder, clock=memory.clock, progress=NoProgress(), holder="test:1:", recorded=False, page=8
    )
    assert (report.run, report.embedded, report.left) == ("", 60, 0)
    assert runs(memory.store, 0).runs == ()


def test_an_empty_store_stays_as_it_is(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    assert run(memory, WordEmbedder()).embedded == 0
    assert memory.store.read(embedders.known) == []


def test_the_built_in_embedder_does_it_too(tmp_path: Path) -> None:
    memory, embedder = Memory(tmp_path), HashedEmbedder()
    numbers = add_passages(memory.store, TEXTS)
    assert run(memory, embedder).embedded == 60
    assert nearest(memory.store, embedder, "number42") == numbers[42]


def test_a_change_of_embedder_is_made_whole_before_it_is_searched(tmp_path: Path, dialect: str) -> None:
    memory, old = Memory(tmp_path), WordEmbedder()
    numbers = add_passages(memory.store, TEXTS)
    run(memory, old)

    # Settings that name another one change nothing by themselves.
    new = WordEmbedder("words:2", fails_after=24)
    report = run(memory, new)
    assert (report.other, report.embedded, report.run, new.seen) == ("words:1", 0, "", [])

    # Its pass breaks off: what was made stays, and the old ones are searched.
    with pytest.raises(ModelError, match="the model of the test fails"):
        run(memory, new, change=True)
    assert filled(memory.store) == {"words:1": ("current", 60), "words:2": ("coming", 24)}
    assert nearest(memory.store, old, TEXTS[7]) == numbers[7]
    assert nearest(memory.store, new, TEXTS[7]) is None

    # What comes meanwhile waits for the new one; the next pass, of whatever command, goes on with it.
    more = add_passages(memory.store, ["late arrival"], first=60)
    new = WordEmbedder("words:2")
    report = run(memory, new)
    assert (report.embedded, report.switched, report.deleted, report.left) == (37, True, 60, 0)
    assert filled(memory.store) == {"words:2": ("current", 61)}
    assert nearest(memory.store, new, TEXTS[7]) == numbers[7]
    assert nearest(memory.store, new, "late arrival") == more[0]
    assert nearest(memory.store, old, TEXTS[7]) is None
    assert {one.name: one.state.value for one in memory.store.read(embedders.known)}["words:1"] == "gone"
    assert memory.store.read(lambda c: [len(vector_signs.batches(c, one.id)) for one in embedders.known(c)])[0] == 0


def test_going_back_before_the_change_is_whole_keeps_the_old_vectors(tmp_path: Path) -> None:
    memory, old = Memory(tmp_path), WordEmbedder()
    numbers = add_passages(memory.store, TEXTS)
    run(memory, old)
    with pytest.raises(ModelError):
        run(memory, WordEmbedder("words:2", fails_after=24), change=True)
    old.seen.clear()
    report = run(memory, old, change=True)
    assert (report.embedded, report.deleted, report.switched, old.seen) == (0, 24, False, [])
    assert filled(memory.store) == {"words:1": ("current", 60)}
    assert nearest(memory.store, old, TEXTS[7]) == numbers[7]


def test_the_same_embedder_can_make_all_anew(tmp_path: Path) -> None:
    memory, embedder = Memory(tmp_path), WordEmbedder()
    numbers = add_passages(memory.store, TEXTS)
    run(memory, embedder)
    report = run(memory, embedder, change=True)
    assert (report.embedded, report.switched, report.deleted) == (60, True, 60)
    assert filled(memory.store) == {"words:1": ("current", 60)}
    assert nearest(memory.store, embedder, TEXTS[7]) == numbers[7]


def test_a_pass_that_is_given_up_for_another_embedder_stops(tmp_path: Path) -> None:
    memory, old = Memory(tmp_path), WordEmbedder()
    add_passages(memory.store, TEXTS)
    run(memory, old)

    class Late(WordEmbedder):
        def embed_passages(self, texts: list[str]) -> object:  # type: ignore[override]
            if not self.seen:
                with pytest.raises(ModelError):
                    run(memory, WordEmbedder("words:3", fails_after=0), change=True, holder="test:2:")
            return super().embed_passages(texts)

    with pytest.raises(StoppedError, match="words:2 was given up for another"):
        run(memory, Late("words:2"), change=True)
    assert filled(memory.store) == {
        "words:1": ("current", 60),
        "words:2": ("going", 0),
        "words:3": ("coming", 0),
    }


def test_a_text_that_the_model_refuses_is_in_nobodys_way(tmp_path: Path, dialect: str) -> None:
    memory, embedder = Memory(tmp_path), WordEmbedder(refuses="number17")
    add_passages(memory.store, TEXTS)
    report = run(memory, embedder)
    assert (report.embedded, report.refused, report.left) == (59, 1, 1)
    again = run(memory, embedder)
    assert (again.embedded, again.refused, again.left) == (0, 1, 1)
    new = run(memory, WordEmbedder("words:2", refuses="number17"), change=True)
    assert (new.embedded, new.switched, new.left) == (59, True, 1)


def test_vectors_of_another_dimension_are_refused(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    add_passages(memory.store, TEXTS)
    with pytest.raises(ModelError, match="words:1 gave 8 by 100 numbers for 8 texts, not 384 for each"):
        run(memory, WordEmbedder(dimension=100))
    assert filled(memory.store) == {"words:1": ("current", 0)}
    (failed,) = runs(memory.store, 0).runs
    assert failed.state == "failed"


def test_passes_at_once_share_the_work(tmp_path: Path, dialect: str) -> None:
    memory = Memory(tmp_path)
    texts = [f"passage {place}" for place in range(400)]
    add_passages(memory.store, texts)
    made = [WordEmbedder(), WordEmbedder(), WordEmbedder()]
    failed: list[BaseException] = []
    start = threading.Barrier(len(made))

    def work(place: int, embedder: WordEmbedder) -> None:
        store = open_store(memory.url)
        try:
            start.wait()
            embed(store, embedder, clock=memory.clock, progress=NoProgress(), holder=f"test:{place}:", page=8)
        except BaseException as error:  # noqa: BLE001 - told below
            failed.append(error)
        finally:
            store.dispose()

    threads = [threading.Thread(target=work, args=one) for one in enumerate(made)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert filled(memory.store) == {"words:1": ("current", 400)}
    seen = [text for one in made for text in one.seen]
    assert set(seen) == set(texts)
    assert len(seen) < 1.5 * len(texts)


def test_a_pass_that_is_killed_leaves_what_it_made_and_the_next_goes_on(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    add_passages(memory.store, TEXTS)
    script = """
import os, signal, sys
from palimpsest.adapters.clock import SystemClock
from palimpsest.jobs.embed import embed
from palimpsest.store.engine import open_store
from palimpsest.store.runs import this_process
from palimpsest.testing import NoProgress
from palimpsest.testing.embedder import WordEmbedder

class Killed(WordEmbedder):
    def embed_passages(self, texts):
        if len(self.seen) >= 24:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed_passages(texts)

embed(open_store(sys.argv[1]), Killed(), clock=SystemClock(), progress=NoProgress(), holder=this_process(), page=8)
"""
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script, memory.url], env=env, check=False)
    assert done.returncode < 0
    state, made = filled(memory.store)["words:1"]
    assert (state, 24 <= made < 32) == ("current", True)
    report = run(memory, WordEmbedder())
    assert (report.embedded, report.left) == (60 - made, 0)
    assert sorted(one.state for one in runs(memory.store, 0).runs) == ["done", "failed"]


def test_the_index_of_vectors_is_made_after_very_many_were_written(tmp_path: Path, server: str) -> None:
    memory = Memory(tmp_path)
    native = vector_types.kept(memory.store).form.native
    texts = [f"passage {place}" for place in range(vector_index.MANY)]
    numbers = add_passages(memory.store, texts)
    states = []

    class Looking(HashedEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            states.append(vector_types.kept(memory.store).indexed)
            return super().embed_passages(texts)

    embedder = Looking()
    embed(memory.store, embedder, clock=memory.clock, progress=NoProgress(), holder="test:1:", page=1_000)
    pgvector = bool(vector_types.kept(memory.store).form.pgvector)
    assert set(states) == {native and not pgvector}
    assert vector_types.kept(memory.store).indexed == native
    assert nearest(memory.store, embedder, "4321") == numbers[4321]


def test_an_index_that_is_missing_is_made_by_the_next_pass(tmp_path: Path, server: str) -> None:
    memory = Memory(tmp_path)
    add_passages(memory.store, TEXTS)
    run(memory, WordEmbedder())
    before = vector_types.kept(memory.store).indexed
    memory.store.write(lambda c: c.execute(sa.text(f"DROP INDEX IF EXISTS {vector_types.INDEX}")))
    assert vector_types.kept(memory.store).indexed is False
    assert run(memory, WordEmbedder()).run == ""
    assert vector_types.kept(memory.store).indexed == before


def test_a_store_that_may_only_be_read_is_searched_and_not_embedded(tmp_path: Path) -> None:
    memory, embedder = Memory(tmp_path), WordEmbedder()
    numbers = add_passages(memory.store, TEXTS)
    run(memory, embedder)
    add_passages(memory.store, ["one more"], first=60)
    memory.store.dispose()
    reader = open_store(f"sqlite:///file:{tmp_path}/memory.db?mode=ro&uri=true", writing=False)
    assert nearest(reader, embedder, TEXTS[7]) == numbers[7]
    with pytest.raises(StoreError, match="read-only"):
        embed(reader, embedder, clock=memory.clock, progress=NoProgress(), holder="test:1:")
    reader.dispose()
