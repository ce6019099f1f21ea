"""Sections 2 and 3: the two propositions on the truncated geometric mechanism, and what the iteration of Definition 1 comes to."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from discreet import geometric, recover
from discreet.measure import total_variation
from discreet.present.views import View

from ..frame import Claim, Found, Setting, Study, verdict
from . import PAPER
from .cells import Floats, N, drawn, mechanism, reports_of

A = Fraction(1, 2)  # of the iterations
SIDE = 4  # they are on 0..4
STEPS = 20_000
EXPECTED = {  # by hand: the determinant is (1-a)^(2n-1)/(1+a); q = (1/2, 0, 1/2) at a = 1/2 has the inverse (1, -1, 1)
    "determinant, n = 4, a = 1/2": (2 / 3 / 2**7, 1e-15),
    "determinant, n = 3, a = 1": (0, 0),
    "inverse at 1 of (1/2, 0, 1/2)": (-1, 0),
    "limit at 1 of (1/2, 0, 1/2)": (0, 1e-9),
    "samples like the paper's whose inverse is a distribution": (0, 0),
}

Rows = Sequence[Sequence[Fraction]]


def printed(n: int, a: Fraction) -> Rows:
    """Equation (6)."""
    return [[(1 if j in (0, n) else 1 - a) / (1 + a) * a ** abs(i - j) for j in range(n + 1)] for i in range(n + 1)]


def solved(rows: Rows, right: Sequence[Fraction]) -> tuple[Fraction, list[Fraction]]:
    """The determinant of a matrix C, and the x with x C = right (none where the determinant is 0), by elimination."""
    size = len(rows)
    work = [[rows[j][i] for j in range(size)] + [right[i]] for i in range(size)]
    determinant = Fraction(1)
    for k in range(size):
        pivot = next((i for i in range(k, size) if work[i][k]), None)
        if pivot is None:
            return Fraction(0), []
        work[k], work[pivot] = work[pivot], work[k]
        determinant *= work[k][k] * (1 if pivot == k else -1)
        work[k] = [x / work[k][k] for x in work[k]]
        for i in range(size):
            if i != k and work[i][k]:
                work[i] = [x - work[i][k] * y for x, y in zip(work[i], work[k], strict=True)]
    return determinant, [row[-1] for row in work]


def iterated(q: Floats, start: Floats, a: float, steps: int = STEPS) -> tuple[Floats, float]:
    """Definition 1, as printed: with a^|i-j| in the place of G. Also the least gain of log-likelihood in a step."""
    kernel = a ** np.abs(np.arange(len(q))[:, None] - np.arange(len(q)))
    p, seen, least, before = start, q > 0, np.inf, -np.inf
    for _ in range(steps):
        reports = p @ kernel
        now = float(q[seen] @ np.log(reports[seen]))
        least, before = min(least, now - before), now
        p = p * (kernel[:, seen] @ (q[seen] / reports[seen]))
    return p, least


def work(setting: Setting) -> Found:
    sizes, levels = (1, 2, 4, 9), [Fraction(x) for x in ("1/10", "1/2", "9/10", "99/100")]
    cells = [(n, a) for n in sizes for a in levels]
    private = [_is_d_private(n, a) for n, a in cells]
    determinants = {cell: solved(printed(*cell), [Fraction(0)] * (cell[0] + 1))[0] for cell in cells}
    at_one = solved(printed(3, Fraction(1)), [Fraction(0)] * 4)[0]
    setting.tell("iterating")
    rng, found = np.random.default_rng(12), []
    for k in range(9 if setting.quick else 30):
        size, wide = ((6, 0.7), (60, 0.7), (10_000, 5.0))[k % 3]  # the small ones leave values out
        reports = rng.dirichlet(np.full(SIDE + 1, wide)) @ geometric(SIDE, alpha=A).matrix
        counts = rng.multinomial(size, reports)
        found.append(_against_the_mle(counts, [rng.dirichlet(np.ones(SIDE + 1)) for _ in range(2)]))
    fell = min(row[0] for row in found)
    apart, off = (max(row[k] for row in found) for k in (1, 2))
    inside = [row for row in found if row[3]]
    outside = [row for row in found if not row[3]]
    far_inside, near_outside = max(row[4] for row in inside), min(row[4] for row in outside)
    corner, middle = _by_hand()
    runs = 5 if setting.quick else 20
    usable = sum(
        _inverse_is_a_distribution(name, 100_000, seed) for name in ("binomial", "4-point") for seed in range(runs)
    )
    claims = [
        Claim(
            "Proposition 1",
            "G is d-private",
            f"in fractions, for all pairs of values and every report, at n = {', '.join(map(str, sizes))} and a = "
            f"{', '.join(map(str, levels))}: {sum(private)} of {len(private)} cells, each with equality somewhere",
            verdict(private),
            "If X is the domain [0, n] and d is the difference between integers, then G is a d-private mechanism on X.",
            "a report's probability changed by more than a^-d between two values at distance d",
        ),
        Claim(
            "Proposition 2, and section 2.5",
            "G is invertible, for 0 < a <= 1",
            f"for a < 1: its determinant is (1-a)^(2n-1)/(1+a) in {sum(determinants[n, a] == _known(n, a) for n, a in cells)} of "
            f"{len(cells)} cells, in fractions. At a = 1, which section 2.5 admits, it is {at_one}",
            verdict([all(determinants.values()), at_one != 0]),
            "Note that 0 < α ≤ 1. ... The matrix G is invertible.",
            "the determinant were 0 at some a below 1 (then: does not hold), or not 0 at a = 1 either (then: holds)",
        ),
        Claim(
            "Theorem 1",
            "the sequence of Definition 1 converges, and to a maximum likelihood estimate",
            f"{len(found)} histograms of reports on 0..{SIDE} at a = {A}, many without some of the reports, {STEPS:,} steps "
            f"from three laws each: no step lowers the log-likelihood by more than {-min(0.0, fell):.0e}, the three ends lie "
            f"within {apart:.0e} of each other (total variation) and within {off:.0e} of the certified estimate. Definition 1 "
            "has a^|i-j| for G; what they differ by, a factor for each report, cancels. How many steps it takes is another "
            "matter: see `convergence`",
            verdict([fell > -1e-12, apart < 1e-3, off < 1e-3]),
            "1. The sequence converges, i.e., lim p^(k) exists. 2. lim p^(k) is the Maximum Likelihood Estimator (MLE) of π "
            "given q.",
            "a step lowered the likelihood, or two starts of full support, or one and the certified estimate, ended apart",
        ),
        Claim(
            "Proposition 3",
            "if r = q G^-1 is a distribution, it is the limit",
            f"it is one for {len(inside)} of the {len(found)} histograms, and then within {far_inside:.0e} of the limit; else "
            f"the limit is another law, {near_outside:.2f} or more from r. By hand: q = (1/2, 0, 1/2) at a = 1/2 has r = (1, "
            f"-1, 1), and the limit is q itself. Of {2 * runs} samples of 100,000 made like the paper's, r was a "
            f"distribution in {usable}: the proposition holds, and says nothing about them",
            verdict([bool(inside), far_inside < 1e-3]),
            "If r = qG^(-1) is a probability distribution, then p* = r.",
            "r were a distribution and the limit another one",
        ),
    ]
    values = {
        "determinant, n = 4, a = 1/2": float(determinants[4, A]),
        "determinant, n = 3, a = 1": float(at_one),
        "inverse at 1 of (1/2, 0, 1/2)": float(corner),
        "limit at 1 of (1/2, 0, 1/2)": middle,
        "samples like the paper's whose inverse is a distribution": float(usable),
    }
    rows = [{"n": n, "alpha": str(a), "determinant": float(determinants[n, a])} for n, a in cells]
    return Found(claims, [View.of("the determinant of G", rows)], [], values)


def _is_d_private(n: int, a: Fraction) -> bool:
    """The library's entries are those of equation (6), and none changes by more than a^-d; some by just that."""
    made, g = geometric(n, alpha=a).finite(), printed(n, a)
    same = all(made.entry(i, j) == g[i][j] for i in range(n + 1) for j in range(n + 1))
    slack = [
        a ** abs(i - k) * g[i][j] - g[k][j] for i in range(n + 1) for k in range(n + 1) for j in range(n + 1) if i != k
    ]
    return same and max(slack) == 0


def _known(n: int, a: Fraction) -> Fraction:
    return (1 - a) ** (2 * n - 1) / (1 + a)


def _against_the_mle(counts: np.ndarray, starts: Sequence[Floats]) -> tuple[float, float, float, bool, float]:
    """The least gain in a step; how far the ends are apart, and from the MLE; is r a distribution, and how far is it?"""
    q = counts / counts.sum()
    ends, gains = zip(*(iterated(q, s, float(A)) for s in (np.full(len(q), 1 / len(q)), *starts)), strict=True)
    best = recover(counts, geometric(SIDE, alpha=A), "mle", kind="counts").distribution
    exact = [Fraction(int(c), int(counts.sum())) for c in counts]
    r = solved(printed(SIDE, A), exact)[1]
    away = float(np.abs(ends[0] - np.array(r, dtype=float)).sum() / 2)
    return (
        min(gains),
        max(float(total_variation(x, y)) for x, y in pairwise((*ends, ends[0]))),
        max(float(total_variation(end, best)) for end in ends),
        min(r) >= 0,
        away,
    )


def _by_hand() -> tuple[Fraction, float]:
    q = [Fraction(1, 2), Fraction(0), Fraction(1, 2)]
    limit = iterated(np.array(q, dtype=float), np.full(3, 1 / 3), 0.5)[0]
    return solved(printed(2, A), q)[1][1], float(limit[1])


def _inverse_is_a_distribution(name: str, size: int, seed: int) -> bool:
    m = mechanism("geometric")
    r = np.linalg.solve(m.matrix.T, reports_of(m, drawn(name, size, seed), seed) / size)
    assert len(r) == N + 1
    return bool(r.min() >= 0)


STUDY = Study("theorems", "Propositions 1 to 3 and Theorem 1", PAPER, "sections 2.5 and 3", work, EXPECTED, 1)
