"""Figure 4: the loss of k users who share their reports, with the approximations for large k and the composition bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from discreet import Grid, geometric
from discreet.noise import laplace, staircase
from discreet.present import plot
from discreet.present.views import View
from discreet.queries import rounded
from discreet.results import Collusion
from discreet.sharing import collude, compose

from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER
from .side_information import ANSWERS, PRIORS, D

A, ALPHA = 0.5, "1/2"
USERS = (1, 3, 5, 11, 21, 51, 101, 201, 501, 999)  # an even number is as good as one fewer
FEW = (1, 3, 11, 101, 999)
COMPOSED, DELTA = 20, "1e-6"
LEAST = 1e-4  # what pictures still show
FORMULAS: dict[str, tuple[str, Callable[[int], float]]] = {  # as printed
    "Laplace": ("(16)", lambda k: math.sqrt(2 / (math.pi * k)) / -math.log(A)),
    "staircase": ("(17)", lambda k: math.sqrt(2 / (math.pi * k)) * math.sqrt(A) / (1 - A)),
    "geometric": ("(18)", lambda k: (1 + A) / (1 - A) / math.sqrt(2 * math.pi * k)),
}
ONE: dict[str, Callable[[float], float]] = {  # the loss of one report at alpha a: (11), (12), (13)
    "Laplace": lambda a: 1 / -math.log(a),
    "staircase": lambda a: math.sqrt(a) / (1 - a),
    "geometric": lambda a: 2 * a / (1 - a * a),
}
NOTE = "The paper does not say which alpha its figure has; here it is 1/2. What it draws is computed exactly."
EXPECTED = {  # binomial sums and integrals written out on their own; 2 sqrt(a)/(1 + a) is the rate of a count; sums over the prior
    "Laplace, k = 11": (0.4067269169, 1e-9),
    "Laplace, k = 11, / (16)": (1.172, 0.001),
    "staircase, k = 11": (0.3791205744, 1e-9),
    "geometric, k = 3": (0.7195767196, 1e-9),
    "geometric, k = 11": (0.2536056782, 1e-9),
    "Laplace, slope": (-0.5, 0.03),
    "staircase, slope": (-0.5, 0.03),
    "geometric, rate": (math.sqrt(8 / 9), 0.01),
    "heuristic, mean, k = 999": (0.0789511260, 1e-9),
    "heuristic, max, k = 999": (0.01539124, 1e-7),
    "epsilon of 20 reports": (20 * math.log(2), 1e-9),
}


def work(setting: Setting) -> Found:
    users = FEW if setting.quick else USERS
    setting.tell("colluding")
    two_stages = rounded(ANSWERS, [-D, 0, D], alpha=ALPHA, sensitivity=D)
    found = _by_k(
        {
            "Laplace": collude(laplace(alpha=ALPHA), users),
            "staircase": collude(staircase(alpha=ALPHA), users),
            "geometric": collude(geometric(Grid(None, None), alpha=ALPHA), users),
        }
    )
    rough = _by_k({f"heuristic, {q}": collude(two_stages, users, prior=prior) for q, prior in PRIORS.items()})
    loss = {key: one.expected_loss for key, one in found.items()}
    loss |= {key: one.expected_loss / D for key, one in rough.items()}
    near = {(name, k): loss[name, k] / formula(k) for name, (_, formula) in FORMULAS.items() for k in users}
    bound = {(name, k): least(A**k) for name, least in ONE.items() for k in users}
    last, wide = users[-1], users[-2]
    slope = {
        name: math.log(loss[name, last] / loss[name, wide]) / math.log(last / wide) for name in ("Laplace", "staircase")
    }
    rate = (loss["geometric", 101] / loss["geometric", 11]) ** (1 / 90)
    together = compose(geometric(100, alpha=ALPHA), COMPOSED)
    joint = collude(geometric(100, alpha=ALPHA), COMPOSED).joint_level
    kept = rough["heuristic, mean", users[-1]].joint_level
    assert joint is not None
    assert kept is not None
    floors = {q: loss[f"heuristic, {q}", last] for q in PRIORS}
    still = {q: loss[f"heuristic, {q}", last] / loss[f"heuristic, {q}", wide] for q in PRIORS}
    at, counts = ", ".join(map(str, FEW)), ", ".join(f"{near['geometric', k]:.2g}" for k in FEW)
    claims = [
        Claim(
            "section 5.3.2",
            "for mean and maximum the loss falls like 1/sqrt(k)",
            f"that of the median like k^{slope['Laplace']:.2f} (Laplace) and k^{slope['staircase']:.2f} (staircase) between k = "
            f"{wide} and {last}; for the staircase users can do better than the median (study collusion-strategies)",
            verdict([abs(value + 0.5) < 0.05 for value in slope.values()]),
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
        ),
        Claim(
            "equation (18)",
            "the geometric mechanism's loss falls like (1+a)/(1-a)/sqrt(2 pi k)",
            f"the loss is {counts} times that at k = {at}: integers are no line",
            verdict([abs(near["geometric", k] - 1) < 0.3 for k in users if k >= 101]),
        ),
        Claim(
            "section 5.3.2",
            "for the count the loss falls much faster: counts are particularly vulnerable",
            f"exponentially: by the factor {rate:.3f} for every user from k = 11 to 101, tending to 2 sqrt(a)/(1+a) = "
            f"{2 * math.sqrt(A) / (1 + A):.3f}; "
            f"{found['geometric', 101].exact_answer:.2%} of 101 users' answers are the very count",
            verdict([loss["geometric", k] < loss["Laplace", k] / 10 for k in users if k >= 101]),
        ),
        Claim(
            "section 5.3 and figure 4",
            "the composition bound is loose",
            "as a forecast of the loss, one report at k times the epsilon: the median of 11 has "
            + ", ".join(f"{loss[name, 11] / bound[name, 11]:.0f} ({name})" for name in ONE)
            + f" times as much. As a level it is tight: {COMPOSED} reports keep epsilon {joint.epsilon:.3f} and no less, with "
            f"delta {DELTA} {together.epsilon(DELTA):.3f}",
            verdict(
                [loss[name, 11] > 2 * bound[name, 11] for name in ONE] + [together.epsilon(DELTA) < 0.9 * joint.epsilon]
            ),
        ),
        Claim(
            "section 5.3",
            "k queries are at least (k epsilon, k delta)-private",
            f"at worst they are: {COMPOSED} reports of a count keep alpha {joint.alpha} = a^{COMPOSED}, and no better one",
            verdict([joint.alpha == Fraction(1, 2**COMPOSED)]),
        ),
        Claim(
            "section 5.2.3, observation 4",
            "rounding first keeps the heuristic's loss from converging to zero",
            "; ".join(f"{q}: {floors[q]:.4f} at k = {last}, {still[q] - 1:+.0e} of it since k = {wide}" for q in PRIORS)
            + "; that is what remains when the cell is known for certain. Private it is not: the cell can tell neighbours "
            f"apart, and {last} reports keep epsilon {kept.epsilon:.0f}",
            verdict([value > 0.01 for value in floors.values()]),
        ),
    ]
    values = {
        "Laplace, k = 11, / (16)": near["Laplace", 11],
        **{f"{name}, k = {k}": loss[name, k] for name in ONE for k in (3, 11)},
        **{f"{name}, slope": value for name, value in slope.items()},
        "geometric, rate": rate,
        **{f"heuristic, {q}, k = 999": loss[f"heuristic, {q}", 999] for q in PRIORS},
        "epsilon of 20 reports": joint.epsilon,
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
    return Found(claims, [table], [Picture("colluding-users", lambda: _draw(loss, bound, users))], values, [NOTE])


def _by_k(named: Mapping[str, Any]) -> dict[tuple[str, int], Collusion]:
    return {(name, one.k): one for name, several in named.items() for one in several.found}


def _draw(loss: dict[tuple[str, int], float], bound: dict[tuple[str, int], float], users: tuple[int, ...]) -> Any:
    charts = []
    titles = {
        "Laplace": "Mean and maximum, Laplace: like 1/sqrt(k)",
        "staircase": "Mean and maximum, staircase: like 1/sqrt(k)",
        "geometric": "Count, geometric: exponentially",
    }
    for name, title in titles.items():
        word, formula = FORMULAS[name]
        series = {
            "median of k reports": {k: loss[name, k] for k in users},
            f"approximation {word}": {k: formula(k) for k in users},
            "one report at k epsilon": {k: bound[name, k] for k in users},
        }
        charts.append(_chart(series, title))
    rough = {f"heuristic, {q}": {k: loss[f"heuristic, {q}", k] for k in users} for q in PRIORS}
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
