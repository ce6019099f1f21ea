"""A mechanism in OpenDP's hands: the same law, an epsilon that is never below the truth, and no feature enabled for anybody."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import discreet as dt

dp = pytest.importorskip("opendp.prelude")


@pytest.fixture
def features():
    dp.enable_features("contrib", "honest-but-curious")
    yield
    dp.disable_features("contrib", "honest-but-curious")


def test_it_enables_nothing():
    """In a fresh interpreter OpenDP refuses until its user says so."""
    code = "import discreet as dt; dt.geometric(8, alpha='1/2').to_opendp()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert "honest-but-curious" in ran.stderr


@pytest.mark.usefixtures("features")
@pytest.mark.parametrize(
    "m",
    [
        dt.geometric(8, alpha="9/10"),
        dt.explicit_fair(8, alpha="1/2"),
        dt.geometric(dt.Grid(None, None), alpha="1/2"),
        dt.randomized_response(8, epsilon=1),
        dt.staircase(dt.Grid(None, None), epsilon=1, sensitivity=3),
    ],
    ids=lambda m: m.recipe.family,
)
def test_the_map_is_never_below_the_truth(m):
    """Against the law itself: on a finite grid every pair at most d apart, entry by entry, in exact fractions."""
    measurement = m.to_opendp()
    assert measurement.map(0) == 0
    for distance in (1, 2, 3, 7):
        told = measurement.map(distance)
        assert told == dt.check_privacy(m, neighbours=distance).epsilon
        if m.inputs.size is not None:
            channel, n = m.finite(), m.inputs.size
            worst = max(
                channel.entry(i, y) / channel.entry(k, y)
                for i in range(n)
                for k in range(n)
                if abs(i - k) <= distance
                for y in range(channel.reports)
            )
            assert Fraction(math.exp(told)) * (1 + Fraction(1, 2**50)) >= worst
            assert told <= math.log(worst) * (1 + 1e-9) + 1e-12  # and it is tight


@pytest.mark.usefixtures("features")
def test_it_draws_the_same_law():
    m = dt.geometric(4, alpha="1/2")
    measurement = m.to_opendp()
    drawn = np.array([measurement(1) for _ in range(6000)])
    seen = np.bincount(drawn, minlength=5) / len(drawn)
    # each share is off by more than 6 standard errors with probability below 2e-9
    room = 6 * np.sqrt(0.25 / len(drawn))
    assert np.abs(seen - m.matrix[1]).max() < room
    assert np.abs(seen - m.matrix[3]).max() > room  # another truth's law would be noticed


@pytest.mark.usefixtures("features")
@pytest.mark.parametrize(
    "m", [dt.geometric(8, alpha="1/2"), dt.explicit_fair(8, alpha="1/2")], ids=lambda m: m.recipe.family
)
def test_a_truth_outside_is_refused_without_being_told(m):
    with pytest.raises(Exception, match=r"0\.\.8") as refused:
        m.to_opendp()(77123)
    assert "77123" not in str(refused.value)


@pytest.mark.usefixtures("features")
def test_it_serves_in_a_pipeline_of_opendp():
    """OpenDP counts and multiplies the sensitivities, discreet draws."""
    m = dt.geometric(dt.Grid(None, None), epsilon="1/2")
    count = dp.t.make_count(dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance(), TO="i64")
    pipeline = count >> m.to_opendp()
    assert pipeline.map(1) == m.epsilon
    assert pipeline.map(3) == dt.check_privacy(m, group=3).epsilon
    assert abs(pipeline(["somebody"] * 20) - 20) < 100  # beyond with probability below e^-50


def test_other_grids_are_refused():
    with pytest.raises(dt.errors.GridError, match="steps of 1"):
        dt.laplace(epsilon=1, sensitivity=1).to_opendp()
    with pytest.raises(dt.errors.GridError, match="steps of 1"):
        dt.geometric(dt.Grid(0, 4, "1/2"), alpha="1/2").to_opendp()


@pytest.mark.usefixtures("features")
def test_what_is_not_private_is_refused():
    with pytest.raises(Exception, match="nothing is proved"):
        dt.from_matrix([[1, 0], [0, 1]]).to_opendp().map(1)


@pytest.mark.usefixtures("features")
def test_a_gaussian_has_a_map_of_rho():
    m = dt.gaussian(dt.Grid(None, None), q="99/100")
    measurement = m.to_opendp()
    assert measurement.map(0) == 0
    for distance in (1, 2, 5):
        assert 0 <= measurement.map(distance) + distance**2 * math.log(0.99) < 1e-10
    assert measurement.output_measure == dp.zero_concentrated_divergence()
    assert isinstance(measurement(4), int)
