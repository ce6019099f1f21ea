"""Figure 1: the laws of the two mechanisms at the truth 50."""

from __future__ import annotations

import math

import numpy as np

from discreet import check_privacy, geometric
from discreet.present.views import View

from .. import pictures
from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER
from .cells import NAMES, VALUES, mechanism

A = 2**-0.1
EXPECTED = {
    "geometric at 50": ((1 - A) / (1 + A), 1e-12),
    "geometric at an end": (A**50 / (1 + A), 1e-12),
    "kRR at 50": (2 / 102, 1e-12),
    "kRR elsewhere": (1 / 102, 1e-12),
    "local epsilon of the geometric": (10 * math.log(2), 1e-9),
    "ratio at distance 10": (2, 1e-9),
    "flat geometric at 50": ((1 - 2**-0.01) / (1 + 2**-0.01), 1e-12),
}


def work(setting: Setting) -> Found:
    g, k, flat = mechanism("geometric"), mechanism("kRR"), geometric(100, epsilon="ln(2)/100")
    local = {
        name: check_privacy(m, neighbours="any").epsilon for name, m in (("geometric", g), ("kRR", k), ("flat", flat))
    }
    tenth = max(float((g.matrix[:-10] / g.matrix[10:]).max()), float((g.matrix[10:] / g.matrix[:-10]).max()))
    pairs = (np.diag(k.matrix) / k.matrix)[
        ~np.eye(len(VALUES), dtype=bool)
    ]  # how much likelier a report is if it is true
    steps = geometric(100, epsilon="ln(2)").matrix  # at the epsilon of the sentence on values further away
    bounds = {d: float((steps[:-d] / steps[d:]).max()) for d in (1, 2, 10, 100)}
    values = {
        "geometric at 50": g.matrix[50, 50],
        "geometric at an end": g.matrix[50, 0],
        "kRR at 50": k.matrix[50, 50],
        "kRR elsewhere": k.matrix[50, 7],
        "local epsilon of the geometric": local["geometric"],
        "ratio at distance 10": tenth,
        "flat geometric at 50": flat.matrix[50, 50],
    }
    within = float(g.matrix[50, 40:61].sum())
    inner, ends = flat.matrix[50, 1:100], float(flat.matrix[50, [0, 100]].sum())
    claims = [
        Claim(
            "section 4",
            "kRR with epsilon = ln 2 has the bound 2 for every pair of values",
            f"epsilon between any two values is {local['kRR']:.6f}; of {len(pairs):,} pairs the ratio is from {pairs.min():.6f} to "
            f"{pairs.max():.6f}",
            verdict([abs(local["kRR"] - math.log(2)) < 1e-9, bool(np.allclose(pairs, 2, rtol=0, atol=1e-9))]),
            quote=(
                "The privacy guarantee provided by this mechanism is given by the upper bound ε^(ln 2) = 2 ... This "
                "upper bound is realised for every pair of different values in the input and output domains."
            ),
            refuted_if="the largest ratio were not 2, or a pair of different values had a smaller one",
        ),
        Claim(
            "section 4",
            "the geometric mechanism with ln(2)/10 has the bound 2 within a radius of 10",
            f"the largest ratio at distance 10 is {tenth:.6f}",
            verdict([abs(tenth - 2) < 1e-9]),
            quote=(
                "As a compromise we will require the upper bound 2 on a restricted subset of elements, for instance "
                "those in a radius 10 from the true value. This can be achieved by setting ε to ln 2/10."
            ),
            refuted_if="the largest ratio at distance 10 were not 2",
        ),
        Claim(
            "section 4",
            "for values further away, the bound is smaller",
            "it is larger: at epsilon = ln 2 it is "
            + ", ".join(f"{bound:.4g} at distance {d}" for d, bound in bounds.items())
            + f"; at ln(2)/10 it is 2^(distance/10), {2**10} between 0 and 100 (epsilon {local['geometric']:.4f}). That values "
            "farther from the truth are less likely to be reported, as the sentence adds, is right",
            verdict([bound <= bounds[1] for d, bound in bounds.items() if d > 1]),
            quote=(
                "By comparison, the truncated geometric mechanism with the same ε = ln 2 would provide such an upper "
                "bound 2 only for values immediately adjacent to the true one. For values further away, the bound is "
                "smaller (making more distance values less likely)."
            ),
            refuted_if="the level between far values were at most that between neighbours",
        ),
        Claim(
            "section 4",
            "the same bound on all values needs ln(2)/100, a very flat curve",
            f"then epsilon is {local['flat']:.4f} everywhere. Between the ends the curve is flat: probabilities from "
            f"{inner.min():.4f} to {inner.max():.4f}. The ends stand out: {ends:.0%} of the reports are 0 or 100",
            verdict([abs(local["flat"] - math.log(2)) < 1e-9, inner.max() < 1.5 * inner.min(), ends < 4 / 101]),
            quote=(
                "we would have to set ε to a value 100 times smaller, namely ln 2/100, which would result in a very "
                "flat curve, making the true value almost indistinguishable from a large part of the other values"
            ),
            refuted_if=(
                "the reports strictly between the ends differed by more than a factor of 3/2 (then: does not hold), "
                "or the ends too had no more than twice an even share (then: holds)"
            ),
        ),
        Claim(
            "figure 1",
            "the geometric mechanism reports near the truth, kRR anywhere",
            f"within 10 of 50: {within:.0%} of the reports against {float(k.matrix[50, 40:61].sum()):.0%}",
            verdict([within > 0.5]),
            quote=(
                "Fig. 1. The distribution generated by the kRR and the truncated geometric mechanisms applied to x = "
                "50."
            ),
            refuted_if="half of the geometric reports or more were farther than 10 from the truth",
            ours=True,
        ),
    ]
    laws = {NAMES["geometric"]: (VALUES, g.matrix[50]), NAMES["kRR"]: (VALUES, k.matrix[50])}
    rows = [
        {"report": j, "geometric": float(g.matrix[50, j]), "kRR": float(k.matrix[50, j])}
        for j in (0, 25, 40, 49, 50, 51, 60, 75, 100)
    ]
    title = "The geometric mechanism reports near the truth (and at the ends), kRR anywhere"
    picture = Picture(
        "response-laws",
        lambda: pictures.laws(
            laws, title, "Figure 1: the law of the reports when the truth is 50", x="report", filled=NAMES["geometric"]
        ),
    )
    return Found(
        claims,
        [View.of("probability of a report when the truth is 50", rows)],
        [picture],
        {key: float(v) for key, v in values.items()},
    )


STUDY = Study("response-laws", "The laws of the two mechanisms at 50", PAPER, "figure 1", work, EXPECTED, 1)
