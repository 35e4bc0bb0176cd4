"""Each silent defect's cure is what its journey rests on: a patch takes the cure away, and the journey fails.

A patch that no longer fits the code fails here too: whoever moves a cure moves its patch.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.mutants.applying import DoesNotApply, apply, copy_into, run

HERE = Path(__file__).resolve().parent
JOURNEYS = "tests/journeys/test_silent_defects.py"
# The patch, and the journey that it breaks.
MUTANTS = {
    "deduplicated_by_distance": "test_a_text_that_is_near_and_says_the_opposite_is_a_version",
    "another_source_is_a_change": "test_what_a_second_source_says_is_no_change",
    "invented_aspect": "test_a_kind_that_is_not_on_the_list_is_not_chosen",
    "consolidated_without_an_answer": "test_what_was_not_answered_is_not_consolidated",
    "rewording_contradicts": "test_other_words_for_the_same_are_no_contradiction",
    "forgotten_evidence": "test_what_a_current_belief_rests_on_is_not_forgotten",
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package."""
    copy_into(tmp_path)
    return tmp_path


def test_every_patch_is_used_and_breaks_a_journey_of_its_own() -> None:
    assert {path.stem for path in HERE.glob("*.patch")} == MUTANTS.keys()
    journeys = re.findall(r"^def (test_\w+)", (HERE.parents[1] / JOURNEYS).read_text(), re.MULTILINE)
    assert sorted(MUTANTS.values()) == sorted(journeys)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_patch_fits_the_code_as_it_is(copy: Path, name: str) -> None:
    before = {path: path.read_bytes() for path in copy.rglob("*.py")}
    apply((HERE / f"{name}.patch").read_text(), copy)
    assert {path: path.read_bytes() for path in copy.rglob("*.py")} != before


def test_a_patch_that_does_not_fit_says_where(copy: Path) -> None:
    patch = (HERE / "invented_aspect.patch").read_text()
    apply(patch, copy)
    with pytest.raises(DoesNotApply, match=r"^0 places in palimpsest/core/choosing\.py for these lines"):
        apply(patch, copy)


def test_a_test_on_a_copy_sees_the_copy(copy: Path) -> None:
    (copy / "palimpsest" / "core" / "choosing.py").write_text("raise RuntimeError('this is the copy')\n")
    assert "this is the copy" in run(copy, JOURNEYS).stderr


@pytest.mark.long
def test_the_journeys_pass_on_a_copy_without_a_patch(copy: Path) -> None:
    done = run(copy, JOURNEYS)
    assert (done.returncode, f"{len(MUTANTS)} passed" in done.stdout) == (0, True), done.stdout


@pytest.mark.long
@pytest.mark.parametrize("name", MUTANTS)
def test_a_journey_fails_without_its_cure(copy: Path, name: str) -> None:
    apply((HERE / f"{name}.patch").read_text(), copy)
    done = run(copy, f"{JOURNEYS}::{MUTANTS[name]}")
    assert (done.returncode, "1 failed" in done.stdout) == (1, True), done.stdout + done.stderr
