"""The explicit fair mechanism for seven people, entry by entry."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import design, explicit_fair, properties
from discreet.channels.properties import LETTERS
from discreet.present import plot
from discreet.present.views import View

from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER
from .mechanisms import rescaled

# Exponents of alpha as the slide has them: rows are reports, columns true values
SLIDE = """
0 1 2 3 4 4 4 4
1 0 1 2 3 3 3 3
1 1 0 1 2 3 3 3
2 2 1 0 1 2 2 2
2 2 2 1 0 1 2 2
3 3 3 2 1 0 1 1
3 3 3 3 2 1 0 1
4 4 4 4 3 2 1 0
"""
ALPHAS = ("3/10", "31/50", "9/10")
_Y = (1 - 0.62) / (1.62 * (1 - 0.62**4))  # the closed form for odd n
EXPECTED = {"y at 31/50": (_Y, 1e-9), "L0 at 31/50": (8 / 7 * (1 - _Y), 1e-9), "entries that differ": (0, 0)}


def work(setting: Setting) -> Found:
    slide = np.array([[int(x) for x in line.split()] for line in SLIDE.split("\n") if line])
    alphas = ALPHAS[1:] if setting.quick else ALPHAS
    differ, whole, gaps = 0, [], []
    tight: list[bool] = []  # the middle truth, 3: is every report as rare as its own diagonal and the level allow?
    rows: list[dict[str, Any]] = []
    for text in alphas:
        m, a = explicit_fair(7, alpha=text), Fraction(text)
        entry = m.finite().entry  # of a true value and a report
        differ += sum(
            entry(truth, report) != entry(0, 0) * a ** int(slide[report, truth])
            for truth in range(8)
            for report in range(8)
        )
        tight += [entry(3, j) == entry(j, j) * a ** abs(3 - j) for j in range(8)]
        whole.append(set(properties(m)) == set(LETTERS))
        best = design(7, alpha=text, loss="l0", require={"F"})
        gaps.append(rescaled(m) - best.bound * 8 / 7)
        rows.append(
            {
                "alpha": text,
                "y": float(m.matrix[0, 0]),
                "L0 (rescaled)": rescaled(m),
                "best fair, at least": best.bound * 8 / 7,
            }
        )
    sets = {tuple(sorted(Counter(column.tolist()).items())) for column in slide.T}
    middle = explicit_fair(7, alpha="31/50").matrix
    levels = ", ".join(alphas)
    claims = [
        Claim(
            "explicit fair mechanism",
            "the matrix for n = 7, exponent by exponent",
            f"{differ} of {64 * len(alphas)} entries differ, in fractions, at alpha {levels}",
            verdict([differ == 0]),
            quote=(
                "We construct a new 'explicit fair mechanism' (uniform diagonal): ... (the matrix of 8 rows y, y a, y"
                " a^2, ...)"
            ),
            refuted_if="one of the 64 entries differed, in fractions",
        ),
        Claim(
            "explicit fair mechanism",
            "each column is a permutation of the same values",
            f"exponents 0, 1, 1, 2, 2, 3, 3, 4 in {len(sets)} way",
            verdict([len(sets) == 1]),
            quote="Each column is a permutation of the same set of values",
            refuted_if="two columns had different sets of exponents",
        ),
        Claim(
            "explicit fair mechanism",
            "it has all the properties",
            f"all seven, proved on integers, at {sum(whole)} of {len(whole)} levels: alpha {levels}",
            verdict(whole),
            quote="Has all our properties: column & row monotonicity, symmetry",
            refuted_if="the exact check of one property failed",
        ),
        Claim(
            "explicit fair mechanism",
            "it is an optimal fair mechanism: the middle column is as small as privacy allows",
            f"a certified bound leaves at most {max(gaps):.1e}; {sum(tight)} of {len(tight)} entries of the middle column are as "
            "small as the diagonal and the level allow, in fractions",
            verdict([gap < 1e-6 for gap in gaps] + tight),
            quote="This is (one) optimal fair mechanism: Entries in middle column are all as small as DP will allow",
            refuted_if=(
                "the certified lower bound of every fair mechanism lay 1e-6 or more below its loss, or an entry of the "
                "middle column could be smaller at this diagonal and level"
            ),
        ),
    ]
    first = rows[alphas.index("31/50")]
    values = {"y at 31/50": first["y"], "L0 at 31/50": first["L0 (rescaled)"], "entries that differ": differ}
    picture = Picture(
        "fair-matrix",
        lambda: plot.heat_map(
            middle,
            range(8),
            range(8),
            "The fair mechanism tells the truth equally often everywhere",
            "EM for n = 7, alpha = 0.62",
        ),
    )
    return Found(claims, [View.of("EM for n = 7 and the best that a fair mechanism can do", rows)], [picture], values)


STUDY = Study(
    "fair-matrix", "The explicit fair mechanism for n = 7", PAPER, "explicit fair mechanism EM", work, EXPECTED, 2
)
