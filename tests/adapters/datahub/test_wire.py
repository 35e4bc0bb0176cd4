"""DataHub's wire forms: union wrappers and plain values are one; stamps are read, and are no fact."""

from __future__ import annotations

import pytest

from palimpsest.adapters.datahub.wire import (
    listing,
    mapping,
    part_of_class,
    record,
    stamp_of,
    text,
    unwrap,
    unwrap_deep,
)

BY_MIRA = {"time": 1772438400000, "actor": "urn:li:corpuser:mira"}


@pytest.mark.parametrize(
    ("wrapped", "plain"),
    [
        ({"string": "x"}, "x"),
        ({"array": [1]}, [1]),
        ({"boolean": False}, False),
        ({"com.linkedin.pegasus2avro.common.AuditStamp": {"time": 1}}, {"time": 1}),
        ({"string": "x", "other": 1}, {"string": "x", "other": 1}),
        ({"name": "x"}, {"name": "x"}),
        (None, None),
        ("x", "x"),
    ],
)
def test_a_union_wrapper_is_taken_off(wrapped, plain):
    assert unwrap(wrapped) == plain


def test_wrappers_are_taken_off_all_the_way_down_and_stamps_left_out():
    value = {"a": {"array": [{"string": "x"}, {"b": {"int": 1}, "lastModified": BY_MIRA}]}, "created": BY_MIRA}
    assert unwrap_deep(value) == {"a": ["x", {"b": 1}]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, ""), ("x", "x"), ({"string": "x"}, "x"), (True, "true"), (False, "false"), (1, "1"), (1.5, "1.5")],
)
def test_text(value, expected):
    assert text(value) == expected


@pytest.mark.parametrize("value", [[], {}, ["x"], {"a": 1}, {"array": []}])
def test_what_is_no_text_is_refused(value):
    with pytest.raises(ValueError, match="expected text"):
        text(value)


def test_lists_records_and_maps_are_plain_or_wrapped_and_null_is_empty():
    assert [listing(value) for value in (None, [1], {"array": [1]})] == [[], [1], [1]]
    assert [record(value) for value in (None, {"a": 1}, {"com.linkedin.X": {"a": 1}}, {"string": "x"})] == [
        {},
        {"a": 1},
        {"a": 1},
        {"string": "x"},
    ]
    assert [mapping(value) for value in (None, {"a": "1"}, {"map": {"a": "1"}}, {"map": "1"})] == [
        {},
        {"a": "1"},
        {"a": "1"},
        {"map": "1"},
    ]


@pytest.mark.parametrize(("read", "value"), [(listing, "x"), (listing, {"a": 1}), (record, [1]), (mapping, [1])])
def test_what_is_none_is_refused(read, value):
    with pytest.raises(ValueError, match="expected"):
        read(value)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("com.linkedin.pegasus2avro.common.Ownership", "ownership"),
        ("com.linkedin.pegasus2avro.dataset.DatasetProperties", "datasetProperties"),
        ("com.linkedin.pegasus2avro.ml.metadata.MLModelProperties", "mlModelProperties"),
        ("com.linkedin.pegasus2avro.ml.metadata.EditableMLModelProperties", "editableMLModelProperties"),
        ("com.linkedin.common.GlobalTags", "globalTags"),
        ("Status", "status"),
    ],
)
def test_a_class_names_its_raw_aspect(name, part):
    assert part_of_class(name) == part


@pytest.mark.parametrize(
    ("value", "at", "actor"),
    [
        ({"lastModified": BY_MIRA}, 1772438400000, "urn:li:corpuser:mira"),
        ({"lastModified": {"time": 0, "actor": "urn:li:corpuser:unknown"}}, None, ""),
        ({"lastModified": {"lastModified": BY_MIRA, "created": {"time": 1}}}, 1772438400000, "urn:li:corpuser:mira"),
        ({"created": {"time": 5}, "lastModified": {"time": 7}}, 7, ""),
        ({"elements": [{"createStamp": {"time": 5}}, {"createStamp": BY_MIRA}]}, 1772438400000, "urn:li:corpuser:mira"),
        ({"deprecated": True, "actor": "urn:li:corpuser:jonas"}, None, "urn:li:corpuser:jonas"),
        (
            {"lastModified": {"com.linkedin.pegasus2avro.common.AuditStamp": BY_MIRA}},
            1772438400000,
            "urn:li:corpuser:mira",
        ),
        ({"lastModified": "yesterday"}, None, ""),
        ({"lastModified": {"time": True}}, None, ""),
        ([], None, ""),
    ],
)
def test_the_stamp_is_the_newest_audit_stamp(value, at, actor):
    stamp = stamp_of(value)
    assert (stamp.at, stamp.actor) == (at, actor)
