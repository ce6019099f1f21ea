"""Variance and standard deviation: every closed form against the definition, on all data sets of small domains.

The farthest changes go to an end or to the mean of the other n - 1 records. On the whole numbers 0..L, for records and L that are
multiples of n - 1, all of these are whole numbers, so that the definition on this domain is the definition on [0, L]."""

from __future__ import annotations

import itertools
import math
import statistics
from fractions import Fraction

import numpy as np
import pytest

import discreet as dt
from discreet.errors import DiscreetError, GridError, ReleaseError, TableInputError
from tests.queries.test_queries import by_definition

SETTINGS = [(2, 5), (3, 8), (4, 6), (5, 4)]  # records, and the high end: a multiple of one record fewer


def variance(x):
    return statistics.pvariance(map(Fraction, x))


@pytest.mark.parametrize(("n", "top"), SETTINGS)
def test_the_variance_by_definition(n, top):
    """In thirds, between -1 and top/3 - 1: the variance is a ninth of that of 0..top."""
    local, nearby = by_definition(variance, range(top + 1), n)
    q = dt.queries.query("variance", records=n, low=-1, high=Fraction(top, 3) - 1)
    assert 9 * q.global_sensitivity == max(local.values()) == Fraction(top * top * (n - 1), n * n)
    assert 9 * q.output[1] == max(map(variance, local))
    assert q.output[0] == 0
    exact = 0
    for x in set(map(tuple, map(sorted, local))):
        records = [Fraction(v, 3) - 1 for v in x]
        told = 9 * q.local_sensitivity(records)._value, 9 * q.smooth_sensitivity(records, beta="ln 2")._value
        smooth = max(a / 2**k for k, a in enumerate(nearby(x)))
        assert 9 * q.answer(records)._value == variance(x)
        if all(v % max(n - 1, 1) == 0 for v in x):
            exact += 1
            assert told[0] == local[x]
            assert smooth <= told[1] <= smooth * (1 + Fraction(1, 2**50))
        else:  # between the whole numbers there are farther changes
            assert told[0] >= local[x]
            assert told[1] >= smooth
    assert exact >= 6


@pytest.mark.parametrize(("n", "top"), SETTINGS)
def test_all_reaches_of_the_variance(n, top):
    """A_k for every k, not only the one that the smooth sensitivity picks."""
    _, nearby = by_definition(variance, range(top + 1), n)
    q = dt.queries.query("variance", records=n, low=0, high=top)
    for x in itertools.combinations_with_replacement(range(0, top + 1, max(n - 1, 1)), n):
        reach = q._reach(q._read(np.array(x, dtype=float)))
        assert [reach.exact(k) for k in range(reach.last + 1)] == nearby(x)


@pytest.mark.parametrize(("n", "top"), SETTINGS)
def test_the_standard_deviation_by_definition(n, top):
    """The local one exactly, the smooth one as a bound: no less, smooth, and no more than the global one."""
    local, nearby = by_definition(lambda x: math.sqrt(variance(x)), range(top + 1), n)
    q = dt.queries.query("standard deviation", records=n, low=0, high=top)
    assert float(q.global_sensitivity) == pytest.approx(max(local.values()), rel=1e-13)
    assert float(q.output[1]) == pytest.approx(math.sqrt(max(map(variance, local))), rel=1e-13)
    found = {}
    for x in set(map(tuple, map(sorted, local))):
        assert float(q.answer(x)) == pytest.approx(math.sqrt(variance(x)), rel=1e-13, abs=1e-13)
        here, found[x] = float(q.local_sensitivity(x)), float(q.smooth_sensitivity(x, beta="ln(3/2)"))
        smooth = max(a * (2 / 3) ** k for k, a in enumerate(nearby(x)))
        assert here <= found[x] <= float(q.global_sensitivity) * (1 + 1e-15)
        assert found[x] >= smooth * (1 - 1e-13)
        if all(v % max(n - 1, 1) == 0 for v in x):
            assert here == pytest.approx(local[x], rel=1e-12, abs=1e-12)
        else:
            assert here >= local[x] - 1e-12
    for x in found:
        for i, v in itertools.product(range(n), range(top + 1)):
            y = tuple(sorted((*x[:i], v, *x[i + 1 :])))
            assert found[x] <= found[y] * 1.5 * (1 + 1e-14)


def test_many_records_and_records_of_every_kind():
    rng = np.random.default_rng(3)
    x = rng.random(2000)
    q = dt.queries.query("variance", records=2000, low=0, high=1)
    as_floats, as_fractions = (
        q.smooth_sensitivity(x, beta="1/100"),
        q.smooth_sensitivity([Fraction(v) for v in x.tolist()], beta="1/100"),
    )
    assert as_floats == as_fractions
    # by the printed form, in floats: a record x_i moves to an end or to the mean of the others
    rest = (x.sum() - x) / 1999
    far = np.maximum((x - rest) ** 2, np.maximum(rest, 1 - rest) ** 2 - (x - rest) ** 2)
    assert float(q.local_sensitivity(x)) == pytest.approx(far.max() * 1999 / 2000**2, rel=1e-12)
    assert float(q.answer(x)) == pytest.approx(x.var(), rel=1e-12)
    deviation = dt.queries.query("standard-deviation", records=2000, low=0, high=1)
    assert float(deviation.answer(x)) == pytest.approx(x.std(), rel=1e-12)
    assert (
        float(deviation.local_sensitivity(x))
        <= float(deviation.smooth_sensitivity(x))
        < float(deviation.global_sensitivity)
    )


def test_a_mechanism_for_a_variance_and_no_smooth_release():
    q = dt.queries.query("variance", records=100, low=0, high=120)
    m = dt.laplace(q.grid(1), epsilon=1, sensitivity=q.global_sensitivity)
    assert m.sensitivity == math.ceil(120**2 * 99 / 100**2)
    with pytest.raises(ReleaseError, match="variance has no release with smooth sensitivity yet; use dt"):
        q.release([0] * 100, step=1, epsilon=1)
    with pytest.raises(GridError, match="whole number"):
        dt.queries.query("variance", records=1, low=0, high=1)
    with pytest.raises(GridError, match="make no query"):
        type(q)("standard deviation", 1, Fraction(0), Fraction(1))
    assert "smooth one is a bound" in str(dt.queries.sensitivity("standard deviation", [1, 2, 3], low=0, high=4))


# A lower bound of the number of records


@pytest.mark.parametrize("name", ["mean", "variance", "median", "max", "sum"])
def test_at_least_so_many_records(name):
    """The largest global sensitivity of 3, 4 and 5 records is that of 3; near a data set its own number counts."""
    answers = {"mean": statistics.mean, "variance": variance, "median": statistics.median_low, "max": max, "sum": sum}
    q = dt.queries.query(name, at_least=3, low=0, high=12)
    each = {}
    for n in (3, 4, 5):
        local, _ = by_definition(lambda x: answers[name](tuple(map(Fraction, x))), (0, 4, 12), n)
        each[n] = max(local.values())
        exact = dt.queries.query(name, records=n, low=0, high=12)
        for x in ((0,) * n, (0, *(12,) * (n - 1)), (4, 4, *(0,) * (n - 2))):
            assert q.local_sensitivity(x) == exact.local_sensitivity(x)
            assert q.smooth_sensitivity(x, beta="ln 2") == exact.smooth_sensitivity(x, beta="ln 2")
            assert q.answer(x)._value == answers[name](tuple(map(Fraction, x)))
    assert q.global_sensitivity == max(each.values()) == each[3]
    told = dt.queries.sensitivity(name, (0, 4, 12, 12), at_least=3, low=0, high=12)
    assert told.global_sensitivity == q.global_sensitivity
    assert "3 or more records" in str(told)


def test_what_at_least_does_not_know():
    q = dt.queries.query("sum", at_least=100, low=0, high=120)
    with pytest.raises(GridError, match="no largest value"):
        q.grid(1)
    assert q.to_dict()["output"] is None
    assert "100 or more" in str(q)
    assert dt.queries.query("mean", at_least=100, low=0, high=120).output == (0, 120)
    assert dt.queries.query("variance", at_least=3, low=0, high=2).output == (0, 1)
    with pytest.raises(TableInputError, match="fewer than 3 records"):
        dt.queries.query("mean", at_least=3, low=0, high=1).answer([0, 1])
    with pytest.raises(GridError, match="not both"):
        dt.queries.query("mean", records=3, at_least=3, low=0, high=1)
    with pytest.raises(GridError, match="records = None must be a whole number"):
        dt.queries.query("mean", low=0, high=1)
    with pytest.raises(ReleaseError, match="open number of records"):
        dt.queries.query("median", at_least=3, low=0, high=1).smooth_noise(step="1/10", epsilon=1)
    with pytest.raises(DiscreetError, match="give records, and leave out at_least"):
        dt.queries.sensitivity(max, domain=[0, 1], at_least=3)
