"""Which mechanism draws a count, and which ones of one's own are refused before anything is charged."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dt
from discreet.errors import ReleaseError
from discreet.tables.draw.choices import tables_for

HALF = dt.Level.of(alpha="1/2")


def planned(size: int, level: dt.Level = HALF, **asked) -> dt.Mechanism | None:
    """What draws the count of a group of a public size (-1: of any)."""
    return tables_for(dt.Question(**asked), level, np.array([size]))[size]


@pytest.mark.parametrize(
    "grid",
    [
        dt.Grid(1, 10),
        dt.Grid(-1, 10),
        dt.Grid(0, 10, 2),
        dt.Grid(1, None),
        dt.Grid(0, None, 2),
        dt.Grid(None, 0),
        dt.Grid(None, None),
    ],
)
def test_a_mechanism_of_ones_own_takes_counts(grid):
    with pytest.raises(ReleaseError, match=r"a count needs 0\.\.n in steps of 1"):
        planned(-1, mechanism=dt.geometric(grid, alpha="1/2"))


def test_a_mechanism_of_ones_own_takes_every_count_of_its_group():
    ten, open_ended = dt.geometric(10, alpha="1/2"), dt.geometric(dt.Grid(0, None), alpha="1/2")
    for size in (10, 3, -1):
        assert planned(size, mechanism=ten) is ten
        assert planned(size, mechanism=open_ended) is open_ended
    with pytest.raises(ReleaseError, match="up to 10, but a group may have 11; make it larger"):
        planned(11, mechanism=ten)


def test_a_mechanism_of_ones_own_guarantees_what_each_report_must():
    ten = dt.geometric(10, alpha="1/2")
    assert planned(10, dt.Level.of(alpha="499/1000"), mechanism=ten) is ten
    with pytest.raises(ReleaseError, match="each report must guarantee"):
        planned(10, dt.Level.of(alpha="501/1000"), mechanism=ten)


@pytest.mark.parametrize(
    ("outputs", "distinct"),
    [
        (dt.Grid(2**53, 2**53 + 3), True),  # whole numbers are written as such
        (dt.Grid("1/2", "7/2"), True),
        (dt.Grid(0, Fraction(3, 2**40), Fraction(1, 2**40)), True),
        (dt.Grid(0, Fraction(3, 2**53), Fraction(1, 2**53)), False),  # a part of 2^53
        (dt.Grid(Fraction(2**53 - 9, 2), Fraction(2**53 - 3, 2)), True),
        (dt.Grid(Fraction(2**53 - 1, 2), Fraction(2**53 + 5, 2)), False),  # no float has 2^53 + 1 halves
        (dt.Grid(Fraction(-(2**53) - 7, 2), Fraction(-(2**53) - 1, 2)), False),
    ],
)
def test_reports_of_ones_own_mechanism_are_told_apart_as_floats(outputs, distinct):
    m = dt.geometric(3, alpha="1/2").remap(outputs.value, outputs=outputs)
    if distinct:
        assert planned(3, mechanism=m) is m
    else:
        with pytest.raises(ReleaseError, match="too fine for floats"):
            planned(3, mechanism=m)


def test_a_group_that_is_publicly_empty_needs_no_mechanism():
    assert planned(0, mechanism="explicit_fair") is None
    assert planned(0, mechanism=dt.geometric(10, alpha="1/2")) is None


def test_a_family_with_ends_is_made_for_the_public_size_of_each_group():
    assert planned(3, mechanism="explicit_fair") == dt.explicit_fair(3, alpha="1/2")
    assert planned(7, mechanism="randomized_response") == dt.randomized_response(7, alpha="1/2")


@pytest.mark.parametrize("family", ["explicit_fair", "randomized_response"])
def test_a_family_with_ends_needs_public_sizes(tmp_path, family):
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("town", 1, relation="add-remove")
        with pytest.raises(ReleaseError, match=f"{family} needs the public size of each group, .* largest count"):
            book["town"].release(pa.table({"x": [1]}), mechanism=family, epsilon=1)
        assert book["town"].balance().spent == 0
