"""Watching the draws: every statistic has a negative control that it must reject.

Draws come from seeded sources, so the tests are repeatable; their bars have a false-alarm rate of 1e-7 all the same.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

import discreet as dt
from discreet.channels import Table
from discreet.randomness.alias import CHUNK, Alias
from discreet.randomness.source import SecureSource, Source, insecure_source

ALARM = 1e-7

MECHANISMS = {
    "geometric": dt.geometric(20, epsilon="ln(2)/3"),
    "geometric, wide": dt.geometric(40, epsilon="1/20"),
    "explicit fair": dt.explicit_fair(20, alpha="9/10"),
    "response": dt.randomized_response(20, epsilon="ln 2"),
    "uniform": dt.uniform(20),
    "remapped": dt.geometric(20, alpha="4/5").remap(np.repeat(np.arange(7), 3), outputs=dt.Grid(0, 6)),
    "random remap": dt.explicit_fair(6, alpha="1/2").remap(
        [[0.5, 0.25, 0.25, 0], [0, 0, 0.5, 0.5]] * 3 + [[0.1, 0.2, 0.3, 0.4]]
    ),
}


def g_test(counts: np.ndarray, law: np.ndarray) -> float:
    """p-value of the G-test, cells with few expected draws pooled."""
    expected = counts.sum() * law
    few = expected < 10
    observed = np.append(counts[~few], counts[few].sum())
    wanted = np.append(expected[~few], expected[few].sum())
    keep = wanted > 0
    if observed[~keep].any():
        return 0.0
    observed, wanted = observed[keep], wanted[keep]
    if len(wanted) < 2:
        return 1.0
    return float(
        stats.power_divergence(observed, wanted * observed.sum() / wanted.sum(), lambda_="log-likelihood").pvalue
    )


def row_counts(m: dt.Mechanism, value: int, source, size: int = 200_000) -> np.ndarray:
    return np.bincount(m.sample(np.full(size, value), source=source), minlength=m.outputs.size)


@pytest.mark.parametrize("name", MECHANISMS)
def test_rows_follow_their_law(name):
    m = MECHANISMS[name]
    for value in (0, 1, m.inputs.n // 2, m.inputs.n):
        counts = row_counts(m, value, insecure_source(value + 1))
        assert g_test(counts, m.matrix[value]) > ALARM
        assert (
            stats.chisquare(counts[m.matrix[value] > 0], m.matrix[value][m.matrix[value] > 0] * counts.sum()).pvalue
            > ALARM
        )


def test_a_weight_off_by_two_percent_is_rejected():
    """Negative control for the tests of rows."""
    m = MECHANISMS["explicit fair"]
    wrong = m.matrix[10].copy()
    wrong[10] *= 1.02
    wrong /= wrong.sum()
    counts = row_counts(m, 10, insecure_source(1), 10_000_000)
    assert g_test(counts, m.matrix[10]) > ALARM
    assert g_test(counts, wrong) < ALARM


def test_a_swapped_alias_cell_is_rejected():
    """Negative control: one cell of the structure points to the wrong report."""
    m = dt.explicit_fair(8, alpha="9/10")
    table = Table(m.channel.weights)
    good = table._alias
    outcomes = good.outcomes.copy()
    row = slice(4 * good.cells, 5 * good.cells)
    swapped = next(c for c in range(row.start, row.stop) if outcomes[c] not in (outcomes[c + 1], c % good.cells))
    outcomes[[swapped, swapped + 1]] = outcomes[[swapped + 1, swapped]]
    table.__dict__["_alias"] = Alias(good.thresholds, outcomes, good.cells, good.limit)
    size = 400_000
    counts = [
        np.bincount(c.draw(np.full(size, 4), insecure_source(3), np.empty(size, dtype=np.int64)), minlength=9)
        for c in (m.channel, table)
    ]
    assert g_test(counts[0], m.matrix[4]) > ALARM
    assert g_test(counts[1], m.matrix[4]) < ALARM


class BiasedBit(Source):
    """A source one of whose bits is set a little too often."""

    def __init__(self, bit: int):
        self.inner, self.bit = insecure_source(9), np.uint64(bit)

    def words(self, count, out=None):
        words = self.inner.words(count)
        often = self.inner.words(count) < np.uint64(int(0.05 * 2**64))
        return words | (often.astype(np.uint64) << self.bit)

    def word(self):
        return int(self.words(1)[0])

    def describe(self):
        return "biased"


@pytest.mark.parametrize("bit", [0, 4, 63])
def test_a_biased_bit_is_rejected(bit):
    """Negative control: bits of the cell (low) and of the threshold (high) both matter."""
    m = MECHANISMS["geometric"]
    assert g_test(row_counts(m, 10, BiasedBit(bit), 1_000_000), m.matrix[10]) < ALARM


@pytest.mark.parametrize("epsilon", ["ln(2)/10", "0.001", "1e-6"])
def test_moments_of_unbounded_noise(epsilon):
    """Mean, mean absolute value and variance within what their spread allows; a scale wrong by 2 % is rejected."""
    m = dt.geometric(dt.Grid(None, None), epsilon=epsilon)
    law, size = m.channel.noise, 2_000_000
    x = m.sample(np.zeros(size, dtype=int), source=insecure_source(5)).astype(float)
    bar = stats.norm.isf(ALARM)
    spread = np.sqrt(size)
    assert abs(x.mean()) < bar * np.sqrt(float(law.variance)) / spread
    deviation = np.sqrt(float(law.variance - law.mean_absolute**2)) / spread
    assert abs(np.abs(x).mean() - float(law.mean_absolute)) < bar * deviation
    assert abs(np.abs(x).mean() - 1.02 * float(law.mean_absolute)) > bar * deviation
    fourth = (x**4).mean()
    assert abs((x**2).mean() - float(law.variance)) < bar * np.sqrt(fourth) / spread


@pytest.mark.parametrize(("n", "epsilon"), [(10**6, "1e-5"), (30_000, "1e-4")])
def test_low_digits_and_the_high_part_fit_together(n, epsilon):
    """Noise of several digits against its distribution function (Kolmogorov-Smirnov); 5 % too wide is rejected."""
    m = dt.geometric(dt.Grid(None, None), epsilon=epsilon)
    x = m.sample(np.zeros(200_000, dtype=int), source=insecure_source(6)).astype(float)
    law = m.channel.noise

    def p_value(sample, low=-np.inf, high=np.inf):
        """Kolmogorov's p-value at the values within low..high; the law's steps are below epsilon."""
        grid = np.sort(sample)
        inside = (grid > low) & (grid < high)
        distance = np.abs(law.cdf(grid) - np.arange(1, len(grid) + 1) / len(grid))[inside].max()
        return float(stats.kstwobign.sf((distance - float(epsilon)) * np.sqrt(len(grid))))

    assert p_value(x) > ALARM
    assert p_value(x * 1.05) < ALARM
    clamped = dt.geometric(n, epsilon=epsilon).sample(np.full(200_000, n // 2), source=insecure_source(6)) - n // 2
    assert clamped.min() == -(n // 2)
    assert clamped.max() == n // 2
    assert p_value(clamped, clamped.min(), clamped.max()) > ALARM
    assert p_value(clamped * 1.05, -n // 2, n // 2) < ALARM


def independence(first: np.ndarray, second: np.ndarray) -> float:
    """p-value of a chi-squared test of independence on reports pooled into five classes."""
    edges = np.quantile(np.concatenate([first, second]), [0.2, 0.4, 0.6, 0.8])
    table = np.zeros((5, 5))
    np.add.at(table, (np.searchsorted(edges, first), np.searchsorted(edges, second)), 1)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    return float(stats.chi2_contingency(table).pvalue)


@pytest.mark.parametrize("name", ["geometric", "explicit fair", "response"])
def test_consecutive_draws_are_independent(name):
    m = MECHANISMS[name]
    x = m.sample(np.full(400_001, 10), source=insecure_source(2))
    for lag in (1, 2, CHUNK, CHUNK + 1):
        assert independence(x[:-lag], x[lag:]) > ALARM


class RepeatedWord(Source):
    """A source that repeats every hundredth word."""

    def words(self, count, out=None):
        words = np.random.default_rng(count).integers(0, 2**64, count, dtype=np.uint64)
        words[100::100] = words[99:-1:100]
        return words

    def word(self):
        return 0

    def describe(self):
        return "repeating"


def test_a_repeated_word_is_rejected():
    """Negative control for independence."""
    x = MECHANISMS["geometric"].sample(np.full(400_000, 10), source=RepeatedWord())
    assert independence(x[:-1], x[1:]) < ALARM


def test_threads_draw_independently():
    m, s = MECHANISMS["geometric"], SecureSource()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: m.sample(np.full(300_000, 10), source=s), range(2))
    assert independence(first, second) > ALARM
    assert g_test(np.bincount(np.concatenate([first, second]), minlength=21), m.matrix[10]) > ALARM
    assert independence(first, first) < ALARM  # negative control


def test_scalar_draws_follow_the_same_law():
    for name in ("geometric", "explicit fair", "response", "random remap"):
        m, source = MECHANISMS[name], insecure_source(4)
        value = m.inputs.n // 2
        counts = np.bincount([m.sample(value, source=source) for _ in range(30_000)], minlength=m.outputs.size)
        assert g_test(counts, m.matrix[value]) > ALARM
