"""Which mechanism draws a count, and which ones of one's own are refused before anything is charged."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import discreet as dt
from discreet.errors import ReleaseError
from discreet.tables.draw.measures import bounded, mechanisms_for

HALF = dt.Level.of(alpha="1/2")


def planned(size: int, level: dt.Level = HALF, **asked) -> dt.Mechanism | None:
    """What draws the count of a group of a public size (-1: of any)."""
    return mechanisms_for(dt.Question(**asked), level, np.array([size]))[size]


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
        planned(-1, mechanism=dt.geometric(grid, alpha="1/2"), max_count=5)


def test_a_mechanism_of_ones_own_takes_every_count_of_its_group():
    ten, open_ended = dt.geometric(10, alpha="1/2"), dt.geometric(dt.Grid(0, None), alpha="1/2")
    for size, max_count in ((10, None), (3, None), (-1, 10)):
        assert planned(size, mechanism=ten, max_count=max_count) is ten
        assert planned(size, mechanism=open_ended, max_count=max_count) is open_ended
    assert planned(-1, mechanism=open_ended) is open_ended
    for size, max_count in ((11, None), (-1, 11)):
        with pytest.raises(ReleaseError, match="up to 10, but a group may have 11; make it larger"):
            planned(size, mechanism=ten, max_count=max_count)
    with pytest.raises(ReleaseError, match="a group may have any number; declare max_count"):
        planned(-1, mechanism=ten)


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
    assert planned(0, max_count=5) is None
    assert planned(0, mechanism=dt.geometric(10, alpha="1/2")) is None


def test_only_geometric_noise_does_without_an_upper_end():
    assert planned(-1, mechanism="geometric").inputs == dt.Grid(0, None)
    assert planned(-1, mechanism="explicit_fair", max_count=3).inputs == dt.Grid(0, 3)
    with pytest.raises(ReleaseError, match="explicit_fair needs an upper end"):
        planned(-1, mechanism="explicit_fair")


def test_a_total_is_bounded_by_what_its_cells_are_together():
    totals = SimpleNamespace(place=np.array([0, 1, 0, 0]))  # of three cells, and of one
    assert bounded(dt.Question(max_count=5), totals).max_count == 15
    assert bounded(dt.Question(), totals).max_count is None
