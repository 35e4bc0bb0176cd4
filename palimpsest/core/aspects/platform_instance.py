"""platform_instance: the platform of an entity and the instance of it (`prod_eu`)."""

from __future__ import annotations

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.aspects.records import fields_of, record_aspect
from palimpsest.core.aspects.words import label_of


def _say(key: str, value: Json) -> str:
    fields = fields_of(value)
    instance = f", instance {label_of(fields['instance'])}" if fields.get("instance") else ""
    return f"platform {label_of(fields.get('platform') or '')}{instance}"


ASPECT = record_aspect("platform_instance", _say, subject=lambda key: "", rank=65)
