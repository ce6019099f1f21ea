"""The least mean loss at a uniform truth in closed form, for a loss that is a convex function of the distance.

docs/theory/optima.md has the theorems and their proofs; the names here are the ones used there. With a = alpha, f the loss at a
distance (f(0) = 0) and G the geometric mechanism with its weights w:

    slope(r)       v_r = sum over d = 0..r of a^d (f(d+1) - f(d))
    posterior      C_r(j) = sum over truths i of a^|i-r| f(|i-j|), the loss of reading G's report r as j
    gain           e = C_0(0) - C_0(1) = a v_{n-1} - f(1), what reading report 0 of G as 1 saves; at most 0: G itself is best

Every function returns None where no theorem applies. Then the optimum is known by computation alone.
"""

from __future__ import annotations

from collections.abc import Set
from fractions import Fraction

HONEST = frozenset({"RH", "RM", "CH", "CM"})


class Problem:
    """Truths 0..n, all as likely, neighbours one step apart at level a, and the loss distance^power."""

    def __init__(self, n: int, a: Fraction, power: int) -> None:
        self.n, self.a, self.power = n, a, power
        steps = [a**d * (self.f(d + 1) - self.f(d)) for d in range(n + 1)]
        self.slope = [sum(steps[: r + 1], Fraction(0)) for r in range(n + 1)]
        self.gain = a * self.slope[n - 1] - self.f(1)
        self.curvature = self.f(2) - self.f(1)

    def f(self, distance: int) -> int:
        return int(distance**self.power)

    def weight(self, r: int) -> Fraction:
        """What the geometric mechanism's column of report r has on its diagonal."""
        return 1 / (1 + self.a) if r in (0, self.n) else (1 - self.a) / (1 + self.a)

    def posterior(self, r: int) -> list[Fraction]:
        """C_r(j) for j = 0..n."""
        truths = range(self.n + 1)
        return [sum((self.a ** abs(i - r) * self.f(abs(i - j)) for i in truths), Fraction(0)) for j in truths]


def closed_form(n: int, a: Fraction, power: int, require: Set[str]) -> Fraction | None:
    """The least mean loss of all mechanisms with these properties, if one of the theorems says what it is (n >= 3)."""
    problem = Problem(n, a, power)
    if "F" in require:
        value = fair(problem, honest=bool(HONEST & require))
        return fair_and_row_monotone(problem) if value is None and "RM" in require else value
    if {"CH", "CM"} & require:
        return column_monotone(problem)
    if {"RH", "RM"} & require:
        return row_monotone(problem, "WH" in require)
    return weakly_honest(problem) if "WH" in require else unconstrained(problem)


def unconstrained(problem: Problem) -> Fraction:
    """The geometric mechanism and the best remap (Ghosh, Roughgarden and Sundararajan 2009)."""
    n = problem.n
    return sum((problem.weight(r) * min(problem.posterior(r)) for r in range(n + 1)), Fraction(0)) / (n + 1)


def weakly_honest(problem: Problem) -> Fraction | None:
    """Theorem 1: what is best without properties, but report 0 of G is read as each j < m just often enough."""
    n, a = problem.n, problem.a
    posterior = [problem.posterior(r) for r in range(n + 1)]
    best = [min(range(n + 1), key=lambda j: (posterior[r][j], abs(j - r))) for r in range(n + 1)]
    m = best[0]
    needed = [1 / a**j / (n + 1) for j in range(m)]  # of report 0's weight, so that j is reported truly with 1/(n+1)
    left = problem.weight(0) - sum(needed)
    diagonal = [Fraction(1, n + 1) if j < m or j > n - m else Fraction(0) for j in range(n + 1)]
    for r in range(n + 1):
        diagonal[best[r]] += a ** abs(r - best[r]) * (left if r in (0, n) else problem.weight(r))
    if left < 0 or min(diagonal) < Fraction(1, n + 1):
        return None
    price = sum((needed[j] * (posterior[0][j] - posterior[0][m]) for j in range(m)), Fraction(0))
    return unconstrained(problem) + 2 * price / (n + 1)


def row_monotone(problem: Problem, weakly: bool) -> Fraction | None:
    """Theorem 2, for RH as for RM: report 0 of G is kept with probability a, else read as 1."""
    n, a, gain = problem.n, problem.a, problem.gain
    if gain <= 0:
        return unconstrained(problem) if not weakly or n * (1 - a) >= 2 * a else None
    if not weakly and 2 * problem.posterior(0).index(min(problem.posterior(0))) == n:
        return unconstrained(problem)  # n/2 whatever the truth, which is row monotone
    if weakly and min(a, 1 - a) * (n + 1) < 1 + a:
        return None
    far = problem.posterior(2)
    bounds = (
        n >= 4
        and _first_report_alone(problem)
        and gain <= (1 - a) * problem.curvature
        and gain <= _second_step(problem)
        and a * gain <= far[1] - far[2]
    )
    return unconstrained(problem) + 2 * a * gain / (1 + a) / (n + 1) if bounds else None


def column_monotone(problem: Problem) -> Fraction | None:
    """Theorem 3, for CH as for CM: report 0 of G is read as 1 until truth 0 has both alike."""
    n, a, gain = problem.n, problem.a, problem.gain
    if gain <= 0:
        return unconstrained(problem) if 2 * a <= 1 else None
    near = problem.posterior(1)
    bounds = (
        _first_report_alone(problem)
        and gain <= 2 * problem.curvature
        and gain <= 2 * _second_step(problem)
        and a * gain <= 2 * (near[2] - near[1])
        and a * a + a <= 1
    )
    return unconstrained(problem) + gain * (1 + a - a * a) / (1 + a) / (n + 1) if bounds else None


def fair(problem: Problem, honest: bool) -> Fraction | None:
    """Theorem 4: fair with the largest diagonal; with RH, RM, CH or CM no entry is larger than the diagonal's."""
    n, a, v = problem.n, problem.a, problem.slope
    y = fair_share(n, a)
    cap = y if honest else y / a  # the most that P[0, 1] may be
    total = sum((v[min(i, n - i)] for i in range(n + 1)), Fraction(0))
    across = sum(((v[n - i] - v[i]) * (1 - a**i) for i in range(1, n // 2 + 1)), Fraction(0)) * 2 * a / (1 - a)
    value = total - y * (total - across)
    beside = [1 - a - y + y * a**j * (1 + a) for j in range(3)]  # P[j - 1, j] for j <= n/2
    excess = beside[1] - cap
    if excess <= 0:
        return value / (n + 1) if total >= across else None
    second = excess + a * beside[2]  # P[0, 2], which takes what P[0, 1] cannot
    if n < 4 or beside[2] > cap or second > (beside[2] if honest else beside[2] / a):
        return None
    if total - across + 2 * problem.curvature * (cap / y + 1 - a - a * a) < 0:
        return None
    return (value + 2 * problem.curvature * excess) / (n + 1)


def fair_and_row_monotone(problem: Problem) -> Fraction | None:
    """Theorem 5, for high privacy: fair with the largest diagonal, and every report as flat as row monotonicity makes it."""
    n, a, f = problem.n, problem.a, problem.f
    half = n // 2
    # P[i, j] / y for n/2 <= j < n - i, whatever i; beyond it, at i = n - j, stands a^(2j-n)
    flat = {j: a ** (2 * j - n) - (1 - a ** (n - j)) * (1 - a ** (2 * j - n + 1)) for j in range((n + 1) // 2, n)}
    if any(flat[j] < a ** (2 * j - n + 1) for j in flat):
        return None
    prices = [Fraction(f(n - 2 * i - 1) + f(n - 2 * i) - f(n - i)) for i in range(half)]

    def all_prices(middle: Fraction) -> list[Fraction]:
        return [*prices, *[middle] * (n + 1 - 2 * half), *reversed(prices)]

    def on_diagonal(v: list[Fraction]) -> Fraction:
        """What fairness is paid on the whole diagonal; prices prove something where this is zero."""
        paid = Fraction(0) if n % 2 else v[half]
        for j in range((n + 1) // 2):  # and as much at n - j
            paid += 2 * sum((v[i] - f(j - i) for i in range(j)), Fraction(0))
            paid += 2 * sum((a ** (i - j) * (v[i] - f(i - j)) for i in range(j, n - j + 1)), Fraction(0))
        return paid

    at_zero = on_diagonal(all_prices(Fraction(0)))
    v = all_prices(at_zero / (at_zero - on_diagonal(all_prices(Fraction(1)))))
    for k in range(1, (n + 1) // 2 + 1):
        if sum((a ** (i - k) * (f(i - k + 1) - v[i]) for i in range(k, n - k + 2)), Fraction(0)) < 0:
            return None
    return sum(v, Fraction(0)) / (n + 1)


def fair_share(n: int, a: Fraction) -> Fraction:
    """The largest probability with which a fair mechanism is right: that of the explicit fair one."""
    return 1 / sum((a ** abs(n // 2 - j) for j in range(n + 1)), Fraction(0))


def _first_report_alone(problem: Problem) -> bool:
    """Does the best remap of G read every report but the first and the last as it is?"""
    return problem.slope[1] >= problem.a * problem.slope[problem.n - 2]


def _second_step(problem: Problem) -> Fraction:
    """C_0(2) - C_0(1), what reading report 0 as 2 rather than 1 costs."""
    a = problem.a
    return problem.curvature + a * problem.f(1) - a * a * problem.slope[problem.n - 2]
