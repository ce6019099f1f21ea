"""Exact reference for the mathematics of private counts, in Fractions and plain loops.

An oracle for tests: slow and literal, sharing no code with the package. Throughout, C[i][j] = Pr[report j | true i]
on 0..n, so each list is the law of the report for one true value, and a = alpha = e^-eps with 0 < a < 1.
The literature on the seven properties calls a report a "row" and a true value a "column"; the property
letters keep that usage, so RH and RM compare true values at a fixed report, CH and CM reports at a fixed true value.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product as cartesian

Matrix = list[list[Fraction]]

ZERO, ONE = Fraction(0), Fraction(1)
ALL_PROPERTIES = frozenset({"RH", "RM", "CH", "CM", "F", "WH", "S"})


# Mechanisms


def geometric(n: int, a: Fraction) -> Matrix:
    """Truncated geometric mechanism GM: w_j a^|i-j|, with w = 1/(1+a) at the ends j = 0, n."""
    end, inner = 1 / (1 + a), (1 - a) / (1 + a)
    return [[(end if j in (0, n) else inner) * a ** abs(i - j) for j in range(n + 1)] for i in range(n + 1)]


def hyperplane(p: int, m: int, t: int, recurrence: Sequence[int]) -> set[int]:
    """Places of a hyperplane among the powers of x, q = p^m: polynomials modulo x^n + r_(n-1) x^(n-1) + ... + r_0, by hand.

    A power x^i lies in it when the highest coefficient of c x^i is 0 for every c of the subfield of q elements, whose powers of
    x^K these are. Counted from the first.
    """
    n, points = m * t, (p ** (m * t) - 1) // (p**m - 1)
    powers, element = [], [1] + [0] * (n - 1)
    for _ in range(points * (p**m - 1)):  # all elements but 0
        powers.append(element)
        top = element[-1]
        element = [(low - top * r) % p for low, r in zip([0, *element[:-1]], recurrence, strict=True)]
    assert element == powers[0]
    assert len({tuple(e) for e in powers}) == p**n - 1  # x is primitive
    found = [i for i in range(points) if all(powers[i + j * points][-1] == 0 for j in range(p**m - 1))]
    return {i - found[0] for i in found}


def projective(size: int, p: int, m: int, t: int, recurrence: Sequence[int], a: Fraction) -> Matrix:
    """Projective response: 1 in the hyperplane of the truth, else a, divided by their sum."""
    near, points = hyperplane(p, m, t, recurrence), (p ** (m * t) - 1) // (p**m - 1)
    rows = [[ONE if (y - x) % points in near else a for y in range(points)] for x in range(size)]
    return [[w / sum(row) for w in row] for row in rows]


def fair_exponent(n: int, true: int, report: int) -> int:
    """Exponent of a in the explicit fair mechanism: d below m = min(true, n - true), else ceil((d+m)/2)."""
    d, m = abs(true - report), min(true, n - true)
    return d if d < m else (d + m + 1) // 2


def explicit_fair(n: int, a: Fraction) -> Matrix:
    """Explicit fair mechanism EM, both parities of n; the diagonal y comes from row sums, not a formula."""
    weights = [[a ** fair_exponent(n, i, j) for j in range(n + 1)] for i in range(n + 1)]
    return [[w / sum(row) for w in row] for row in weights]


def uniform(n: int) -> Matrix:
    """Uniform mechanism UM: every report has probability 1/(n+1)."""
    return [[Fraction(1, n + 1)] * (n + 1) for _ in range(n + 1)]


def randomized_response(n: int, a: Fraction) -> Matrix:
    """k-ary randomized response on 0..n, k = n + 1: keep with e^eps/(e^eps+k-1) = 1/(1+n a), else each other value."""
    keep = 1 / (1 + n * a)
    return [[keep if i == j else a * keep for j in range(n + 1)] for i in range(n + 1)]


# Privacy


def ratio(p: Fraction, q: Fraction) -> Fraction:
    """Smaller over larger; 1 when both are zero, 0 when exactly one is."""
    return ONE if p == q else min(p, q) / max(p, q)


def tight_alpha(C: Matrix, distance: int | None = 1) -> Fraction:
    """Largest a such that C is a-private in both directions for all true values at most `distance` apart.

    None compares all pairs of true values.
    """
    n = len(C) - 1
    reach = n if distance is None else distance
    best = ONE
    for i, k, j in cartesian(range(n + 1), range(n + 1), range(n + 1)):
        if abs(i - k) <= reach:
            best = min(best, ratio(C[i][j], C[k][j]))
    return best


def tight_alpha_all_pairs(C: Matrix) -> Fraction:
    """Largest a such that any two true values, however far apart, are a-indistinguishable (the discrete metric)."""
    return tight_alpha(C, None)


# The seven properties


def properties(C: Matrix) -> set[str]:
    """The letters among RH RM CH CM F WH S that C has, straight from the definitions."""
    n = len(C) - 1
    values = range(n + 1)
    holds = set(ALL_PROPERTIES)
    for i, j, k in cartesian(values, values, values):
        # i is the centre; k lies on the same side of it as j, no nearer.
        outward = (i <= j <= k) or (k <= j <= i)
        if C[i][i] < C[j][i]:
            holds.discard("RH")
        if outward and C[j][i] < C[k][i]:
            holds.discard("RM")
        if C[i][i] < C[i][j]:
            holds.discard("CH")
        if outward and C[i][j] < C[i][k]:
            holds.discard("CM")
        if C[i][i] != C[j][j]:
            holds.discard("F")
        if C[i][i] < Fraction(1, n + 1):
            holds.discard("WH")
        if C[i][j] != C[n - i][n - j]:
            holds.discard("S")
    return holds


# Losses


def loss(p: int, i: int, j: int) -> int:
    """|i-j|^p for p = 0, 1, 2, with 0^0 = 0."""
    return 0 if i == j else abs(i - j) ** p


def expected_loss(C: Matrix, p: int, prior: Sequence[Fraction] | None = None) -> Fraction:
    """Prior mean of the expected L_p loss; the prior over true values is uniform by default."""
    n = len(C) - 1
    weights = [Fraction(1, n + 1)] * (n + 1) if prior is None else list(prior)
    total = ZERO
    for i, j in cartesian(range(n + 1), range(n + 1)):
        total += weights[i] * C[i][j] * loss(p, i, j)
    return total


def trace(C: Matrix) -> Fraction:
    """Sum of the diagonal."""
    return sum((C[i][i] for i in range(len(C))), ZERO)


def rescaled_l0(C: Matrix) -> Fraction:
    """(n + 1 - trace)/n: 1 for the uniform mechanism, 2a/(1+a) for the geometric one."""
    n = len(C) - 1
    return (n + 1 - trace(C)) / n


def em_diagonal(n: int, a: Fraction) -> Fraction:
    """Closed form of the diagonal y of the explicit fair mechanism."""
    if n % 2 == 0:
        return (1 - a) / (1 + a - 2 * a ** (n // 2 + 1))
    return (1 - a) / ((1 + a) * (1 - a ** ((n + 1) // 2)))


def em_l0_rescaled(n: int, a: Fraction) -> Fraction:
    """Closed form of the rescaled L0 of the explicit fair mechanism."""
    if n % 2 == 0:
        A = a ** (n // 2 + 1)
        return Fraction(n + 1, n) * (2 * a - 2 * A) / (1 + a - 2 * A)
    B = a ** ((n + 1) // 2)
    return Fraction(n + 1, n) * (2 * a - (1 + a) * B) / ((1 + a) * (1 - B))


def gm_l0_rescaled(a: Fraction) -> Fraction:
    """Rescaled L0 of the geometric mechanism, whatever n."""
    return 2 * a / (1 + a)


def gm_error(i: int, n: int, a: Fraction) -> Fraction:
    """E|report - i| under the geometric mechanism."""
    return a * (2 - a**i - a ** (n - i)) / (1 - a * a)


def gm_is_weakly_honest(n: int, a: Fraction) -> bool:
    """WH of the geometric mechanism: n >= 2a/(1-a) for n >= 2, always for n = 1."""
    return n == 1 or n >= 2 * a / (1 - a)


def gm_is_column_honest(n: int, a: Fraction) -> bool:
    """CH, and equally CM, of the geometric mechanism: a <= 1/2 for n >= 2, always for n = 1."""
    return n == 1 or a <= Fraction(1, 2)


# Matrices, inverse, derivability


def identity(size: int) -> Matrix:
    """Identity matrix."""
    return [[ONE if i == j else ZERO for j in range(size)] for i in range(size)]


def multiply(A: Matrix, B: Matrix) -> Matrix:
    """Matrix product."""
    return [[sum((x * B[k][j] for k, x in enumerate(row)), ZERO) for j in range(len(B[0]))] for row in A]


def inverse(A: Matrix) -> Matrix:
    """Exact inverse by Gauss-Jordan; ValueError if A is singular."""
    size = len(A)
    work = [list(row) + unit for row, unit in zip(A, identity(size), strict=True)]
    for c in range(size):
        pivot = next((r for r in range(c, size) if work[r][c] != 0), None)
        if pivot is None:
            raise ValueError("singular matrix")
        work[c], work[pivot] = work[pivot], work[c]
        work[c] = [x / work[c][c] for x in work[c]]
        for r in range(size):
            if r != c and work[r][c] != 0:
                work[r] = [x - work[r][c] * y for x, y in zip(work[r], work[c], strict=True)]
    return [row[size:] for row in work]


def geometric_inverse(n: int, a: Fraction) -> Matrix:
    """Tridiagonal inverse of geometric(n, a), n >= 1."""
    out = [[ZERO] * (n + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        end = i in (0, n)
        scale = 1 / (1 - a) if end else 1 / (1 - a) ** 2
        out[i][i] = scale if end else (1 + a * a) * scale
        for j in (i - 1, i + 1):
            if 0 <= j <= n:
                out[i][j] = -a * scale
    return out


def remap_from_geometric(M: Matrix, a: Fraction) -> Matrix:
    """The only T with geometric(n, a) T = M; its rows sum to 1 whenever those of M do."""
    return multiply(geometric_inverse(len(M) - 1, a), M)


def is_derivable(M: Matrix, a: Fraction) -> bool:
    """Whether M (n+1 rows) is a randomised remap of geometric(n, a): T = G^-1 M has no negative entry."""
    return all(t >= 0 for row in remap_from_geometric(M, a) for t in row)


# Unbiased readings of a truncated geometric report


def unbiased_count(y: int, n: int, a: Fraction) -> Fraction:
    """h(y) with E h(report) = true count under geometric(n, a)."""
    if y == 0:
        return -a / (1 - a)
    return n + a / (1 - a) if y == n else Fraction(y)


def unbiased_square(y: int, n: int, a: Fraction) -> Fraction:
    """A reading whose mean under geometric(n, a) is the square of the true count."""
    if y == 0:
        return -a / (1 - a)
    return n * n + a * (2 * n - 1) / (1 - a) if y == n else y * y - 2 * a / (1 - a) ** 2


# Noise from independent bits


def discrete_laplace(x: int, a: Fraction) -> Fraction:
    """Pr[X = x] = (1-a)/(1+a) a^|x| on the integers."""
    return (1 - a) / (1 + a) * a ** abs(x)


def bit_probability(k: int, a: Fraction) -> Fraction:
    """Probability that bit k of X ~ (1-a) a^x is set."""
    power = a ** (2**k)
    return power / (1 + power)


def law_from_bits(K: int, a: Fraction) -> list[Fraction]:
    """Law on 0..2^K-1 of an integer whose K low bits are drawn independently, by enumeration of all bit patterns."""
    law = [ZERO] * 2**K
    for bits in cartesian((0, 1), repeat=K):
        chance = ONE
        for k, bit in enumerate(bits):
            chance *= bit_probability(k, a) if bit else 1 - bit_probability(k, a)
        law[sum(bit << k for k, bit in enumerate(bits))] += chance
    return law


def geometric_law_below(K: int, a: Fraction) -> list[Fraction]:
    """Law of X ~ (1-a) a^x given X < 2^K, from the definition."""
    weights = [(1 - a) * a**x for x in range(2**K)]
    return [w / sum(weights) for w in weights]


def overflow_probability(K: int, a: Fraction) -> Fraction:
    """Pr[X >= 2^K] for X ~ (1-a) a^x."""
    return a ** (2**K)


def bits_needed(n: int) -> int:
    """ceil(log2(n+1)): the least K with 2^K > n."""
    return n.bit_length()


def sampler_law(n: int, a: Fraction) -> Matrix:
    """Law of the fixed-draw sampler, by enumeration: nonzero, sign, overflow, bits; clamp(i +- (1+X)).

    An overflow saturates at the end the sign points to.
    """
    K = bits_needed(n)
    low, over, moved = law_from_bits(K, a), overflow_probability(K, a), 2 * a / (1 + a)
    C = [[ZERO] * (n + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        C[i][i] += 1 - moved
        for sign in (-1, 1):
            half = moved / 2
            C[i][n if sign > 0 else 0] += half * over
            for x, chance in enumerate(low):
                C[i][min(max(i + sign * (1 + x), 0), n)] += half * (1 - over) * chance
    return C
