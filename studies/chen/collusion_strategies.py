"""Lemma 1: is the median the likeliest value? And what users gain who do better than the median of staircase reports."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import stats

from discreet.noise import GeometricNoise, laplace, staircase
from discreet.present import plot
from discreet.present.views import View
from discreet.results import Collusion
from discreet.sharing import collude

from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER
from .stairs import Guesses, guessed

ALPHA, LEVELS = (
    "1/2",
    {"1/10": 0.5, "3/10": 1.8, "1/2": 5.6},
)  # and, by trials, k times the loss of the best guess for large k
USERS, FEW = (3, 11, 31, 101, 301, 801), (3, 11, 101, 801)
REPORTS, MEDIAN, BETTER = np.array([0, 1, 1.5]), 1.0, 1.25  # at a = 1/4, where gamma = 1/3
EXPECTED = {  # the counterexample by hand; trials with a search of their own over all edges within 1.5 of the median
    "likelihood at 1.25 / at the median": (4, 1e-9),
    "not likeliest, k = 3": (0.44, 0.12),
    "not likeliest, k = 11": (0.76, 0.10),
    "not likeliest, k = 801": (0.98, 0.04),
    "k loss at 1/10": (0.5, 0.25),
    "k loss at 3/10": (1.8, 0.6),
    "k loss at 1/2": (5.6, 1.7),
}


def likelihood(theta: Any) -> Any:
    """Of the three reports of the counterexample, as a function of the true value."""
    noise = staircase(alpha="1/4")
    return np.prod(noise.density(REPORTS - np.asarray(theta, dtype=float)[..., None]), axis=-1)


def beaten(name: str, k: int, runs: int) -> tuple[int, int]:
    """In how many runs some place makes k reports likelier than their median does, by the densities themselves; and of how many."""
    rng, lost = np.random.default_rng([9, k]), 0
    law = laplace(alpha=ALPHA)
    logs_of = [math.log(GeometricNoise(Fraction(ALPHA)).exact(d)) for d in range(60)]
    for _ in range(runs):
        if name == "Laplace":
            reports = np.sort(rng.laplace(0, 1 / math.log(2), k))
            places = np.concatenate([reports, (reports[1:] + reports[:-1]) / 2, reports[[0, -1]] + [-1, 1]])
            logs = np.log(law.density(reports[None, :] - places[:, None])).sum(axis=1)
        else:
            reports = np.sort(rng.geometric(0.5, k) - rng.geometric(0.5, k))
            places = np.arange(reports[0] - 1, reports[-1] + 2)
            logs = np.take(logs_of, np.abs(reports[None, :] - places[:, None])).sum(axis=1)
        at_median = logs[list(places).index(reports[k // 2])]
        lost += bool(logs.max() > at_median + 1e-9)
    return lost, runs


def work(setting: Setting) -> Found:
    users = FEW if setting.quick else USERS
    runs = {k: 300 if setting.quick and k > 11 else 4000 for k in users}
    noise = staircase(alpha=ALPHA)
    found: dict[tuple[str, int], Collusion | Guesses] = {}
    for n, k in enumerate(users):
        setting.tell("guessing", n / len(users))
        found["median", k] = collude(noise, k)
        for strategy in ("mle", "bayes"):
            found[strategy, k] = guessed(noise, k, strategy, runs[k], seed=6)
    last = users[-1]
    by_level = {a: last * guessed(staircase(alpha=a), last, "bayes", runs[last], seed=7).expected_loss for a in LEVELS}
    tried = {
        (name, k): beaten(name, k, 200 if setting.quick else 2000)
        for name in ("Laplace", "geometric")
        for k in (3, 11, 101)
    }
    wide = {k: collude(laplace(alpha=ALPHA), k).expected_loss for k in (101, last)}
    on_the_line = math.log(wide[last] / wide[101]) / math.log(last / 101)
    share = {k: 1 - float(found["bayes", k].median_is_likeliest or 0) for k in users}
    between = {k: stats.binomtest(round(share[k] * runs[k]), runs[k]).proportion_ci(0.95) for k in users}
    ratio = float(likelihood(BETTER) / likelihood(MEDIAN))
    loss = {key: one.expected_loss for key, one in found.items()}
    lower = {k: float((found["bayes", k].interval or (0, math.inf))[0]) for k in users}
    upper = {k: float((found["bayes", k].interval or (0, math.inf))[1]) for k in users}
    printed = {k: math.sqrt(2 / (math.pi * k)) * math.sqrt(0.5) / 0.5 for k in users}
    slope = math.log(loss["bayes", last] / loss["bayes", 101]) / math.log(last / 101)
    ends = [found["bayes", k].interval or (math.nan, math.nan) for k in (101, last)]
    steepest, flattest = (
        math.log(after / before) / math.log(last / 101)
        for before, after in ((ends[0][1], ends[1][0]), (ends[0][0], ends[1][1]))
    )
    claims = [
        Claim(
            "Lemma 1",
            "for Laplace and geometric noise the median maximises the likelihood",
            "the likelihood is a^(sum of distances), which the median makes smallest. Drawn at a = 1/2, and tried at every "
            "report and halfway between (whole numbers for geometric noise), another place is likelier in "
            + ", ".join(f"{lost} of {runs_} runs ({name}, k = {k})" for (name, k), (lost, runs_) in tried.items()),
            verdict([lost == 0 for lost, _ in tried.values()]),
            quote=(
                "Lemma 1. For Laplacian, Staircase and Geometric mechanisms, if user preference (loss function) is "
                "defined/known as l(i, j) = |i - j|, the maximum likelihood estimation (MLE) strategy for collusion "
                "in query results is to use the corresponding sample medians."
            ),
            refuted_if="another value had a higher likelihood than the median in a run",
        ),
        Claim(
            "Lemma 1, (24)",
            "for staircase noise the median maximises the likelihood",
            f"a = 1/4, D = 1, reports 0, 1, 1.5: 1.25 is {ratio:.6g} times as likely as their median 1. At a = 1/2 the median "
            "fails in "
            + ", ".join(f"{share[k]:.0%} ({between[k].low:.0%} to {between[k].high:.0%}) at k = {k}" for k in users)
            + " of the runs, with 95 % intervals",
            verdict([ratio <= 1 + 1e-9] + [between[k].low == 0 for k in users]),
            quote="Therefore, the median of perturbed query outputs m_1, ..., m_k is a valid subset of the MLE θ_SC.",
            refuted_if="the median had the highest likelihood for the three reports and in every run",
        ),
        Claim(
            "section 5.3.1, (17)",
            "(17) is the loss of the best collusion for the staircase",
            "the posterior median has, with 95 % intervals, "
            + ", ".join(f"{loss['bayes', k]:.4f} ({lower[k]:.4f} to {upper[k]:.4f})" for k in users)
            + f" at k = {', '.join(map(str, users))}, where (17) has {', '.join(f'{printed[k]:.4f}' for k in users)}",
            verdict([upper[k] > printed[k] for k in users if k >= 101]),
            quote=(
                "we then derive the normalized expected loss of the optimal collusion results for queries with "
                "continuous outputs in the following: ... Staircase: EL(α, k) = √(2/(πk)) √α/(1-α) (17)"
            ),
            refuted_if="the interval of the posterior median's loss reached (17) for k >= 101",
        ),
        Claim(
            "section 5.3.1",
            "the loss of the best collusion falls like 1/sqrt(k)",
            f"for Laplace noise it does, where the median is the likeliest value: like k^{on_the_line:.2f} from k = 101 to {last}. "
            f"For staircase noise it falls like k^{slope:.2f} (between {steepest:.2f} and {flattest:.2f} by the ends of both 95 % "
            f"intervals): jumps of the density are found with an error "
            f"of the order 1/k. k times the loss is {', '.join(f'{by_level[a]:.1f} at a = {a}' for a in LEVELS)} (k = {last})",
            verdict([abs(on_the_line + 0.5) < 0.05, flattest > -0.75]),
            quote=(
                "Not surprisingly, the expected loss drops when the number of users (k) increases. However, the drop "
                "rate is inversely proportional to √k."
            ),
            refuted_if=(
                "the exponent of the best guess from staircase reports could be above -3/4, by the ends of the intervals (then: "
                "holds), or that of the median of Laplace reports were not within 0.05 of -1/2 (then: does not hold)"
            ),
        ),
        Claim(
            "beyond the paper",
            "colluders lose a factor by keeping to the median of staircase reports",
            ", ".join(f"{loss['median', k] / loss['bayes', k]:.1f} at k = {k}" for k in users)
            + f"; the likeliest value is nearly as good ({loss['mle', last]:.4f} against {loss['bayes', last]:.4f})",
            verdict([upper[k] < loss["median", k] for k in users if k >= 101]),
            refuted_if="the interval of the posterior median's loss reached that of the median for k >= 101",
            ours=True,
        ),
    ]
    values = {f"not likeliest, k = {k}": share[k] for k in (3, 11, 801)}
    values |= {f"k loss at {a}": value for a, value in by_level.items()}
    values["likelihood at 1.25 / at the median"] = ratio
    rows = [
        {
            "strategy": strategy,
            "k": k,
            "loss": one.expected_loss,
            "from": None if one.interval is None else one.interval[0],
            "to": None if one.interval is None else one.interval[1],
            "(17)": printed[k],
            "median is likeliest": one.median_is_likeliest,
        }
        for (strategy, k), one in found.items()
    ]
    few, many = min(runs.values()), max(runs.values())
    table = View.of(
        f"staircase noise at a = 1/2; mle and bayes from {few:,} to {many:,} runs, with 95 % intervals", rows
    )
    return Found(claims, [table], [Picture("collusion-strategies", lambda: _draw(found, printed))], values)


def _draw(found: dict[tuple[str, int], Collusion | Guesses], printed: dict[int, float]) -> Any:
    theta = np.linspace(-1, 2.5, 1401)
    level = likelihood(theta)
    first = plot.curves(
        {"likelihood": (theta, level / level.max())},
        "Reports 0, 1 and 1.5: 1.25 is four times as likely as the median (dashed)",
        x="true value (sensitivities), a = 1/4",
        y="likelihood / largest",
        points=False,
        rules={"": MEDIAN},
        zero=True,
        width=350,
    )
    words = {"median": "median (exact)", "mle": "likeliest value", "bayes": "posterior median"}
    series, bands = {}, {}
    for strategy, word in words.items():
        path = {k: one for (name, k), one in found.items() if name == strategy}
        series[word] = (list(path), [one.expected_loss for one in path.values()])
        if strategy != "median":
            ends = [one.interval or (0, 0) for one in path.values()]
            bands[word] = (list(path), [low for low, _ in ends], [high for _, high in ends])
    series["approximation (17)"] = (list(printed), list(printed.values()))
    second = plot.curves(
        series,
        "Staircase reports, a = 1/2",
        x="users who share (k)",
        y="mean |error| / sensitivity",
        log_x=True,
        log_y=True,
        bands=bands,
        width=350,
    )
    return plot.beside(
        first,
        second,
        title="Lemma 1 fails for the staircase: whoever looks at the likelihood errs like 1/k, the median like 1/sqrt(k)",
        subtitle="Bands: 95 % intervals of what was drawn",
    )


STUDY = Study(
    "collusion-strategies",
    "Is the median the best that colluders can do?",
    PAPER,
    "Lemma 1, (17), (24)",
    work,
    EXPECTED,
    6,
    0.6,
)
