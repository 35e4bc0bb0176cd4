"""How psycopg sends and reads our ids: 16 bytes as they are, where its own way makes an object of each."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.pq import Format

from palimpsest.store.types import UuidBytes

_UUID = psycopg.adapters.types["uuid"]


class _IdDumper(Dumper):
    oid = _UUID.oid
    format = Format.BINARY

    def dump(self, obj: Any) -> Buffer:
        return bytes(obj)


class _IdLoader(Loader):
    def load(self, data: Buffer) -> bytes:
        return bytes.fromhex(bytes(data).decode().replace("-", ""))


class _IdBinaryLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return bytes(data)


def register(connection: Any) -> None:
    """Use them on a connection."""
    connection.adapters.register_dumper(UuidBytes, _IdDumper)
    connection.adapters.register_loader("uuid", _IdLoader)
    connection.adapters.register_loader("uuid", _IdBinaryLoader)
