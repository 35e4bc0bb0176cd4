"""Prompt files: a head that names them, instructions, the hash of the very bytes; a bad override is told clearly."""

from __future__ import annotations

import hashlib
import string

import pytest

from palimpsest import shipped
from palimpsest.core.errors import ConfigError
from palimpsest.jobs.judging.prompts import NAMES, parse

HEAD = "---\nname: restated\nversion: 2\n---\n"


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_prompt_is_named_by_the_hash_of_its_bytes(name: str) -> None:
    data = (shipped.folder("prompts") / f"{name}.md").read_bytes()
    prompt = parse(name, data, f"{name}.md")
    assert prompt.tag == f"{name}@1:{hashlib.sha256(data).hexdigest()[:8]}"
    assert "---" not in prompt.instructions
    assert set(prompt.instructions) <= set(string.printable)  # nothing hidden, nothing that a mail would bend


def test_only_the_bytes_count_for_the_hash() -> None:
    one, other = (parse("restated", f"{HEAD}Compare{end}".encode(), "here") for end in ("", "."))
    assert (one.version, one.instructions) == (2, "Compare")
    assert one.digest != other.digest


def test_a_file_of_windows_is_read_as_any_other() -> None:
    data = ("\ufeff" + HEAD + "Compare\ntwice.\n").replace("\n", "\r\n").encode()
    assert parse("restated", data, "here").instructions == "Compare\ntwice."


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"Compare.", "mine.md: the prompt has no head"),
        (b"---\nname: sorted\nversion: 1\n---\nx", "mine.md: its head says name: sorted"),
        (b"---\nname: restated\n---\nx", "mine.md: its head lacks version"),
        (b"---\nname: restated\nversion: one\n---\nx", "mine.md: 'one' is no version"),
        (
            b"---\nname: restated\nversion: 1\nmodel: x\n---\nx",
            "mine.md: its head has a line that it should not: 'model: x'",
        ),
        (
            b"---\nname: restated\nname: restated\nversion: 1\n---\nx",
            "mine.md: its head has a line that it should not: 'name: restated'",
        ),
        (b"---\nname: restated\nversion: 1\n---\n \n", "mine.md: the prompt has no instructions"),
        (b"---\nname: restated\nversion: 1\n---\n\xff", "mine.md: not UTF-8 at byte 34"),
        (HEAD.encode() + b"x" * 20_000, "mine.md: a prompt of 20034 bytes, and at most 20000 are sent"),
    ],
)
def test_an_override_that_is_no_prompt_is_a_setting_to_mend(data: bytes, told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse("restated", data, "mine.md")
    assert raised.value.message == told
    assert raised.value.hint
