"""The three L0 scores of the slide: at which alpha do they come out?"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import expected_loss
from discreet.present import plot
from discreet.present.views import View

from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER
from .mechanisms import best_rescaled, made

SLIDE = {"GM": 0.764, "EM": 0.776, "WM": 0.774}
N = 4
EXPECTED = {  # unscaled, 1 - trace/5; GM and EM by their closed forms, WM by its trace 3/5 + 2(2-a)/(5a^2)
    "GM at 9/10": (4 / 5 * 1.8 / 1.9, 1e-9),
    "EM at 9/10": (1 - 0.1 / (1.9 - 2 * 0.729), 1e-9),
    "WM at 9/10": (1 - (0.6 + 2 * 1.1 / (5 * 0.81)) / 5, 1e-6),
    "WM, CM at 9/10": (1 - (0.6 + 2 * (1.9 - 0.81) / (5 * 0.81)) / 5, 1e-6),
    "GM at 10/11": (4 / 5 * 20 / 21, 1e-9),
    "EM at 10/11": (0.7763, 5e-5),
    "WM at 10/11": (0.7744, 5e-5),
    "alphas with EM and WM, from": (0.907, 1e-3),
    "alphas with EM and WM, to": (0.909, 1e-3),
    "alphas with GM, from": (0.913, 1e-3),
    "alphas with GM, to": (0.915, 1e-3),
}


def score(name: str, alpha: Fraction) -> float:
    """1 - trace/(n+1): the probability of a wrong report, at a uniform truth."""
    if name in ("GM", "EM"):
        return expected_loss(made(name, N, alpha), "l0")
    letters = ("WH",) if name == "WM" else ("WH", "CM")
    return best_rescaled(N, alpha, *letters) * N / (N + 1)


def work(setting: Setting) -> Found:
    alphas = [Fraction("9/10"), Fraction("10/11")]
    table: list[dict[str, Any]] = [
        {"alpha": str(a), **{name: score(name, a) for name in ("GM", "EM", "WM", "WM, CM")}} for a in alphas
    ]
    ranges = {name: (_where(name, value - 0.0005), _where(name, value + 0.0005)) for name, value in SLIDE.items()}
    low, high = max(ranges["EM"][0], ranges["WM"][0]), min(ranges["EM"][1], ranges["WM"][1])
    all_three = max(r[0] for r in ranges.values()) <= min(r[1] for r in ranges.values())
    at = [abs(score(name, alphas[0]) - value) <= 0.0005 for name, value in SLIDE.items()]
    near = [abs(score(name, alphas[1]) - value) <= 0.0005 for name, value in SLIDE.items()]
    told = ", ".join(f"{name} {score(name, alphas[0]):.4f}" for name in SLIDE)
    claims = [
        Claim(
            "comparing mechanisms",
            "at alpha = 0.9, n = 4 the L0 scores are GM .764, EM .776, WM .774",
            f"they are {told}, at most {max(abs(score(name, alphas[0]) - value) for name, value in SLIDE.items()):.4f} "
            "from the printed ones",
            verdict(at),
            quote="Heatmaps comparing mechanisms for α = 0.9, n=4 ... L0 score: GM 0.764, EM 0.776, WM 0.774",
            refuted_if="all three scores rounded to three digits were as printed (then: holds), or some (then: holds in part)",
        ),
        Claim(
            "comparing mechanisms, at another alpha",
            "the three scores belong together, at one alpha",
            f"EM and WM come out together for alpha in {low:.4f} to {high:.4f}, for instance 10/11; GM needs "
            f"{ranges['GM'][0]:.4f} to {ranges['GM'][1]:.4f} and is {score('GM', alphas[1]):.3f} at 10/11: no alpha "
            f"gives all three",
            verdict([all_three]) if all_three else verdict(near),
            quote="L0 score: GM 0.764, EM 0.776, WM 0.774",
            refuted_if=(
                "the ranges of alpha that give each printed score had a common point (then: holds), or no score came out at "
                "10/11 (then: does not hold)"
            ),
            ours=True,  # the slide says 0.9; which alpha would fit is our question
        ),
        Claim(
            "comparing mechanisms",
            "GM has the least score, WM lies between GM and EM",
            "at both levels, in both variants of WM",
            verdict([row["GM"] < row["WM"] <= row["WM, CM"] < row["EM"] for row in table]),
            quote="L0 score: GM 0.764, EM 0.776, WM 0.774",
            refuted_if="the order of the three was another at 9/10 or 10/11",
        ),
    ]
    values = {f"{name} at {row['alpha']}": float(row[name]) for row in table for name in ("GM", "EM", "WM", "WM, CM")}
    values |= {"alphas with EM and WM, from": low, "alphas with EM and WM, to": high}
    values |= {"alphas with GM, from": ranges["GM"][0], "alphas with GM, to": ranges["GM"][1]}
    places = [Fraction(k, 400) for k in range(340 if not setting.quick else 350, 381, 5 if setting.quick else 2)]
    series = {name: (places, [score(name, a) for a in places]) for name in SLIDE}
    return Found(
        claims,
        [View.of("probability of a wrong report, n = 4, uniform truth (unscaled L0)", table)],
        [Picture("scores", lambda: _draw(series, ranges))],
        values,
    )


def _where(name: str, value: float) -> float:
    """The alpha at which a score, which rises with alpha, has a value: by bisection."""
    low, high = Fraction(8, 10), Fraction(99, 100)
    reached: Callable[[Fraction], bool] = lambda a: score(name, a) >= value  # noqa: E731
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return float(low + high) / 2


def _draw(series: dict[str, tuple[list[Fraction], list[float]]], ranges: dict[str, tuple[float, float]]) -> object:
    drawn = dict(series)
    for name, value in SLIDE.items():
        drawn[f"{name} on the slide"] = (list(np.mean(ranges[name], keepdims=True)), [value])
    return plot.curves(
        drawn,
        "No alpha gives the slide's three scores: EM and WM fit 10/11, GM fits neither that nor 0.9",
        "n = 4; where each printed score lies on its own curve",
        x="alpha",
        y="probability of a wrong report (L0, unscaled)",
        rules={"0.9": 0.9, "10/11": 10 / 11},
        height=340,
    )


STUDY = Study("scores", "Which alpha gives the slide's L0 scores", PAPER, "comparing mechanisms", work, EXPECTED, 4)
