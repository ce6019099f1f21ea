"""The open question of the last slide: what are the optima for L1 and L2?

Without properties they are known: by Ghosh, Roughgarden and Sundararajan (2009) the geometric mechanism followed by the best
remap is optimal. For a uniform truth this gives a closed form of what is never reported. The remap rises with the report, so
the least value it reports is the one for the report 0, whose posterior is proportional to a^i, i = 0..n. For L1 that is its
median: the least m with a^(m+1) <= (1 + a^(n+1))/2. For L2 it is the nearest integer to its mean,
a/(1-a) - (n+1) a^(n+1)/(1 - a^(n+1)). By symmetry nothing above n - m is reported either; where m = n/2 the best mechanism
answers n/2 whatever the truth. (At a tie there are several optima.) With properties there are closed forms in parts of the
plane of n and alpha (closed_forms.py, proved in docs/theory/optima.md); elsewhere the optima are tabulated.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from discreet import design, theory
from discreet.channels.properties import LETTERS
from discreet.present import plot
from discreet.present.views import View

from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER
from .closed_forms import closed_form
from .subsets import subsets

KINDS: dict[str, tuple[str, ...]] = {
    "none": (),
    "RH": ("RH",),
    "RM": ("RM",),
    "WH": ("WH",),
    "CH": ("CH",),
    "CM": ("CM",),
    "F": ("F",),
    "all seven": LETTERS,
}
FORMS = KINDS | {"RM WH": ("RM", "WH"), "F RH": ("F", "RH")}  # one set of each kind that the theorems tell apart
EXPECTED = {  # the mean loss at n = 4, alpha = 9/10
    "l1 none": (1.2, 1e-9),
    "l1 WH": (1.417, 6e-4),
    "l1 CM": (1.456, 6e-4),
    "l1 F": (1.446, 6e-4),
    "l1 all seven": (1.461, 6e-4),
    "l2 none": (2.0, 1e-9),
    "l2 WH": (3.247, 6e-4),
    "l2 CM": (3.444, 6e-4),
    "l2 F": (3.411, 6e-4),
    "l2 all seven": (3.465, 6e-4),
    "closed forms that fail": (0, 0),
    "closed forms with properties that fail": (0, 0),
    "sets with a closed form, l1": (128, 0),
    "sets with a closed form, l2": (128, 0),
    "different closed forms, l1": (2, 0),
    "different closed forms, l2": (5, 0),
    "price of S": (0, 1e-7),
    "cells beaten by guessing the middle": (0, 0),
}
_SAME = 1e-7
_EXACT = 8  # the largest n whose optima are computed as fractions


def least_reported(n: int, alpha: Fraction, loss: str) -> int:
    """The closed form: the least value that the best mechanism without properties reports, for a uniform truth."""
    a = alpha
    if loss == "l1":
        m = 0
        while 2 * a ** (m + 1) > 1 + a ** (n + 1):
            m += 1
        return m
    mean = a / (1 - a) - (n + 1) * a ** (n + 1) / (1 - a ** (n + 1))
    return round(mean)


def is_tie(n: int, alpha: Fraction, loss: str) -> bool:
    """Does the report 0 leave two values that are equally good?"""
    a, m = alpha, least_reported(n, alpha, loss)
    if loss == "l1":
        return 2 * a ** (m + 1) == 1 + a ** (n + 1)
    mean = a / (1 - a) - (n + 1) * a ** (n + 1) / (1 - a ** (n + 1))
    return (2 * mean).denominator == 1 and (2 * mean).numerator % 2 == 1


def work(setting: Setting) -> Found:
    alphas = [Fraction(text) for text in ("1/2 9/10" if setting.quick else "1/2 31/50 3/4 9/10 97/100").split()]
    sizes = [4, 7, 30] if setting.quick else [4, 7, 10, 20, 35, 50, 70, 100]
    checked, failed = _closed_forms(range(2, 13) if setting.quick else range(2, 61), alphas)
    forms = _with_properties(setting)
    covered = {loss: _over_all_sets(loss) for loss in ("l1", "l2")}
    table = _over_sizes(setting, sizes, alphas)
    prices, different = _over_subsets(setting, [4] if setting.quick else [4, 7])
    cell = {row["loss"]: row for row in table if (row["n"], row["alpha"]) == (4, "9/10")}
    values = {f"{loss} {kind}": float(cell[loss][kind]) for loss in ("l1", "l2") for kind in KINDS}
    beaten = [row for row in table if row["none"] > row["always n/2"] + _SAME]
    collapsed = [row for row in table if abs(row["none"] - row["always n/2"]) < _SAME]
    dearest = {
        loss: max((p for p in prices if p["loss"] == loss), key=lambda p: float(p["largest price"]))
        for loss in ("l1", "l2")
    }
    free = sorted(
        {str(p["property"]) for p in prices} - {str(p["property"]) for p in prices if float(p["largest price"]) > _SAME}
    )
    same = all(abs(row["CH"] - row["CM"]) < _SAME * row["CM"] for row in table)
    price = {
        (loss, str(alpha)): [
            row["all seven"] / row["none"] - 1 for row in table if (row["loss"], row["alpha"]) == (loss, str(alpha))
        ]
        for loss in ("l1", "l2")
        for alpha in alphas
    }
    claims = [
        Claim(
            "summary, posed as a question",
            "there are closed forms for L1 and L2",
            "without properties there is one, with a proof: for a uniform truth nothing below m or above n - m is reported, "
            f"m from the posterior of report 0; {checked} designs agree, {failed} do not. With properties five theorems "
            "(docs/theory/optima.md) give closed forms in parts of the plane of n and alpha: they apply in "
            f"{sum(row['closed form'] for row in forms)} of {sum(row['cells'] for row in forms)} cells that were tried, "
            f"and fail in {sum(row['fails'] for row in forms)} (compared as fractions up to n = {_EXACT}, above within "
            f"the certified gap). At n = 4, alpha = 2/5 all {covered['l1'][0] - 1} sets have one, with {covered['l1'][1]} "
            f"different values for L1 and {covered['l2'][1]} for L2. Elsewhere the optima are tabulated; the ones "
            f"for CH and for CM cost the same in {'every cell' if same else 'not every cell'}",
            "holds in part" if failed + sum(row["fails"] for row in forms) == 0 else "does not hold",
            quote="Find closed form solutions for other objective functions (L1, L2)",
            refuted_if="a design reported a value outside m..n-m, or left out m, or the optimum under properties was not "
            "the closed form where a theorem applies",
            ours=True,  # the slide asks a question
        ),
        Claim(
            "beyond the paper",
            "at high privacy the best mechanism for L1 or L2 ignores the data",
            f"in {len(collapsed)} of {len(table)} cells the optimum is to answer n/2 whatever the truth; "
            "m grows like ln 2/epsilon (L1) and 1/epsilon (L2) for large n",
            verdict([len(collapsed) > 0]),
            refuted_if="the optimum had a smaller loss than the answer n/2 in every cell",
            ours=True,
        ),
        Claim(
            "mechanism properties",
            "symmetry is achievable with no loss",
            f"free over all 127 sets for L1 and L2: {', '.join(free) or 'none'}",
            verdict(["S" in free]),
            quote="Symmetry is achievable with no loss of objective function",
            refuted_if="adding S raised the least L1 or L2 loss of one of the 64 sets without it",
        ),
        Claim(
            "beyond the paper",
            "for L1 and L2 the properties leave only few distinct outcomes, as they do for L0",
            "different values over 127 sets: "
            + ", ".join(f"{count} ({loss}, n = {n})" for (loss, n), count in different.items())
            + f"; the dearest single property is {dearest['l1']['property']} (L1) and {dearest['l2']['property']} (L2)",
            verdict([count <= 4 for count in different.values()]),
            refuted_if="the 127 optima had at most four different values",
            ours=True,
        ),
        Claim(
            "beyond the paper",
            "the price of all seven properties falls once n is large enough",
            f"at n = {max(sizes)} against the dearest n that was tried: "
            + "; ".join(
                f"{loss.upper()}, alpha = {alpha}: {found[-1]:.1%} against {max(found):.1%}"
                for (loss, alpha), found in price.items()
            ),
            verdict([found[-1] < max(found) / 2 for found in price.values()]),
            refuted_if="at one alpha the price at the largest n were not below half of its largest value over n",
            ours=True,
        ),
        Claim(
            "summary, the last slide",
            "the constraints can be read as regularization",
            "no more than that each costs accuracy: by how much is in the last table. As a penalty, or with a prior on "
            "mechanisms, they were not tried",
            "not covered",
            "Interpret constraints as regularization",
        ),
        Claim(
            "summary, the last slide",
            "constrained mechanisms for structured and unstructured data",
            "discreet publishes counts, sums, means and shares of tables. Constraints such as these are there for counts "
            "alone; for graphs, movement patterns, text, images and video there is nothing",
            "not covered",
            "Structured data: other statistics, graphs, movement patterns ... Unstructured data: text, images, video?",
        ),
    ]
    values |= {"closed forms that fail": failed, "cells beaten by guessing the middle": len(beaten)}
    values["closed forms with properties that fail"] = sum(row["fails"] for row in forms)
    for loss, (sets, outcomes) in covered.items():
        values[f"sets with a closed form, {loss}"] = sets
        values[f"different closed forms, {loss}"] = outcomes
    values["price of S"] = max(float(p["largest price"]) for p in prices if p["property"] == "S")
    tables = [
        View.of(
            "the least mean loss at a uniform truth; m: the least value that the optimum without properties reports",
            table,
        ),
        View.of("closed forms with properties: cells tried, where a theorem applies, where it fails", forms),
        View.of("what a property costs at most, added to any set of the others (relative)", prices),
    ]
    return Found(claims, tables, [Picture("optima", lambda: _draw(table))], values)


def _closed_forms(sizes: Any, alphas: list[Fraction]) -> tuple[int, int]:
    """How many designs were compared with the closed form of what they report, and how many disagree."""
    checked = failed = 0
    for n in sizes:
        for alpha in alphas:
            for loss in ("l1", "l2"):
                m = least_reported(n, alpha, loss)
                if is_tie(n, alpha, loss):
                    continue
                used = np.flatnonzero(design(n, alpha=alpha, loss=loss).mechanism.matrix.max(axis=0) > 1e-12)
                checked += 1
                failed += (int(used[0]), int(used[-1])) != (min(m, n - m), max(m, n - m))
    return checked, failed


def _with_properties(setting: Setting) -> list[dict[str, Any]]:
    """For each loss and kind of set: how many cells were tried, in how many a theorem applies, and in how many it fails."""
    sizes = [3, 4, 5] if setting.quick else [*range(3, 13), 20, 35, 50]
    levels = "1/3 1/2 11/20 9/10" if setting.quick else "1/10 1/3 2/5 1/2 11/20 31/50 3/4 9/10 97/100"
    rows = []
    for loss in ("l1", "l2"):
        for kind, letters in FORMS.items():
            setting.tell(f"closed forms, {loss}, {kind}")
            cells = [(n, Fraction(level)) for n in sizes for level in levels.split()]
            forms = {cell: closed_form(*cell, int(loss[1]), set(letters)) for cell in cells}
            fails = sum(
                form is not None and not _is_optimum(form, *cell, loss, letters) for cell, form in forms.items()
            )
            applies = sum(form is not None for form in forms.values())
            rows.append({"loss": loss, "properties": kind, "cells": len(cells), "closed form": applies, "fails": fails})
    return rows


def _over_all_sets(loss: str, n: int = 4, level: str = "2/5") -> tuple[int, int]:
    """How many of the 128 sets (one is empty) have a closed form that is the optimum, and how many values these have."""
    sets = [frozenset[str](), *subsets()]
    forms = {letters: closed_form(n, Fraction(level), int(loss[1]), letters) for letters in sets}
    right = [form for letters, form in forms.items() if form is not None and _is_optimum(form, n, level, loss, letters)]
    return len(right), len(set(right))


def _is_optimum(form: Fraction, n: int, level: Fraction | str, loss: str, letters: Iterable[str]) -> bool:
    """Is a closed form the least loss: as a fraction where that is computed, else within the gap of the certificate?"""
    best = design(n, alpha=level, loss=loss, require=set(letters))
    if n <= _EXACT:
        return form == theory.uniqueness(best).optimum
    return best.certificate is not None and best.certificate.bound <= form <= best.certificate.objective


def _over_sizes(setting: Setting, sizes: list[int], alphas: list[Fraction]) -> list[dict[str, Any]]:
    rows = []
    for k, n in enumerate(sizes):
        for alpha in alphas:
            for loss in ("l1", "l2"):
                setting.tell("optima against n", k / len(sizes))
                best = {
                    kind: design(n, alpha=alpha, loss=loss, require=set(letters)).objective
                    for kind, letters in KINDS.items()
                }
                power = int(loss[1])
                constant = float(np.mean(np.abs(np.arange(n + 1) - n // 2) ** power))
                rows.append(
                    {
                        "loss": loss,
                        "n": n,
                        "alpha": str(alpha),
                        "m": least_reported(n, alpha, loss),
                        **best,
                        "always n/2": constant,
                    }
                )
    return rows


def _over_subsets(setting: Setting, sizes: list[int]) -> tuple[list[dict[str, Any]], dict[tuple[str, int], int]]:
    prices, different = [], {}
    for loss in ("l1", "l2"):
        for n in sizes:
            setting.tell(f"127 sets of properties, {loss}, n = {n}")
            best = {
                letters: design(n, alpha="9/10", loss=loss, require=letters).objective
                for letters in [frozenset(), *subsets()]
            }
            values = sorted(best.values())
            different[loss, n] = 1 + sum(b - a > _SAME * b for a, b in pairwise(values))
            for letter in LETTERS:
                price = {s: best[s | {letter}] / best[s] - 1 for s in best if letter not in s}
                free = sum(p < _SAME for p in price.values())
                prices.append(
                    {
                        "loss": loss,
                        "n": n,
                        "alpha": "9/10",
                        "property": letter,
                        "largest price": max(price.values()),
                        "free in sets": f"{free} of 64",
                    }
                )
    return prices, different


def _draw(table: list[dict[str, Any]]) -> object:
    drawn = []
    for loss in ("l1", "l2"):
        rows = [row for row in table if row["loss"] == loss and row["alpha"] == "9/10"]
        series = {
            kind: ([r["n"] for r in rows], [r[kind] / r["none"] for r in rows])
            for kind in ("WH", "F", "CM", "RM", "all seven")
        }
        drawn.append(
            plot.curves(
                series,
                f"{loss.upper()}, alpha = 0.9",
                x="n",
                y="mean loss, times the least without properties",
                width=360,
            )
        )
    return plot.beside(
        *drawn,
        title="Properties are dear in small groups and cheap in large ones; row monotonicity is free at n = 4 and "
        "dearest in between",
    )


STUDY = Study("optima", "The optima for L1 and L2, an open question of the slides", PAPER, "summary", work, EXPECTED, 8)
