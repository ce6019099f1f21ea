"""Which mechanisms are the geometric one, post-processed? (Gupte and Sundararajan 2010)"""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.channels import Table
from discreet.errors import DiscreetError, LevelError, SizeError
from discreet.exact.level import Level
from discreet.mechanism import Mechanism, Recipe
from discreet.theory import derivation
from tests import reference
from tests.profiles import examples

ALPHAS = [Fraction(1, 3), Fraction(1, 2), Fraction(5, 8), Fraction(9, 10)]


def table(rows: list[list[int]], level: Fraction = Fraction(0)) -> Mechanism:
    grid, reports = dt.Grid.of(len(rows) - 1), dt.Grid(0, len(rows[0]) - 1)
    return Mechanism(grid, reports, Table(np.array(rows, dtype=np.uint64)), Level(level), 1, Recipe("test"))


def exact(m: Mechanism) -> reference.Matrix:
    channel = m.finite()
    return [[channel.entry(i, j) for j in range(channel.reports)] for i in range(channel.rows)]


def closed_form(n: int, a: Fraction, b: Fraction) -> reference.Matrix:
    """T with G_a T = G_b, entry by entry."""

    def entry(k: int, r: int) -> Fraction:
        w = (1 if r in (0, n) else 1 - b) / (1 + b)
        if k in (0, n):
            return w * (1 - a * b) / (1 - a) if k == r else w * b ** (abs(k - r) - 1) * (b - a) / (1 - a)
        if k == r:
            return w * (1 + a * a - 2 * a * b) / (1 - a) ** 2
        return w * b ** (abs(k - r) - 1) * (b - a) * (1 - a * b) / (1 - a) ** 2

    return [[entry(k, r) for r in range(n + 1)] for k in range(n + 1)]


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("a", ALPHAS)
def test_a_more_private_geometric_is_a_remap_of_a_less_private_one(n, a):
    for b in ALPHAS:
        found = dt.theory.derivable(dt.geometric(n, alpha=b), alpha=a)
        assert found.holds == (a <= b)
        if found:
            assert [list(row) for row in found.remap] == closed_form(n, a, b)
            assert reference.multiply(reference.geometric(n, a), [list(r) for r in found.remap]) == reference.geometric(
                n, b
            )


def test_steps_of_a_cascade_compose():
    a, b, c = Fraction(3, 10), Fraction(1, 2), Fraction(4, 5)
    first, second, both = (
        [list(row) for row in dt.theory.derivable(dt.geometric(6, alpha=to), alpha=start).remap]
        for start, to in ((a, b), (b, c), (a, c))
    )
    assert reference.multiply(first, second) == both
    assert reference.multiply(second, first) != both


def test_the_verdict_turns_at_the_level_itself():
    """At its own level the remap is the identity, whose zeros leave no room at all."""
    m, little = dt.geometric(6, alpha="1/2"), Fraction(1, 2**50)
    found = dt.theory.derivable(m)
    assert [list(row) for row in found.remap] == reference.identity(7)
    assert dt.theory.derivable(m, alpha=Fraction(1, 2) - little)
    assert not dt.theory.derivable(m, alpha=Fraction(1, 2) + little)


@settings(max_examples=examples(60))
@given(st.data())
def test_every_remap_is_found_again(data):
    n, reports = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 6))
    a = data.draw(st.sampled_from(ALPHAS))
    cuts = [
        sorted(data.draw(st.lists(st.integers(0, 64), min_size=reports - 1, max_size=reports - 1)))
        for _ in range(n + 1)
    ]
    given_remap = [[Fraction(y - x, 64) for x, y in zip([0, *c], [*c, 64], strict=True)] for c in cuts]
    grid = dt.Grid(0, max(reports - 1, 1))
    if reports == 1:
        given_remap = [[*row, Fraction(0)] for row in given_remap]
    m = dt.geometric(n, alpha=a).remap(given_remap, outputs=grid)
    found = dt.theory.derivable(m, alpha=a)
    assert found
    assert [list(row) for row in found.remap] == given_remap
    assert reference.multiply(reference.geometric(n, a), given_remap) == exact(m)
    assert np.abs(found.matrix - np.array(given_remap, dtype=float)).max() == 0


@settings(max_examples=examples(150))
@given(st.data())
def test_the_verdict_is_that_of_the_inverse(data):
    n, total = data.draw(st.integers(1, 4)), 32
    cuts = [sorted(data.draw(st.lists(st.integers(8, 24), min_size=1, max_size=1))) for _ in range(n + 1)]
    rows = [[y - x for x, y in zip([0, *c], [*c, total], strict=True)] for c in cuts]
    m = table(rows)
    for a in (Fraction(1, 5), Fraction(1, 2), Fraction(4, 5)):
        found = dt.theory.derivable(m, alpha=a)
        remap = reference.remap_from_geometric(exact(m), a)
        assert found.holds == all(t >= 0 for row in remap for t in row)
        if found:
            assert [list(row) for row in found.remap] == remap
            assert all(sum(row) == 1 for row in found.remap)
        else:
            assert found.violation.amount < 0


def test_private_but_no_remap():
    """The example of Gupte and Sundararajan's kind: a column that bends inwards, within a factor of 2 everywhere."""
    m = dt.from_matrix([["1/2", "1/2"], ["1/4", "3/4"], ["1/2", "1/2"]], alpha="1/2")
    assert dt.check_privacy(m, alpha="1/2")
    found = dt.theory.derivable(m)
    assert not found
    assert found.violation.truths == (0, 1, 2)
    assert found.violation.report == 0
    assert found.violation.chances == (Fraction(1, 2), Fraction(1, 4), Fraction(1, 2))
    assert found.violation.amount == Fraction(5, 4) * Fraction(1, 4) - Fraction(1, 2) == Fraction(-3, 16)
    assert "(1 + a^2) Pr[0 | 1] is less than a (Pr[0 | 0] + Pr[0 | 2]), by 0.1875" in str(found)
    with pytest.raises(LevelError, match="no such remap"):
        _ = found.remap
    with pytest.raises(LevelError, match="smaller alpha"):
        _ = found.matrix
    assert dt.theory.derivable(m, alpha="1/5")  # (1 + 1/25)/4 >= 1/5 (1/2 + 1/2)
    assert not dt.theory.derivable(m, alpha="3/10")  # (1 + 9/100)/4 < 3/10


@pytest.mark.parametrize("n", [2, 3, 4, 7, 12])
@pytest.mark.parametrize("a", ["1/3", "1/2", "9/10"])
def test_the_explicit_fair_mechanism_is_no_remap(n, a):
    assert not dt.theory.derivable(dt.explicit_fair(n, alpha=a))
    assert not reference.is_derivable(reference.explicit_fair(n, Fraction(a)), Fraction(a))


def test_on_two_values_it_is():
    """With n = 1 both are randomised response."""
    assert dt.theory.derivable(dt.explicit_fair(1, alpha="1/2"))


def test_what_is_not_private_fails_at_an_end():
    found = dt.theory.derivable(table([[4, 12], [12, 4]]), alpha="1/2")
    assert found.violation.truths == (0, 1)
    assert found.violation.amount == Fraction(1, 4) - Fraction(1, 2) * Fraction(3, 4)
    assert str(found.violation) == "Pr[0 | 0] is less than a Pr[0 | 1], by 0.125"
    last = dt.theory.derivable(table([[8, 8], [4, 12], [1, 15]]), alpha="1/2")
    assert last.violation.truths == (1, 2)
    assert str(last.violation) == "Pr[0 | 2] is less than a Pr[0 | 1], by 0.0625"


def test_a_sensitivity_of_two_steps_compares_with_the_geometric_mechanism_of_two_steps():
    m = dt.geometric(9, alpha="1/4", sensitivity=2)
    found = dt.theory.derivable(m)
    assert found
    assert found.alpha == Fraction(1, 2)
    assert not dt.theory.derivable(m, alpha="1/3")


def test_the_remap_can_be_applied():
    m = dt.geometric(5, alpha="2/3").remap(lambda x: min(max(x, 1), 4), outputs=dt.Grid(1, 4))
    found = dt.theory.derivable(m, epsilon="ln 2")
    assert str(found.level) == "epsilon ln(2) (epsilon <= 0.693148)"
    assert found.alpha == Fraction(1, 2)
    again = dt.geometric(5, alpha="1/2").remap(found.matrix, outputs=dt.Grid(1, 4))
    assert np.abs(again.matrix - m.matrix).max() < 1e-15
    assert dt.theory.derivable(m, Level.of(alpha="1/2")).remap == found.remap


def test_values_stand_in_the_units_of_the_grid():
    grid = dt.Grid(10, 11, "1/2")
    m = dt.from_matrix([["1/2", "1/2"], ["1/4", "3/4"], ["1/2", "1/2"]], alpha="1/2", inputs=grid, sensitivity="1/2")
    assert dt.theory.derivable(m).violation.truths == (10, Fraction(21, 2), 11)


def test_what_cannot_be_asked():
    with pytest.raises(LevelError, match="alpha = 1 there is no geometric"):
        dt.theory.derivable(dt.uniform(3))
    assert dt.theory.derivable(dt.uniform(3), alpha="99/100")
    with pytest.raises(LevelError, match="alpha = 0"):
        dt.theory.derivable(dt.from_matrix([[1, 0], [0, 1]]))
    with pytest.raises(DiscreetError, match="traditional method"):
        dt.theory.derivable(dt.traditional.random_rounding(9, base=3))
    with pytest.raises(LevelError, match="stand alone"):
        dt.theory.derivable(dt.uniform(3), Level.of(alpha="1/2"), alpha="1/2")
    with pytest.raises(LevelError, match="must be a Level"):
        dt.theory.derivable(dt.uniform(3), 0.5)
    with pytest.raises(SizeError, match="truncate"):
        dt.theory.derivable(dt.geometric(dt.Grid(None, None), alpha="1/2"))
    with pytest.raises(SizeError, match="smaller grid"):
        dt.theory.derivable(dt.geometric(10**6, alpha="1/2"))


def test_a_large_remap_comes_as_floats():
    found = dt.theory.derivable(dt.uniform(300), alpha="9/10")
    with pytest.raises(SizeError, match="matrix"):
        _ = found.remap
    assert np.abs(found.matrix - 1 / 301).max() < 1e-15


# Up to rounding


def brute(m: dt.Mechanism, a: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """From the definitions in Fractions: the worst row's shortfall, its distance from the remap that is cut at 0, and the bound."""
    size, reports = m.channel.rows, m.channel.reports
    x = [[m.channel.entry(i, j) for j in range(reports)] for i in range(size)]
    g = [[m_entry(size - 1, a, i, r) for r in range(size)] for i in range(size)]
    lack = [
        sum(
            (
                max(
                    0,
                    -(
                        (1 + a * a) * x[i][j] - a * (x[i - 1][j] + x[i + 1][j])
                        if 0 < i < size - 1
                        else x[i][j] - a * x[1 if i == 0 else i - 1][j]
                    ),
                )
                for j in range(reports)
            ),
            Fraction(0),
        )
        for i in range(size)
    ]
    wide = [(1 - a) ** 2 if 0 < i < size - 1 else 1 - a for i in range(size)]
    t = [
        [
            (
                (1 + a * a) * x[i][j] - a * (x[i - 1][j] + x[i + 1][j])
                if 0 < i < size - 1
                else x[i][j] - a * x[1 if i == 0 else i - 1][j]
            )
            / wide[i]
            for j in range(reports)
        ]
        for i in range(size)
    ]
    cut = [[max(y, Fraction(0)) / sum(max(z, Fraction(0)) for z in row) for y in row] for row in t]
    apart = max(
        sum(abs(x[i][j] - sum(g[i][r] * cut[r][j] for r in range(size))) for j in range(reports)) / 2
        for i in range(size)
    )
    surplus = [-sum((min(y, Fraction(0)) for y in row), Fraction(0)) for row in t]
    return max(lack), apart, max(sum(g[i][r] * surplus[r] for r in range(size)) for i in range(size))


def m_entry(n: int, a: Fraction, i: int, r: int) -> Fraction:
    return a ** abs(i - r) / (1 + a) * (1 if r in (0, n) else 1 - a)


@pytest.mark.parametrize(
    "m",
    [
        dt.explicit_fair(4, alpha="1/2"),
        dt.explicit_fair(6, alpha="9/10"),
        dt.randomized_response(4, alpha="1/3"),
        dt.from_matrix(dt.geometric(5, alpha="2/3").matrix, alpha="2/3"),
        dt.geometric(5, alpha="2/3"),
        dt.design(5, alpha="9/10", loss="l1", risk="worst").mechanism,
    ],
    ids=repr,
)
def test_the_shortfall_and_the_distance_are_those_of_the_definitions(m):
    found = dt.theory.derivable(m)
    shortfall, apart, bound = brute(m, found.alpha)
    assert (found.shortfall, found.distance) == (shortfall, bound)
    assert apart <= found.distance
    assert found.holds == (shortfall == 0) == (found.distance == 0)
    assert found.nearly == (shortfall <= Fraction(1, 10**15))


@pytest.mark.parametrize(
    ("n", "alpha", "loss"), [(4, "1/2", "l2"), (8, "1/2", "l1"), (8, "1/2", "l2"), (8, "9/10", "l1")]
)
def test_a_sealed_minimax_design_is_a_remap_up_to_its_rounding(n, alpha, loss):
    """By the theorem the best one is a remap; its integers are one up to 1e-15 in each row, and the verdict says both."""
    found = dt.theory.derivable(dt.design(n, alpha=alpha, loss=loss, risk="worst").mechanism)
    assert found.nearly
    assert found.within == Fraction(1, 10**15)
    assert found.distance < Fraction(1, 10**13)
    if not found.holds:
        assert str(found).startswith(
            "holds up to 1e-15 in each row, the rounding to integers, and not literally: a remap of "
        )
        assert re.search(r"lies within \S+, but .* is less than .*, by ", str(found))
        assert found.shortfall > 0
        assert not dt.theory.derivable(dt.design(n, alpha=alpha, loss=loss, risk="worst").mechanism, within=0).nearly


def test_what_is_no_remap_is_none_up_to_rounding_either():
    """The negative control: short by 0.05, and the tolerance that admits it must be asked for by name."""
    fair = dt.explicit_fair(4, alpha="1/2")
    found = dt.theory.derivable(fair)
    assert not found.nearly
    assert "up to" not in str(found)
    assert dt.theory.derivable(fair, within=found.shortfall).nearly
    assert not dt.theory.derivable(fair, within=found.shortfall - Fraction(1, 10**30)).nearly
    assert not dt.theory.derivable(fair, within=1)
    for bad in (-1, "x", math.nan, None, True):
        with pytest.raises(LevelError, match="within"):
            dt.theory.derivable(fair, within=bad)


def test_on_a_long_grid_the_distance_is_still_a_bound(monkeypatch):
    """Where the exact one has too many digits. Forty steps count as many here: the brute force takes the cube of them."""
    monkeypatch.setattr(derivation, "_LONG", 30)
    m = dt.from_matrix(dt.geometric(40, alpha="2/3").matrix, alpha="2/3")
    found = dt.theory.derivable(m)
    monkeypatch.undo()
    assert found.distance > dt.theory.derivable(m).distance  # coarser than the exact one, which other tests hold
    assert 0 < brute(m, found.alpha)[2] <= found.distance < Fraction(1, 10**9)
