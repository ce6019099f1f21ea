"""Beyond the paper: the comparison at one level between any two values, with a window of two levels beside both."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet import check_privacy
from discreet.present import plot
from discreet.present.views import View

from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER
from .cells import N, drawn, mechanism, off, recovered, reports_of

TRUTHS, LEVELS, KINDS = ("binomial", "4-point"), ("ln(2)", "2", "10 ln(2)"), ("geometric", "kRR", "window")
EXPECTED = {  # 100,000 reports, 5000 steps, means of 10 runs; tolerances for another sample and, quickly, for one run
    "geometric, binomial, 10 ln(2)": (0.337, 0.25),
    "kRR, binomial, 10 ln(2)": (0.088, 0.06),
    "geometric, 4-point, 10 ln(2)": (0.866, 0.30),
    "kRR, 4-point, 10 ln(2)": (0.060, 0.04),
    "geometric, binomial, ln(2)": (4.28, 3.2),
    "kRR, binomial, ln(2)": (11.1, 5.0),
    "geometric, 4-point, ln(2)": (6.71, 3.5),
    "kRR, 4-point, ln(2)": (2.97, 1.8),
}


def work(setting: Setting) -> Found:
    size, runs = 100_000, 1 if setting.quick else 10
    levels = LEVELS[::2] if setting.quick else LEVELS
    found: dict[tuple[str, str, str, str], list[float]] = {}
    local = {}
    for a, level in enumerate(levels):
        for b, kind in enumerate(KINDS):
            m = mechanism(kind, level)
            local[kind, level] = check_privacy(m, neighbours="any").epsilon
            for c, truth in enumerate(TRUTHS):
                counts = drawn(truth, size, seed=5)
                for run in range(runs):
                    setting.tell("at equal privacy", (a + (b + (c + run / runs) / 2) / 3) / len(levels))
                    histogram = reports_of(m, counts, seed=500 + 100 * run + 10 * a + b)
                    for method in ("ibu", "auto"):
                        found.setdefault((kind, truth, level, method), []).append(
                            off(recovered(m, histogram, method), counts)
                        )
    mean = {key: float(np.mean(values)) for key, values in found.items()}
    rows = [
        {
            "level": level,
            "truth": truth,
            "mechanism": kind,
            "local epsilon <=": local[kind, level],
            "5000 steps": mean[kind, truth, level, "ibu"],
            "auto": mean[kind, truth, level, "auto"],
        }
        for level in levels
        for truth in TRUTHS
        for kind in KINDS
    ]
    wins = {
        (t, level): mean["geometric", t, level, "ibu"] < mean["kRR", t, level, "ibu"]
        for t in TRUTHS
        for level in levels
    }
    open_ = [level for level in levels if mechanism("window", level).outputs.n != N]
    window = {
        (t, level): mean["window", t, level, "auto"] < min(mean[k, t, level, "auto"] for k in ("geometric", "kRR"))
        for t in TRUTHS
        for level in open_
    }
    told = "; ".join(
        f"{level}, {t}: {_told(found['geometric', t, level, 'ibu'])} and {_told(found['kRR', t, level, 'ibu'])}"
        for t, level in wins
    )
    claims = [
        Claim(
            "section 4.1, at equal privacy",
            "the geometric mechanism is nearer than kRR",
            f"geometric and kRR at {told} ({runs} run{'s' if runs > 1 else ''}"
            + (", from the least to the largest" if runs > 1 else "")
            + "). The paper does not say so: it asks for the bound 2 within a radius of 10 alone, and calls that a compromise",
            verdict(list(wins.values())),
            quote=(
                "In order to make a fair comparison, we first need to calibrate the privacy parameters of these mechanisms so that "
                "they represent the same level of privacy. ... As a compromise we will require the upper bound 2 on a restricted "
                "subset of elements, for instance those in a radius 10 from the true value."
            ),
            refuted_if=(
                "the geometric mechanism were nearer in every cell, or in none, when both keep one epsilon between "
                "any two values"
            ),
            ours=True,  # the paper compares at another calibration, and says which
        ),
        Claim(
            "beyond the paper",
            "a window of two levels is nearer than both",
            "by `auto`: "
            + "; ".join(
                f"{level}, {t}: {mean['window', t, level, 'auto']:.2f} against "
                f"{mean['geometric', t, level, 'auto']:.2f} and {mean['kRR', t, level, 'auto']:.2f}"
                for t, level in window
            )
            + "".join(f"; at {level} its width is 0, and it is kRR" for level in levels if level not in open_),
            verdict(list(window.values())),
            refuted_if="the window were farther than one of the two in a cell where its width is not 0",
            ours=True,
        ),
    ]
    values = {
        f"{kind}, {t}, {level}": mean[kind, t, level, "ibu"] for kind in KINDS for t in TRUTHS for level in levels
    }
    notes = [
        "The window is the square wave of Li, Wang, Lopuhaä-Zwakenberg, Škorić and Li (SIGMOD 2020), on whole numbers."
    ]
    return Found(
        claims,
        [View.of(f"mean Kantorovich distance, {size:,} reports, {runs} runs", rows)],
        [Picture("equal-privacy", lambda: _draw(mean, wins, levels))],
        values,
        notes,
    )


def _told(values: list[float]) -> str:
    spread = f" ({min(values):.2f} to {max(values):.2f})" if len(values) > 1 else ""
    return f"{np.mean(values):.2f}{spread}"


def _draw(mean: Any, wins: dict[tuple[str, str], bool], levels: tuple[str, ...]) -> object:
    rows = [
        {"name": f"{truth}, epsilon {level}, {word}", "series": kind, "value": mean[kind, truth, level, method]}
        for level in levels
        for truth in TRUTHS
        for method, word in (("ibu", "5000 steps"), ("auto", "auto"))
        for kind in KINDS
    ]
    lost = sum(not win for win in wins.values())
    title = (
        f"At equal privacy between any two values kRR beats the geometric mechanism in {lost} of {len(wins)} cells; "
        f"a window beats both at high privacy"
    )
    return plot.dots(
        rows,
        title,
        "100,000 reports; epsilon holds between any two of 0..100",
        x="Kantorovich distance (values)",
        log=True,
    )


STUDY = Study("equal-privacy", "The comparison at equal privacy", PAPER, "beyond figure 3", work, EXPECTED, 5, 0.5)
