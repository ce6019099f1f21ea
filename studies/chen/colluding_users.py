"""Figure 4: the loss of k users who share their reports, with the approximations for large k and the composition bound.

The heuristic's true answers are real numbers, as in the paper: given the cell, the loss is an integral over the prior with a
closed form, and the error of the median of k reports is that of geometric noise in steps of 10.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import stats

from discreet import Grid, geometric
from discreet.noise import laplace, nearest, staircase
from discreet.present import plot
from discreet.present.views import View
from discreet.results import Collusion
from discreet.sharing import collude, compose

from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER

A, ALPHA = 0.5, "1/2"
D = 10  # the paper's sensitivity, and the step of its heuristic
CELLS = {(-10, -5): -10, (-5, 5): 0, (5, 10): 10}
PRIORS = ("mean", "max")  # N(0, 1) and Beta(100, 1), both on [-10, 10]
USERS = (1, 3, 5, 11, 21, 51, 101, 201, 501, 999)  # an even number is as good as one fewer
FEW = (1, 3, 11, 101, 999)
COMPOSED, DELTA = (20, 51, 101, 201, 999), "1e-6"
LEAST = 1e-4  # what pictures still show
FORMULAS: dict[str, tuple[str, Callable[[int], float]]] = {  # as printed
    "Laplace": ("(16)", lambda k: math.sqrt(2 / (math.pi * k)) / -math.log(A)),
    "staircase": ("(17)", lambda k: math.sqrt(2 / (math.pi * k)) * math.sqrt(A) / (1 - A)),
    "geometric": ("(18)", lambda k: (1 + A) / (1 - A) / math.sqrt(2 * math.pi * k)),
}
ONE: dict[str, Callable[[float], float]] = {  # the loss of one report at alpha a: (11) to (15)
    "Laplace": lambda a: 1 / -math.log(a),
    "staircase": lambda a: math.sqrt(a) / (1 - a),
    "geometric": lambda a: 2 * a / (1 - a * a),
    "Laplace, rounded": lambda a: math.sqrt(a) / (1 - a),
    "staircase, rounded": lambda a: (1 - (1 - math.sqrt(a)) ** 2 / 2) * math.sqrt(a) / (1 - a),
}
COUNTS = ("geometric", "Laplace, rounded", "staircase, rounded")
NOTES = [
    "The paper does not say which alpha its figure has; here it is 1/2. What it draws is computed exactly.",
    "The heuristic as the paper has it lets reports leave [-10, 10] (open); clamped, their median is moved to the range's end.",
    "The paper's sensitivity of 10 is taken as given. That of the maximum of records in [-10, 10] is 20: there every report "
    "keeps alpha^2, and not alpha.",
]
EXPECTED = {  # binomial sums and integrals written out on their own; the rate of a count is 2 sqrt(q(1-q)), q = Pr[error >= 1]
    "Laplace, k = 11": (0.4067269169, 1e-9),
    "Laplace, k = 11, / (16)": (1.172, 0.001),
    "staircase, k = 11": (0.3791205744, 1e-9),
    "geometric, k = 3": (0.7195767196, 1e-9),
    "geometric, k = 11": (0.2536056782, 1e-9),
    "Laplace, rounded, k = 11": (0.3223017528, 1e-9),
    "staircase, rounded, k = 11": (0.2698466064, 1e-9),
    "Laplace, slope": (-0.5, 0.03),
    "staircase, slope": (-0.5, 0.03),
    "geometric, rate": (math.sqrt(8 / 9), 0.01),
    "Laplace, rounded, rate": (math.sqrt(math.sqrt(2) - 0.5), 0.01),
    "staircase, rounded, rate": (0.9463227, 0.01),
    "heuristic, mean, open, k = 1": (1.3599295, 1e-6),
    "heuristic, max, open, k = 1": (1.3399340, 1e-6),
    "heuristic, mean, clamped, k = 1": (0.6932627, 1e-6),
    "heuristic, max, clamped, k = 1": (0.5066007, 1e-6),
    "heuristic, mean, open, k = 999": (math.sqrt(2 / math.pi) / 10, 1e-6),
    "heuristic, max, open, k = 999": (2 / 101, 1e-9),
    "(18) for continuous outputs, k = 1": (17 / 36 * math.sqrt(2 * math.pi), 1e-9),
    "epsilon of 20 reports": (20 * math.log(2), 1e-9),
    "epsilon of 101 reports at delta 1e-6, over 101 epsilon": (0.738, 0.001),
}


def density(query: str) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """F(x) = Pr[X <= x] and M(x) = E[X; X <= x] of the true answer, for x from -10 to 10."""
    if query == "max":

        def share(x: float) -> float:
            return (x + 10) / 20

        return lambda x: share(x) ** 100, lambda x: 2000 / 101 * share(x) ** 101 - 10 * share(x) ** 100
    whole = math.erf(10 / math.sqrt(2))

    def bell(x: float) -> float:
        return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)

    return (
        lambda x: (math.erf(x / math.sqrt(2)) + whole) / (2 * whole),
        lambda x: (bell(10) - bell(x)) / whole,
    )


def apart(query: str, low: float, high: float, value: float) -> float:
    """E[|X - value|; low <= X < high]."""
    below, mean = density(query)

    def signed(a: float, b: float) -> float:
        return value * (below(b) - below(a)) - (mean(b) - mean(a))

    cut = min(max(value, low), high)
    return signed(low, cut) - signed(cut, high)


def heuristic(query: str, errors: Mapping[Any, float], clamped: bool) -> float:
    """The loss / 10 of an estimate that is the cell's value plus an error of so many steps of 10, clamped or not."""
    total = 0.0
    for (low, high), value in CELLS.items():
        for steps, chance in errors.items():
            estimate = value + D * float(steps)
            total += chance * apart(query, low, high, min(max(estimate, -D), D) if clamped else estimate)
    return total / D


def _spread_loss(k: int) -> float:
    """The median's mean |error| for k (odd) reports with geometric noise that is spread evenly over each step."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    total = 0.0
    for m in range(60):  # the step around m, from the middle outwards
        low, high = max(m - 0.5, 0.0), m + 0.5
        x = (low + high) / 2 + (high - low) / 2 * nodes
        beyond = A ** (m + 1) / (1 + A) + (m + 0.5 - x) * (1 - A) / (1 + A) * A**m
        total += float((high - low) / 2 * weights @ stats.binom.sf((k - 1) // 2, k, beyond))
    return 2 * total


def work(setting: Setting) -> Found:
    users = FEW if setting.quick else USERS
    setting.tell("colluding")
    found = _by_k(
        {
            "Laplace": collude(laplace(alpha=ALPHA), users),
            "staircase": collude(staircase(alpha=ALPHA), users),
            "geometric": collude(geometric(Grid(None, None), alpha=ALPHA), users),
            "Laplace, rounded": collude(nearest(laplace(alpha=ALPHA)), users),
            "staircase, rounded": collude(nearest(staircase(alpha=ALPHA)), users),
        }
    )
    loss = {key: one.expected_loss for key, one in found.items()}
    for q in PRIORS:
        for word in ("open", "clamped"):
            for k in users:
                errors = found["geometric", k].error_distribution
                loss[f"heuristic, {q}, {word}", k] = heuristic(q, errors, word == "clamped")
    near = {(name, k): loss[name, k] / formula(k) for name, (_, formula) in FORMULAS.items() for k in users}
    bound = {(name, k): least(A**k) for name, least in ONE.items() for k in users}
    last, wide = users[-1], users[-2]
    slope = {
        name: math.log(loss[name, last] / loss[name, wide]) / math.log(last / wide) for name in ("Laplace", "staircase")
    }
    rate = {name: (loss[name, 101] / loss[name, 11]) ** (1 / 90) for name in COUNTS}
    joint = found["geometric", last].joint_level
    assert joint is not None
    together = {k: compose(geometric(100, alpha=ALPHA), k).epsilon(DELTA) / -k / math.log(A) for k in COMPOSED}
    twenty = collude(geometric(100, alpha=ALPHA), COMPOSED[0]).joint_level
    assert twenty is not None
    floors = {q: loss[f"heuristic, {q}, open", last] for q in PRIORS}
    still = {q: floors[q] / loss[f"heuristic, {q}, open", wide] for q in PRIORS}
    spread = {k: _spread_loss(k) / FORMULAS["geometric"][1](k) for k in users}
    at, counts = ", ".join(map(str, FEW)), ", ".join(f"{near['geometric', k]:.2g}" for k in FEW)
    claims = [
        Claim(
            "section 5.3.2",
            "for mean and maximum the loss falls like 1/sqrt(k)",
            f"that of the median like k^{slope['Laplace']:.2f} (Laplace) and k^{slope['staircase']:.2f} (staircase) between k = "
            f"{wide} and {last}; for the staircase users can do better than the median (study collusion-strategies)",
            verdict([abs(value + 0.5) < 0.05 for value in slope.values()]),
            quote=(
                "for uncountable numeric query output domain (such as mean and maximum), the expected loss drops roughly "
                "inversely proportionally to √k, not much difference with our approximation"
            ),
            refuted_if=f"the exponent between k = {wide} and {last} were not within 0.05 of -1/2",
        ),
        Claim(
            "equations (16) and (17)",
            "the approximations differ little from the experiment, and less for large k",
            "; ".join(
                f"{name} is {', '.join(f'{near[name, k]:.3f}' for k in FEW)} times {FORMULAS[name][0]} at k = {at}"
                for name in ("Laplace", "staircase")
            ),
            verdict(
                [near[n, k] < 1.3 and abs(near[n, last] - 1) < 0.03 for n in ("Laplace", "staircase") for k in users]
            ),
            quote=(
                "This approximation is expected to approach the expected loss of experimental results for large k and is thus "
                "particularly useful for estimating the trend of utility loss"
            ),
            refuted_if=f"a ratio were above 1.3, or off 1 by 0.03 or more at k = {last}",
        ),
        Claim(
            "equation (18)",
            "for continuous outputs the geometric mechanism's loss falls like (1+a)/(1-a)/sqrt(2 pi k)",
            f"geometric noise spread evenly over each step has {', '.join(f'{spread[k]:.3f}' for k in FEW)} times that at k = {at}",
            verdict([abs(spread[last] - 1) < 0.03, all(value < 1.3 for value in spread.values())]),
            quote=(
                "we then derive the normalized expected loss of the optimal collusion results for queries with continuous "
                "outputs in the following: ... Geometric: EU(α, k) = 1/√(2πk) (1+α)/(1-α) (18)"
            ),
            refuted_if=f"a ratio were above 1.3, or off 1 by 0.03 or more at k = {last}",
        ),
        Claim(
            "equation (18), for whole numbers",
            "(18) is no approximation for a count",
            f"the loss of whole reports is {counts} times (18) at k = {at}",
            verdict([abs(near["geometric", k] - 1) > 0.3 for k in users if k >= 101]),
            quote=(
                "For the count query, however, the drop rate of expected loss is difficult to analyze (and is part of future "
                "efforts)."
            ),
            refuted_if="a ratio at k >= 101 were within 0.3 of 1",
            ours=True,
        ),
        Claim(
            "section 5.3.2",
            "for the count the loss falls much faster: counts are particularly vulnerable",
            "exponentially, for every user from k = 11 to 101 by the factor "
            + ", ".join(f"{rate[name]:.3f} ({name})" for name in COUNTS)
            + f"; {found['geometric', 101].exact_answer:.2%}, {found['Laplace, rounded', 101].exact_answer:.2%} and "
            f"{found['staircase, rounded', 101].exact_answer:.2%} of 101 users' answers are the very count",
            verdict([loss[name, k] < loss["Laplace", k] / 10 for name in COUNTS for k in users if k >= 101]),
            quote=(
                "For countable numeric query output domain (such as count), our experimental results indicate that the "
                "expected loss drops much faster. This indicates that count query is particularly vulnerable to collusion "
                "attacks."
            ),
            refuted_if="a count's loss at k >= 101 were more than a tenth of that on the line",
        ),
        Claim(
            "section 5.3 and figure 4",
            "the composition bound is loose",
            "as a forecast of the loss, one report at k times the epsilon: the median of 11 has "
            + ", ".join(f"{loss[name, 11] / bound[name, 11]:.0f} ({name})" for name in ONE)
            + f" times as much. As a level: with delta {DELTA} the reports keep "
            + ", ".join(f"{share:.3f} (k = {k})" for k, share in together.items())
            + " of k epsilon; with delta 0 k epsilon is tight",
            verdict([loss[name, 11] > 2 * bound[name, 11] for name in ONE] + [together[k] < 0.9 for k in COMPOSED[1:]]),
            quote=(
                "Dwork [9] shows that the composition of k queries ... is at least (kε, kδ)-differentially private. However, "
                "this bound is known to be loose [10]."
            ),
            refuted_if=(
                "the median of 11 reports were within twice the bound's forecast, or k reports cost more than 0.9 k epsilon at "
                f"delta {DELTA} for k = {', '.join(map(str, COMPOSED[1:]))}"
            ),
        ),
        Claim(
            "section 5.3",
            "k queries are at least (k epsilon, k delta)-private",
            f"they are, with delta 0: {COMPOSED[0]} reports of a count keep alpha {twenty.alpha} = a^{COMPOSED[0]} exactly, so no "
            "better level holds for every mechanism",
            verdict([twenty.alpha >= Fraction(1, 2 ** COMPOSED[0])]),
            quote=(
                "the composition of k queries, each of which is (ε, δ)-differentially private, is at least (kε, "
                "kδ)-differentially private"
            ),
            refuted_if=f"the exact alpha of {COMPOSED[0]} reports were smaller than a^{COMPOSED[0]}",
        ),
        Claim(
            "section 5.2.3, observation 4",
            "rounding first keeps the heuristic's loss from converging to zero",
            "; ".join(f"{q}: {floors[q]:.4f} at k = {last}, {still[q] - 1:+.0e} of it since k = {wide}" for q in PRIORS)
            + "; that is what remains when the cell is known for certain. Private it is not: the cell can tell neighbours "
            f"apart, and {last} reports keep epsilon {joint.epsilon:.0f} (for the maximum, whose sensitivity is 20, twice that)",
            verdict([value > 0.01 for value in floors.values()]),
            quote=(
                "we note that the pre-rounding stage prevents the expected loss from converging to zero under collusion attacks, "
                "due to its irreversibility"
            ),
            refuted_if=f"the loss at k = {last} were below 0.01",
        ),
    ]
    values = {
        "(18) for continuous outputs, k = 1": spread[1],
        "Laplace, k = 11, / (16)": near["Laplace", 11],
        **{f"{name}, k = {k}": loss[name, k] for name in ONE for k in (3, 11)},
        **{f"{name}, slope": value for name, value in slope.items()},
        **{f"{name}, rate": value for name, value in rate.items()},
        **{f"heuristic, {q}, open, k = 999": floors[q] for q in PRIORS},
        **{
            f"heuristic, {q}, {word}, k = 1": loss[f"heuristic, {q}, {word}", 1]
            for q in PRIORS
            for word in ("open", "clamped")
        },
        "epsilon of 20 reports": twenty.epsilon,
        f"epsilon of 101 reports at delta {DELTA}, over 101 epsilon": together[101],
    }
    rows = [
        {
            "mechanism": name,
            "k": k,
            "loss of the median": value,
            "for large k": FORMULAS[name][1](k) if name in FORMULAS else None,
            "one at k epsilon": bound.get((name, k)),
        }
        for (name, k), value in loss.items()
    ]
    table = View.of("k users share their reports at a = 1/2: mean |error| / sensitivity", rows)
    return Found(claims, [table], [Picture("colluding-users", lambda: _draw(loss, bound, users))], values, NOTES)


def _by_k(named: Mapping[str, Any]) -> dict[tuple[str, int], Collusion]:
    return {(name, one.k): one for name, several in named.items() for one in several.found}


def _draw(loss: dict[tuple[str, int], float], bound: dict[tuple[str, int], float], users: tuple[int, ...]) -> Any:
    charts = []
    for name, title in {
        "Laplace": "Mean and maximum, Laplace: like 1/sqrt(k)",
        "staircase": "Mean and maximum, staircase: like 1/sqrt(k)",
    }.items():
        word, formula = FORMULAS[name]
        series = {
            "median of k reports": {k: loss[name, k] for k in users},
            f"approximation {word}": {k: formula(k) for k in users},
            "one report at k epsilon": {k: bound[name, k] for k in users},
        }
        charts.append(_chart(series, title))
    formula = FORMULAS["geometric"][1]
    counts = {name: {k: loss[name, k] for k in users} for name in COUNTS}
    counts["geometric, (18)"] = {k: formula(k) for k in users}
    counts["geometric, one at k epsilon"] = {k: bound["geometric", k] for k in users}
    charts.append(_chart(counts, "Count, rounded to whole numbers: exponentially"))
    rough = {
        f"{q}, {word}": {k: loss[f"heuristic, {q}, {word}", k] for k in users}
        for q in PRIORS
        for word in ("open", "clamped")
    }
    charts.append(_chart(rough, "Heuristic: what rounding took away stays away"))
    return plot.beside(
        *charts,
        title="Sharing reports takes the noise off a mean slowly, and off a count at once",
        subtitle=f"Figure 4, computed exactly: a = 1/2; what is below {LEAST:g} is not shown",
        columns=2,
    )


def _chart(series: Mapping[str, Mapping[int, float]], title: str) -> Any:
    kept = {name: {k: x for k, x in path.items() if x >= LEAST} for name, path in series.items()}
    return plot.curves(
        {name: (list(path), list(path.values())) for name, path in kept.items()},
        title,
        x="users who share (k)",
        y="mean |error| / sensitivity",
        log_x=True,
        log_y=True,
        span=(LEAST, 2.0),
        width=350,
        height=230,
    )


STUDY = Study("colluding-users", "Loss against the number of colluding users", PAPER, "figure 4", work, EXPECTED, 5)
