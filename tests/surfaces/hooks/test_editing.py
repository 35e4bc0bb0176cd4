"""One value in, the same value out: of settings in any spelling, no other byte changes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.surfaces.hooks.editing import NotEditable, parse, put, take

ENTRY = {"hooks": [{"type": "command", "command": "palimpsest hook session-start", "timeout": 10}]}
PATH = ("hooks", "SessionStart")

ODD = {
    "an empty object": "{}",
    "an empty object with a newline in it": "{\n}\n",
    "no final newline": '{\n  "model": "opus"\n}',
    "one line": '{"model": "opus", "env": {}}\n',
    "one line, no blanks": '{"model":"opus","hooks":{"Stop":[]}}',
    "one line, a blank first": '{ "model": "opus" }',
    "four blanks": '{\n    "model": "opus",\n    "env": {\n        "A": "1"\n    }\n}\n',
    "tabs": '{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t{\n\t\t\t\t"hooks": []\n'
    '\t\t\t}\n\t\t]\n\t}\n}\n',
    "carriage returns": '{\r\n  "model": "opus",\r\n  "hooks": {\r\n    "SessionStart": []\r\n  }\r\n}\r\n',
    "comments": '// mine\n{\n  // the model\n  "model": "opus", // which\n  /* no hooks: {} */\n}\n// end\n',
    "a comment behind the bracket": '{ // mine\n  "hooks": { // none\n  }\n}\n',
    "trailing commas": '{\n  "hooks": {\n    "SessionStart": [\n      {"hooks": [],},\n    ],\n  },\n}\n',
    "empty hooks first": '{\n  "hooks": {},\n  "model": "opus"\n}\n',
    "an empty list": '{\n  "hooks": {\n    "SessionStart": []\n  }\n}\n',
    "an empty list with a newline in it": '{\n  "hooks": {\n    "SessionStart": [\n    ]\n  }\n}\n',
    "blank lines": '\n\n{\n\n\n  "model": "opus"\n\n}\n\n',
    "a byte order mark": '\ufeff{\n  "model": "opus"\n}\n',
    "brackets in texts": '{\n  "a": "}]{[\\"//", "hooks": {"SessionStart": [{"x": "/*"}]}\n}\n',
    "others' hooks": '{\n  "hooks": {\n    "SessionStart": [\n'
    '      {"hooks": [{"type": "command", "command": "ls"}]}\n    ]\n  }\n}\n',
}  # fmt: skip


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_what_was_put_in_is_taken_out_to_the_byte(text: str) -> None:
    made = put(text, PATH, ENTRY)
    before, after = parse(text).plain(), parse(made).plain()
    assert after["hooks"]["SessionStart"][0] == ENTRY
    assert after["hooks"]["SessionStart"][1:] == before.get("hooks", {}).get("SessionStart", [])
    assert {key: value for key, value in after.items() if key != "hooks"} == {
        key: value for key, value in before.items() if key != "hooks"
    }
    assert take(made, PATH, 0) == text


def test_nothing_is_written_but_one_piece() -> None:
    text = ODD["comments"]
    made = put(text, PATH, ENTRY)
    start = next(at for at in range(len(text)) if text[at] != made[at])
    assert text == made[:start] + made[start + len(made) - len(text) :]


BLANKS = st.text(st.sampled_from(" \t\n"), max_size=3) | st.sampled_from(["\r\n", "\n// a\n", "/* b */", "\n\n    "])
WORDS = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
HOOKS = st.fixed_dictionaries(
    {},
    optional={
        "hooks": st.fixed_dictionaries(
            {}, optional={"SessionStart": st.lists(st.just({"hooks": []}) | WORDS, max_size=2), "Stop": st.just([])}
        )
    },
)


@st.composite
def settings(draw: st.DrawFn) -> str:
    """Settings with and without hooks, in any spelling."""
    value = {**draw(st.dictionaries(st.text(max_size=3), WORDS, max_size=3)), **draw(HOOKS)}

    def spelled(one: object) -> str:
        gap = [draw(BLANKS) for _ in range(4)]
        if isinstance(one, dict):
            parts = [f"{gap[0]}{json.dumps(key)}{gap[1]}:{gap[2]}{spelled(part)}" for key, part in one.items()]
        elif isinstance(one, list):
            parts = [f"{gap[0]}{spelled(part)}" for part in one]
        else:
            return json.dumps(one)
        comma = "," if parts and draw(st.booleans()) else ""
        opening, closing = ("{", "}") if isinstance(one, dict) else ("[", "]")
        return opening + ",".join(parts) + comma + gap[3] + closing

    return draw(BLANKS) + spelled(value) + draw(BLANKS)


@given(settings(), st.booleans())
def test_of_any_settings_no_byte_changes_for_good(text: str, twice: bool) -> None:
    made = put(text, PATH, ENTRY)
    assert parse(made).plain()["hooks"]["SessionStart"][0] == ENTRY
    other = put(made, ("hooks", "Stop"), {"hooks": [1]}) if twice else made
    again = take(other, ("hooks", "Stop"), 0) if twice else other
    assert (again, take(again, PATH, 0)) == (made, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        '"text"',
        '{"hooks": []}',
        '{"hooks": null}',
        '{"hooks": {"SessionStart": {}}}',
        '{"hooks": {}, "hooks": {}}',
        '{"a": 1} {"b": 2}',
        '{"a": }',
        '{"a" 1}',
        "{'a': 1}",
        '{"a": 1',
        '{"a": /* never ends',
        "[" * 5000,
    ],
    ids=lambda text: text[:20] or "nothing",
)
def test_what_cannot_be_edited_is_refused(text: str) -> None:
    with pytest.raises(NotEditable):
        put(text, PATH, ENTRY)


def test_what_was_reformatted_since_is_taken_out_with_what_it_leaves_empty() -> None:
    made = json.dumps(json.loads(put('{"model": "opus"}', PATH, ENTRY)), indent=4)
    assert json.loads(take(made, PATH, 0)) == {"model": "opus"}


def test_what_was_moved_behind_others_is_taken_out_alone() -> None:
    text = json.dumps({"hooks": {"SessionStart": [{"hooks": []}, ENTRY], "Stop": []}})
    assert json.loads(take(text, PATH, 1)) == {"hooks": {"SessionStart": [{"hooks": []}], "Stop": []}}
