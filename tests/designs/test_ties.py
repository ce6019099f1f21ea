"""Is a best mechanism the only one? Against the spread of the best face in random directions, and a theorem for L0."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

import discreet as dt
from discreet.errors import DesignError, SizeError
from tests.cells import for_each
from tests.designs.test_design import Case, any_case, best_value, objective_row, plain, program
from tests.test_seal import broken_level, broken_property, near


def spread(case: Case) -> float:
    """How far the best matrices lie apart, in some random directions: the test's own program, kept at its best value."""
    best, costs = best_value(case), objective_row(case, case.costs)
    lp = program(case, float(case.alpha))
    lp.at_least({k: -x for k, x in enumerate(costs)}, -(best + 1e-11))
    rng, size = np.random.default_rng(1), (case.n + 1) ** 2
    widths = []
    for _ in range(3):
        direction = np.append(rng.normal(size=size), 0.0)
        widths.append(-lp.solve(-direction)[0] - lp.solve(direction)[0])
    return max(widths)


def is_good(case: Case, matrix: tuple[tuple[Fraction, ...], ...], optimum: Fraction) -> bool:
    """Does an exact matrix keep all constraints, exactly, and have exactly this risk?"""
    total = math.lcm(*(x.denominator for row in matrix for x in row))
    weights = [[int(x * total) for x in row] for row in matrix]
    assert all(sum(row) == total and min(row) >= 0 for row in weights)
    assert broken_level(weights, case.alpha, near(case.n + 1, case.neighbours)) <= 0
    assert all(broken_property(weights, total, letter) <= 0 for letter in case.require)
    mean = sum(
        (
            p * x * c
            for p, row, costs in zip(case.law, matrix, case.costs, strict=True)
            for x, c in zip(row, costs, strict=True)
        ),
        Fraction(0),
    )
    return mean == optimum


CASES = [case for case in (any_case(seed, most=4) for seed in range(60)) if case.risk == "average"]


@for_each("k", range(len(CASES)))
def test_the_verdict_is_that_of_the_best_face(k):
    case = CASES[k]
    found = dt.theory.uniqueness(case.design())
    scale = max(1.0, float(max(map(max, case.costs))))
    assert float(found.optimum) == pytest.approx(best_value(case), abs=1e-8 * scale)
    assert is_good(case, found.first, found.optimum)
    if found.second is not None:
        assert found.second != found.first
        assert is_good(case, found.second, found.optimum)
    assert (spread(case) < 1e-5) == bool(found)


def test_both_verdicts_are_met():
    verdicts = [bool(dt.theory.uniqueness(case.design())) for case in CASES[:25]]
    assert {True, False} == set(verdicts)


@pytest.mark.parametrize(("n", "alpha"), [(1, "1/2"), (2, "9/10"), (3, "1/10"), (5, "3/4"), (8, "1/2"), (11, "9/10")])
def test_the_geometric_mechanism_is_the_only_one_for_l0(n, alpha):
    """docs/theory/unique.md, for every n and alpha; here by computation. Entry by entry it is the geometric mechanism."""
    found = dt.theory.uniqueness(dt.design(n, alpha=alpha, loss="l0"))
    a = Fraction(alpha)
    assert found.is_unique
    assert found.first == tuple(
        tuple(a ** abs(i - j) * (1 if j in (0, n) else 1 - a) / (1 + a) for j in range(n + 1)) for i in range(n + 1)
    )


@pytest.mark.parametrize("seed", range(12))
def test_for_any_prior_the_steps_of_it_decide(seed):
    """docs/theory/unique.md: best if p_j >= a p_k for neighbours, the only one if > holds, and for no other prior."""
    r = random.Random(seed)
    n, a = r.randint(1, 5), Fraction(r.choice(["1/4", "1/2", "4/5"]))
    weights = [Fraction(r.randint(*((4, 9) if seed % 3 == 1 else (14, 17)))) for _ in range(n + 1)]
    if seed % 3 == 0:  # on the border
        weights[0] = a * weights[1]
    p = [Fraction(w) / sum(weights) for w in weights]
    sides = [one - a * other for j in range(n) for one, other in ((p[j], p[j + 1]), (p[j + 1], p[j]))]
    found = dt.theory.uniqueness(dt.design(n, alpha=a, loss="l0", prior=p))
    geometric = tuple(
        tuple(a ** abs(i - j) * (1 if j in (0, n) else 1 - a) / (1 + a) for j in range(n + 1)) for i in range(n + 1)
    )
    is_best = is_good(Case(n, {"alpha": a}, "l0", plain(n, "1/2").costs, p), geometric, found.optimum)
    assert is_best == (min(sides) >= 0)
    if min(sides) >= 0:
        assert found.is_unique == (min(sides) > 0)


def test_fair_mechanisms_are_many():
    """The explicit fair mechanism is a best one for L0 with fairness, and not the only one."""
    found = dt.theory.uniqueness(dt.design(4, alpha="9/10", loss="l0", require="F"))
    assert not found.is_unique
    a = Fraction(9, 10)
    assert found.optimum == 1 - (1 - a) / (1 + a - 2 * a**3)
    told = found.to_dict()
    assert told["unique"] is False
    assert "several mechanisms" in str(found)


def test_what_is_not_decided_is_refused():
    with pytest.raises(DesignError, match="average"):
        dt.theory.uniqueness(dt.design(4, alpha="1/2", risk="worst"))
    with pytest.raises(DesignError, match="takes a design"):
        dt.theory.uniqueness(dt.geometric(4, alpha="1/2"))
    with pytest.raises(SizeError):
        dt.theory.uniqueness(dt.design(20, alpha="1/2"))
