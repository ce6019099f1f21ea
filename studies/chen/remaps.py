"""Sections 4.2.3 and 5.1.1: what users may do with a report, and geometric noise on answers that are real numbers.

The best guess from a report is the median of what the prior leaves of it. Staircase noise is constant between its edges, so prior
and report give the median and its loss in closed form, for each report; the mean over reports is a sum over a fine grid of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy.special import ndtr, ndtri

from discreet import Grid, check_privacy, expected_loss, geometric
from discreet.measure import bayes_risk
from discreet.present.views import View
from discreet.queries import rounded

from ..frame import Claim, Found, Setting, Study, verdict
from . import PAPER

D = 10.0
ALPHAS = (0.05, 0.25, 0.5)
EXPECTED = {  # sums over 8,000 answers and all reports, and over 101 counts, written out on their own
    "maximum, best guess": (0.1323, 3e-4),
    "mean, best guess": (0.6575, 1e-3),
    "even on -1000..1000, best guess / as reported": (1, 0.01),
    "chance of some report, less 1": (0, 1e-3),
    "reports in common": (0, 0),
    "count, as reported": (4 / 3, 1e-6),  # (13): the ends are far from every likely count
    "count, best guess": (1.287960, 1e-6),
}


@dataclass(frozen=True)
class Prior:
    """A law on -width..width: its distribution function, the inverse of it, and E[x; x < t]."""

    below: Callable[[float], float]
    inverse: Callable[[float], float]
    moment: Callable[[float], float]
    width: float = 10.0


PRIORS = {
    "mean": Prior(  # N(0, 1): less than 1e-22 of it lies beyond 10
        lambda t: float(ndtr(t)),
        lambda q: float(ndtri(q)),
        lambda t: -math.exp(-t * t / 2) / math.sqrt(2 * math.pi),
    ),
    "maximum": Prior(  # of 100 even records on [-10, 10]
        lambda t: ((t + 10) / 20) ** 100,
        lambda q: 20 * q**0.01 - 10,
        lambda t: 2000 / 101 * ((t + 10) / 20) ** 101 - 10 * ((t + 10) / 20) ** 100,
    ),
}


def even(width: float) -> Prior:
    """All numbers up to a width alike: for the widest nothing is known."""
    return Prior(
        lambda t: (t + width) / (2 * width),
        lambda q: width * (2 * q - 1),
        lambda t: (t * t - width * width) / (4 * width),
        width,
    )


def at_report(prior: Prior, alpha: float, report: float) -> tuple[float, float]:
    """The density of a report, and that density times the mean |error| of the best guess from it."""
    root, w = math.sqrt(alpha), prior.width
    gamma, height = root / (1 + root), (1 - alpha) / (2 * D * root)  # of equation (8)
    near, far = max(0.0, abs(report) - w) / D, (abs(report) + w) / D
    edges = [(k + gamma) * D for k in range(math.floor(near - gamma), math.ceil(far - gamma) + 1) if k >= 0]
    cuts = sorted({-w, w, *(x for edge in edges for x in (report - edge, report + edge) if -w < x < w)})
    below = [prior.below(cut) for cut in cuts]
    stairs = [math.floor(abs((low + high) / 2 - report) / D - gamma) + 1 for low, high in pairwise(cuts)]
    weights = [height * alpha**k for k in stairs]
    chances = [weight * (high - low) for weight, (low, high) in zip(weights, pairwise(below), strict=True)]
    half, k = sum(chances) / 2, 0
    while k < len(chances) - 1 and half > chances[k]:
        half, k = half - chances[k], k + 1
    median = min(max(prior.inverse(below[k] + half / weights[k]), cuts[k]), cuts[k + 1])
    cuts, weights = [*cuts[: k + 1], median, *cuts[k + 1 :]], [*weights[: k + 1], *weights[k:]]
    moments = [high - low for low, high in pairwise(map(prior.moment, cuts))]
    return sum(chances), sum(
        (-1 if j <= k else 1) * w * m for j, (w, m) in enumerate(zip(weights, moments, strict=True))
    )


def best_guess(prior: Prior, alpha: float, step: float = 0.01) -> tuple[float, float]:
    """The mean |error| of the best guess from staircase noise, and the sum of all densities of reports, which should be 1.

    Beyond the answers D more multiplies every density by alpha: a geometric series.
    """
    w = prior.width
    beyond = np.arange(w + step / 2, w + D, step)
    kinds = (np.arange(-w + step / 2, w, step), 1.0), (np.concatenate([beyond, -beyond]), 1 / (1 - alpha))
    sums = sum(
        times * step * np.array([at_report(prior, alpha, float(r)) for r in at]).sum(axis=0) for at, times in kinds
    )
    return float(sums[1]), float(sums[0])


def work(setting: Setting) -> Found:
    step = 0.05 if setting.quick else 0.01
    asked = {a: D * math.sqrt(a) / (1 - a) for a in ALPHAS}
    found = {(name, a): best_guess(prior, a, step) for name, prior in PRIORS.items() for a in ALPHAS}
    setting.tell("flat priors", 1 / 2)
    flat = {w: best_guess(even(w), ALPHAS[0], w / 200)[0] / asked[ALPHAS[0]] for w in (10.0, 100.0, 1000.0)}
    total = max(abs(mass - 1) for _, mass in found.values())
    first = ALPHAS[0]
    m = geometric(100, alpha="1/2")
    counts = {
        prior: (float(expected_loss(m, "l1", prior)), float(bayes_risk(m, "l1", prior)))
        for prior in ("uniform", "binomial(0.3)")
    }
    common = len({Fraction(k) for k in range(-50, 51)} & {Fraction(3, 10) + k for k in range(-50, 51)})
    answers = Grid(-10, 10, "1/10")
    levels = {
        a: check_privacy(rounded(answers, [-10, 0, 10], alpha=a, sensitivity=10), neighbours=100)
        for a in ("1/20", "1/2")
    }
    private = [check.tight == Fraction(a) for a, check in levels.items()]
    claims = [
        Claim(
            "section 4.2.3",
            "where the true answer is a real number, users take the report as it is",
            "with nothing known it is right: with all answers alike between -w and w the best guess has "
            + ", ".join(f"{x:.3f} (w = {w:g})" for w, x in flat.items())
            + " times the loss of the report. With the priors of section 5.2 it is not: at the declared sensitivity of 10 "
            f"staircase noise has the loss {asked[first]:.3f} at a = {first}, and the best guess from it "
            + ", ".join(f"{found[name, first][0]:.3f} ({name})" for name in PRIORS)
            + ". The noise has its highest density at 0, but what counts is noise and prior together",
            verdict([flat[1000.0] > 0.99, *(found[name, a][0] > 0.99 * asked[a] for name in PRIORS for a in ALPHAS)]),
            "If the true query output domain is real, then Y is nothing but an impulse/identity function, since the noise we "
            "add has the highest density at the true answer with no bias.",
            "the report as it is came within 1 % of the best guess with the priors, too (then: holds), or not even with all "
            "numbers up to 1000 alike (then: does not hold)",
        ),
        Claim(
            "section 4.2.3",
            "where it is a whole number, users round to the nearest one",
            "for counts of 0..100 with geometric noise at a = 1/2, clamped, the report is a whole number, and rounding leaves "
            f"it as it is. With all counts alike it has the loss {counts['uniform'][0]:.3f}, and no guess is better. With a "
            f"binomial prior (p = 3/10) it has {counts['binomial(0.3)'][0]:.3f}, and the best guess "
            f"{counts['binomial(0.3)'][1]:.3f}",
            verdict([_same(*counts["uniform"]), _same(*counts["binomial(0.3)"])]),
            "If the true query output domain is discrete, then Y should be a round() function which rounds the noisy results "
            "to the nearest legitimate discrete value.",
            "no guess were better with the binomial prior, too (then: holds), or one were with all counts alike (then: does "
            "not hold)",
        ),
        Claim(
            "section 5.1.1",
            "geometric noise cannot be applied to real answers",
            f"without rounding it cannot: the answers 0 and 3/10 have {common} reports in common. Rounded first, as the "
            "paper's own heuristic does, it can: on answers in steps of 1/10, two that are 10 apart have reports within a "
            "factor of "
            + ", ".join(f"{check.tight} at a = {a}" for a, check in levels.items())
            + ", though only three numbers are ever reported. That the reports do not cover L is not what matters",
            verdict([common == 0, not all(private)]),
            "for continuous query output domain L (e.g., the entire or bounded real domain), the Geometric mechanism cannot "
            "be applied since the perturbed query output does not cover entire (all possible query outputs in) L and thus "
            "will not satisfy DP by definition",
            "two answers between the steps had a report in common (then: does not hold), or rounding first kept no level "
            "(then: holds)",
        ),
    ]
    values = {f"{name}, best guess": found[name, first][0] for name in PRIORS}
    values |= {"even on -1000..1000, best guess / as reported": flat[1000.0], "reports in common": float(common)}
    values["chance of some report, less 1"] = total
    values |= {"count, as reported": counts["binomial(0.3)"][0], "count, best guess": counts["binomial(0.3)"][1]}
    rows = [
        {"answer": name, "alpha": a, "as reported": asked[a], "best guess": x, "no data": _no_data(PRIORS[name])}
        for (name, a), (x, _) in found.items()
    ]
    return Found(claims, [View.of("mean |error| of staircase noise, sensitivity 10", rows)], [], values)


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9)


def _no_data(prior: Prior) -> float:
    """E|x - median|."""
    middle = prior.moment(prior.inverse(0.5))
    return (prior.moment(prior.width) - middle) - (middle - prior.moment(-prior.width))


STUDY = Study("remaps", "What users make of a report", PAPER, "sections 4.2.3 and 5.1.1", work, EXPECTED, 3)
