"""The closed list of aspects. A new one is a module here, one line below, and a reader in each adapter that sees it."""

from __future__ import annotations

from palimpsest.core.aspects import (
    attribute,
    column,
    column_edit,
    column_upstreams,
    container,
    data_product,
    decision,
    deprecation,
    description,
    domain,
    existence,
    foreign_key,
    insight,
    links,
    name,
    note,
    outputs,
    ownership,
    platform_instance,
    property,
    quality,
    question,
    siblings,
    structured_property,
    sub_type,
    tags,
    terms,
    upstreams,
    usage,
    view_definition,
)
from palimpsest.core.aspects.aspect import Aspect, Edit, Impact, Json

ASPECTS: dict[str, Aspect] = {
    module.ASPECT.name: module.ASPECT
    for module in (
        attribute,
        column,
        column_edit,
        column_upstreams,
        container,
        data_product,
        deprecation,
        description,
        domain,
        existence,
        foreign_key,
        links,
        name,
        outputs,
        ownership,
        platform_instance,
        property,
        siblings,
        structured_property,
        sub_type,
        tags,
        terms,
        upstreams,
        note,
        usage,
        quality,
        decision,
        question,
        insight,
        view_definition,
    )
}

# What free text can bear on; `note` is what nobody has sorted yet.
SAID = ("usage", "quality", "decision", "question", "insight")

# The version of the canonical rules: stored with every run, raised when a canonical form changes.
RULES = "1"

__all__ = ["ASPECTS", "RULES", "SAID", "Aspect", "Edit", "Impact", "Json"]
