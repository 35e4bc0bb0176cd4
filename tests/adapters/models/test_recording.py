"""A recording answers what the model answered, good and bad, and nothing else."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from palimpsest.adapters.models.recording import Recording, Replay, key_of, read
from palimpsest.core.errors import BadAnswerError, BudgetError, ConfigError, ModelError
from palimpsest.core.language import Answer, Usage
from tests.adapters.models.scripted import EACH, Scripted, ask

NAME = Scripted.name


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the recording goes: in a folder that is not there yet."""
    return tmp_path / "answers" / "first.jsonl"


def record(path: Path, *said: str | ModelError) -> Recording:
    """A model whose answers are written down."""
    return Recording(Scripted(*said), path)


def test_what_was_answered_is_answered_again_with_its_usage(path: Path) -> None:
    recording = record(path, '{"a": "größe 😀"}', '{"b": 2}')
    given = [recording.answer(ask(material)) for material in ("orders\nand more", "payments")]
    replay = Replay(NAME, path)
    assert [replay.answer(ask(material)) for material in ("payments", "orders\nand more")] == given[::-1]
    assert replay.used == recording.used == EACH + EACH
    assert given[0] == Answer(text='{"a": "größe 😀"}', usage=EACH)


def test_a_bad_answer_is_bad_again_and_counts_again(path: Path) -> None:
    recording = record(path, BadAnswerError("the answer is empty", "another model"))
    replay = Replay(NAME, path)
    for model in (recording, replay):
        with pytest.raises(BadAnswerError) as caught:
            model.answer(ask())
        assert (caught.value.message, caught.value.hint) == ("the answer is empty", "another model")
        assert model.used == EACH


def test_a_request_asked_twice_has_both_answers_in_order_and_the_last_for_ever(path: Path) -> None:
    recording = record(path, BadAnswerError("cut"), "{}", '{"a": 2}')
    with pytest.raises(BadAnswerError):
        recording.answer(ask())
    recording.answer(ask())
    recording.answer(ask())
    replay = Replay(NAME, path)
    with pytest.raises(BadAnswerError):
        replay.answer(ask())
    assert [replay.answer(ask()).text for _ in range(4)] == ["{}", '{"a": 2}', '{"a": 2}', '{"a": 2}']


def test_an_error_that_is_no_answer_is_not_kept(path: Path) -> None:
    recording = record(path, ModelError("down"), BudgetError("spent"), "{}")
    for error in (ModelError, BudgetError):
        with pytest.raises(error):
            recording.answer(ask())
    recording.answer(ask())
    assert len(path.read_bytes().splitlines()) == 1


def test_what_was_not_recorded_is_named_and_nobody_is_asked(path: Path) -> None:
    record(path, "{}").answer(ask("orders"))
    with pytest.raises(ModelError) as caught:
        Replay(NAME, path).answer(ask("the table of payments"))
    assert caught.value.message == f"{path} holds no answer of {NAME} to restate@1:0a1b2c3d: 'the table of payments'"
    assert "model.record" in caught.value.hint
    with pytest.raises(ModelError, match="of another:model to"):
        Replay("another:model", path).answer(ask("orders"))


def test_the_key_is_of_all_that_decides_an_answer() -> None:
    one = ask("m")
    others = [
        replace(one, prompt="restate@2:00000000"),
        replace(one, instructions="i"),
        replace(one, material="n"),
        replace(one, schema={"type": "object"}),
    ]
    keys = [key_of(NAME, one), key_of("another:model", one), *(key_of(NAME, other) for other in others)]
    assert len(set(keys)) == 6
    assert key_of(NAME, replace(one, most_tokens=99)) == keys[0]


def test_a_half_written_last_line_costs_one_answer_and_no_other(path: Path) -> None:
    recording = record(path, '{"a": 1}', '{"a": 2}', '{"a": 3}')
    recording.answer(ask("first"))
    recording.answer(ask("second"))
    path.write_bytes(path.read_bytes()[:-30])
    replay = Replay(NAME, path)
    assert replay.answer(ask("first")).text == '{"a": 1}'
    with pytest.raises(ModelError, match="holds no answer"):
        replay.answer(ask("second"))
    recording.answer(ask("third"))
    assert Replay(NAME, path).answer(ask("third")).text == '{"a": 3}'
    assert Replay(NAME, path).answer(ask("first")).text == '{"a": 1}'


def test_many_can_write_to_one_file_at_once(path: Path) -> None:
    def write(number: int) -> None:
        recording = record(path, *['{"a": 1}'] * 20)
        for each in range(20):
            recording.answer(ask(f"{number}-{each}-" + "x" * 20_000))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    replay = Replay(NAME, path)
    for number in range(8):
        assert replay.answer(ask(f"{number}-19-" + "x" * 20_000)).text == '{"a": 1}'
    assert len(read(path)) == len(list(filter(None, path.read_bytes().splitlines()))) == 160


def test_a_line_is_a_json_object_that_a_person_can_read(path: Path) -> None:
    record(path, '{"a": 1}').answer(ask("orders", instructions="judge"))
    line = json.loads(path.read_text("utf-8"))
    assert set(line) == {"key", "model", "request", "answer"}
    assert line["model"] == NAME
    assert (line["request"]["prompt"], line["request"]["material"]) == ("restate@1:0a1b2c3d", "orders")
    assert line["answer"]["text"] == '{"a": 1}'


def test_broken_letters_are_no_hindrance(path: Path) -> None:
    record(path, "{}").answer(ask("\ud800\0"))
    assert Replay(NAME, path).answer(ask("\ud800\0")).text == "{}"


def test_an_unknown_cost_stays_unknown(path: Path) -> None:
    line = {"key": key_of(NAME, ask()), "answer": {"text": "{}", "usage": {"calls": 1, "cost": None}}}
    path.parent.mkdir()
    path.write_text(json.dumps(line) + "\n")
    assert Replay(NAME, path).answer(ask()).usage == Usage(calls=1, cost=None)


def test_a_file_that_is_no_recording_is_refused_and_an_empty_one_holds_nothing(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("hello\n")
    with pytest.raises(ConfigError, match="no recording"):
        Replay(NAME, other).answer(ask())
    with pytest.raises(ConfigError, match="cannot be read"):
        Replay(NAME, tmp_path / "missing").answer(ask())
    other.write_text("")
    with pytest.raises(ModelError, match="holds no answer"):
        Replay(NAME, other).answer(ask())


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        record(tmp_path, "{}").answer(ask())
