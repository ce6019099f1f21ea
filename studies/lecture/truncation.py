"""The geometric mechanism and its truncation to 0..100, post-processing, and exercises 1 to 3."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import Grid, Mechanism, check_privacy, geometric, laplace
from discreet.noise import GeometricNoise
from discreet.noise import laplace as laplace_noise
from discreet.present.views import View
from discreet.queries import sensitivity

from .. import pictures
from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER

N, A = 100, Fraction(9, 10)  # the interval of the slide, and a level
_A = 0.9
EXPECTED = {
    "constant": ((1 - _A) / (1 + _A), 1e-15),
    "report 0 at 10": (_A**10 / (1 + _A), 1e-15),
    "report 100 at 10": (_A**90 / (1 + _A), 1e-15),
    "entries that differ": (0, 0),
    "density of a percentage at the truth": (2.5, 1e-12),  # 5 epsilon
    "report 0 % at 0.3 %": (math.exp(-1.5) / 2, 1e-4),  # e^(-10 epsilon y)/2
    "largest epsilon after post-processing": (math.log(2), 1e-9),
}


def work(setting: Setting) -> Found:
    noise, whole, cut = GeometricNoise(A), geometric(Grid(None, None), alpha=A), geometric(N, alpha=A)
    total = sum((noise.exact(k) for k in range(-50, 51)), Fraction(0)) + 2 * noise.upper(51)
    constant = [GeometricNoise(a).exact(0) == (1 - a) / (1 + a) for a in (Fraction(1, 5), Fraction(1, 2), A)]
    weight = {top: sensitivity("max", records=30, low=0, high=top).global_sensitivity for top in (200, 300)}
    differ = _differ(cut, noise, range(0, N + 1, 10 if setting.quick else 1))
    levels = {name: check_privacy(m).tight for name, m in (("the geometric", whole), ("the truncated", cut))}
    after, same = _post_processed(60 if setting.quick else 1000)
    share = {m: Fraction(100, m) for m in (1000, 1001, 2000)}
    rich = laplace_noise(epsilon="1/2", sensitivity="1/10")
    percent = laplace(100, epsilon="1/2", sensitivity="1/10")
    y = 0.3
    atom = float(percent.finite().entry(percent.inputs.position(y), 0))
    half = sensitivity("median", records=1001, low=0, high=20_000).global_sensitivity
    groups = (1, 2, 5, 10)
    ten = geometric(10, alpha="1/2")
    reached = [check_privacy(ten, epsilon=f"{h} ln(2)", group=h).holds for h in groups]
    less = [check_privacy(ten, epsilon=f"{h - 0.001} ln(2)", group=h).holds for h in groups]
    claims = [
        Claim(
            "normalization constant",
            "c = (1-a)/(1+a), a = e^(-epsilon/sensitivity)",
            f"the probabilities sum to {total}, in fractions, at a = {A}; c is so at {len(constant)} levels",
            verdict([total == 1, *constant]),
            quote="It turns out that c = (1-α)/(1+α) where α = e^(-ε/Δf)",
            refuted_if="the probabilities did not sum to 1, in fractions",
        ),
        Claim(
            "examples: a count, and the largest weight; solved",
            "a count has sensitivity 1, so a = e^-epsilon; the largest weight that of its range",
            f"a count of 30 people: {sensitivity('count', records=30).global_sensitivity}; weights up to 200 kilos: {weight[200]}, "
            f"up to 300: {weight[300]}: then a = e^(-epsilon/300), and the noise is about 300/epsilon kilos",
            verdict(
                [sensitivity("count", records=30).global_sensitivity == 1, *(w == top for top, w in weight.items())]
            ),
            quote=(
                'Compute the geometric mechanism for the following queries: "How many diabetic people weight more '
                'than 100 kilos?", "What is the max weight (in kilos) of a diabetic person?"'
            ),
            refuted_if="a sensitivity by definition were another",
            ours=True,
        ),
        Claim(
            "truncated geometric mechanism",
            "what falls outside [0, 100] is transferred to the ends: Pr[0] = a^y/(1+a), Pr[100] = a^(100-y)/(1+a)",
            f"{differ} entries differ, in fractions; at y = 10 the end 0 has {float(cut.finite().entry(10, 0)):.4f}",
            verdict([differ == 0]),
            quote=(
                "The probability that would fall to the left of a is transferred into a, and probability that would "
                "fall to the right of b is transferred into b."
            ),
            refuted_if="an entry differed, in fractions",
        ),
        Claim(
            "truncation",
            "truncation does not decrease the level of privacy",
            "alpha is exactly " + ", ".join(f"{tight} for {name} mechanism" for name, tight in levels.items()),
            verdict([tight == A for tight in levels.values()]),
            quote="Because of the above theorem, truncation does not decrease the level of privacy.",
            refuted_if="the exact alpha after truncation were smaller",
        ),
        Claim(
            "theorem on post-processing",
            "post-processing does not harm privacy, be it deterministic or random",
            f"in {len(after)} random remaps of the geometric mechanism (n = 6, a = 1/2) the exact alpha is never below 1/2; "
            f"it stays 1/2 in {same}",
            verdict([min(after) >= Fraction(1, 2)]),
            quote=(
                "Theorem: Post processing does not harm privacy. Namely, if K is ε-differentially private, then also "
                "P∘K is ε-differentially private"
            ),
            refuted_if="the exact alpha after one random remap were smaller",
        ),
        Claim(
            "exercise 1, solved",
            "for a percentage of at least 1000 people the density is 5 epsilon e^(-10 epsilon |z-y|)",
            f"one person moves it by at most {max(share.values())}; at epsilon = 1/2 the density at the truth is "
            f"{float(rich.density(0.0)):.4f}",
            verdict([max(share.values()) == Fraction(1, 10), abs(float(rich.density(0.0)) - 2.5) < 1e-12]),
            quote=(
                'Define the noise density function for the Laplacian mechanism for the query "What is the percentile '
                'of the people in the DB who earn more than 10K Euro a month", assuming that the database contains at'
                " least 1000 elements."
            ),
            refuted_if="one person moved the percentage by another amount than 1/10",
            ours=True,
        ),
        Claim(
            "exercise 1",
            "it says percentile and means percentage",
            f"a percentage lies in [0, 100], as exercise 2 has it, and one of 1000 people moves it by {max(share.values())}; a "
            f"percentile is an income, and with incomes up to 20,000 the 50th one of 1001 people has sensitivity {half}",
            verdict([half != max(share.values())]),
            quote='"What is the percentile of the people in the DB who earn more than 10K Euro a month"',
            refuted_if="a percentile of the incomes had the sensitivity of the percentage",
            ours=True,  # how we read an exercise
        ),
        Claim(
            "exercise 2, solved",
            "truncated to [0, 100] it has the atoms e^(-10 epsilon y)/2 and e^(-10 epsilon (100-y))/2",
            f"at y = {y}, epsilon = 1/2: {atom:.5f} on a grid in steps of {percent.inputs.step} against "
            f"{math.exp(-1.5) / 2:.5f}; epsilon = 1/2 holds: {'yes' if check_privacy(percent) else 'no'}",
            verdict([abs(atom - math.exp(-1.5) / 2) < 1e-4, bool(check_privacy(percent))]),
            quote="Define the Laplacian truncated mechanism for the above query. Note that Y is the interval [0, 100].",
            refuted_if="the atom on a fine grid were another, or the level failed",
            ours=True,
        ),
        Claim(
            "exercise 3",
            "epsilon-privacy means a bound of e^(epsilon h) for databases that differ in h records",
            f"h ln 2 holds for groups of h = {', '.join(map(str, groups))} at a = 1/2, (h - 0.001) ln 2 for none",
            verdict([all(reached), not any(less)]),
            quote=(
                "K is ε-differentially private if for every pair of databases x1, x2 (not necessarily adjacent), and "
                "for every z, we have: p(Z = z | X = x1) <= e^(ε h(x1, x2)) p(Z = z | X = x2)"
            ),
            refuted_if="h epsilon failed for a group of h, or a little less held, so that the test could not tell",
        ),
    ]
    values = {
        "constant": float(noise.exact(0)),
        "report 0 at 10": float(cut.finite().entry(10, 0)),
        "report 100 at 10": float(cut.finite().entry(10, N)),
        "entries that differ": differ,
        "density of a percentage at the truth": float(rich.density(0.0)),
        "report 0 % at 0.3 %": atom,
        "largest epsilon after post-processing": -math.log(min(after)),
    }
    rows = [
        {
            "truth": i,
            "Pr[0]": float(cut.finite().entry(i, 0)),
            "Pr[truth]": float(cut.finite().entry(i, i)),
            "Pr[100]": float(cut.finite().entry(i, N)),
            "falls outside": float(noise.upper(i + 1) + noise.upper(N + 1 - i)),
        }
        for i in (0, 1, 5, 10, 25, 50, 90, 100)
    ]
    return Found(
        claims,
        [View.of(f"the geometric mechanism truncated to [0, 100], a = {A}", rows)],
        [Picture("truncation", lambda: _draw(cut, noise))],
        values,
    )


def _differ(cut: Mechanism, noise: GeometricNoise, truths: range) -> int:
    """Entries that are not what moving the tails to the ends makes of the noise."""
    wrong = 0
    for i in truths:
        moved = {j: noise.exact(j - i) for j in range(1, N)} | {0: noise.upper(i), N: noise.upper(N - i)}
        closed = {0: A**i / (1 + A), N: A ** (N - i) / (1 + A)}
        wrong += sum(cut.finite().entry(i, j) != p for j, p in (*moved.items(), *closed.items()))
    return wrong


def _post_processed(times: int) -> tuple[list[Fraction], int]:
    """The exact levels after random remaps, every other one deterministic; and how many have the level of before."""
    rng, g = np.random.default_rng(7), geometric(6, alpha="1/2")
    found = []
    for k in range(times):
        reports = int(rng.integers(2, 9))
        weights = rng.integers(0, 20, (7, reports)) + np.eye(7, reports, dtype=int)
        if k % 2:
            weights = np.eye(reports, dtype=int)[rng.integers(0, reports, 7)]
        weights[weights.sum(axis=1) == 0, 0] = 1
        remap: Any = [[Fraction(int(w), int(row.sum())) for w in row] for row in weights]
        found.append(check_privacy(g.remap(remap, outputs=reports - 1)).tight)
    return found, sum(x == Fraction(1, 2) for x in found)


def _draw(cut: Mechanism, noise: GeometricNoise) -> object:
    places, truth = range(-30, 61), 10
    open_ends = [float(noise.exact(z - truth)) for z in places]
    truncated = [float(cut.finite().entry(truth, z)) if z >= 0 else 0.0 for z in places]
    return pictures.laws(
        {"truncated": (places, truncated), "not truncated": (places, open_ends)},
        "Truncation moves what falls below 0 to 0, and costs no privacy",
        "The geometric mechanism on 0..100, a = 0.9, truth 10; reports up to 60",
        x="report",
        filled="truncated",
    )


STUDY = Study(
    "truncation", "Truncation, post-processing and exercises 1 to 3", PAPER, "truncated mechanisms", work, EXPECTED, 2
)
