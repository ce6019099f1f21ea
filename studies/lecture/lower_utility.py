"""Exercises 6 and 7: as private and less useful, and what post-processing does to utility."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import Mechanism, check_privacy, explicit_fair, geometric, randomized_response
from discreet.measure import best_remap
from discreet.present import plot
from discreet.present.views import View
from discreet.theory import user_utility

from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER

N, LEVEL = 10, "1/2"
GAINS = ("identity", "distance")
EM, KRR = "explicit fair", "randomised response"
OTHERS: dict[str, Callable[..., Mechanism]] = {EM: explicit_fair, KRR: randomized_response}
# n = 10, a = 1/2: traces of the mechanisms, their closed forms, over 11; kRR names the truth with 2/12
EXPECTED = {
    "geometric, identity": (13 / 33, 1e-12),
    "explicit fair, identity": (0.5 / (1.5 - 2 * 0.5**6), 1e-9),
    "randomised response, identity": (1 / 6, 1e-12),
    "even reports only, identity": (7 / 22, 1e-12),
    "always 0, identity": (1 / 11, 1e-12),
    "turned around, identity": (13 / 33, 1e-12),
    "post-processings that gain": (0, 0),
}


def work(setting: Setting) -> Found:
    g = geometric(N, alpha=LEVEL)
    named = {
        "geometric": g,
        **{name: make(N, alpha=LEVEL) for name, make in OTHERS.items()},
        "even reports only": g.remap(lambda z: z - z % 2),
        "always 0": g.remap(lambda z: 0),
        "turned around": g.remap(lambda z: N - z),
    }
    utility = {(name, gain): _utility(m, gain) for name, m in named.items() for gain in GAINS}
    steps = [(i, i + 1) for i in range(N)]
    tight = {name: check_privacy(m, alpha=LEVEL, neighbours=steps).tight for name, m in named.items()}
    setting.tell("as private, less useful")
    cells = _cells((2, 4, 10) if setting.quick else range(2, 16))
    setting.tell("post-processing", 0.5)
    tried, gained, lost = _post_processed(40 if setting.quick else 500)
    noisy = geometric(N, alpha="9/10")
    chosen = noisy.remap(best_remap(noisy, "l1"))
    kept = _utility(chosen, "distance") == _utility(noisy, "distance")
    other = _utility(chosen, "identity"), _utility(noisy, "identity")
    ties = [
        f"n = {n}, a = {a}"
        for (name, n, a, gain), more in cells.items()
        if more == 0 and (name, gain) == (EM, "distance")
    ]
    claims = [
        Claim(
            "exercise 6, solved",
            "the explicit fair mechanism and randomised response have the same privacy and a lower utility",
            f"n = 10, alpha exactly {tight[EM]} and {tight[KRR]} between neighbours: {float(utility[EM, 'identity']):.4f} and "
            f"{float(utility[KRR, 'identity']):.4f} against {float(utility['geometric', 'identity']):.4f} for the right guess, "
            f"{float(utility[EM, 'distance']):.4f} and {float(utility[KRR, 'distance']):.4f} against "
            f"{float(utility['geometric', 'distance']):.4f} for the distance",
            verdict(
                [tight[name] == Fraction(LEVEL) for name in OTHERS]
                + [utility[name, gain] < utility["geometric", gain] for name in OTHERS for gain in GAINS]
            ),
            quote="Find a mechanism for the same counting query, with the same degree of privacy, but lower utility.",
            refuted_if="their exact level were another, or one utility were not lower",
            ours=True,
        ),
        Claim(
            "exercise 6, at other sizes and levels",
            "these two are always less useful",
            f"more in {sum(more > 0 for more in cells.values())} of {len(cells)} cells, less in "
            f"{sum(more < 0 for more in cells.values())}. They are as useful where nobody would follow a report, as for the "
            f"distance at {'; '.join(ties[:3])}",
            verdict([more < 0 for more in cells.values()]),
            quote="Find a mechanism for the same counting query, with the same degree of privacy, but lower utility.",
            refuted_if="they were less useful in every cell (then: holds), or in none (then: does not hold)",
            ours=True,
        ),
        Claim(
            "exercise 7, solved",
            "post-processing can decrease the utility",
            f"even reports only: {utility['even reports only', 'identity']} of {utility['geometric', 'identity']}; always 0: "
            f"{utility['always 0', 'identity']}; of {tried} random ones {lost} cost something",
            verdict([utility["even reports only", "identity"] < utility["geometric", "identity"], lost > 0]),
            quote=(
                "We saw that post-processing cannot decrease privacy. Can it decrease the utility? Motivate your "
                "answer."
            ),
            refuted_if="no post-processing that was tried lost anything",
            ours=True,
        ),
        Claim(
            "exercise 7, solved",
            "post-processing cannot increase it: the user could do the same",
            f"{gained} of {tried} random post-processings gain, for random priors, in fractions",
            verdict([gained == 0]),
            quote=(
                "We saw that post-processing cannot decrease privacy. Can it decrease the utility? Motivate your "
                "answer."
            ),
            refuted_if="one random post-processing raised the utility, in fractions",
            ours=True,
        ),
        Claim(
            "exercise 7, solved",
            "what the user can undo, or would do, costs that user nothing",
            f"reports turned around: {utility['turned around', 'identity']} as before; the best remap for the distance at "
            f"a = 9/10 keeps that utility, and takes another user from {float(other[1]):.4f} to {float(other[0]):.4f}",
            verdict([kept, *(utility["turned around", gain] == utility["geometric", gain] for gain in GAINS)]),
            quote=(
                "We saw that post-processing cannot decrease privacy. Can it decrease the utility? Motivate your "
                "answer."
            ),
            refuted_if="turning the reports around changed a utility, or the best remap that of its own user",
            ours=True,
        ),
    ]
    values = {f"{name}, identity": float(utility[name, "identity"]) for name in named}
    rows = [
        {
            "mechanism": name,
            "alpha": str(tight[name]),
            "right guess": float(utility[name, "identity"]),
            "distance": float(utility[name, "distance"]),
        }
        for name in named
    ]
    return Found(
        claims,
        [View.of(f"utilities at n = {N}, a = {LEVEL}, every count equally likely; alpha between neighbours", rows)],
        [Picture("lower-utility", lambda: _draw(utility))],
        values | {"post-processings that gain": gained},
    )


def _utility(m: Mechanism, gain: str) -> Fraction:
    return Fraction(user_utility(m, gain=gain, exact=True))


def _cells(sizes: Any) -> dict[tuple[str, int, Fraction, str], Fraction]:
    """How much more useful than the geometric mechanism another is, by mechanism, size, level and gain."""
    found = {}
    for n in sizes:
        for a in (Fraction(1, 5), Fraction(1, 2), Fraction(9, 10)):
            best = {gain: _utility(geometric(n, alpha=a), gain) for gain in GAINS}
            for name, make in OTHERS.items():
                for gain in GAINS:
                    found[name, n, a, gain] = _utility(make(n, alpha=a), gain) - best[gain]
    return found


def _post_processed(times: int) -> tuple[int, int, int]:
    """How many random post-processings were tried, how many gain for a random prior, and how many lose."""
    rng = np.random.default_rng(6)
    gained = lost = 0
    for _ in range(times):
        n, a = int(rng.integers(2, 9)), Fraction(int(rng.integers(1, 20)), 20)
        weights = rng.integers(0, 9, (n + 1, n + 1)) * (rng.random((n + 1, n + 1)) < 0.4) + np.eye(n + 1, dtype=int)
        g, law = geometric(n, alpha=a), [int(w) for w in rng.integers(0, 50, n + 1)]
        law[0] += 1
        prior = [Fraction(w, sum(law)) for w in law]
        rough: Any = [[Fraction(int(w), int(row.sum())) for w in row] for row in weights]
        after = g.remap(rough)
        for gain in GAINS:
            before, then = (Fraction(user_utility(m, gain, prior, exact=True)) for m in (g, after))
            gained += then > before
            lost += then < before
    return 2 * times, gained, lost


def _draw(utility: dict[tuple[str, str], Fraction]) -> object:
    words = {"identity": "right guess", "distance": "distance"}
    blind = {gain: float(utility["always 0", gain]) for gain in GAINS}
    rows = [
        {
            "name": name,
            "series": words[gain],
            "value": 100 * (float(value) - blind[gain]) / (float(utility["geometric", gain]) - blind[gain]),
        }
        for (name, gain), value in utility.items()
    ]
    return plot.dots(
        rows,
        "At the same level other mechanisms serve a user less, and so does post-processing that cannot be undone",
        "n = 10, a = 1/2, every count equally likely; 0 % is a guess without a report; where one mark shows, both are there",
        x="utility, % of what the geometric mechanism adds",
    )


STUDY = Study(
    "lower-utility", "As private and less useful, exercises 6 and 7", PAPER, "exercises 6 and 7", work, EXPECTED, 4
)
