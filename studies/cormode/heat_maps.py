"""Heat maps of the mechanisms for groups of four at alpha = 0.9, and what the best ones for L1 and L2 report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import design
from discreet.measure import total_variation
from discreet.present.views import View

from .. import pictures
from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER
from .mechanisms import made, rescaled

NAMES = {
    "GM": "geometric (GM)",
    "EM": "explicit fair (EM)",
    "WM": "weakly honest (WM)",
    "WM, CM": "WM, column monotone",
}
PILES = ((4, "9/10"), (7, "3/4"), (7, "9/10"), (20, "9/10"), (50, "19/20"))
EXPECTED = {
    # two reports of probability a^i/(1+a) and a^(4-i)/(1+a), averaged over i
    "GM reports an end": (2 * (1 + 0.9 + 0.81 + 0.729 + 0.6561) / 5 / 1.9, 1e-9),
    "values never reported, l1": (4, 0),
    "values never reported, l2": (4, 0),
    "values never reported, l1, n = 7, 31/50": (2, 0),
    "values never reported, l1, n = 7, 9/10": (6, 0),
}


def never(n: int, alpha: str, loss: str) -> list[int]:
    """The values that the best mechanism without properties never reports."""
    matrix = design(n, alpha=alpha, loss=loss).mechanism.matrix
    return [int(j) for j in np.flatnonzero(matrix.max(axis=0) < 1e-9)]


@dataclass(frozen=True)
class Pile:
    """Shares of all reports at a uniform truth: of an optimum at 0 and n and at its two most frequent values; of GM at 0 and n."""

    ends: float
    two: float
    gm_ends: float


def _piles(n: int, alpha: str, loss: str) -> Pile:
    best = design(n, alpha=alpha, loss=loss).mechanism.matrix.mean(axis=0)
    gm = made("GM", n, alpha).matrix.mean(axis=0)
    return Pile(float(best[0] + best[n]), float(np.sort(best)[-2:].sum()), float(gm[0] + gm[n]))


def work(setting: Setting) -> Found:
    mechanisms = {name: made(name, 4, "9/10") for name in NAMES}
    rows: list[dict[str, Any]] = []
    for name, m in mechanisms.items():
        ends = float(m.matrix[:, [0, 4]].sum(axis=1).mean())
        far = max(float(total_variation(m.matrix[i], mechanisms["GM"].matrix[i])) for i in range(5))
        rows.append({"mechanism": name, "L0 (rescaled)": rescaled(m), "reports an end": ends, "distance from GM": far})
    spread = max(r["L0 (rescaled)"] for r in rows) - min(r["L0 (rescaled)"] for r in rows)
    unused = {loss: never(4, "9/10", loss) for loss in ("l1", "l2")}
    piles = {(loss, n, a): _piles(n, a, loss) for loss in ("l1", "l2") for n, a in PILES}
    seven = {alpha: never(7, alpha, "l1") for alpha in ("31/50", "9/10")}
    ends, guess = float(rows[0]["reports an end"]), 2 / 5
    claims = [
        Claim(
            "limitations of GM",
            "GM places a lot of weight on 0 and n when alpha is large",
            f"{ends:.0%} of the reports at n = 4, alpha = 0.9, where guessing has {guess:.0%}",
            verdict([ends > 2 * guess]),
            quote="GM tends to place a lot of weight on {0, n} when α is large",
            refuted_if="the ends had at most twice the share that guessing gives them",
        ),
        Claim(
            "limitations of GM",
            "the issue is even worse if optimizing for L1 or L2",
            "not on 0 and n: the L1 and L2 optima report them in at most "
            f"{max(p.ends for p in piles.values()):.0%} of all cases where GM does in "
            f"{min(p.gm_ends for p in piles.values()):.0%} to {max(p.gm_ends for p in piles.values()):.0%} "
            f"({len(PILES)} pairs of n and alpha). But two values further inside have more weight than GM's two ends in "
            f"{sum(p.two > p.gm_ends for p in piles.values())} of {len(piles)} cells, and what lies outside them is never "
            "reported: at n = 4, alpha = 0.9 both optima always answer 2",
            verdict(
                [p.ends > p.gm_ends for p in piles.values()]  # as the sentence has it
                + [p.two > p.gm_ends for p in piles.values()]  # weight on two values, wherever they are
            ),
            quote="The issue is even worse if optimizing for L1 or L2 objective functions!",
            refuted_if=(
                "the optima put less weight than GM both on 0 and n and on their own two most frequent reports "
                "(then: does not hold), or more on 0 and n as well (then: holds)"
            ),
        ),
        Claim(
            "comparing mechanisms",
            "heat maps look very different but their L0 scores are close",
            f"rows differ from GM's by up to {max(r['distance from GM'] for r in rows):.2f} in total variation, "
            f"the scores by {spread:.3f}",
            verdict([spread < 0.03, max(r["distance from GM"] for r in rows) > 0.2]),
            quote="Heatmaps look very different but their L0 scores are close",
            refuted_if="the scores lay 0.03 or more apart, or every row within 0.2 of GM's in total variation",
        ),
    ]
    values: dict[str, float] = {"GM reports an end": ends}
    values |= {f"values never reported, {loss}": len(u) for loss, u in unused.items()}
    values |= {f"values never reported, l1, n = 7, {alpha}": len(u) for alpha, u in seven.items()}
    return Found(
        claims, [View.of("n = 4, alpha = 9/10", rows)], [Picture("heat-maps", lambda: _draw(mechanisms, ends))], values
    )


def _draw(mechanisms: dict[str, Any], ends: float) -> object:
    title = f"The geometric mechanism reports 0 or 4 in {ends:.0%} of all cases; the others spread out at nearly the same L0"
    return pictures.heat_maps(
        {NAMES[name]: m.matrix for name, m in mechanisms.items()},
        range(5),
        title,
        "n = 4, alpha = 0.9; the truth is outlined",
    )


STUDY = Study(
    "heat-maps",
    "What the mechanisms report at n = 4",
    PAPER,
    "limitations of GM; comparing mechanisms",
    work,
    EXPECTED,
    3,
)
