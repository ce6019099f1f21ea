"""Measured totals: least squares against a dense solution, and bounds of weighted sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dt
from discreet.tables.totals.fitting import Measured
from discreet.tables.totals.noise_sums import ChernoffBound

ERROR = Fraction(1, 20)


def crossed(seed: int):
    """12 cells with their total, 3 rows and 4 columns, all measured, with unequal variances."""
    g = np.random.default_rng(seed)
    places = (np.zeros(12, dtype=int), np.arange(12) // 4, np.arange(12) % 4)
    return g, Measured(places, g.uniform(0.5, 3, 12), tuple(g.uniform(0.5, 3, k) for k in (1, 3, 4)))


@pytest.mark.parametrize("seed", range(3))
def test_least_squares_against_the_dense_solution(seed):
    g, system = crossed(seed)
    design = np.vstack([np.eye(12), *(np.eye(p.max() + 1)[:, p] for p in system.places)])
    variances = np.concatenate([system.cell_variance, *system.total_variances])
    reports = g.normal(10, 5, 20)
    root = 1 / np.sqrt(variances)
    dense = np.linalg.lstsq(design * root[:, None], reports * root, rcond=None)[0]
    totals = np.split(reports[12:], [1, 4])
    assert system.estimate(reports[:12], totals) == pytest.approx(dense, abs=1e-10)
    covariance = np.linalg.inv(design.T @ (design / variances[:, None]))
    for members in (np.array([0]), np.arange(12), np.array([1, 5, 9]), np.array([2, 3])):
        weights = system.weights(members)
        assert weights[0] @ reports[:12] + weights[1] @ reports[12:] == pytest.approx(dense[members].sum(), abs=1e-9)
        chosen = np.isin(np.arange(12), members).astype(float)
        assert system.standard_error(weights) ** 2 == pytest.approx(chosen @ covariance @ chosen)


def test_weights_of_one_give_chernoff_s_bound():
    """Against the bound from its definition, minimised over a thousand t; and never below it."""
    m = dt.noise.geometric(epsilon="1/2")
    goal = math.log(2 / float(ERROR))
    for count in (1, 7, 240, 10**6):
        log_moments = [(t, m.log_moment(t)) for t in np.geomspace(1e-4, 0.4999, 4000).tolist()]
        least = min((count * moment + goal) / t for t, moment in log_moments)
        bound = ChernoffBound([m], ERROR)
        (width,) = bound.half_widths(np.array([0]), np.ones(1), np.array([count]))
        assert least * (1 - 1e-6) <= width < least * 1.005
        if count < 1000:
            assert bound.half_widths(np.zeros(count, dtype=int), np.ones(count)) == [width]
            (halved,) = bound.half_widths(np.zeros(count, dtype=int), np.full(count, -0.5))
            assert halved == pytest.approx(width / 2, rel=0.002)


def test_a_precise_report_does_not_pay_for_the_scale_of_a_noisy_one():
    """The moments of each noise are known on its own scale."""
    precise, noisy = (dt.noise.geometric(epsilon=e) for e in ("1", "1e-6"))
    (alone,) = ChernoffBound([precise], ERROR).half_widths(np.zeros(5, dtype=int), np.ones(5))
    beside = ChernoffBound([noisy, precise], ERROR)
    assert beside.half_widths(np.ones(5, dtype=int), np.ones(5)) == [alone]
    (both,) = beside.half_widths(np.array([0, 1]), np.array([1e-6, 1.0]))
    assert alone / 5 < both < alone


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-3", "1", "20"])
def test_sums_have_a_bound_at_every_scale(epsilon):
    noise = dt.noise.geometric(epsilon=epsilon)
    (width,) = ChernoffBound([noise], ERROR).half_widths(np.array([0]), np.ones(1), np.array([40]))
    assert 0 < width < 20 * math.sqrt(40) * (math.sqrt(noise.variance) + 1)


def test_weighted_sums_stay_within_their_bound():
    """10^4 seeded sums with mixed weights and noises: misses are rare, and a third of the bound misses often."""
    open_ended = dt.Grid(None, None)
    one, two = dt.geometric(open_ended, epsilon="1/4"), dt.staircase(open_ended, epsilon=1, sensitivity=3)
    kinds = np.array([0] * 10 + [1] * 10)
    weights = np.concatenate([np.linspace(-0.3, 1, 10), np.linspace(0.01, 0.6, 10)])
    (width,) = ChernoffBound([one.channel.noise, two.channel.noise], ERROR).half_widths(kinds, weights)
    off = np.zeros(10_000)
    for k, w in enumerate(weights):
        m = one if k < 10 else two
        off += w * m.sample(np.zeros(10_000, dtype=np.int64), source=dt.insecure_source(k + 1))
    assert (np.abs(off) > width).mean() < 0.05
    assert (np.abs(off) > width / 3).mean() > 0.1
