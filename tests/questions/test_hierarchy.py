"""Columns that contain another: declared maps, their chains, and every way to get one wrong."""

from __future__ import annotations

import pytest

from discreet.errors import TableInputError
from discreet.questions.domain import Domain, declared_columns

TOWNS = {"town": ["a", "b", "c"], "sex": ["f", "m"]}
DISTRICT = {"of": "town", "map": {"a": "north", "b": "north", "c": "south"}}


def test_a_map_in_either_direction_and_a_chain_of_them():
    land = {"of": "district", "map": {"all": ["north", "south"]}}
    one = Domain.of({"land": land, **TOWNS, "district": DISTRICT}, ["sex", "town"])
    two = Domain.of(
        {**TOWNS, "district": {"of": "town", "map": {"north": ["a", "b"], "south": ["c"]}}}, ["town", "sex"]
    )
    assert one.columns == ("sex", "town")
    assert len(one) == 6
    found = {h.column: h for h in one.hierarchies}
    assert found["land"].of == found["district"].of == "town"
    assert dict(found["land"].containers) == {"a": "all", "b": "all", "c": "all"}
    assert (
        dict(found["district"].containers)
        == dict(two.hierarchies[0].containers)
        == {"a": "north", "b": "north", "c": "south"}
    )
    assert two.ordered(["SEX", "TOWN"]).hierarchies[0].of == "TOWN"


def test_maps_are_no_part_of_what_is_asked_or_read():
    plain, mapped = Domain.of(TOWNS), Domain.of({**TOWNS, "district": DISTRICT})
    assert (plain.columns, plain.keys) == (mapped.columns, mapped.keys)
    assert plain.contents(plain.columns) == mapped.contents(mapped.columns)
    assert list(declared_columns({**TOWNS, "district": DISTRICT})) == ["town", "sex"]
    assert Domain.of({**TOWNS, "district": DISTRICT}, ["sex"]).hierarchies == ()  # towns are not asked for


def test_keys_that_are_numbers_missing_or_labels():
    numbers = Domain.of({"code": [1, 2], "part": {"of": "code", "map": {"1": "x", "2": "y"}}})
    assert dict(numbers.hierarchies[0].containers) == {1: "x", 2: "y"}
    missing = Domain.of({"code": [1, None], "part": {"of": "code", "map": {"x": [1], "y": [None]}}})
    assert dict(missing.hierarchies[0].containers) == {1: "x", None: "y"}
    labels = Domain.of(
        {"age": {"young": [0, 17], "old": [18, None]}, "all": {"of": "age", "map": {"young": "p", "old": "p"}}}
    )
    assert dict(labels.hierarchies[0].containers) == {"young": "p", "old": "p"}
    pairs = Domain.of({"code": [1, None], "part": {"of": "code", "map": [[1, "x"], [None, "y"]]}})
    assert pairs == missing
    listed = Domain.of({"keys": [["a", 1], ["b", 2]], "part": {"of": "k", "map": {"x": ["a", "b"]}}}, ["k", "j"])
    assert dict(listed.hierarchies[0].containers) == {"a": "x", "b": "x"}


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"of": "town", "map": {"a": "x", "b": "x"}}, "does not mention 'c'"),
        ({"of": "town", "map": {"a": "x", "b": "x", "c": "x", "d": "x"}}, "has 'd', which is not a declared key"),
        ({"of": "town", "map": {"x": ["a", "b"], "y": ["b", "c"]}}, "a key in two places"),
        ({"of": "town", "map": {"x": [["a"], "b", "c"]}}, "a key in two places"),
        ({"of": "village", "map": {"a": "x"}}, "no values are declared"),
        ({"of": "town", "map": {}}, "unknown kind of declaration"),
        ({"of": "town", "map": [["a", "x"], "b"]}, "unknown kind of declaration"),
        ({"of": "town", "map": [["a", "x"], ["a", "y"]]}, "a key in two places"),
        ({"of": "town"}, "unknown kind of declaration"),
        ({"of": "town", "map": {"a": "x", "b": "x", "c": "x"}, "more": 1}, "unknown kind of declaration"),
        ({"of": "town", "map": {"a": 1, "b": 2, "c": 3}}, "must be texts"),
        ({"of": "district", "map": {"a": "x"}}, "contains itself"),
    ],
)
def test_what_is_no_map(declared, words):
    with pytest.raises(TableInputError, match=words):
        Domain.of({**TOWNS, "district": declared})


def test_a_containing_column_is_not_grouped_by():
    with pytest.raises(TableInputError, match="ask for district as a margin"):
        Domain.of({**TOWNS, "district": DISTRICT}, ["district"])
