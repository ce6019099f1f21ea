"""Priors: exact weights, named laws, side information, and sentences for what is no law."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import discreet as dt
from discreet.errors import PriorError
from discreet.measure.prior import Prior, from_counts, prior_of
from tests.profiles import examples

GRID = dt.Grid(0, 4)


def law(prior: Prior) -> list[Fraction]:
    return [Fraction(w, prior.total) for w in prior.weights]


@settings(max_examples=examples(100))
@given(st.lists(st.integers(0, 50), min_size=5, max_size=5).filter(any))
def test_probabilities_are_kept_exactly(weights):
    exact = [Fraction(w, sum(weights)) for w in weights]
    assert law(prior_of(exact, GRID)) == exact
    assert law(prior_of({k: p for k, p in enumerate(exact) if p}, GRID)) == exact
    assert law(prior_of([str(p) for p in exact], GRID)) == exact
    assert law(from_counts(weights, source="public")) == exact
    assert math.gcd(*prior_of(exact, GRID).weights) == 1
    np.testing.assert_allclose(prior_of(exact, GRID).floats, [float(p) for p in exact], rtol=1e-15)


def test_floats_stand_for_their_binary_value_and_are_divided_by_their_sum():
    given_floats = [0.1, 0.2, 0.3, 0.2, 0.2]
    exact = [Fraction(x) for x in given_floats]
    assert sum(exact) != 1  # and yet it is a law
    assert law(prior_of(np.array(given_floats), GRID)) == [p / sum(exact) for p in exact]


def test_uniform_is_the_default():
    assert law(prior_of(None, GRID)) == law(prior_of("uniform", GRID)) == [Fraction(1, 5)] * 5
    assert prior_of(None, GRID).is_symmetric
    assert prior_of(prior_of(None, GRID), GRID).weights == (1,) * 5


def test_named_laws_against_their_definitions():
    binomial = [math.comb(4, k) * 0.3**k * 0.7 ** (4 - k) for k in range(5)]
    np.testing.assert_allclose(prior_of("binomial(0.3)", GRID).floats, binomial, rtol=1e-12)
    edges = [(k - 0.5 - 1) / (2 * math.sqrt(2)) for k in range(6)]
    masses = np.diff([math.erf(x) for x in edges])
    np.testing.assert_allclose(prior_of("normal(1, 2)", GRID).floats, masses / masses.sum(), rtol=1e-12)
    ends = [30 * (x**2 / 2 - 4 * x**3 / 3 + 6 * x**4 / 4 - 4 * x**5 / 5 + x**6 / 6) for x in np.arange(6) / 5]
    np.testing.assert_allclose(prior_of("beta(2, 5)", GRID).floats, np.diff(ends), rtol=1e-9)


def test_a_normal_law_keeps_its_tails_and_its_symmetry():
    """A difference of two numbers next to 1 would lose the upper tail, and the symmetry with it."""
    prior = prior_of("normal(50, 2)", dt.Grid(0, 100))
    assert prior.is_symmetric
    assert min(prior.weights) > 0
    assert not prior_of("normal(51, 2)", dt.Grid(0, 100)).is_symmetric


def test_values_are_in_the_answers_units():
    prior = prior_of({"1/2": 0.25, 1: "3/4"}, dt.Grid(0, 1, "1/4"))
    assert law(prior) == [0, 0, Fraction(1, 4), 0, Fraction(3, 4)]


def test_the_source_of_a_histogram_is_part_of_it():
    prior = from_counts([3, -2, 1], source="released", grid=2)
    assert law(prior) == [Fraction(3, 4), 0, Fraction(1, 4)]
    assert "released" in str(prior)


def test_large_priors_are_quick_to_read():
    n = 200_000
    assert prior_of({0: "1/3", n: "2/3"}, dt.Grid(0, n)).total == 3
    assert abs(prior_of(np.full(n + 1, 1 / (n + 1)), dt.Grid(0, n)).floats.sum() - 1) < 1e-9


BAD = [
    ([0.5, 0.5], "prior on 0..4 has 2 of the 5 probabilities"),
    ([0.5, 0.5, float("nan"), 0, 0], "has nan at the value 2, which is not a probability"),
    ([0.5, 0.5, float("inf"), 0, 0], "has inf at the value 2, which is not a probability"),
    ([0.5, 0.7, -0.2, 0, 0], "has -0.2 at the value 2, which is not a probability"),
    ([0.5, 0.4, 0, 0, 0], "sums to 0.9"),
    ([0, 0, 0, 0, 0], "sums to 0"),
    ([0.5, "half", 0, 0, 0], "has 'half' at the value 1, which is not a probability"),
    ({7: 1}, "value 7 is not on 0..4"),
    ({"1/2": 1}, "value '1/2' is not on 0..4"),
    ({1: 0.5, "1": 0.5}, "names the value 1 twice"),
    ({}, "at least one"),
    ("poisson(3)", "prior = 'poisson(3)' is not known"),
    ("binomial", "is not known"),
    ("binomial(2)", "lies between 0 and 1"),
    ("normal(1, 0)", "must be positive"),
    ("beta(-1, 2)", "must be positive"),
    ("normal(1e6, 1)", "leaves no probability"),
    ("normal(1e400, 1)", "beyond any grid"),
    (3, "prior = 3 is not known"),
    (Prior("list", (1, 1)), "for 2 values, but 0..4 has 5"),
]


@pytest.mark.parametrize(("prior", "words"), BAD, ids=[words for _, words in BAD])
def test_what_is_no_law_is_a_sentence_with_the_next_move(prior, words):
    with pytest.raises(PriorError, match=re.escape(words)) as raised:
        prior_of(prior, GRID)
    assert str(raised.value).endswith(".")
    assert ";" in str(raised.value) or ":" in str(raised.value)


def test_other_refusals():
    with pytest.raises(PriorError, match="give both ends"):
        prior_of(None, dt.Grid(0, None))
    with pytest.raises(PriorError, match=r"public.*released"):
        from_counts([1, 2], source="guessed")
    with pytest.raises(PriorError, match="2 of the 3 numbers that it needs"):
        from_counts([1, 2], source="public", grid=2)
    with pytest.raises(PriorError, match="'x' at position 1; give a finite number"):
        from_counts([1, "x"], source="public")
    with pytest.raises(PriorError, match="uniform"):
        from_counts([0, -3], source="released")
    with pytest.raises(PriorError, match="one for each true value"):
        Prior("empty", ())


def test_weights_have_no_common_divisor():
    assert from_counts([2, 4, 6], source="public").weights == (1, 2, 3)
    assert from_counts([0, 10, 5], source="public").weights == (0, 2, 1)


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ("binomial(0)", "between 0 and 1"),
        ("binomial(1)", "between 0 and 1"),
        (f"normal({2**62 + 1}, 1)", "beyond any grid"),
        (f"normal(0, {2**62 + 1})", "beyond any grid"),
        (f"normal({2**62}, 1)", "no probability"),  # not beyond a grid, but beyond this one
        ("normal(1, 0)", "must be positive"),
        ("beta(0, 1)", "must be positive"),
    ],
)
def test_numbers_of_named_laws_are_refused_exactly_outside_their_range(prior, words):
    with pytest.raises(PriorError, match=words):
        prior_of(prior, dt.Grid(0, 3))


@pytest.mark.parametrize("grid", [dt.Grid(-10, 10, "1/2"), dt.Grid(0, 7), dt.Grid("1/3", 2, "1/6")], ids=str)
def test_the_largest_and_smallest_of_many_records(grid):
    """Beta(n, 1) from end to end, and its mirror image; each value gets what is rounded to it."""
    low, width = float(grid.low), float(grid.high - grid.low)
    cuts = np.clip((np.arange(grid.size + 1) - 0.5) / grid.n, 0, 1) * width + low
    for records in (1, 3, 100):
        largest = prior_of(f"maximum({records})", grid)
        np.testing.assert_allclose(largest.floats, np.diff(stats.beta.cdf(cuts, records, 1, low, width)), atol=1e-14)
        assert prior_of(f" Minimum({records})", grid).floats == pytest.approx(largest.floats[::-1], abs=2e-18)
        assert str(largest) == f"maximum({records})"


def test_a_law_of_a_real_answer_is_rounded_to_the_grid():
    grid = dt.Grid(-2, 2, "1/4")
    law = Prior.binned(grid, lambda x: stats.norm.cdf(float(x), 0.3, 0.8), "about 0.3")
    cuts = np.clip((np.arange(18) - 0.5) / 4 - 2, -2, 2)
    np.testing.assert_allclose(
        law.floats, np.diff(stats.truncnorm.cdf(cuts, -2.3 / 0.8, 1.7 / 0.8, 0.3, 0.8)), rtol=1e-9
    )
    assert str(law) == "about 0.3"
    for wrong in (lambda x: -x, lambda x: "much", lambda x: 3 * x, lambda x: 0):
        with pytest.raises(PriorError, match="rise from 0 to 1"):
            Prior.binned(grid, wrong)
    with pytest.raises(PriorError, match="both ends"):
        Prior.binned(dt.Grid(0, None), lambda x: x)
    with pytest.raises(PriorError, match="is not a function"):
        Prior.binned(dt.Grid(0, 2), 5)


@pytest.mark.parametrize(
    "text", ["maximum(0)", "maximum(1/2)", "minimum(-3)", "maximum(1e9)", "maximum()", "maximum(2, 3)"]
)
def test_records_are_a_whole_number(text):
    with pytest.raises(PriorError, match=r"of 1 to 100000 records; write for example \"m|is not known"):
        prior_of(text, dt.Grid(0, 7))
