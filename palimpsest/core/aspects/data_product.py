"""data_product: on a data product the set of its assets; on an asset, where a source tells it, its products."""

from __future__ import annotations

from palimpsest.core.aspects.sets import set_aspect

ASPECT = set_aspect("data_product", "asset", rank=16)
