"""The closed forms of the optima for L1 and L2, against exact linear programs, certified designs and explicit matrices."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import lcm

import numpy as np
import pytest

import discreet as dt
from discreet.channels.properties import LETTERS, shape_faults
from studies.cormode.closed_forms import closed_form

pytestmark = pytest.mark.outside("studies")

Matrix = list[list[Fraction]]

# n, alpha, power of the distance, properties: every theorem, both parities, either side of each change of form
CELLS = [
    (4, "9/10", 1, "WH"),  # n/2 but for the pinned values
    (6, "31/50", 1, "WH"),
    (5, "9/10", 2, "WH"),
    (7, "3/4", 2, "WH"),
    (4, "11/20", 1, "RM"),
    (5, "3/5", 1, "RH"),
    (6, "29/50", 1, "RM WH"),
    (6, "9/20", 2, "RH"),
    (6, "24/25", 1, "RM"),  # n/2 whatever the truth
    (4, "1/2", 1, "CM RM WH RH S"),
    (5, "11/20", 1, "CH"),
    (6, "3/5", 1, "CM"),
    (6, "9/20", 2, "CM RM"),
    (4, "2/5", 1, "F"),
    (5, "3/4", 1, "F"),
    (6, "3/4", 1, "F"),  # P[0, 1] has reached its cap
    (4, "9/10", 2, "F"),
    (5, "9/20", 2, "F RH"),
    (6, "14/25", 1, "RH RM CH CM F WH S"),
    (4, "9/10", 1, "RH RM CH CM F WH S"),
    (5, "17/20", 2, "F RM"),
    (6, "97/100", 1, "F RM CM"),
]


@pytest.mark.parametrize(("n", "alpha", "power", "letters"), CELLS)
def test_closed_forms_are_the_optima_as_fractions(n, alpha, power, letters):
    require = set(letters.split())
    best = dt.theory.uniqueness(dt.design(n, alpha=alpha, loss=f"l{power}", require=require))
    assert closed_form(n, Fraction(alpha), power, require) == best.optimum


@pytest.mark.parametrize("letters", ["WH", "RM", "RM WH", "CM", "F", "F CH", " ".join(LETTERS)])
@pytest.mark.parametrize(("alpha", "power"), [("53/100", 1), ("2/5", 2)])
def test_closed_forms_lie_within_the_certified_gap_of_larger_designs(letters, alpha, power):
    require = set(letters.split())
    form = closed_form(17, Fraction(alpha), power, require)
    proof = dt.design(17, alpha=alpha, loss=f"l{power}", require=require).certificate
    assert proof.bound <= form <= proof.objective
    assert proof.gap < 1e-8
    assert not proof.bound <= form * (1 + Fraction(1, 10**7)) <= proof.objective


@pytest.mark.parametrize(
    ("n", "alpha", "power", "letters"),
    [
        (6, "3/5", 1, "RM"),  # the price of RH is beyond f(2) - f(1)
        (6, "31/50", 1, "CM"),  # beyond the golden ratio
        (5, "3/4", 2, "F"),  # the matrix is private, but a smaller diagonal is better
        (7, "97/100", 1, "F RM"),  # the same at high privacy
    ],
)
def test_no_theorem_applies_where_its_formula_is_not_the_optimum(n, alpha, power, letters):
    a, require = Fraction(alpha), set(letters.split())
    assert closed_form(n, a, power, require) is None
    best = dt.theory.uniqueness(dt.design(n, alpha=alpha, loss=f"l{power}", require=require)).optimum
    matrix = {"RM": kept(n, a, a), "CM": kept(n, a, (1 + a - a * a) / 2), "F": sharp(n, a), "F RM": cascade(n, a)}[
        letters
    ]
    if letters != "CM":
        assert level(matrix) == a
        assert require <= properties(matrix)
        assert risk(matrix, power) > best
    else:
        assert "CM" not in properties(matrix)


def test_weak_honesty_costs_more_where_a_middle_value_is_reported_too_seldom():
    n, a = 6, Fraction(4, 5)
    loss = [[sum(a ** abs(i - r) * abs(i - j) for i in range(n + 1)) for j in range(n + 1)] for r in range(n + 1)]
    best = [min(range(n + 1), key=lambda j: loss[r][j]) for r in range(n + 1)]
    assert best == [2, 2, 2, 3, 4, 4, 4]
    needed = [(1 + a) / a**j / (n + 1) for j in range(2)]  # what report 0 gives to 0 and to 1
    matrix = remapped(n, a, {0: {0: needed[0], 1: needed[1], 2: 1 - sum(needed)}, 1: {2: Fraction(1)}})
    assert [matrix[j][j] for j in range(2)] == [Fraction(1, n + 1)] * 2
    assert matrix[2][2] > Fraction(1, n + 1) > matrix[3][3]
    assert closed_form(n, a, 1, {"WH"}) is None
    assert risk(matrix, 1) < dt.design(n, alpha=a, loss="l1", require={"WH"}).certificate.bound  # a bound, not reached


def remapped(n: int, a: Fraction, moved: dict[int, dict[int, Fraction]]) -> Matrix:
    """The geometric mechanism whose low reports, and with them their mirror images, are read as others."""
    remap = {r: moved.get(r, {r: Fraction(1)}) for r in range(n + 1)}
    remap |= {n - r: {n - j: chance for j, chance in to.items()} for r, to in moved.items()}
    weight = [1 / (1 + a) if r in (0, n) else (1 - a) / (1 + a) for r in range(n + 1)]
    matrix = [[Fraction(0)] * (n + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        for r, to in remap.items():
            for j, chance in to.items():
                matrix[i][j] += chance * weight[r] * a ** abs(i - r)
    return matrix


def kept(n: int, a: Fraction, chance: Fraction) -> Matrix:
    """Theorems 2 and 3: report 0 is kept with this probability, else read as 1."""
    return remapped(n, a, {0: {0: chance, 1: 1 - chance}})


def share(n: int, a: Fraction) -> Fraction:
    return (1 - a) / (1 + a - 2 * a ** (n // 2 + 1)) if n % 2 == 0 else (1 - a) / (1 + a) / (1 - a ** ((n + 1) // 2))


def turned(n: int, entry) -> Matrix:
    """A symmetric matrix from its entries with i <= n/2."""
    upper = {(i, j): entry(i, j) for i in range(n // 2 + 1) for j in range(n + 1)}
    return [[upper.get((i, j), upper.get((n - i, n - j))) for j in range(n + 1)] for i in range(n + 1)]


def sharp(n: int, a: Fraction, cap: Fraction | None = None) -> Matrix:
    """Theorem 4; with a cap (over y), what P[0, 1] has above it goes to P[0, 2]."""
    y = share(n, a)

    def entry(i, j):
        if j <= i or 2 * j > n:
            return y * a ** abs(i - j)
        return a ** (j - i - 1) * (1 - a - y + y * a**j * (1 + a))

    matrix = turned(n, entry)
    if cap is not None:
        excess = matrix[0][1] - cap * y
        for i, one, two in ((0, 1, 2), (n, n - 1, n - 2)):
            matrix[i][one] -= excess
            matrix[i][two] += excess
    return matrix


def cascade(n: int, a: Fraction) -> Matrix:
    """Theorem 5."""
    y = share(n, a)

    def entry(i, j):
        if j <= i or j >= n - i:
            return y * a ** abs(i - j)
        return y if 2 * j < n else y * (a ** (2 * j - n) - (1 - a ** (n - j)) * (1 - a ** (2 * j - n + 1)))

    return turned(n, entry)


def level_columns(n: int, a: Fraction) -> Matrix:
    """The pattern for CM at high privacy: a truth i < n/2 has the same probability d_i for all reports from i to the middle."""
    c, top = n // 2, (n + 1) // 2
    own, across = [], []  # d_i = own_i - across_i S, S = sum over k < c of a^-k d_k
    for i in range(c + 1):
        times = 1 + a if n % 2 and i == c else Fraction(top - i + 1)
        own.append((1 - sum((a ** (i - j) * own[j] for j in range(i)), Fraction(0))) / times)
        across.append((a ** (n - i) - sum((a ** (i - j) * across[j] for j in range(i)), Fraction(0))) / times)
    s = sum(own[k] / a**k for k in range(c)) / (1 + sum(across[k] / a**k for k in range(c)))
    d = [own[i] - across[i] * s for i in range(c + 1)]

    def entry(i, j):
        if j < i or j > top:
            return a ** abs(i - j) * d[min(j, n - j)]
        return a * d[c] if n % 2 and (i, j) == (c, c + 1) else d[i]

    return turned(n, entry)


def properties(matrix: Matrix) -> set[str]:
    """What holds of the fractions themselves, as integers over a common denominator."""
    total = lcm(*(x.denominator for row in matrix for x in row))
    weights = np.array([[int(x * total) for x in row] for row in matrix], dtype=object)
    return set(LETTERS) - shape_faults(weights, total).keys()


def level(matrix: Matrix) -> Fraction:
    """The least ratio of neighbouring truths' probabilities, of rows that sum to one."""
    assert all(sum(row) == 1 for row in matrix)
    steps = [(x, y) for one, two in pairwise(matrix) for x, y in zip(one, two, strict=True)]
    return min(min(x, y) / max(x, y) for x, y in steps)


def risk(matrix: Matrix, power: int) -> Fraction:
    """The mean of distance^power at a uniform truth."""
    size = len(matrix)
    return sum(abs(i - j) ** power * matrix[i][j] for i in range(size) for j in range(size)) / size


@pytest.mark.parametrize(
    ("n", "alpha", "power", "letters", "make"),
    [
        (6, "29/50", 1, "RH RM WH S", lambda n, a: kept(n, a, a)),
        (7, "3/5", 1, "RH RM CH CM WH S", lambda n, a: kept(n, a, (1 + a - a * a) / 2)),
        (5, "2/5", 2, "RH RM CH CM WH S", lambda n, a: kept(n, a, (1 + a - a * a) / 2)),
        (8, "3/5", 1, "F WH S", sharp),
        (9, "2/5", 2, " ".join(LETTERS), sharp),
        (8, "3/4", 1, "F WH S", lambda n, a: sharp(n, a, 1 / a)),
        (9, "1/2", 2, " ".join(LETTERS), lambda n, a: sharp(n, a, Fraction(1))),
        (6, "9/10", 1, " ".join(LETTERS), cascade),
        (5, "17/20", 2, " ".join(LETTERS), cascade),
    ],
)
def test_the_matrices_of_the_theorems_have_the_properties_and_the_loss(n, alpha, power, letters, make):
    a = Fraction(alpha)
    matrix = make(n, a)
    assert level(matrix) == a
    assert properties(matrix) == set(letters.split())
    assert risk(matrix, power) == closed_form(n, a, power, set(letters.split()))


@pytest.mark.parametrize(
    ("n", "alpha", "power"),
    [
        (4, "17/20", 1),
        (4, "9/10", 1),
        (6, "19/20", 1),
        (5, "99/100", 1),
        (4, "3/4", 2),
        (4, "9/10", 2),
        (6, "9/10", 2),
        (3, "19/20", 2),
    ],
)
def test_the_pattern_for_column_monotonicity_at_high_privacy(n, alpha, power):
    a = Fraction(alpha)
    matrix = level_columns(n, a)
    assert level(matrix) == a
    assert {"CH", "CM", "WH", "S"} <= properties(matrix)
    for letters in ({"CH"}, {"CM"}):
        best = dt.theory.uniqueness(dt.design(n, alpha=a, loss=f"l{power}", require=letters))
        assert risk(matrix, power) == best.optimum


@pytest.mark.parametrize(("n", "alpha", "power"), [(4, "4/5", 1), (6, "9/10", 1), (6, "99/100", 2)])
def test_the_pattern_for_column_monotonicity_ends(n, alpha, power):
    best = dt.design(n, alpha=alpha, loss=f"l{power}", require={"CM"})
    assert risk(level_columns(n, Fraction(alpha)), power) > best.certificate.objective


def test_the_prices_of_fairness_prove_it_up_to_the_golden_ratio():
    """T >= R of theorem 4 for every n and all a up to 6181/10000, by halving intervals: both sides rise with a."""

    def slope(r, a, power):
        return sum(a**d * ((d + 1) ** power - d**power) for d in range(r + 1))

    def total(n, a, power):
        return sum(slope(min(i, n - i), a, power) for i in range(n + 1))

    def across(n, a, power):
        return 2 * sum(
            (slope(n - i, a, power) - slope(i, a, power)) * sum(a**t for t in range(1, i + 1))
            for i in range(1, n // 2 + 1)
        )

    def across_any(a, power):  # the sum over all i >= 1, with n infinite
        if power == 1:
            return 2 * a**3 / ((1 - a) ** 3 * (1 + a))
        one, two = a / (1 - a) - a * a / (1 - a * a), a / (1 - a) ** 2 - a * a / (1 - a * a) ** 2
        return 2 * a * a / (1 - a) ** 2 * ((3 + 2 * a / (1 - a)) * one + 2 * two)

    def proved(large, small, low, high, depth=0):
        if large(low) >= small(high):
            return True
        middle = (low + high) / 2
        return depth < 8 and all(proved(large, small, *ends, depth + 1) for ends in ((low, middle), (middle, high)))

    top = Fraction(6181, 10000)
    assert top**2 + top > 1  # beyond the golden ratio
    for power, first in ((1, 4), (2, 12)):
        for n in range(2, first):
            assert proved(
                lambda a, n=n, p=power: total(n, a, p), lambda a, n=n, p=power: across(n, a, p), Fraction(0), top
            )
        assert proved(lambda a, n=first, p=power: total(n, a, p), lambda a, p=power: across_any(a, p), Fraction(0), top)
        assert across(2 * first, top, power) < across_any(top, power)
    assert total(5, Fraction(3, 4), 2) < across(5, Fraction(3, 4), 2)
