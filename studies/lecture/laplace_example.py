"""The recall of Laplace noise: the example with answers 10 and 20, why Gaussian noise will not do, and sensitivity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.noise import gauss, laplace
from discreet.present import plot
from discreet.present.views import View
from discreet.queries import sensitivity

from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER

LOW, HIGH, GAP = 10.0, 20.0, 10  # the answers of two neighbouring databases, and the sensitivity; epsilon is 1
WIDTHS = (1e2, 1e3, 1e4, 1e5)  # sigma as the slide has it: e^(-(y-z)^2/sigma)
EXPECTED = {
    "density at the truth": (1 / 20, 1e-15),
    "ratio outside": (math.e, 1e-9),
    "ratio in the middle": (1, 1e-9),
    "mass within 10 ln 2, as printed": (1, 1e-6),  # e^(t/10) - 1 within t
    "sensitivity of the mean age, 100 people": (1.2, 0),
    "sensitivity of the mean age, one person": (120, 0),
}


def work(setting: Setting) -> Found:
    noise = laplace(epsilon=1, sensitivity=GAP)
    z = np.linspace(-30, 60, 361 if setting.quick else 36_001)
    first, second = noise.density(z - LOW), noise.density(z - HIGH)
    ratio = np.exp(np.abs(np.log(first / second)))
    outside = (z <= LOW) | (z >= HIGH)
    formula = np.exp(-np.abs(z - LOW) / GAP) / (2 * GAP)
    printed = _mass(lambda x: np.exp(np.abs(x - LOW) / GAP) / (2 * GAP))
    spread = {(e, d): laplace(epsilon=e, sensitivity=d) for e in ("1/2", 1, 2) for d in (5, 10, 20)}
    passed = {sigma: _passes(sigma) for sigma in WIDTHS}
    apart = float(np.abs(_bell_as_printed(z, 0.1) - _bell_as_printed(z, 5)).max())
    ages = {m: sensitivity("mean", records=m, low=0, high=120).global_sensitivity for m in (1, 100, 101, 1000)}
    claims = [
        Claim(
            "first slide on Laplace noise, and the example",
            "the density is c e^(-|z-y| epsilon/sensitivity) with c = epsilon/(2 sensitivity)",
            f"the library's law differs by at most {float(np.abs(first - formula).max()):.0e}; it gives "
            f"{float(noise.cdf(300) - noise.cdf(-300)):.6f} to 300 on either side of the truth",
            verdict(
                [bool(np.allclose(first, formula, rtol=1e-12)), float(noise.cdf(300) - noise.cdf(-300)) > 1 - 1e-12]
            ),
            quote=(
                "If the exact answer is y, the reported answer is z, with a probability density function defined as: "
                "dP_y(z) = c e^(-|z-y| ε / Δf) ... c = ε / (2 Δf)"
            ),
            refuted_if="the density differed from the library's, or did not integrate to 1",
        ),
        Claim(
            "example, epsilon 1, answers 10 and 20",
            "the ratio of the densities is e^epsilon outside [10, 20] and at most that inside",
            f"outside between {ratio[outside].min():.6f} and {ratio[outside].max():.6f}, inside from {ratio[~outside].min():.4f} "
            f"to {ratio[~outside].max():.4f}",
            verdict([bool(np.allclose(ratio[outside], math.e, rtol=1e-9)), bool(ratio[~outside].max() < math.e)]),
            quote=(
                "The ratio between these distributions is = e^ε outside the interval [y1, y2], <= e^ε inside the "
                "interval [y1, y2]"
            ),
            refuted_if="a ratio outside were not e^epsilon, or one inside were larger",
        ),
        Claim(
            "last slide of the example",
            "the text that we have lacks a minus there, e^(|z-10|/10)/20 for e^(-|z-10|/10)/20",
            f"without it the densities grow, and have a mass of 1 within 10 ln 2 = 6.93 of the truth already, of {printed(50):.0f} "
            "within 50. The four slides before have it: the conversion of the slides to text may have lost it, and we pass no "
            "judgement on the slide",
            verdict([printed(50) > 1]),
            quote="dP_y1 = 1/(2·10) e^(|z-10|/10), dP_y2 = 1/(2·10) e^(|z-20|/10)",
            refuted_if="the form without the minus had a mass of at most 1",
            ours=True,
        ),
        Claim(
            "Gaussian noise",
            "it satisfies differential privacy for no sigma",
            "the ratio passes e^epsilon "
            + ", ".join(
                f"{place:.0f} below the answer 10 at sigma {sigma:.0e}" for sigma, (place, _) in passed.items() if place
            )
            + ": (sigma - 100)/20 below, for every sigma",
            verdict([found for _, found in passed.values()]),
            quote="we can easily check that it does not satisfy DP for any value of σ",
            refuted_if="the ratio stayed below e^epsilon everywhere for some sigma",
        ),
        Claim(
            "Gaussian noise",
            "in the text that we have epsilon stands beside the exponential, and belongs into the exponent",
            f"as a factor it is undone by the constant c: at epsilon 1/10 and 5 the densities differ by {apart:.0e}. In the "
            "formula for Laplace noise it stands at the end of the exponent: the conversion of the slides to text may have moved "
            "it, and we pass no judgement on the slide",
            verdict([apart < 1e-6]),
            quote="In fact, the formula for gaussian noise would be c e^(-(y-z)²/σ) ε",
            refuted_if="the density with epsilon as a factor depended on epsilon",
            ours=True,
        ),
        Claim(
            "sensitivity of the query",
            "higher sensitivity and smaller epsilon make more uniform noise",
            "the density at the truth is epsilon/(2 sensitivity): "
            + ", ".join(
                f"{float(law.density(0.0)):.4g} at epsilon {e}, sensitivity {d}"
                for (e, d), law in spread.items()
                if (e, d) in ((2, 5), (1, 10), ("1/2", 20))
            ),
            verdict(_falls(spread)),
            quote="higher sensitivity ⇒ more uniform noise; smaller ε ⇒ more privacy, more uniform noise",
            refuted_if="the density at the truth rose with the sensitivity, or fell with epsilon",
        ),
        Claim(
            "average age of 0 to 120, solved",
            "with at least 100 records the sensitivity is 6/5, without restriction 120",
            "; ".join(f"{m} record{'s' if m > 1 else ''}: {s}" for m, s in ages.items())
            + " (one person changes; more people, less)",
            verdict([ages[1] == 120, str(ages[100]) == "6/5", ages[1000] < ages[101] < ages[100]]),
            quote=(
                "Assume that the age can vary from 0 to 120. Check the sensitivity in the following two cases: the DB"
                " contains at least 100 records, or there is no restriction."
            ),
            refuted_if="the sensitivity by definition were another, or grew with the number of records",
            ours=True,
        ),
    ]
    values = {
        "density at the truth": float(noise.density(0.0)),
        "ratio outside": float(ratio[0]),
        "ratio in the middle": float(noise.density(15 - LOW) / noise.density(15 - HIGH)),
        "mass within 10 ln 2, as printed": printed(10 * math.log(2)),
        "sensitivity of the mean age, 100 people": float(ages[100]),
        "sensitivity of the mean age, one person": float(ages[1]),
    }
    rows = [
        {
            "z": x,
            "density at 10": float(noise.density(x - LOW)),
            "density at 20": float(noise.density(x - HIGH)),
            "ratio": float(np.exp(abs(np.log(noise.density(x - LOW) / noise.density(x - HIGH))))),
        }
        for x in (-10.0, 0.0, 10.0, 12.5, 15.0, 17.5, 20.0, 30.0, 40.0)
    ]
    return Found(
        claims,
        [View.of("Laplace densities at the answers 10 and 20, epsilon 1", rows)],
        [Picture("laplace-example", _draw)],
        values,
    )


def _mass(density: Any) -> Any:
    """The mass within a distance of the answer 10, by Simpson's rule on either side."""
    from scipy.integrate import simpson

    def within(t: float) -> float:
        left, right = np.linspace(LOW - t, LOW, 2001), np.linspace(LOW, LOW + t, 2001)
        return float(simpson(density(left), x=left) + simpson(density(right), x=right))

    return within


def _bell_as_printed(z: Any, epsilon: float) -> Any:
    """The slide's Gaussian around 10, sigma 100, with the c that makes it a law on these points."""
    height = np.exp(-((LOW - z) ** 2) / 100) * epsilon
    return height / (height.sum() * (z[1] - z[0]))


def _passes(sigma: float) -> tuple[float, bool]:
    """How far below the answer 10 the Gaussian ratio passes e, and whether it is below before and above after."""
    law, place = gauss(math.sqrt(sigma / 2)), (sigma - GAP**2) / (2 * GAP)
    before, after = (
        float(law.density(x) / law.density(x + GAP)) for x in (max(place - 0.1, 0.0), place + 0.1)
    )  # distances from 10 and from 20
    return place, after > math.e and (before < math.e or place == 0)


def _falls(spread: dict[Any, Any]) -> list[bool]:
    top = {key: float(law.density(0.0)) for key, law in spread.items()}
    by_sensitivity = [top[e, 5] > top[e, 10] > top[e, 20] for e in ("1/2", 1, 2)]
    return by_sensitivity + [top["1/2", d] < top[1, d] < top[2, d] for d in (5, 10, 20)]


def _draw() -> object:
    z = np.linspace(-20, 50, 281)
    noise, bell = laplace(epsilon=1, sensitivity=GAP), gauss(math.sqrt(2) * GAP)  # of the same variance
    densities = {f"answer {y:.0f}": (z, noise.density(z - y)) for y in (LOW, HIGH)}
    logs = {
        name: (z, np.log(law.density(z - LOW) / law.density(z - HIGH)))
        for name, law in (("Laplace", noise), ("Gaussian, same variance", bell))
    }
    return plot.beside(
        plot.curves(
            densities,
            "The densities of the reports",
            x="report",
            y="density per unit",
            points=False,
            zero=True,
            width=330,
        ),
        plot.curves(
            logs,
            "What a report tells of 10 against 20",
            x="report",
            y="log of the ratio of densities",
            points=False,
            width=330,
        ),
        title="With Laplace noise no report tells more than epsilon = 1; with Gaussian noise a far one tells any amount",
    )


STUDY = Study(
    "laplace-example",
    "Laplace noise, Gaussian noise and sensitivity",
    PAPER,
    "recall of the Laplacian",
    work,
    EXPECTED,
    1,
)
