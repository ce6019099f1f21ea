"""The auditor: flags what is wrong, and what is right no more often than it says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import discreet as dt
from discreet.channels import Table
from discreet.errors import AuditError
from discreet.measure.auditing import _log_ratio
from discreet.randomness.source import insecure_source
from tests.profiles import examples

G = dt.geometric(100, epsilon="ln(2)/10")


def test_noise_twenty_percent_too_small_is_flagged():
    """The sampler claims ln(2)/10 and draws at 1.25 times that."""
    rng, a = np.random.default_rng(1), 2 ** (-0.1 * 1.25)

    def sampler(x):
        noise = rng.geometric(1 - a, len(x)) - rng.geometric(1 - a, len(x))
        return np.clip(x + noise, 0, 100)

    found = dt.audit(sampler, mechanism=G, draws=700_000)
    assert found.flagged
    assert G.epsilon < found.epsilon_lower <= 1.25 * G.epsilon
    assert "FLAGGED" in str(found)


def test_zeros_in_the_tail_are_flagged():
    """A table that never reports 0 when the truth is 1, though it does when the truth is 0."""
    weights = np.array([[4, 60, 64], [0, 64, 64], [2, 62, 64]], dtype=np.uint64)
    table = Table(weights * np.uint64(4))

    def sampler(x):
        return table.draw(np.asarray(x), insecure_source(1), np.empty(len(x), dtype=np.int64))

    found = dt.audit(sampler, epsilon=2, pairs=[(0, 1)], draws=20_000)
    assert found.flagged
    assert found.event == "equal to 0"
    assert found.counts[1] == 0


@pytest.mark.parametrize(
    "m",
    [
        G,
        dt.explicit_fair(8, alpha="9/10"),
        dt.randomized_response(20, epsilon=1),
        dt.uniform(5),
        dt.geometric(dt.Grid(None, None), epsilon="1/2"),
        dt.geometric(30, epsilon=2, sensitivity=3),
        dt.geometric(dt.Grid(0, None), epsilon="1/2"),
        dt.geometric(dt.Grid(None, 3, "1/2"), epsilon="1/2"),
        dt.geometric(8, alpha="1/2").remap([0, 0, 0, 4, 4, 4, 8, 8, 8]),
        dt.geometric(10**9, epsilon=1),
    ],
    ids=repr,
)
def test_our_own_samplers_pass(m):
    found = dt.audit(m, draws=200_000, source=insecure_source(3))
    assert not found.flagged
    assert found.epsilon_lower <= m.epsilon
    assert "INSECURE" in found.source


def test_the_bound_comes_close_to_the_truth():
    """An auditor that never sees anything would pass every test above."""
    found = dt.audit(dt.geometric(20, epsilon=1), draws=1_000_000, source=insecure_source(5))
    assert 0.97 < found.epsilon_lower <= 1


@pytest.mark.parametrize("epsilon", ["1/5", 1])
def test_false_flags_are_as_rare_as_stated(epsilon):
    """Seeded repetitions at confidence 0.9: no more flags than a binomial of 0.1 has but once in 1e7."""
    m, runs = dt.geometric(10, epsilon=epsilon), examples(1600)
    flags = sum(
        dt.audit(m, draws=1000, confidence=0.9, pairs=[(0, 1)], source=insecure_source(k)).flagged for k in range(runs)
    )
    assert flags <= stats.binom.isf(1e-7, runs, 0.1)


def test_a_slightly_wrong_claim_is_flagged_more_often_than_the_confidence_allows():
    """Negative control for the repetitions: with the claim halved nearly every run is a flag."""
    m = dt.geometric(10, epsilon=1)
    flags = sum(
        dt.audit(m, epsilon="1/2", draws=1000, confidence=0.9, pairs=[(0, 1)], source=insecure_source(k)).flagged
        for k in range(50)
    )
    assert flags > 40


def test_clopper_pearson_against_the_binomial():
    """The bounds against the definition: at the lower bound, seeing so many is as unlikely as allowed."""
    size, error = 1000, 0.01
    for one, other in ((300, 200), (1, 0), (999, 500), (5, 900)):
        low = stats.beta.ppf(error / 2, one, size - one + 1)
        high = stats.beta.ppf(1 - error / 2, other + 1, size - other)
        assert stats.binom.sf(one - 1, size, low) == pytest.approx(error / 2, rel=1e-6)
        assert stats.binom.cdf(other, size, high) == pytest.approx(error / 2, rel=1e-6)
        assert _log_ratio(np.array([one]), np.array([other]), size, (error, 0.0))[0] == pytest.approx(
            math.log(low / high)
        )
    assert _log_ratio(np.array([0]), np.array([5]), size, (error, 0.0))[0] == -math.inf
    assert _log_ratio(np.array([size]), np.array([size]), size, (error, 0.0))[0] < 0


def test_continuous_samplers_are_seen_through():
    """A Laplace sampler at a tenth of its scale: all reports differ, and it must be flagged all the same."""
    rng = np.random.default_rng(4)
    found = dt.audit(
        lambda x: x + rng.laplace(0, 0.7, len(x)), epsilon=1, pairs=[(0, 1)], draws=100_000, confidence=0.999
    )
    assert found.flagged
    assert found.epsilon_lower > 1.2


def test_a_sampler_that_fails_is_named():
    with pytest.raises(AuditError, match="ZeroDivisionError"):
        dt.audit(lambda x: 1 / 0, epsilon=1, pairs=[(0, 1)], draws=100)
    with pytest.raises(AuditError, match="5 is no mechanism"):
        dt.audit(5, epsilon=1, pairs=[(0, 1)])


def test_scalar_samplers_and_reports_of_any_kind():
    assert dt.audit(lambda x: "yes" if x else "no", epsilon=1, pairs=[(0, 1)], draws=500, scalar=True).flagged
    rng = np.random.default_rng(2)
    laplace = dt.audit(lambda x: x + rng.laplace(size=len(x)), epsilon="1", pairs=[(0, 1)], draws=50_000)
    assert not laplace.flagged


def test_without_a_claim_nothing_is_flagged():
    found = dt.audit(lambda x: x, pairs=[(0, 1)], draws=1000)
    assert not found.flagged
    assert found.claimed is None
    assert found.epsilon_lower > 3


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"draws": 5}, "draws"),
        ({"confidence": 2.0}, "confidence"),
        ({"pairs": []}, "pairs"),
        ({"pairs": [(1,)]}, "pairs"),
        ({"draws": 1.5}, "draws"),
        ({"source": 1}, "source"),
    ],
)
def test_bad_audits_are_refused(bad, words):
    with pytest.raises(AuditError, match=words):
        dt.audit(lambda x: x, **{"epsilon": 1, "pairs": [(0, 1)], **bad})


def test_a_sampler_without_neighbours_or_with_the_wrong_shape_is_refused():
    with pytest.raises(AuditError, match="neighbours"):
        dt.audit(lambda x: x, epsilon=1)
    with pytest.raises(AuditError, match="scalar=True"):
        dt.audit(lambda x: 3, epsilon=1, pairs=[(0, 1)], draws=100)


def test_hundreds_of_rare_reports_are_looked_at_together():
    """A staircase on a fine grid: each report is rare, yet half of the line has the full ratio e^epsilon."""
    fine = dt.staircase(dt.Grid(None, None, "1/100"), epsilon=1, sensitivity=1)
    found = dt.audit(fine, draws=100_000, source=dt.insecure_source(1))
    assert 0.9 < found.epsilon_lower <= 1
    shown = dt.audit(fine, epsilon="0.9", draws=1_000_000, source=dt.insecure_source(1))
    assert shown.flagged  # a claim that is wrong by a tenth is found


def test_an_audit_that_cannot_be_made_names_the_cause():
    def broken(values):
        raise RuntimeError("the key is lost")

    with pytest.raises(AuditError, match="RuntimeError: the key is lost"):
        dt.audit(broken, epsilon=1, pairs=[(0, 1)], draws=1000)


def test_gaussian_noise_is_audited_with_a_delta():
    """Its own claim at a delta holds; noise of another q under the same claim is found out."""
    m = dt.gaussian(100, q="9/10")
    found = dt.audit(m, delta="1e-3", draws=200_000, source=dt.insecure_source(1))
    assert not found.flagged
    assert found.claimed == pytest.approx(1.39838, abs=1e-4)
    assert found.epsilon_lower > 0.5
    assert "with delta 0.001" in str(found)
    assert found.to_dict()["delta"] == 0.001
    sharp = dt.gaussian(100, q="1/2")
    wrong = dt.audit(lambda x: sharp.sample(x, source=dt.insecure_source(5)), mechanism=m, delta="1e-3", draws=200_000)
    assert wrong.flagged
    bare = dt.audit(m, draws=1000, source=dt.insecure_source(1))
    assert "no level is claimed without a delta" in str(bare)
    assert not bare.flagged


def test_a_delta_is_taken_off_the_first_chance():
    """A sampler that gives itself away once in a hundred times keeps (0, 1/100) and no epsilon."""
    rng = np.random.default_rng(3)

    def leaky(x):
        return np.where(rng.random(len(x)) < 0.01, x, -1)

    kept = dt.audit(leaky, epsilon="0.1", delta="0.011", pairs=[(0, 1)], draws=400_000)
    assert not kept.flagged
    assert dt.audit(leaky, epsilon="0.1", delta="0.005", pairs=[(0, 1)], draws=400_000).flagged
    assert dt.audit(leaky, epsilon="0.1", pairs=[(0, 1)], draws=400_000).flagged
