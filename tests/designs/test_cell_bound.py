"""What no mechanism on an interval goes below: each step of the proof by itself, and the bound against mechanisms that exist."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

import discreet as dt
from discreet.designs import Cells
from discreet.designs.cell_bound import cheapest, lipschitz_losses, power_losses, proved
from discreet.designs.cells import PowerLoss
from tests.profiles import examples


@settings(max_examples=examples(40))
@given(st.data())
def test_the_cheapest_ray_by_trying_all(data):
    """Every sequence of whole numbers that differ by at most 1 between neighbours, for any reaches that do not fall."""
    size = data.draw(st.integers(2, 7))
    reaches, least = [], 1
    for i in range(size):
        least = data.draw(st.integers(max(least, min(i + 1, size - 1)), size - 1))
        reaches.append(least)
    prices = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=size, max_size=size)), dtype=object)[:, None]
    a = data.draw(st.sampled_from([Fraction(1, 2), Fraction(1, 5)]))
    costs = []
    for steps in itertools.product((-1, 0, 1), repeat=size - 1):
        levels = [0, *itertools.accumulate(steps)]
        if all(abs(levels[k] - levels[i]) <= 1 for i in range(size) for k in range(i + 1, reaches[i] + 1)):
            costs.append(sum(a**level * int(price) for level, (price,) in zip(levels, prices, strict=True)))
    exact = cheapest(prices * Fraction(1), reaches, lambda v: v * a, lambda v: v / a)
    assert exact[0] == min(costs)
    whole = cheapest(
        prices, reaches, lambda v: v * a.numerator // a.denominator, lambda v: v * a.denominator // a.numerator
    )
    assert whole[0] <= min(costs)  # rounded down


@settings(max_examples=examples(60))
@given(st.floats(0.05, 0.95), st.lists(st.floats(0, 1), min_size=3, max_size=9))
def test_a_private_function_is_a_mixture_of_whole_levels(a, steps):
    """g = b^L is the mean of b^floor(L + t) with the density b^(1-t) ln b/(b - 1), and floors of neighbours differ by at most 1."""
    b = 1 / a
    for level in itertools.accumulate(steps):
        mixed = integrate.quad(
            lambda t, level=level: b ** (1 - t) * math.log(b) / (b - 1) * b ** math.floor(level + t),
            0,
            1,
            points=[min(max(math.ceil(level) - level, 0), 1)],
        )[0]
        assert mixed == pytest.approx(b**level, rel=1e-6)
    for t in (0.0, 0.3, 0.7):
        floors = [math.floor(level + t) for level in itertools.accumulate(steps)]
        assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(floors))


@pytest.mark.parametrize("name", ["l1", "asymmetric(1, 3)", "l2", "lp(3)", "lp(3/2)"])
def test_a_report_between_two_edges_is_no_better_than_one_of_them(name):
    """Points are cells of almost no width around them: their lowered losses lie below the loss of every report."""
    loss = PowerLoss.of(name)
    cells = Cells([0, "1/4", 1, 3])
    for truth in [Fraction(k, 24) for k in range(72)]:
        chances = cells.prior({truth: 1})
        losses = power_losses(cells, chances, loss, Fraction(5))[cells.place(truth)]
        for (j, low), (_, high) in itertools.pairwise(enumerate(cells.edges)):
            for part in [Fraction(k, 8) for k in range(9)]:
                report = low + part * (high - low)
                mixed = (1 - part) * losses[j].mean + part * losses[j + 1].mean
                assert mixed <= loss.between(truth, report)[1], (truth, report)
        for edge, told in zip(cells.edges, losses, strict=True):
            assert told.least <= told.mean <= told.most
            assert told.mean <= loss.between(truth, edge)[1]


def bounded(cells: Cells, prior: object, delta: Fraction, alpha: Fraction, times: Fraction = Fraction(1)) -> float:
    """The bound from the multipliers of the design for the cells, perhaps all of them larger or smaller."""
    made = dt.design(cells, alpha=alpha, prior=prior, sensitivity=delta)
    chances = cells.prior(prior)
    rows = [times * Fraction(int(y), 2**made.certificate.bits) for y in made.certificate.multipliers["rows"]]
    return float(proved(cells, chances, power_losses(cells, chances, PowerLoss.of("l1"), delta), delta, alpha, rows))


def test_no_multipliers_prove_more_than_a_mechanism_has():
    """A finer design is a mechanism on the interval: whatever the multipliers, its loss is not less than what they prove."""
    delta, alpha, prior = Fraction(1), Fraction(1, 4), "normal(1, 1/2)"
    finer = dt.design(Cells.suited(0, 2, prior, 40), alpha=alpha, prior=prior, sensitivity=delta)
    cells = Cells.suited(0, 2, prior, 12)
    own = dt.design(cells, alpha=alpha, prior=prior, sensitivity=delta)
    found = {k: bounded(cells, prior, delta, alpha, Fraction(k, 10)) for k in (0, 5, 10, 11, 30)}
    assert max(found.values()) <= finer.objective
    assert found[0] < found[5] < found[10]
    assert found[10] > 0.5 * finer.objective
    assert (
        max(found.values()) < finer.objective < own.bound
    )  # a control: the bound of the cells' own design is too large here


def test_any_two_numbers_neighbours_and_two_reports():
    """A uniform truth in 0..1 at alpha 1/3, all neighbours: two reports, 1/4 and 3/4, at first sight, are not much worse."""
    delta, alpha = Fraction(1), Fraction(1, 3)
    by_hand = 3 / 4 * 1 / 8 + 1 / 4 * (1 / 2)
    found = bounded(Cells.evenly(0, 1, 40), "uniform", delta, alpha)
    assert 0.9 * by_hand < found < by_hand


def test_a_loss_known_by_its_slope_proves_less():
    cells, delta, alpha = Cells.evenly(0, 1, 24), Fraction(1), Fraction(1, 3)
    chances = cells.prior("uniform")
    made = dt.design(cells, alpha=alpha, sensitivity=delta)
    rows = [Fraction(int(y), 2**made.certificate.bits) for y in made.certificate.multipliers["rows"]]
    by_slope = lipschitz_losses(cells, chances, lambda x, r: abs(x - r), Fraction(1), delta)
    by_name = power_losses(cells, chances, PowerLoss.of("l1"), delta)
    less, more = (proved(cells, chances, losses, delta, alpha, rows) for losses in (by_slope, by_name))
    assert 0.75 * more < less < more


def test_cells_wider_than_the_sensitivity_prove_nothing_by_themselves():
    delta = Fraction(1, 8)
    cells = Cells([0, "1/2", "5/8", 1])
    assert bounded(cells, "uniform", delta, Fraction(1, 2)) >= 0
    assert bounded(Cells([0, "1/2", 1]), "uniform", Fraction(1, 4), Fraction(1, 2)) == 0
