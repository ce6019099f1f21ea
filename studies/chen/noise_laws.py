"""Figure 1: the three densities; and equations (6) to (10) as they are printed, which must sum to 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.noise import geometric, laplace, staircase
from discreet.present import plot
from discreet.present.views import View

from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER

ALPHA, STEP = 0.25, 0.5  # so gamma = 1/3; the paper gives the step of its figure, not its alpha
B = ALPHA**STEP
EXPECTED = {  # the integrals and sums by hand
    "total of (6)": (2 * math.log(2), 1e-6),
    "total of (7)": (25 / 9, 1e-9),
    "total of (8)": (1, 1e-6),
    "total of (8), gamma 1/2": (1.25, 1e-6),
    "total of (10)": (4.5, 1e-9),
    "best gamma": (1 / 3, 0.002),
    "geometric at 0": (1 / 3, 1e-12),
    "geometric / (step Laplace density)": (2 / (3 * math.log(2)), 1e-9),
}


def printed_staircase(x: Any, gamma: float) -> Any:
    """Equation (8) with (9), D = 1, and k = floor(|x|)."""
    k = np.floor(np.abs(x))
    return (1 - ALPHA) / (2 * math.sqrt(ALPHA)) * ALPHA ** (k + (np.abs(x) - k >= gamma))


def integral(density: Callable[[Any], Any], edges: Any = ()) -> float:
    """Over -60..60, where nothing is left, by Gauss-Legendre between the integers and the stairs' edges."""
    whole = np.arange(-60.0, 61.0)
    cuts = np.unique(np.concatenate([whole, *(np.concatenate([whole[60:] + g, -whole[60:] - g]) for g in edges)]))
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half, middle = np.diff(cuts) / 2, (cuts[1:] + cuts[:-1]) / 2
    return float((half[:, None] * weights * density(middle[:, None] + half[:, None] * nodes)).sum())


def work(setting: Setting) -> Found:
    epsilon, gamma = -math.log(ALPHA), math.sqrt(ALPHA) / (1 + math.sqrt(ALPHA))
    line, stairs = laplace(alpha="1/4"), staircase(alpha="1/4")
    grid: Any = geometric(alpha="1/4", sensitivity=2)  # in steps of 1/2
    places = np.arange(-400, 401)
    totals = {
        "(6)": integral(lambda x: epsilon / 2 * np.exp(-np.abs(x))),
        "(7)": float(((1 + ALPHA) / (1 - ALPHA) * ALPHA ** np.abs(places)).sum()),
        "(8)": integral(lambda x: printed_staircase(x, gamma), [gamma]),
        "(8), gamma 1/2": integral(lambda x: printed_staircase(x, 0.5), [0.5]),
        "(10)": float((STEP * (1 + B) / (1 - B) * B ** np.abs(places)).sum()),
    }
    right = {
        "Laplace": integral(line.density),
        "staircase": integral(stairs.density, [stairs.gamma]),
        "geometric": sum(float(grid.exact(k)) for k in range(-60, 61)),
    }
    x = np.linspace(-7.9, 7.9, 3001)
    same = float(np.max(np.abs(printed_staircase(x, gamma) / stairs.density(x) - 1)))
    losses = {g: staircase(alpha="1/4", gamma=str(g)).mean_absolute for g in np.round(np.arange(0.05, 1, 0.001), 3)}
    best = float(min(losses, key=lambda g: losses[g]))
    mass = float(grid.exact(0))
    ratios = [float(grid.exact(k)) / (STEP * float(line.density(STEP * k))) for k in range(9)]
    steps = [float(grid.exact(k) / grid.exact(k + 2)) for k in range(-9, 9)]
    moved = {
        name: float(np.max(np.abs(np.log(law.density(x[:, None] + np.array([1.0, -1.0])) / law.density(x[:, None])))))
        for name, law in {"Laplace": line, "staircase": stairs}.items()
    }
    claims = [
        Claim(
            "equation (6)",
            "Laplace: epsilon/(2D) e^(-|x|/D)",
            f"its integral is {totals['(6)']:.4f}, epsilon instead of 1 (a = 1/4), and its shape is that of epsilon 1; with "
            f"e^(-epsilon |x|/D), as in (21) of the paper, it is {right['Laplace']:.6f}",
            verdict([abs(totals["(6)"] - 1) < 1e-6]),
            quote="Laplacian: p(x|ε, Δ) = ε/(2Δ) e^(-|x|/Δ), ∀x ∈ R (6)",
            refuted_if="its integral were 1",
        ),
        Claim(
            "equation (7)",
            "geometric: (1+a)/(1-a) a^|x|",
            f"its sum is {totals['(7)']:.4f} = ((1+a)/(1-a))^2; (1-a)/(1+a) is right",
            verdict([abs(totals["(7)"] - 1) < 1e-6]),
            quote="Geometric: p(x|α) = (1+α)/(1-α) α^|x|, ∀x ∈ Z (7)",
            refuted_if="its sum were 1",
        ),
        Claim(
            "equation (8)",
            "staircase: the constant (1-a)/(2D sqrt a), with the gamma that the paper sets",
            f"right (integral {totals['(8)']:.6f}); for another gamma it would be (1-a)/(2D (gamma + a (1-gamma))): with the "
            f"printed one the integral at gamma 1/2 is {totals['(8), gamma 1/2']:.4f}",
            verdict([abs(totals["(8)"] - 1) < 1e-6]),
            quote=(
                "Staircase: p_γ(x|ε, Δ) = (1-α)/(2Δ√α) e^(-ε(k+[x]_γ)) ... 0 <= γ <= 1 controls the shape of the "
                "staircase and is set to √α/(1+√α)"
            ),
            refuted_if="its integral were not 1 at the gamma that the paper sets",
        ),
        Claim(
            "equation (9)",
            "stairs by [x] = 0 or 1 for |x| from kD and from (k + gamma)D",
            f"the density is the staircase mechanism's, to {same:.0e} of it",
            verdict([same < 1e-9]),
            quote="[x]_γ = 0, |x| ∈ [kΔ, (k+γ)Δ); 1, |x| ∈ [(k+γ)Δ, (k+1)Δ), where k ∈ Z (9)",
            refuted_if=(
                "the density by (8) and (9) differed from the staircase mechanism's. As |x| is never negative, "
                "neither is k"
            ),
        ),
        Claim(
            "section 2.5",
            "gamma = sqrt(a)/(1 + sqrt(a)) has the least mean |noise|",
            f"{gamma:.4f} for a = 1/4; of {len(losses)} values from 0.05 to 0.999 the best is {best:.3f}",
            verdict([abs(best - gamma) <= 0.001]),
            quote=(
                "is set to √α/(1+√α) in the one-dimensional case, in order to minimize the expectation of the noise "
                "amplitude"
            ),
            refuted_if="another gamma had a smaller mean |noise|",
        ),
        Claim(
            "equation (10)",
            "geometric on a grid of step d: d (1+B)/(1-B) a^(|x|/D), B = a^(d/D)",
            f"its sum is {totals['(10)']:.4f} = d ((1+B)/(1-B))^2 at d = 1/2; (1-B)/(1+B) is right, without a factor d",
            verdict([abs(totals["(10)"] - 1) < 1e-6]),
            quote="Geometric: p(x|α, Δ, d) = d (1+α^(d/Δ))/(1-α^(d/Δ)) α^(|x|/Δ) (10)",
            refuted_if="its sum were 1",
        ),
        Claim(
            "section 2.5",
            "the three keep epsilon (as corrected)",
            f"densities one sensitivity apart differ by e^{moved['Laplace']:.4f} (Laplace) and e^{moved['staircase']:.4f} "
            f"(staircase) at most, masses by {max(*steps, *(1 / s for s in steps)):.4f} = 1/a",
            verdict([abs(x) <= epsilon + 1e-9 for x in (*moved.values(), *map(math.log, steps))]),
            refuted_if="a ratio one sensitivity apart were above e^epsilon",
            ours=True,
        ),
    ]
    values = {f"total of {name}": total for name, total in totals.items()} | {
        "best gamma": best,
        "geometric at 0": mass,
        "geometric / (step Laplace density)": ratios[0],
    }
    rows = [
        {
            "noise": STEP * k,
            "Laplace density": float(line.density(STEP * k)),
            "staircase density": float(stairs.density(STEP * k)),
            "geometric probability": float(grid.exact(k)),
        }
        for k in range(9)
    ]
    return Found(
        claims,
        [View.of("the three laws at a = 1/4, D = 1, d = 1/2", rows)],
        [Picture("noise-laws", lambda: _draw(line, stairs, grid))],
        values,
        [
            "The paper does not say which alpha its figure has; here it is 1/4.",
            "Figure 1 has a resolution of 0.5, where the paper calls the probability mass one-half of the density. We take that as "
            "a convention of the drawing, not as a claim: masses are drawn divided by 0.5. Of Laplace's density the mass is "
            f"{ratios[0] / 2:.3f} at every point of the grid.",
        ],
    )


def _draw(line: Any, stairs: Any, grid: Any) -> Any:
    edges = np.add.outer(np.arange(4) + stairs.gamma, [-1e-6, 1e-6]).ravel()  # so that jumps are upright
    x = np.unique(np.concatenate([np.linspace(-4, 4, 801), edges, -edges]))
    cell = np.round(x / STEP)
    heights = {float(k): float(grid.exact(int(k))) / STEP for k in np.unique(np.abs(cell))}
    series = {
        "Laplace": (x, line.density(x)),
        "staircase": (x, stairs.density(x)),
        "geometric (probability / 0.5)": (x, [heights[abs(float(k))] for k in cell]),
    }
    first = plot.curves(series, "On a plain scale", x="noise (sensitivities)", y="density", points=False, width=340)
    second = plot.curves(
        series,
        "On a log scale",
        x="noise (sensitivities)",
        y="density",
        points=False,
        log_y=True,
        width=340,
        legend=False,
    )
    return plot.beside(
        first,
        second,
        title="The three laws fall by the same factor, 1/a, in one sensitivity; the staircase does it in one jump",
        subtitle="Figure 1 as corrected: a = 1/4, geometric noise in steps of 0.5",
    )


STUDY = Study(
    "noise-laws", "The three noise laws, and their equations", PAPER, "figure 1, (6) to (10)", work, EXPECTED, 1
)
