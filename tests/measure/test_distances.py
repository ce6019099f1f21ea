"""Distances between laws: against the definitions, linear programs, and each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import discreet as dt
from discreet.errors import DiscreetError, MetricError, SizeError
from discreet.measure import distances
from tests.profiles import examples


@st.composite
def pairs(draw: st.DrawFn, most: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = draw(st.integers(1, most))
    weights = st.lists(st.integers(0, 9), min_size=n, max_size=n).filter(any)
    p, q = (np.array(draw(weights), dtype=float) for _ in range(2))
    places = np.array(draw(st.lists(st.integers(-50, 50), min_size=n, max_size=n))) / 4
    return p / p.sum(), q / q.sum(), places


def test_the_contract():
    assert dt.measure.kantorovich(np.full(10, 0.1), np.eye(10)[0]) == pytest.approx(4.5, abs=1e-14)


@given(pairs())
@settings(max_examples=examples(60))
def test_on_a_line_it_is_what_scipy_says(case):
    p, q, places = case
    assert dt.measure.kantorovich(p, q) == pytest.approx(
        stats.wasserstein_distance(np.arange(len(p)), np.arange(len(p)), p, q), abs=1e-12
    )
    found = dt.measure.kantorovich(p, q, points=places)
    assert found == pytest.approx(stats.wasserstein_distance(places, places, p, q), abs=1e-12)
    order = np.argsort(-places)
    assert dt.measure.kantorovich(p[order], q[order], points=places[order]) == pytest.approx(found, abs=1e-12)


@given(pairs(8))
@settings(max_examples=examples(25))
def test_transport_on_a_line_is_the_area_between(case):
    p, q, places = case
    cost = np.abs(places[:, None] - places[None, :])
    assert dt.measure.kantorovich(p, q, cost=cost) == pytest.approx(
        dt.measure.kantorovich(p, q, points=places), abs=1e-8
    )
    # when every move costs 1 it is the total variation
    alike = dt.measure.kantorovich(p, q, cost=1 - np.eye(len(p)))
    assert alike == pytest.approx(dt.measure.total_variation(p, q), abs=1e-8)
    if dt.measure.total_variation(p, q) > 0.01:  # a cost that is wrong by a little is seen
        assert dt.measure.kantorovich(p, q, cost=1.01 * (1 - np.eye(len(p)))) > alike + 5e-5


@given(pairs())
@settings(max_examples=examples(60))
def test_laws_of_distances(case):
    p, q, _ = case
    for distance in (dt.measure.kantorovich, dt.measure.total_variation):
        assert distance(p, p) == 0
        assert distance(p, q) == pytest.approx(distance(q, p), abs=1e-15)
    assert dt.measure.total_variation(p, q) <= dt.measure.kantorovich(p, q) + 1e-12  # values are at least 1 apart


def test_a_circle_is_shorter_than_a_line():
    place = np.arange(6)
    apart = np.abs(place[:, None] - place[None, :])
    first, last = np.eye(6)[0], np.eye(6)[5]
    assert dt.measure.kantorovich(first, last, cost=np.minimum(apart, 6 - apart)) == pytest.approx(1)
    assert dt.measure.kantorovich(first, last) == 5


def test_laws_on_different_values_with_a_cost():
    assert dt.measure.kantorovich([1], [0.25, 0.75], cost=[[2, 4]]) == pytest.approx(3.5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: dt.measure.kantorovich([0.5, 0.5], [1]), "same values"),
        (lambda: dt.measure.kantorovich([0.5, 0.4], [0.5, 0.5]), "sums to 0.9"),
        (lambda: dt.measure.kantorovich([1.5, -0.5], [0.5, 0.5]), "1.5 at position 0, which is not a probability"),
        (lambda: dt.measure.kantorovich([math.nan, 1], [0.5, 0.5]), "nan at position 0"),
        (lambda: dt.measure.kantorovich([], []), "list of at least one number"),
        (lambda: dt.measure.kantorovich(["a", "b"], [0.5, 0.5]), "numbers"),
        (lambda: dt.measure.kantorovich([0.5, 0.5], [0.5, 0.5], points=[1]), "one point for each"),
        (lambda: dt.measure.kantorovich([0.5, 0.5], [0.5, 0.5], points=[0, 1], cost=[[0, 1], [1, 0]]), "not both"),
        (lambda: dt.measure.kantorovich([0.5, 0.5], [0.5, 0.5], cost=[[0, 1]]), "2 rows and 2 columns"),
        (lambda: dt.measure.kantorovich([0.5, 0.5], [0.5, 0.5], cost=[[0, -1], [1, 0]]), "negative"),
        (lambda: dt.measure.total_variation([0.5, 0.5], [[0.5, 0.5]]), "must be a list of at least one number"),
    ],
)
def test_what_is_no_law_is_refused_in_a_sentence(call, words):
    with pytest.raises(MetricError, match=words):
        call()


def test_transport_is_for_small_problems_and_zeros_are_free():
    big = np.full(300, 1 / 300)
    with pytest.raises(SizeError, match="on a line"):
        dt.measure.kantorovich(big, big, cost=np.ones((300, 300)))
    sparse = np.zeros(300)
    sparse[[3, 250]] = 0.5
    apart = np.abs(np.arange(300)[:, None] - np.arange(300)[None, :])
    assert dt.measure.kantorovich(sparse, np.roll(sparse, 2), cost=apart) == pytest.approx(2)
    assert issubclass(MetricError, DiscreetError)


def test_transport_is_refused_from_one_value_too_many_on(monkeypatch):
    monkeypatch.setattr(distances, "_MOST", 2)
    p, q, cost = [0.5, 0.5, 0.0], [0.0, 0.0, 1.0], np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    assert dt.measure.kantorovich(p, q, cost=cost) == pytest.approx(1.5)
    with pytest.raises(SizeError, match="at most 2 values"):
        dt.measure.kantorovich([0.5, 0.25, 0.25], q, cost=cost)
    with pytest.raises(SizeError, match="at most 2 values"):
        dt.measure.kantorovich(q, [0.5, 0.25, 0.25], cost=cost)


def test_a_wrong_shape_is_told_from_a_right_one():
    with pytest.raises(MetricError, match="a list of at least one number"):
        dt.measure.kantorovich([[0.5, 0.5]], [0.5, 0.5])
    with pytest.raises(MetricError, match="a list of rows of numbers"):
        dt.measure.kantorovich([0.5, 0.5], [0.5, 0.5], cost=[0, 1])
