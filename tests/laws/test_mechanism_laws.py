"""What every mechanism obeys, whatever its family and however it was post-processed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.channels import Finite, Then
from discreet.sharing.cascades import step
from tests import reference
from tests.profiles import examples
from tests.strategies import mechanisms

relaxed = settings(max_examples=examples(150))


def exact_rows(m: dt.Mechanism) -> list[list[Fraction]]:
    weights, total = m.channel.integers()
    return [[Fraction(int(w), total) for w in row] for row in weights.tolist()]


def brute_tight(rows: list[list[Fraction]], distance: int) -> Fraction:
    """The tight level by listing every pair and report."""
    best = Fraction(1)
    for i in range(len(rows)):
        for k in range(max(0, i - distance), min(len(rows), i + distance + 1)):
            for p, q in zip(rows[i], rows[k], strict=True):
                if p > 0:
                    best = min(best, q / p)
    return best


@relaxed
@given(mechanisms())
def test_rows_are_laws(m):
    """Every row sums to one: exactly in integers, closely in floats."""
    weights, total = m.channel.integers()
    assert all(sum(row) == total for row in weights.tolist())
    assert all(w >= 0 for w in weights.ravel().tolist())
    assert np.abs(m.matrix.sum(axis=1) - 1).max() < 1e-13
    assert not m.matrix.flags.writeable


@relaxed
@given(mechanisms())
def test_the_claimed_level_holds_and_no_better_one_does(m):
    verdict = dt.check_privacy(m)
    assert verdict.holds
    assert verdict.tight >= m.alpha
    if verdict.tight < 1:
        assert dt.check_privacy(m, alpha=verdict.tight).holds
        better = verdict.tight + (1 - verdict.tight) / 10**9
        assert not dt.check_privacy(m, alpha=better).holds


@relaxed
@given(mechanisms(max_n=14))
def test_the_tight_level_is_that_of_brute_force(m):
    """The windowed tournament against every pair and report, at several distances."""
    rows = exact_rows(m)
    for distance in {1, 2, 5, m.inputs.n}:
        assert m.channel.worst(distance).alpha ** m.channel.worst(distance).power == brute_tight(rows, distance)


@relaxed
@given(mechanisms(max_n=14))
def test_a_witness_shows_the_ratio_it_claims(m):
    worst = m.channel.worst(m.sensitivity)
    rows = exact_rows(m)
    p, q = rows[worst.first][worst.report], rows[worst.second][worst.report]
    assert abs(worst.first - worst.second) <= m.sensitivity
    assert p == worst.bound**worst.power * q


@relaxed
@given(mechanisms(max_n=20), st.data())
def test_post_processing_never_weakens_the_level(m, data):
    targets = data.draw(st.lists(st.integers(0, 3), min_size=m.outputs.size, max_size=m.outputs.size))
    remapped = m.remap(targets, outputs=dt.Grid(0, 3))
    assert dt.check_privacy(remapped).tight >= dt.check_privacy(m).tight
    assert remapped.alpha >= m.alpha


@relaxed
@given(mechanisms(max_n=12), st.sampled_from([("1/10", "1/2"), ("1/2", "3/5"), ("1/2", "9/10")]))
def test_a_step_of_a_cascade_never_weakens_the_level(m, levels):
    """Of whatever mechanism's reports: a remap adds noise, and keeps what was proved."""
    a, b = map(Fraction, levels)
    if m.outputs.n is not None:
        after = Then(m.finite(), step(m.outputs.n, a, b)).worst(m.sensitivity)
        assert after.alpha**after.power >= m.worst.alpha**m.worst.power >= m.alpha


@relaxed
@given(mechanisms(max_n=14))
def test_local_privacy_is_never_better_than_that_of_neighbours(m):
    assert dt.check_privacy(m, neighbours="any").tight <= dt.check_privacy(m).tight


@relaxed
@given(mechanisms(max_n=12))
def test_the_properties_are_those_of_the_definitions(m):
    """Vectorised checks and theorems against naive loops over the exact law."""
    if m.inputs == m.outputs:
        assert dt.properties(m) == reference.properties(exact_rows(m))
        assert dt.measure.explain(m).keys() == reference.ALL_PROPERTIES - dt.properties(m)


@relaxed
@given(mechanisms(max_n=30))
def test_the_implications_between_properties(m):
    if m.inputs != m.outputs:
        return
    held = dt.properties(m)
    assert not ("CM" in held and "CH" not in held)
    assert not ("CH" in held and "WH" not in held)
    assert not ("RM" in held and "RH" not in held)
    assert not ({"F", "RH"} <= held and "CH" not in held)


@relaxed
@given(mechanisms(max_n=40), st.integers(0, 2**32 - 1))
def test_push_and_pull_are_the_matrix(m, seed):
    channel: Finite = m.channel
    rng = np.random.default_rng(seed)
    p, v = rng.dirichlet(np.ones(channel.rows)), rng.normal(size=channel.reports)
    np.testing.assert_allclose(channel.push(p), p @ m.matrix, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(channel.pull(v), m.matrix @ v, rtol=1e-12, atol=1e-12 * np.abs(v).max())
    i = int(rng.integers(channel.rows))
    np.testing.assert_allclose(channel.row(i), m.matrix[i], rtol=1e-12, atol=1e-300)
    j = int(rng.integers(channel.reports))
    assert np.isclose(float(channel.entry(i, j)), m.matrix[i, j], rtol=1e-12, atol=1e-300)


@relaxed
@given(mechanisms(max_n=30))
def test_saving_and_loading_gives_the_same_mechanism(tmp_path_factory, m):
    path = tmp_path_factory.mktemp("m") / "m.json"
    m.save(path)
    again = dt.load(path)
    assert again.digest == m.digest
    assert np.array_equal(again.matrix, m.matrix)
