"""Vectors as plain numbers: their one dimension, their length, and the signs that stand for them in a first look."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from palimpsest.core.errors import ModelError

DIMENSION = 384  # of every embedder: the column of a database has one
SIGN_BYTES = DIMENSION // 8

Vector: TypeAlias = NDArray[np.float32]  # of shape (DIMENSION,)
Vectors: TypeAlias = NDArray[np.float32]  # of shape (n, DIMENSION)

_LITTLE_ENDIAN = np.dtype("<f4")
_SPELLED = "[" + ",".join(["%.9g"] * DIMENSION) + "]"  # nine digits are every float32 exactly


def unit(rows: NDArray[np.floating]) -> Vectors:
    """The rows, each brought to length one. Raises ValueError for a row without a direction or of other width."""
    if rows.ndim != 2 or rows.shape[1] != DIMENSION:
        raise ValueError(f"vectors of {rows.shape[-1] if rows.ndim else 0} numbers, not of {DIMENSION}")
    wide = rows.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or not np.all(lengths):
        raise ValueError("a vector without a direction")
    return np.asarray(wide / lengths, dtype=np.float32)


def fitting(rows: NDArray[np.floating], count: int, maker: str) -> Vectors:
    """The rows, if they are `count` vectors of our dimension and of length one. Raises ModelError, naming the maker."""
    if rows.shape != (count, DIMENSION):
        shape = " by ".join(map(str, rows.shape))
        raise ModelError(
            f"{maker} gave {shape} numbers for {count} texts, not {DIMENSION} for each",
            f"the memory holds vectors of {DIMENSION} numbers: name another embed.model",
        )
    lengths = np.linalg.norm(rows, axis=1)
    if not np.allclose(lengths, 1, atol=1e-3):  # NaN is not close either
        raise ModelError(f"{maker} gave vectors that are not of length one", "name another embed.model")
    return np.asarray(rows, dtype=np.float32)


def signs(rows: Vectors) -> NDArray[np.uint8]:
    """One bit for each number: whether it is above zero. Rows that agree in most bits point in like directions."""
    return np.packbits(rows > 0, axis=1)


def packed(row: Vector) -> bytes:
    """A vector as bytes, the same on every machine."""
    return row.astype(_LITTLE_ENDIAN).tobytes()


def unpacked(rows: list[bytes]) -> Vectors:
    """The vectors that `packed` made."""
    return np.frombuffer(b"".join(rows), dtype=_LITTLE_ENDIAN).reshape(-1, DIMENSION).astype(np.float32, copy=False)


def spelled(row: Vector) -> str:
    """A vector as the text that databases read: [0.1,-0.2,…]."""
    return _SPELLED % tuple(row.tolist())
