"""The GraphQL questions, and what each kind of entity is called in them.

An entity's raw aspects are asked for as such (`aspects`), so that every source gives the same cells: GraphQL's typed
fields lose the kind of an upstream, the pairs of column lineage on jobs, all but one domain, and names a table that
has no name. Not here: how questions are sent.
"""

from __future__ import annotations

from palimpsest.adapters.datahub.cells import READERS

# Kind of entity → (its entity type, its object type, whether the object type knows `exists`).
KINDS: dict[str, tuple[str, str, bool]] = {
    "domain": ("DOMAIN", "Domain", False),
    "tag": ("TAG", "Tag", False),
    "glossaryNode": ("GLOSSARY_NODE", "GlossaryNode", True),
    "glossaryTerm": ("GLOSSARY_TERM", "GlossaryTerm", True),
    "application": ("APPLICATION", "Application", False),
    "dataProduct": ("DATA_PRODUCT", "DataProduct", True),
    "container": ("CONTAINER", "Container", True),
    "dataset": ("DATASET", "Dataset", True),
    "dataFlow": ("DATA_FLOW", "DataFlow", True),
    "dataJob": ("DATA_JOB", "DataJob", True),
    "chart": ("CHART", "Chart", True),
    "dashboard": ("DASHBOARD", "Dashboard", True),
    "notebook": ("NOTEBOOK", "Notebook", True),
    "mlModelGroup": ("MLMODEL_GROUP", "MLModelGroup", True),
    "mlModel": ("MLMODEL", "MLModel", True),
    "mlFeatureTable": ("MLFEATURE_TABLE", "MLFeatureTable", True),
    "mlFeature": ("MLFEATURE", "MLFeature", True),
    "mlPrimaryKey": ("MLPRIMARY_KEY", "MLPrimaryKey", True),
}
# Every raw aspect that is asked for. Keys say nothing that the URN does not say; deployments are not in GraphQL.
PARTS = tuple(sorted(part for part in READERS if not part.endswith("Key") and part != "mlModelDeploymentProperties"))

# Raw aspects whose absence from an entity that was read is itself worth knowing: nobody owns it, nothing feeds it.
# Any other that is absent is stated as empty only when it was held before, by `confirm`.
_OF_ANY = ("ownership",)
_OF_ASSETS = ("domains", "globalTags", "glossaryTerms", "institutionalMemory")
_ASSETS = frozenset(KINDS) - {"domain", "tag", "glossaryNode", "glossaryTerm", "application"}


def absent_parts(kind: str) -> tuple[str, ...]:
    """The raw aspects of a kind that are stated as empty where the catalog has none."""
    assets = _OF_ASSETS if kind in _ASSETS else ()
    return (*_OF_ANY, *assets, *(("upstreamLineage",) if kind == "dataset" else ()))


SCROLL = """query palimpsestScroll($input: ScrollAcrossEntitiesInput!) {
  scrollAcrossEntities(input: $input) { nextScrollId count total searchResults { entity { urn } } }
}"""


def entities_query(kind: str, *, by_name: bool) -> str:
    """The question for the raw aspects of entities of one kind; `by_name` asks for some by name, else for all."""
    _, type_name, knows_exists = KINDS[kind]
    head = "$urns: [String!]!" + (", $aspects: [String!]" if by_name else "")
    which = "(input: {aspectNames: $aspects})" if by_name else ""
    exists = "exists " if knows_exists else ""
    return (
        f"query palimpsestEntities({head}) {{\n"
        f"  entities(urns: $urns) {{ urn ... on {type_name} {{ {exists}aspects{which} {{ aspectName payload }} }} }}\n"
        "}"
    )
