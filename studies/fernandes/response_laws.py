"""Figure 1: the laws of the two mechanisms at the truth 50."""

from __future__ import annotations

import math

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
    tenth = float(g.matrix[50, 50] / g.matrix[60, 50])
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
    claims = [
        Claim(
            "section 4",
            "kRR with epsilon = ln 2 has the bound 2 for every pair of values",
            f"epsilon between any two values is {local['kRR']:.6f}",
            verdict([abs(local["kRR"] - math.log(2)) < 1e-9]),
        ),
        Claim(
            "section 4",
            "the geometric mechanism with ln(2)/10 has the bound 2 within a radius of 10",
            f"the ratio at distance 10 is {tenth:.6f}",
            verdict([abs(tenth - 2) < 1e-9]),
        ),
        Claim(
            "section 4",
            "for values further away, the bound is smaller",
            f"it is larger: 2^(distance/10), so {2**10} between 0 and 100 (epsilon {local['geometric']:.4f})",
            verdict([local["geometric"] <= math.log(2)]),
        ),
        Claim(
            "section 4",
            "the same bound on all values needs ln(2)/100, a very flat curve",
            f"then epsilon is {local['flat']:.4f} everywhere, and the truth has probability {flat.matrix[50, 50]:.4f} "
            f"(each end {flat.matrix[50, 0]:.3f})",
            verdict([abs(local["flat"] - math.log(2)) < 1e-9]),
        ),
        Claim(
            "figure 1",
            "the geometric mechanism reports near the truth, kRR anywhere",
            f"within 10 of 50: {within:.0%} of the reports against {float(k.matrix[50, 40:61].sum()):.0%}",
            verdict([within > 0.5]),
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
