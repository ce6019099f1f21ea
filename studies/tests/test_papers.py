"""The numbers behind the studies of theorems, error causes, implications and remaps, in other ways and with controls."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dt
from studies.chen import remaps
from studies.cormode import implications
from studies.fernandes import error_causes, theorems

pytestmark = pytest.mark.outside("studies")

A = Fraction(1, 2)


def test_the_inverse_by_elimination():
    """Against NumPy; a matrix without an inverse is the control."""
    rows = theorems.printed(4, Fraction(9, 10))
    right = [Fraction(k, 15) for k in (1, 2, 3, 4, 5)]
    determinant, found = theorems.solved(rows, right)
    law = np.array(rows, dtype=float)
    assert float(determinant) == pytest.approx(np.linalg.det(law))
    np.testing.assert_allclose(np.array(found, dtype=float), np.array(right, dtype=float) @ np.linalg.inv(law))
    assert theorems.solved(theorems.printed(4, Fraction(1)), right) == (0, [])


def test_definition_1_finds_the_estimate_from_every_start_that_rules_nothing_out():
    """The certificate of the limit, by hand: no value's share would grow. A start without the value 2 ends elsewhere."""
    q = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    law = np.array(theorems.printed(4, A), dtype=float)
    whole, gain = theorems.iterated(q, np.array([0.1, 0.1, 0.2, 0.3, 0.3]), 0.5)
    assert gain > -1e-12
    assert (law @ (q / (whole @ law))).max() == pytest.approx(1, abs=1e-6)
    maimed, _ = theorems.iterated(q, np.array([0.25, 0.25, 0, 0.25, 0.25]), 0.5)
    assert maimed[2] == 0
    assert (law @ (q / (maimed @ law))).max() > 1.05
    # Proposition 3: from r to q and back
    r = np.array([0.1, 0.2, 0.3, 0.3, 0.1])
    np.testing.assert_allclose(theorems.iterated(r @ law, np.full(5, 0.2), 0.5)[0], r, atol=1e-6)


def test_another_mechanism_is_not_d_private():
    """The control of Proposition 1: randomised response at the same level changes too much between neighbours, for them alone."""
    assert dt.check_privacy(dt.geometric(4, alpha="1/2"), alpha="1/2").holds
    assert not dt.check_privacy(dt.randomized_response(4, alpha="1/3"), alpha="1/2").holds


def test_errors_at_random_and_errors_nearby_are_told_apart():
    rng = np.random.default_rng(4)
    random = rng.normal(size=101)
    random -= random.mean()
    nearby = np.zeros(101)
    nearby[::2], nearby[1::2] = 1, -1
    nearby[100] = 0
    apart = np.where(np.arange(101) < 50, 1.0, -1.0) * (np.arange(101) != 100)
    assert 0.3 < error_causes.beside_reordered(random, rng) < 3
    assert error_causes.beside_reordered(nearby, rng) < 0.2
    assert error_causes.beside_reordered(apart, rng) > 3
    assert error_causes.moved(np.array([0.5, 0, -0.5])) == 1


def test_randomised_response_does_not_know_the_order_of_the_values():
    m, g = (np.array(x.matrix) for x in (dt.randomized_response(6, epsilon="ln 2"), dt.geometric(6, epsilon="ln(2)")))
    order = [3, 0, 5, 1, 6, 2, 4]
    assert (m[np.ix_(order, order)] == m).all()
    assert not np.allclose(g[np.ix_(order, order)], g)


@pytest.mark.parametrize("letters", ["RH", "RM", "CH", "CM", "F"])
def test_the_inequalities_of_a_property_are_those_that_the_library_checks(letters):
    """On random matrices of twelfths and on named mechanisms; some have the property and some do not."""
    rng = np.random.default_rng(6)
    rows, seen = implications.rows_of(letters, 2), set()
    made = [dt.geometric(2, alpha="9/10"), dt.explicit_fair(2, alpha="9/10"), dt.geometric(2, alpha="1/4")]
    for _ in range(60):
        cuts = np.sort(rng.integers(1, 12, (3, 2)), axis=1)
        parts = np.diff(np.concatenate([np.zeros((3, 1), int), cuts, np.full((3, 1), 12)], axis=1), axis=1)
        if (parts > 0).all():
            made.append(dt.from_matrix([[Fraction(int(x), 12) for x in row] for row in parts], alpha="1/20"))
    for m in made:
        has = bool((rows @ np.array(m.matrix).ravel() <= 1e-12).all())
        assert has == (letters in set(dt.properties(m)))
        seen.add(has)
    assert seen == {True, False}


def test_what_is_not_implied_is_found_broken():
    """The controls of the three implications, and of the uniqueness: fair mechanisms that are as good as EM."""
    assert implications.most_broken("RH", "CH", 3, 0.9) == pytest.approx(1)  # always answer 0
    assert implications.most_broken("F", "CH", 3, 0.9) > 0.05
    assert implications.most_broken("RH", "RM", 3, 0.9) > 0.05
    assert implications.spread(3, 0.9) < 1e-7
    assert implications.spread(3, 0.9, fair=True) > 0.01


@pytest.mark.parametrize(("name", "known"), [("maximum", 0.1323), ("mean", 0.6575)])
def test_the_best_guess_from_staircase_noise_by_draws(name, known):
    """Answers and reports drawn; of the reports in a narrow band the median answer is the best guess. As reported it is 2.354."""
    rng, draws = np.random.default_rng(11), 10**6
    answers = rng.normal(size=draws) if name == "mean" else 20 * rng.random(draws) ** 0.01 - 10
    root = math.sqrt(0.05)
    sign, step = rng.choice([-1, 1], draws), rng.geometric(0.95, draws) - 1
    near = rng.random(draws) < (g := root / (1 + root)) / (g + 0.05 * (1 - g))
    noise = sign * 10 * (step + np.where(near, g * rng.random(draws), g + (1 - g) * rng.random(draws)))
    reports = answers + noise
    assert np.abs(noise).mean() == pytest.approx(10 * root / 0.95, rel=0.01)
    order = np.argsort(reports)
    losses = [np.abs(x - np.median(x)).sum() for x in np.array_split(answers[order], 1000)]
    found = sum(losses) / draws
    assert found == pytest.approx(known, rel=0.02)
    assert remaps.best_guess(remaps.PRIORS[name], 0.05, 0.05)[0] == pytest.approx(known, rel=0.002)
    assert found < 0.3 * 10 * root / 0.95


def test_with_nothing_known_no_guess_is_better():
    """The control: the same code, for all numbers up to 1000 alike; and up to 10, where the ends are known."""
    asked = 10 * math.sqrt(0.05) / 0.95
    flat, narrow = (remaps.best_guess(remaps.even(w), 0.05, w / 200)[0] / asked for w in (1000.0, 10.0))
    assert 0.99 < flat < 1 + 1e-6
    assert narrow < 0.8


def test_geometric_noise_on_real_answers_needs_rounding():
    """Between the steps two answers have no report in common; rounded to steps of 10 they are private, on a fine grid."""
    assert not {Fraction(k) for k in range(-9, 10)} & {Fraction(3, 10) + k for k in range(-9, 10)}
    grid = dt.Grid(-10, 10, "1/10")
    made = dt.queries.rounded(grid, [-10, 0, 10], alpha="1/2", sensitivity=10)
    assert dt.check_privacy(made, neighbours=100).tight == A
    assert not dt.check_privacy(made, neighbours=101, alpha=A).holds  # answers a little more than 10 apart
    steps = [-10 * (v < -50) + 10 * (v >= 50) for v in range(-100, 101)]  # the paper's cells, in tenths
    assert max(abs(x - y) for x, y in itertools.pairwise(steps)) == 10
    assert max(abs(steps[i] - steps[j]) for i in range(201) for j in range(201) if abs(i - j) <= 100) == 10
