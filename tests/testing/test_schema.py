"""The double's GraphQL schema is a part of DataHub's, and every question that this project asks fits both."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    build_schema,
    parse,
    validate,
    validate_schema,
)
from graphql.type import is_specified_scalar_type

from palimpsest.testing.gms.answers import schema
from tests.testing.asking import ROOT


@pytest.fixture(scope="module")
def whole() -> GraphQLSchema:
    """DataHub's whole schema."""
    folder = ROOT.parent / "shared" / "datahub" / "graphql"
    return build_schema("\n".join(path.read_text("utf-8") for path in sorted(folder.glob("*.graphql"))))


def differences(ours: GraphQLSchema, theirs: GraphQLSchema) -> list[str]:
    """What our schema names otherwise than DataHub's."""
    found: list[str] = []
    for name, type_ in ours.type_map.items():
        other = theirs.type_map.get(name)
        if name.startswith("__") or is_specified_scalar_type(type_):
            continue
        if type(other) is not type(type_):
            found.append(f"{name} is no {type(type_).__name__}")
        elif isinstance(type_, GraphQLObjectType | GraphQLInterfaceType):
            assert isinstance(other, GraphQLObjectType | GraphQLInterfaceType)
            found += [f"{name} is no {face.name}" for face in type_.interfaces if face.name not in
                      {known.name for known in other.interfaces}]  # fmt: skip
            for field_name, field in type_.fields.items():
                known = other.fields.get(field_name)
                if known is None or str(known.type) != str(field.type):
                    found.append(f"{name}.{field_name}: {field.type}, not {known and known.type}")
                elif {arg: str(part.type) for arg, part in field.args.items()} != {
                    arg: str(part.type) for arg, part in known.args.items()
                }:
                    found.append(f"the arguments of {name}.{field_name}")
        elif isinstance(type_, GraphQLInputObjectType):
            assert isinstance(other, GraphQLInputObjectType)
            known_fields = {field_name: str(field.type) for field_name, field in other.fields.items()}
            found += [
                f"{name}.{field_name}: {field.type}"
                for field_name, field in type_.fields.items()
                if known_fields.get(field_name) != str(field.type)
            ]
        elif isinstance(type_, GraphQLEnumType):
            assert isinstance(other, GraphQLEnumType)
            found += [f"{name} has no {value}" for value in type_.values if value not in other.values]
        elif isinstance(type_, GraphQLUnionType):
            assert isinstance(other, GraphQLUnionType)
            found += [f"{name} holds no {part.name}" for part in type_.types if part.name not in
                      {known.name for known in other.types}]  # fmt: skip
    return found


def test_our_schema_is_valid() -> None:
    assert validate_schema(schema()) == []


@pytest.mark.needs_shared("holds our schema against DataHub's")
def test_every_type_and_field_of_ours_is_datahubs(whole: GraphQLSchema) -> None:
    assert len(schema().type_map) > 200
    assert differences(schema(), whole) == []


def questions() -> list[tuple[str, str]]:
    """Every constant text in the package that is a GraphQL operation, with its module."""
    found: list[tuple[str, str]] = []
    for path in sorted((ROOT / "palimpsest" / "adapters").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if not text.lstrip().startswith(("query ", "mutation ", "query(", "{")) or "{" not in text:
                continue
            try:
                parse(text)
            except GraphQLError:
                continue
            found.append((path.name, text))
    return found


def test_our_questions_fit_our_schema() -> None:
    for name, text in questions():
        assert [error.message for error in validate(schema(), parse(text))] == [], name


@pytest.mark.needs_shared("holds our questions against DataHub's schema")
def test_our_questions_fit_datahubs_schema(whole: GraphQLSchema) -> None:
    for name, text in questions():
        assert [error.message for error in validate(whole, parse(text))] == [], name


def test_the_sources_own_questions_fit_the_schema() -> None:
    words = pytest.importorskip("palimpsest.adapters.datahub.graphql_words")
    texts = [
        words.SCROLL,
        *(words.entities_query(kind, by_name=named) for kind in words.KINDS for named in (True, False)),
    ]
    for text in texts:
        assert [error.message for error in validate(schema(), parse(text))] == [], text


def test_the_schema_is_shipped_beside_its_module() -> None:
    assert (Path(__file__).parents[2] / "palimpsest" / "testing" / "gms" / "schema.graphql").is_file()
