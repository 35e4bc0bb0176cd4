"""A test double of DataHub's metadata service (GMS), which DataHub's own MCP server, emitter and SDK accept.

Start at `GmsDouble`. Needs graphql-core.
"""

from __future__ import annotations

from palimpsest.testing.gms.double import READER_TOKEN, TOKEN, GmsDouble, Request
from palimpsest.testing.gms.faults import Faults
from palimpsest.testing.gms.store import AspectStore, Version, Write

__all__ = ["READER_TOKEN", "TOKEN", "AspectStore", "Faults", "GmsDouble", "Request", "Version", "Write"]
