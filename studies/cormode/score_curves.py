"""The L0 score against n and against alpha, and where WM meets GM."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.present import plot
from discreet.present.views import View

from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER
from .mechanisms import best_rescaled, made, rescaled

A = Fraction(9, 10)
MEETS = 18  # 2a/(1-a)
EXPECTED = {
    "GM": (1.8 / 1.9, 1e-9),
    "WM - GM at n = 18": (0, 1e-8),
    "first n where WM is GM": (MEETS, 0),
    "cells where the rule fails": (0, 0),
}
_SAME = 1e-7


def scores(n: int, alpha: Fraction) -> dict[str, float]:
    """The rescaled L0 of the four."""
    return {
        "GM": rescaled(made("GM", n, alpha)),
        "WM": best_rescaled(n, alpha, "WH"),
        "WM, CM": best_rescaled(n, alpha, "CM"),
        "EM": rescaled(made("EM", n, alpha)),
    }


def work(setting: Setting) -> Found:
    sizes = [2, 4, 8, 12, 17, 18, 24] if setting.quick else [*range(2, 31), 40, 60, 80, 100]
    alphas = [Fraction(k, 20) for k in (range(6, 20, 4) if setting.quick else range(4, 20))]
    by_n, by_alpha = {}, {}
    for k, n in enumerate(sizes):
        setting.tell("scores against n", k / len(sizes))
        by_n[n] = scores(n, A)
    for alpha in alphas:
        by_alpha[alpha] = scores(8, alpha)
    cells = [(n, A, row) for n, row in by_n.items()] + [(8, alpha, row) for alpha, row in by_alpha.items()]
    wrong = [(n, a) for n, a, row in cells if (abs(row["WM"] - row["GM"]) < _SAME) != (n >= 2 * a / (1 - a))]
    beyond = [row for n, a, row in cells if n >= 2 * a / (1 - a)]
    meets = {name: [abs(row[name] - row["GM"]) < _SAME for row in beyond] for name in ("WM", "WM, CM")}
    order = [
        row["GM"] <= row["WM"] + _SAME <= row["WM, CM"] + 2 * _SAME <= row["EM"] + 3 * _SAME for _, _, row in cells
    ]
    off = max(abs(row["GM"] - float(2 * a / (1 + a))) for _, a, row in cells)
    dearer = max(row["EM"] - row["GM"] for _, _, row in cells)
    met = [n for n in sizes if abs(by_n[n]["WM"] - by_n[n]["GM"]) < _SAME]
    claims = [
        Claim(
            "L0 score behaviour",
            "WM converges on GM for n >= 2a/(1-a)",
            f"in {len(beyond)} cells with such n the weakly honest variant has GM's score in {sum(meets['WM'])}, the column "
            f"monotone one, which the slides' table shows, in {sum(meets['WM, CM'])}: it does for a <= 1/2 alone "
            f"(at a = 0.9 it has {by_n[MEETS]['WM, CM'] - by_n[MEETS]['GM']:.4f} more at n = {MEETS} and "
            f"{by_n[sizes[-1]]['WM, CM'] - by_n[sizes[-1]]['GM']:.4f} more at n = {sizes[-1]})",
            verdict([all(met) for met in meets.values()]),
            quote="WM converges on GM for n ≥ 2α / (1-α)",
            refuted_if=(
                "both readings of WM had GM's score in every cell with n >= 2a/(1-a) (then: holds), or neither had (then: does "
                "not hold)"
            ),
        ),
        Claim(
            "unconstrained mechanism",
            "GM has L0 = 2a/(1+a), whatever n",
            f"{by_n[sizes[0]]['GM']:.6f} at a = 0.9; in {len(cells)} cells it differs by at most {off:.0e}. This is the score in "
            "which guessing has 1, (n+1)/n times the mean weight off the diagonal",
            verdict([off < 1e-9]),
            quote="Here x = 1/(1+α), y=(1-α)/(1+α), L0=2α/(1+α)",
            refuted_if="the score was another number in a cell",
        ),
        Claim(
            "explicit fair mechanism",
            "EM costs slightly more than GM",
            f"by {by_n[sizes[0]]['EM'] - by_n[sizes[0]]['GM']:.4f} at n = {sizes[0]} and "
            f"{by_n[sizes[-1]]['EM'] - by_n[sizes[-1]]['GM']:.4f} at n = {sizes[-1]} (a = 0.9); "
            f"at most {dearer:.3f} in all cells, where guessing has 1. GM, WM, WM with CM and EM come in this order in "
            f"{sum(order)} of {len(order)}",
            verdict([all(order), dearer < 0.1]),
            quote="Cost slightly higher than Geometric Mechanism",
            refuted_if="EM scored less than GM in a cell or 0.1 more, or the order of the four was another",
        ),
    ]
    values = {
        "GM": by_n[sizes[0]]["GM"],
        "first n where WM is GM": min(met),
        "WM - GM at n = 18": by_n[18]["WM"] - by_n[18]["GM"],
        "cells where the rule fails": len(wrong),
    }
    tables = [
        View.of("rescaled L0 against n, alpha = 9/10", [{"n": n, **row} for n, row in by_n.items()]),
        View.of("rescaled L0 against alpha, n = 8", [{"alpha": str(a), **row} for a, row in by_alpha.items()]),
    ]
    return Found(claims, tables, [Picture("score-curves", lambda: _draw(by_n, by_alpha))], values)


def _draw(by_n: dict[int, Any], by_alpha: dict[Fraction, Any]) -> object:
    names = ("GM", "WM", "WM, CM", "EM")
    against_n = {name: (list(by_n), [row[name] for row in by_n.values()]) for name in names}
    against_alpha = {name: (list(by_alpha), [row[name] for row in by_alpha.values()]) for name in names}
    first = plot.curves(
        against_n,
        "Against the size of the group, alpha = 0.9",
        x="n",
        y="L0 (rescaled: guessing has 1)",
        rules={"n = 2a/(1-a)": MEETS},
        width=360,
    )
    second = plot.curves(
        against_alpha, "Against alpha, n = 8", x="alpha", y="L0 (rescaled)", rules={"n = 2a/(1-a)": 0.8}, width=360
    )
    return plot.beside(
        first,
        second,
        title="Weak honesty costs nothing from n = 2a/(1-a) on; column monotonicity and fairness keep costing a little",
    )


STUDY = Study("score-curves", "The L0 score against n and alpha", PAPER, "L0 score behaviour", work, EXPECTED, 5)
