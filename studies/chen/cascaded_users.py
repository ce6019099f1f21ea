"""Beyond figure 4: the correlated noise that the paper asks for. Reports of a cascade, which sharing does not sharpen."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from discreet import Grid, geometric
from discreet.present import plot
from discreet.present.views import View
from discreet.randomness.source import simulation
from discreet.sharing import cascade, collude, compose

from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER

ALPHA, EPSILON = Fraction(1, 2), math.log(2)
USERS, FEW = (1, 3, 5, 11, 21, 51, 101), (1, 3, 11, 51)
SMALL = 6  # the joint law of all reports on 0..6 is written out, in Fractions
MANY, DELTA = 21, "1e-6"
LEAST = 1e-3  # what pictures still show
EXPECTED = {  # by hand: (13) at 1/2 and at the 21st root of it; what is drawn, within its own error
    "sharpest report": (4 / 3, 0.06),
    "gain of a coalition": (0, 0),
    "own error, pure composition": (2 / (2 ** (1 / 21) - 2 ** (-1 / 21)), 1e-6),
    "own error, cascade": (4 / 3, 1e-9),
    "epsilon of 21 reports at epsilon/sqrt(21)": (math.sqrt(21) * EPSILON, 1e-3),
}


def levels(k: int) -> list[Fraction]:
    """1/2, 2/3, 3/4, ...: the first user's is the level of figure 4, every other one is more private."""
    return [Fraction(i, i + 1) for i in range(1, k + 1)]


def best_risk(law: Any) -> Fraction:
    """The least mean |error| of any guess from reports with this law (truths down, reports across), all truths alike likely."""
    size = law.shape[0]
    cost = np.array([[Fraction(abs(i - j)) for i in range(size)] for j in range(size)], dtype=object)
    found: Fraction = cost.dot(law).min(axis=0).sum() / size
    return found


def independent(k: int) -> Any:
    """The law of k reports at 1/2 on 0..6, each drawn from the truth."""
    one = cascade([ALPHA], SMALL).joint()
    law = one
    for _ in range(k - 1):
        law = (law[:, :, None] * one[:, None, :]).reshape(SMALL + 1, -1)
    return law


def work(setting: Setting) -> Found:
    users, draws, depth = (FEW, 10_000, 3) if setting.quick else (USERS, 100_000, 4)
    open_ = Grid(None, None)
    alone = {k: collude(geometric(open_, alpha=ALPHA), k).expected_loss for k in users}
    drawn: dict[str, dict[int, tuple[float, float]]] = {"sharpest": {}, "median": {}}
    for n, k in enumerate(users):
        setting.tell("drawing cascades", n / len(users))
        made = cascade(levels(k), open_).release(np.zeros(draws, dtype=np.int64), source=simulation(80 + k))
        reports = np.array([np.asarray(made[i]) for i in range(k)])
        for name, errors in (("sharpest", reports[0]), ("median", np.median(reports, axis=0))):
            size = np.abs(errors)
            drawn[name][k] = float(size.mean()), 1.959964 * float(size.std(ddof=1)) / math.sqrt(draws)
    small = cascade(levels(depth), SMALL)
    risks = {
        k: (best_risk(small.joint(levels(k)).reshape(SMALL + 1, -1)), best_risk(independent(k)))
        for k in range(1, depth + 1)
    }
    groups = [group for size in range(1, depth + 1) for group in combinations(levels(depth), size)]
    kept = [small.coalition(group).tight == min(group) for group in groups]
    price = {
        k: (k * EPSILON, compose(geometric(100, alpha=ALPHA), k).epsilon(DELTA), cascade(levels(k), 100).price.epsilon)
        for k in users
    }
    own = {k: _own(k) for k in sorted({*users, MANY})}
    weak = collude(geometric(100, epsilon=str(EPSILON / math.sqrt(MANY))), MANY).joint_level
    enough = collude(geometric(100, epsilon=str(EPSILON / MANY)), MANY).joint_level
    assert weak is not None
    assert enough is not None
    last = users[-1]
    claims = [
        Claim(
            "section 5.3.2",
            "with correlated noise colluders cannot remove the noise",
            f"reports of a cascade, k = 1 to {depth}, on 0..{SMALL}: the best guess from all of them has mean |error| "
            f"{', '.join(f'{float(risks[k][0]):.4f}' for k in risks)}, exactly that of the sharpest; from independent ones "
            f"{', '.join(f'{float(risks[k][1]):.4f}' for k in risks)}",
            verdict([risk == risks[1][0] for risk, _ in risks.values()]),
            quote=(
                "To prevent collusion attacks, a service provider should consider adding correlated noise between "
                "cooperating users [5], as they would not be able to remove the correlation"
            ),
            refuted_if=(
                "the best guess from all reports of the cascade had a smaller error than from the sharpest, in "
                "fractions"
            ),
        ),
        Claim(
            "beyond the paper",
            "no coalition learns more than its least private member",
            f"{sum(kept)} of {len(kept)} coalitions keep exactly that member's level, by every entry of their joint law; {last} "
            f"users of a cascade pay epsilon {price[last][2]:.3f}, with independent reports {price[last][0]:.1f}",
            verdict(kept),
            refuted_if="one coalition's joint distribution exceeded its least private member's level in an entry",
            ours=True,
        ),
        Claim(
            "section 5.3.1",
            "the curator can re-define the privacy level according to the number of users",
            f"by (16), epsilon/sqrt(k) keeps the median's error, not the level: {MANY} such reports have epsilon "
            f"{weak.epsilon:.2f} instead of {EPSILON:.2f}. By composition, at epsilon/k, the level holds, and each of {MANY} users "
            f"has mean |error| {own[MANY]['pure composition']:.1f} ({own[MANY]['with delta']:.1f} with delta {DELTA}); in a "
            f"cascade, where users of one level share one report, {own[MANY]['cascade']:.2f}",
            verdict([weak.epsilon < EPSILON + 1e-6, enough.epsilon < EPSILON + 1e-6]),
            quote=(
                "From above analysis, the curator can re-define a new privacy level according to the (expected) "
                "number of users (k) and the original privacy level."
            ),
            refuted_if=(
                "k reports at epsilon/sqrt(k) kept epsilon (then: holds), or those at epsilon/k did not either (then: does not "
                "hold)"
            ),
        ),
    ]
    values = {
        "sharpest report": drawn["sharpest"][last][0],
        "gain of a coalition": float(risks[1][0] - risks[depth][0]),
        "own error, pure composition": own[MANY]["pure composition"],
        "own error, cascade": own[MANY]["cascade"],
        "epsilon of 21 reports at epsilon/sqrt(21)": weak.epsilon,
    }
    rows = [
        {
            "k": k,
            "independent, median": alone[k],
            "cascade, sharpest": drawn["sharpest"][k][0],
            "within": drawn["sharpest"][k][1],
            "cascade, median": drawn["median"][k][0],
            "independent, epsilon": price[k][0],
            f"with delta {DELTA}": price[k][1],
            "cascade, epsilon": price[k][2],
        }
        for k in users
    ]
    tables = [
        View.of(f"k users at a = 1/2; cascades from {draws:,} draws, within: half of a 95 % interval", rows),
        View.of(
            "mean |error| of a user's own report, epsilon ln 2 for all together",
            [{"k": k, **row} for k, row in own.items()],
        ),
    ]
    return Found(claims, tables, [Picture("cascaded-users", lambda: _draw(alone, drawn, price, own))], values)


def _own(k: int) -> dict[str, float]:
    """The mean |error| of a user's own report where k together may learn epsilon ln 2; in a cascade, of the sharpest."""
    low, high = EPSILON / k, EPSILON  # of each, with a delta for all together: halved
    for _ in range(30 if k > 1 else 0):
        middle = (low + high) / 2
        keeps = compose(geometric(1, epsilon=middle), k).delta(EPSILON) <= float(DELTA)
        low, high = (middle, high) if keeps else (low, middle)
    return {"pure composition": error(EPSILON / k), "with delta": error(low), "cascade": error(EPSILON)}


def error(epsilon: float) -> float:
    """The mean |error| of a geometric report."""
    return 1 / math.sinh(epsilon)


def _draw(alone: Any, drawn: Any, price: Any, own: Any) -> Any:
    users, shown = list(alone), {k: x for k, x in alone.items() if x >= LEAST}
    words = {"median": "cascade, median", "sharpest": "cascade, sharpest"}  # the cascade in one colour everywhere
    series: dict[str, Any] = {"independent, median": (list(shown), list(shown.values()))}
    series |= {word: (users, [x for x, _ in drawn[name].values()]) for name, word in words.items()}
    bands = {
        words[name]: (users, [x - w for x, w in path.values()], [x + w for x, w in path.values()])
        for name, path in drawn.items()
    }
    size: dict[str, Any] = {"x": "users who share (k)", "log_x": True, "log_y": True, "width": 340, "height": 230}
    charts = [
        plot.curves(series, "What they learn together", y="mean |error|", bands=bands, **size),
        plot.curves(
            {
                "independent": (users, [x for x, _, _ in price.values()]),
                f"with delta {DELTA}": (users, [x for _, x, _ in price.values()]),
                "cascade": (users, [x for _, _, x in price.values()]),
            },
            "What it costs",
            y="epsilon of all reports together",
            **size,
        ),
        plot.curves(
            {way: (list(own), [row[way] for row in own.values()]) for way in own[1]},
            "What each gets if all may learn ln 2",
            y="mean |error| of a user's own report",
            **size,
        ),
    ]
    return plot.beside(
        *charts,
        title="In a cascade sharing reports sharpens nothing, and no further user costs privacy",
        subtitle="Counts; independent reports have a = 1/2, those of the cascade 1/2, 2/3, 3/4, ...",
        columns=2,
    )


STUDY = Study("cascaded-users", "Colluding users of a cascade", PAPER, "beyond figure 4", work, EXPECTED, 7, 0.4)
