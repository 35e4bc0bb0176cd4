"""Vectors as numbers, bytes and text: what is written is what is read."""

from __future__ import annotations

import json

import numpy as np
import pytest

from palimpsest.core.vector import DIMENSION, SIGN_BYTES, packed, signs, spelled, unit, unpacked

ROWS = unit(np.random.default_rng(1).standard_normal((50, DIMENSION)))


def test_bytes_are_read_as_they_were_written() -> None:
    np.testing.assert_array_equal(unpacked([packed(row) for row in ROWS]), ROWS)
    assert unpacked([]).shape == (0, DIMENSION)


def test_text_holds_every_number_exactly() -> None:
    read = np.array([json.loads(spelled(row)) for row in ROWS], dtype=np.float64).astype(np.float32)
    np.testing.assert_array_equal(read, ROWS)


def test_rows_are_brought_to_length_one() -> None:
    np.testing.assert_allclose(np.linalg.norm(unit(ROWS * 7e-20), axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(unit(ROWS * 1e18), ROWS, atol=1e-6)


@pytest.mark.parametrize(
    "rows", [np.zeros((1, DIMENSION)), np.full((1, DIMENSION), np.nan), np.ones((1, 383)), np.ones(DIMENSION)]
)
def test_what_has_no_direction_or_another_width_is_no_vector(rows: np.ndarray) -> None:  # type: ignore[type-arg]
    with pytest.raises(ValueError, match="vector"):
        unit(rows)


def test_signs_are_a_bit_a_number() -> None:
    found = signs(ROWS)
    assert found.shape == (50, SIGN_BYTES)
    np.testing.assert_array_equal(np.unpackbits(found, axis=1).astype(bool), ROWS > 0)
