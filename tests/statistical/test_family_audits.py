"""Every family of the catalogue, audited: its draws do not contradict its claim, and do contradict a stronger one.

Draws come from seeded sources, so the tests are repeatable. Each audit raises a false alarm with probability at most
1e-8; all of them together stay below 1e-6.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dt
from discreet.randomness.source import insecure_source
from discreet.registry import FAMILIES, Family

CONFIDENCE = 1 - 1e-8
DRAWS = 250_000
UNBOUNDED = {
    "laplace": dt.laplace(epsilon=1, sensitivity="1/2"),
    "laplace, one end": dt.laplace(dt.Grid(0, None, "1/4"), epsilon="1/2"),
    "staircase": dt.staircase(epsilon=1),
    "staircase of counts": dt.staircase(dt.Grid(None, None), epsilon=2, sensitivity=3),
    "staircase, low end": dt.staircase(dt.Grid(0, None), epsilon=1, sensitivity=4, r=1),
    "staircase, high end": dt.staircase(dt.Grid(None, 5), epsilon=1, sensitivity=4, r=4),
    "truncated staircase": dt.staircase(dt.Grid(None, None), epsilon=1, sensitivity=8).truncate(0, 5),
}


def example(family: Family) -> dt.Mechanism:
    return family.make(**dict(family.example))


def audited(m: dt.Mechanism, seed: int = 11, **asked: Any) -> dt.results.Audit:
    """An audit of the drawn reports; on a fine grid, of what is left of them in eighths of a sensitivity.

    Rounding reports is post-processing: it cannot make a claim false, and many rare reports show little each.
    """
    source, step = insecure_source(seed), m.outputs.step
    width = max(1, m.sensitivity // 8) if step < 1 else 1

    def draw(x: np.ndarray) -> np.ndarray:
        values = x.astype(np.float64) if x.dtype == object else x  # fractions of a power of two: no digit is lost
        return np.floor(np.asarray(m.sample(values, source=source)) / float(width * step))

    # where all values are neighbours there is one pair to look at instead of three: more draws at it
    draws = DRAWS if m.inputs.n is None or m.sensitivity < m.inputs.n else 4 * DRAWS
    return dt.audit(draw, mechanism=m, draws=draws, confidence=CONFIDENCE, **asked)


def claiming(found: dt.results.Audit, epsilon: float) -> dt.results.Audit:
    """The same draws against another claim."""
    return replace(found, claimed=epsilon)


def assert_claim_stands_and_half_of_it_falls(m: dt.Mechanism) -> None:
    found = audited(m)
    assert found.claimed == m.epsilon
    assert not found.flagged, str(found)
    assert claiming(found, m.epsilon / 2).flagged, str(found)


def level(m: dt.Mechanism | dt.traditional.Method) -> Fraction:
    """What is claimed; a traditional method claims nothing, which is alpha 0."""
    return m.alpha if isinstance(m, dt.Mechanism) else Fraction(0)


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_the_draws_of_every_family_agree_with_its_claim_and_not_with_a_stronger_one(family):
    m = example(family)
    alpha = level(m)
    if 0 < alpha < 1:
        assert_claim_stands_and_half_of_it_falls(m)
    elif alpha == 0 and isinstance(m, dt.Mechanism):  # it claims a rho: an epsilon with a delta
        found = audited(m, delta="1e-9")
        assert found.claimed is not None
        assert not found.flagged, str(found)
        assert claiming(found, found.claimed / 8).flagged, str(found)
    elif alpha == 0:  # it claims nothing, and nothing can contradict that; any claim would be false
        found = audited(m)
        assert not found.flagged
        assert claiming(found, 3).flagged, str(found)
        assert min(found.counts) == 0, "a report that one truth can give and its neighbour cannot"
    else:  # perfect privacy: there is no stronger claim, but another mechanism's draws would not bear this one
        found = audited(m)
        assert (found.claimed, found.epsilon_lower, found.flagged) == (0, 0, False)
        wrong = claiming(audited(dt.geometric(m.inputs, alpha="9/10")), m.epsilon)
        assert wrong.flagged, str(wrong)


def test_every_kind_of_claim_stands_in_the_catalogue():
    """The three ways above are all taken."""
    claims = {(alpha > 0) + (alpha == 1) for alpha in map(level, map(example, FAMILIES))}
    assert claims == {0, 1, 2}


@pytest.mark.parametrize("name", UNBOUNDED)
def test_the_draws_of_unbounded_noise_agree_with_its_claim_and_not_with_a_stronger_one(name):
    assert_claim_stands_and_half_of_it_falls(UNBOUNDED[name])


def test_a_staircase_whose_neighbours_are_one_step_too_far_apart_is_flagged():
    """Negative control for the sensitivity: four steps apart on stairs of three is two edges, not one."""
    m = dt.staircase(dt.Grid(None, None), epsilon=1, sensitivity=3)
    assert not audited(m, pairs=[(0, 3)]).flagged
    found = audited(m, pairs=[(0, 4)])
    assert found.flagged, str(found)
    assert 1 < found.epsilon_lower <= 2


def test_rounded_records_keep_the_level_of_their_sum():
    """From records to reports: two tables that differ in one record, audited as a function of the table."""
    grid, source = dt.Grid(0, 10, "1/4"), insecure_source(13)
    tables = {0: [3.1, 9.99, 4], 1: [3.1, 9.99, 1e9]}
    m = dt.laplace(epsilon=1, sensitivity=10)

    def release(which: np.ndarray) -> np.ndarray:
        totals = {k: float(dt.queries.exact_sum(records, grid)) for k, records in tables.items()}
        return m.sample(np.array([totals[int(k)] for k in which]), source=source)

    sure = {"pairs": [(0, 1)], "draws": 100_000, "confidence": CONFIDENCE}
    assert not dt.audit(release, epsilon=1, **sure).flagged
    assert dt.audit(release, epsilon="1/4", **sure).flagged
