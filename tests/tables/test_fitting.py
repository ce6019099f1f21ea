"""Parts fitted to several margins at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.tables.totals.fitting import _fitted, fit_parts
from tests.profiles import examples

ROWS, COLUMNS = np.arange(12) // 4, np.arange(12) % 4


@settings(max_examples=examples(100))
@given(st.integers(0, 2**32 - 1), st.sampled_from([math.inf, 30.0, 3.0]), st.booleans())
def test_fitted_parts_are_whole_within_bounds_and_keep_the_totals_of_nested_margins(seed, top, nested):
    """The grand total and the finest margin are the clipped sums of estimates, rounded; crossed ones are off by rounding."""
    g = np.random.default_rng(seed)
    u, errors, upper = g.normal(4, 5, 12), g.uniform(0.1, 3, 12), np.where(g.random(12) < 0.2, 0.0, top)
    z = fit_parts(u, errors, upper, [ROWS, ROWS // 2] if nested else [ROWS, COLUMNS])
    assert z.dtype == np.int64
    assert ((z >= 0) & (z <= upper)).all()
    assert z.sum() == np.clip(np.rint(u.sum()), 0, upper.sum())
    sums = np.bincount(ROWS, u)
    if math.isinf(top) and (upper > 0).all() and (sums > 0).all() and (np.bincount(COLUMNS, u) > 0).all():
        assert np.abs(np.bincount(ROWS, z) - sums).max() <= 1.5
        if not nested:
            assert np.abs(np.bincount(COLUMNS, z) - np.bincount(COLUMNS, u)).max() <= 3.5


def test_the_fit_under_crossed_margins_against_the_closed_form():
    """Far from its bounds the fit is e + W A' (A W A')^+ (t - A e)."""
    g = np.random.default_rng(1)
    e, w, moved = g.normal(100, 5, 12), g.uniform(0.2, 1, 12), g.normal(100, 5, 12)
    a = np.vstack([np.eye(3)[:, ROWS], np.eye(4)[:, COLUMNS]])
    targets = a @ moved
    dense = e + w * (a.T @ np.linalg.pinv(a @ np.diag(w) @ a.T) @ (targets - a @ e))
    found = _fitted(e, w, np.full(12, 1e9), [(targets[:3], ROWS), (targets[3:], COLUMNS)])
    assert found == pytest.approx(dense, abs=0.05)


def test_at_its_bounds_the_fit_meets_the_totals_and_no_other_is_closer():
    """Between random points that meet the same totals and the fit, the distance to the estimates only grows."""
    g = np.random.default_rng(2)
    e, w, inside = g.normal(1, 6, 12), g.uniform(0.2, 1, 12), g.uniform(0, 6, 12)
    constraints = [(np.bincount(ROWS, inside), ROWS), (np.bincount(COLUMNS, inside), COLUMNS)]
    found = _fitted(e, w, np.full(12, 8.0), constraints)
    assert (found == 0).any()  # or nothing would be tested
    for totals, groups in constraints:
        assert np.bincount(groups, found) == pytest.approx(totals, abs=0.03)
    for step in (1e-3, 0.1, 1.0):
        other = found + step * (inside - found)
        assert ((other - e) ** 2 / w).sum() >= ((found - e) ** 2 / w).sum() - 0.5 * step
