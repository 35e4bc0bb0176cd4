"""Coverage: which raw aspects of which entities a run read whole, as one bit each. Pure.

A bit is a raw aspect's ordinal within its source. A run that reads all of 60,000 costs some twenty bytes.
"""

from __future__ import annotations

import zlib


class Coverage:
    """A set of ordinals."""

    def __init__(self, packed: bytes | None = None) -> None:
        self._bits = bytearray(zlib.decompress(packed)) if packed else bytearray()

    def add(self, ordinal: int) -> None:
        """This one was read whole."""
        byte = ordinal >> 3
        if byte >= len(self._bits):
            self._bits.extend(bytes(byte + 1 - len(self._bits)))
        self._bits[byte] |= 1 << (ordinal & 7)

    def discard(self, ordinal: int) -> None:
        """This one was not, after all."""
        byte = ordinal >> 3
        if byte < len(self._bits):
            self._bits[byte] &= ~(1 << (ordinal & 7)) & 0xFF

    def __contains__(self, ordinal: int) -> bool:
        byte = ordinal >> 3
        return byte < len(self._bits) and bool(self._bits[byte] & (1 << (ordinal & 7)))

    def __len__(self) -> int:
        return int.from_bytes(self._bits, "little").bit_count()

    def packed(self) -> bytes:
        """The compressed bits, as stored with a run."""
        return zlib.compress(bytes(self._bits), 6)
