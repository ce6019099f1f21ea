"""Utility: what the slides say it is, and exercises 4 and 5."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from discreet import expected_loss, geometric
from discreet.measure import bayes_risk, best_remap
from discreet.present import plot
from discreet.present.views import View
from discreet.theory import user_utility

from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER

N = 10
HALF = Fraction(1, 2)
# Closed forms of the two exercises; at a = 9/10 the matrix of the mechanism, its entries written out and every guess tried
EXPECTED = {
    "right guess, a = 1/2": (13 / 33, 1e-15),
    "distance, a = 1/2": (75263 / 8448, 1e-12),
    "distance, a = 9/10, as reported": (6.436081, 1e-6),
    "distance, a = 9/10, remapped": (7.428295, 1e-6),
    "a prior on 16 databases": (11 / 24, 1e-15),
    "disagreements, exercise 4": (0, 0),
    "disagreements, exercise 5": (0, 0),
}


def right(n: int, a: Fraction) -> Fraction:
    """Exercise 4: the utility with gain 1 for the right guess, every count equally likely."""
    return ((n + 1) - (n - 1) * a) / ((n + 1) * (1 + a))


def near(n: int, a: Fraction) -> Fraction:
    """Exercise 5: the gain n minus the distance, for a user who takes reports as they are."""
    return n - 2 * a / (1 - a * a) * (1 - (1 - a ** (n + 1)) / ((n + 1) * (1 - a)))


def work(setting: Setting) -> Found:
    sizes = (1, 2, 5, 10) if setting.quick else range(1, 31)
    levels = [Fraction(text) for text in ("1/5", "1/3", "1/2", "3/5", "3/4", "9/10", "19/20")]
    off4 = off5 = 0
    moved: list[tuple[int, Fraction]] = []
    high = 0
    for k, n in enumerate(sizes):
        setting.tell("exercises 4 and 5", k / len(sizes))
        for a in levels:
            g = geometric(n, alpha=a)
            off4 += user_utility(g, exact=True) != right(n, a)
            gain = user_utility(g, gain="distance", exact=True)
            off5 += gain != near(n, a) if a <= HALF else gain < near(n, a)
            off5 += abs(n - expected_loss(g, "l1") - float(near(n, a))) > 1e-9
            high += a > HALF
            if gain > near(n, a):
                moved.append((n, a))
    g, noisy = geometric(N, alpha=HALF), geometric(N, alpha="9/10")
    guessed = user_utility(g, exact=True)
    laws = _laws(20 if setting.quick else 200)
    agree = [
        _by_formula(g, law) == user_utility(g, law, exact=True) == 1 - bayes_risk(g, law, exact=True) for law in laws
    ]
    people = list(product((0, 1), repeat=4))
    small = geometric(4, alpha=HALF)
    channel = [[small.finite().entry(sum(x), z) for z in range(5)] for x in people]
    seen = user_utility(channel, [Fraction(1, 16)] * 16, query=[sum(x) for x in people], exact=True)
    binomial = user_utility(small, [Fraction(math.comb(4, k), 16) for k in range(5)], exact=True)
    gain, distance = (user_utility(g, gain="distance", exact=True), bayes_risk(g, "l1", exact=True))
    cells = len(sizes) * len(levels)
    three = geometric(3, alpha=HALF)
    priors = [law[:4] for law in laws if sum(law[:4])]
    priors = [[p / sum(law) for p in law] for law in priors]
    maximal = [_by_remaps(three, law) == user_utility(three, law, exact=True) for law in priors]
    claims = [
        Claim(
            "utility, in words",
            "the utility is the expected gain over the databases, at the best of all remaps",
            f"for {len(priors)} priors the best of all {4**4} remaps (n = 3, a = 1/2), tried one by one, has this utility: "
            f"{sum(maximal)} of {len(priors)} agree in fractions. It is {guessed} for n = 10, a = 1/2 and the uniform prior",
            verdict(maximal),
            quote=(
                "The utility U of a mechanism is the maximum expected gain over all possible databases. The maximum "
                "is over all possible remappings: It is assumed that the user is rational ..."
            ),
            refuted_if=(
                "the maximum over every remap, tried one by one, of the gain averaged over the prior were another "
                "number"
            ),
        ),
        Claim(
            "first example",
            "with gain 1 for the right guess, U is the sum over z of max_y p(y) p(z|y), the converse of the Bayes risk",
            f"equal in fractions, and to 1 minus the Bayes risk, for {sum(agree)} of {len(agree)} priors (n = 10, a = 1/2)",
            verdict(agree),
            quote=(
                "With this gain function, the utility becomes ... Σ_z max_y (p_f(y) p_H(z|y)) ... It is the converse "
                "of the Bayes risk"
            ),
            refuted_if="the formula, the utility and 1 minus the Bayes risk differed for a prior, in fractions",
        ),
        Claim(
            "first example",
            "the sum over databases x is a sum over answers y",
            f"all 16 databases of 4 people alike: {seen} seen from the databases, {binomial} from their binomial counts",
            verdict([seen == binomial]),
            quote="max_r Σ_x π(x) Σ_z p_H(z|f(x)) g(r(z), f(x)) = max_r Σ_y p_f(y) Σ_z p_H(z|y) g(r(z), y)",
            refuted_if="the two sums differed, in fractions",
        ),
        Claim(
            "second example",
            "with gain D - d(w, x) the utility is the expected distance between the best guess and the truth",
            f"it is D minus that: at n = 10, a = 1/2 the utility is {float(gain):.4f}, the expected distance {float(distance):.4f}",
            verdict([gain == distance]),
            quote=(
                "With this gain function, the utility is the expected distance between our best guess and the true "
                "answer."
            ),
            refuted_if="the utility equalled the expected distance rather than D minus it",
        ),
        Claim(
            "exercise 4, solved",
            "U = ((n+1) - (n-1)a) / ((n+1)(1+a))",
            f"{cells - off4} of {cells} cells equal in fractions, n = {sizes[0]} to {sizes[-1]}; {guessed} at n = 10, a = 1/2",
            verdict([off4 == 0]),
            quote=(
                "Compute the utility of the geometric mechanism for a counting query, with privacy degree ε, on the "
                "uniform prior distribution, with the gain function defined as the identity relation."
            ),
            refuted_if="the closed form differed in one cell, in fractions",
            ours=True,
        ),
        Claim(
            "exercise 5, solved",
            "up to a = 1/2, U = n - 2a/(1-a^2) (1 - (1-a^(n+1))/((n+1)(1-a))), and beyond at least that",
            f"{off5} disagree in {cells} cells; above 1/2 a remap gains more in {len(moved)} of {high}. At n = 10: "
            f"{float(near(N, HALF)):.4f} at a = 1/2; at 9/10 {float(near(N, Fraction(9, 10))):.4f} as reported and "
            f"{float(user_utility(noisy, gain='distance')):.4f} with the guesses {', '.join(map(str, best_remap(noisy, 'l1')))}",
            verdict([off5 == 0]),
            quote="Same exercise, but with the gain function defined as the converse of the distance.",
            refuted_if="the closed form differed in a cell up to a = 1/2, or was above the utility beyond",
            ours=True,
        ),
    ]
    values = {
        "right guess, a = 1/2": float(guessed),
        "distance, a = 1/2": float(gain),
        "distance, a = 9/10, as reported": N - float(expected_loss(noisy, "l1")),
        "distance, a = 9/10, remapped": float(user_utility(noisy, gain="distance")),
        "a prior on 16 databases": float(seen),
        "disagreements, exercise 4": off4,
        "disagreements, exercise 5": off5,
    }
    rows = [_row(Fraction(k, 20)) for k in range(1, 20)]
    return Found(
        claims,
        [View.of("utilities of the geometric mechanism, n = 10, every count equally likely", rows)],
        [Picture("utility", lambda: _draw(rows))],
        values,
    )


def _by_remaps(mechanism: Any, law: list[Fraction]) -> Fraction:
    """The largest mean gain of a right guess over every remap from the reports 0..3 to guesses."""
    entry = mechanism.finite().entry
    return max(
        sum((law[guess] * entry(guess, z) for z, guess in enumerate(remap)), Fraction(0))
        for remap in product(range(4), repeat=4)
    )


def _laws(count: int) -> list[list[Fraction]]:
    """Random priors in fractions, some of them without some of the values."""
    rng = np.random.default_rng(4)
    drawn = rng.integers(0, 50, (count, N + 1)) * rng.integers(0, 2, (count, N + 1))
    drawn[:, 3] += 1
    return [[Fraction(int(w), int(row.sum())) for w in row] for row in drawn]


def _by_formula(g: Any, law: list[Fraction]) -> Fraction:
    return sum((max(p * g.finite().entry(y, z) for y, p in enumerate(law)) for z in range(N + 1)), Fraction(0))


def _row(a: Fraction) -> dict[str, Any]:
    g = geometric(N, alpha=a)
    return {
        "alpha": float(a),
        "right guess": float(user_utility(g)),
        "right guess, no report": 1 / (N + 1),
        "distance, best guess": float(user_utility(g, gain="distance")),
        "distance, as reported": N - float(expected_loss(g, "l1")),
        "distance, no report": N - sum(abs(i - N // 2) for i in range(N + 1)) / (N + 1),
    }


def _draw(rows: list[dict[str, Any]]) -> object:
    alphas = [row["alpha"] for row in rows]
    chance = {
        "best guess": (alphas, [row["right guess"] for row in rows]),
        "no report": (alphas, [row["right guess, no report"] for row in rows]),
    }
    gain = {
        word: (alphas, [row[f"distance, {word}"] for row in rows])
        for word in ("best guess", "as reported", "no report")
    }
    words: dict[str, Any] = {"x": "alpha", "points": False, "width": 330}
    return plot.beside(
        plot.curves(chance, "Exercise 4: gain 1 for the right guess", y="utility (probability)", zero=True, **words),
        plot.curves(
            gain, "Exercise 5: gain 10 minus the distance", y="utility (10 minus values)", rules={"1/2": 0.5}, **words
        ),
        title="For the distance, reports are the best guesses up to alpha = 1/2; beyond, who takes them as they are does worse, "
        "in the end worse than without a report",
        subtitle="The geometric mechanism on 0..10, every count equally likely",
    )


STUDY = Study(
    "utility", "The utility of the geometric mechanism, exercises 4 and 5", PAPER, "utility", work, EXPECTED, 3
)
