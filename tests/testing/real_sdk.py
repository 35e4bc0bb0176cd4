"""What DataHub's own emitter, graph client and SDK do with the double. Run in the second environment.

Takes the server's URL and a token; prints one JSON object: what each step found.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import datahub.metadata.schema_classes as models
from datahub.configuration.common import OperationalError
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.emitter.mcp_patch_builder import MetadataPatchProposal
from datahub.emitter.rest_emitter import DatahubRestEmitter
from datahub.ingestion.graph.client import DatahubClientConfig, DataHubGraph
from datahub.sdk import DataHubClient
from datahub.specific.aspect_helpers.institutional_memory import HasInstitutionalMemoryPatch

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
NEW = "urn:li:dataset:(urn:li:dataPlatform:s3,bücket/ünï-😀,PROD)"


class Patch(HasInstitutionalMemoryPatch, MetadataPatchProposal):
    """A patch of links."""


def element(url: str, label: str = "Agent memory") -> models.InstitutionalMemoryMetadataClass:
    stamp = models.AuditStampClass(time=1_700_000_000_000, actor="urn:li:corpuser:palimpsest")
    return models.InstitutionalMemoryMetadataClass(url=url, description=label, createStamp=stamp)


def links(*urls: str) -> models.InstitutionalMemoryClass:
    return models.InstitutionalMemoryClass(elements=[element(url) for url in urls])


def held(graph: DataHubGraph, urn: str) -> tuple[list[str], str]:
    """The URLs of an entity's links, and the version of the aspect."""
    answer = graph.get_entities("dataset", [urn], ["institutionalMemory"], with_system_metadata=True)
    aspect, system = answer[urn]["institutionalMemory"]
    return [entry.url for entry in aspect.elements], system.version


def main(server: str, token: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    graph = DataHubGraph(DatahubClientConfig(server=server, token=token))
    emitter = DatahubRestEmitter(server, token=token)
    openapi = DatahubRestEmitter(server, token=token, openapi_ingestion=True)

    emitter.emit(MetadataChangeProposalWrapper(entityUrn=ORDERS, aspect=links("https://a.example/1")))
    found["restli_upsert"] = held(graph, ORDERS)
    openapi.emit(
        MetadataChangeProposalWrapper(entityUrn=ORDERS, aspect=links("https://a.example/1", "https://a.example/2"))
    )
    found["openapi_upsert"] = held(graph, ORDERS)

    def conditional(version: str, *urls: str) -> str:
        proposal = MetadataChangeProposalWrapper(
            entityUrn=ORDERS, aspect=links(*urls), headers={"If-Version-Match": version}
        )
        try:
            openapi.emit(proposal)
        except OperationalError as error:
            return f"{error.info.get('status')} {error.info.get('message')}"
        return "written"

    version = found["openapi_upsert"][1]
    found["conditional"] = conditional(version, "https://a.example/1", "https://a.example/3")
    found["conflict"] = conditional(version, "https://a.example/lost")
    found["after_conflict"] = held(graph, ORDERS)

    patch = Patch(ORDERS).add_institutional_memory(element("https://a.example/patched?x=1~/é")).build()
    for proposal in patch:
        openapi.emit(proposal)
    found["openapi_patch"] = held(graph, ORDERS)
    for proposal in Patch(ORDERS).add_institutional_memory(element("https://a.example/3", "relabelled")).build():
        emitter.emit(proposal)
    found["restli_patch"] = held(graph, ORDERS)

    openapi.emit(MetadataChangeProposalWrapper(entityUrn=NEW, aspect=links("https://p.example/é😀")))
    found["unicode"] = held(graph, NEW)

    found["exists"] = [graph.exists(ORDERS), graph.exists("urn:li:dataset:(urn:li:dataPlatform:s3,none,PROD)")]
    owners = graph.get_ownership(ORDERS)
    found["owners"] = [owner.owner for owner in owners.owners] if owners else []
    schema = graph.get_aspect(ORDERS, models.SchemaMetadataClass)
    found["columns"] = [column.fieldPath for column in schema.fields] if schema else []
    found["semityped"] = sorted(graph.get_entity_semityped(ORDERS))
    found["urns"] = sorted(graph.get_urns_by_filter(entity_types=["dataset"]))
    found["graphql"] = graph.execute_graphql(
        "query q($u: String!) { dataset(urn: $u) { exists } }", variables={"u": ORDERS}
    )

    client = DataHubClient(server=server, token=token)
    dataset = client.entities.get(ORDERS)
    dataset.add_link(("https://sdk.example", "by the SDK"))
    client.entities.update(dataset)
    found["sdk"] = held(graph, ORDERS)

    graph.soft_delete_entity(NEW)
    found["after_soft_delete"] = sorted(graph.get_urns_by_filter(entity_types=["dataset"]))
    graph.hard_delete_entity(NEW)
    found["after_hard_delete"] = graph.exists(NEW)
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*sys.argv[1:3])))
