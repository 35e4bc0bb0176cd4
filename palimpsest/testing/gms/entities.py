"""Which function answers which field of which entity. An aspect that is not there is null."""

from __future__ import annotations

from palimpsest.testing.gms import labels, places, properties, relations, schemas
from palimpsest.testing.gms.entity import Resolve, key_part

COMMON: dict[str, Resolve] = {
    "urn": lambda entity, _: entity.urn,
    "type": lambda entity, _: entity.kind.enum,
    "exists": lambda entity, _: entity.world.store.exists(entity.urn),
    "health": lambda _entity, _: [],
    "privileges": lambda entity, _: {"canEditLinks": entity.world.may_write},
    **places.FIELDS,
    **properties.FIELDS,
    **labels.FIELDS,
    **relations.FIELDS,
}
"""Fields that any kind answers alike."""

_KEYS = {
    ("Dataset", "origin"): -1,
    ("Dashboard", "tool"): 0,
    ("Dashboard", "dashboardId"): 1,
    ("Chart", "tool"): 0,
    ("Chart", "chartId"): 1,
    ("Notebook", "tool"): 0,
    ("Notebook", "notebookId"): 1,
    ("DataJob", "jobId"): 1,
    ("DataFlow", "orchestrator"): 0,
    ("DataFlow", "flowId"): 1,
    ("DataFlow", "cluster"): 2,
    ("Domain", "id"): 0,
    ("GlossaryTerm", "hierarchicalName"): 0,
    ("CorpUser", "username"): 0,
    ("CorpGroup", "name"): 0,
    ("DataPlatform", "name"): 0,
    ("DataPlatformInstance", "instanceId"): -1,
    ("MLModel", "origin"): -1,
    ("MLModelGroup", "origin"): -1,
}
OWN: dict[tuple[str, str], Resolve] = {
    **{field: key_part(at) for field, at in _KEYS.items()},
    ("DataJob", "dataFlow"): lambda entity, _: entity.other(entity.parts[0]),
    **places.OWN,
    **properties.OWN,
    **schemas.OWN,
    **relations.OWN,
}
"""Fields that one type answers in its own way."""
