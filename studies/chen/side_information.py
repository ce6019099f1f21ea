"""Figure 3 with side information: the two-stage heuristic against the staircase, and both against what is possible."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from discreet import Grid, design, expected_loss
from discreet.present import plot
from discreet.present.views import View
from discreet.queries import tradeoff
from discreet.queries.curves import ALPHAS, Point

from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER

D = 10
ANSWERS = Grid(-10, 10, "1/2")
PRIORS = {"mean": "normal(0, 1)", "max": "maximum(100)"}
DRAWN = ("laplace", "staircase", "two-stage, open")  # as in the paper: reports may leave the range
NAMES = (*DRAWN, "staircase, kept", "two-stage", "optimum", "no data")
WORDS = {
    "laplace": "Laplace",
    "two-stage, open": "heuristic",
    "staircase, kept": "staircase, clamped",
    "two-stage": "heuristic, clamped",
    "no data": "best guess without data",
}
CENTRES = (0, 1, 2)  # of the mean's prior, which the paper knows to be in -2..2; by symmetry the other half is alike
EXPECTED = {  # losses / 10: sums written out on their own, the optimum by a general solver of linear programs
    "mean, two-stage, open at 1/20": (0.17168260, 1e-7),
    "max, two-stage, open at 1/20": (0.11417603, 1e-7),
    "mean, two-stage at 1/20": (0.16667002, 1e-7),
    "max, two-stage at 1/20": (0.06392541, 1e-7),
    "mean, no data": (0.07895114, 1e-7),
    "max, no data": (0.01539124, 1e-7),
    "mean, optimum at 1/4": (0.06217667, 1e-7),
    "max, optimum at 1/4": (0.01117841, 1e-7),
    "N(2, 1), two-stage, open at 1/20": (0.28257863, 1e-7),
}

Key = tuple[str, str, Fraction]


def losses(
    prior: str, names: Sequence[str], alphas: Sequence[Fraction], draws: int = 0
) -> dict[tuple[str, Fraction], Point]:
    how: Any = "all" if draws else "closed"
    found = tradeoff(
        ANSWERS, sensitivity=D, prior=prior, alphas=alphas, mechanisms=names, how=how, draws=draws or 2, seed=5
    )
    return {(p.mechanism, p.alpha): p for p in found.points}


def work(setting: Setting) -> Found:
    alphas = [Fraction(k, 20) for k in (1, 5, 9, 15)] if setting.quick else list(ALPHAS)
    draws = 10**5 if setting.quick else 10**6
    loss: dict[Key, float] = {}
    drawn: dict[Key, Point] = {}
    for k, (query, prior) in enumerate(PRIORS.items()):
        setting.tell("drawing and designing", k / 3)
        drawn |= {(query, *key): p for key, p in losses(prior, DRAWN, alphas, draws).items()}
        loss |= {(query, *key): p.loss for key, p in losses(prior, NAMES, alphas).items()}
    setting.tell("for priors known in part", 2 / 3)
    low = [a for a in alphas if a < Fraction(1, 2)]
    moved = {
        (mu, name, a): p.loss
        for mu in CENTRES
        for (name, a), p in losses(f"normal({mu}, 1)", ("staircase", "two-stage, open"), alphas).items()
    }
    robust = _robust(alphas[:1] if setting.quick else low)
    gain = {(q, a): 1 - loss[q, "two-stage, open", a] / loss[q, "staircase", a] for q in PRIORS for a in alphas}
    clear = {(q, a): _below(drawn[q, "two-stage, open", a], drawn[q, "staircase", a]) for q in PRIORS for a in low}
    kept = {(q, a): loss[q, "two-stage", a] < loss[q, "staircase, kept", a] for q in PRIORS for a in alphas}
    lost = [a for a in alphas if not kept["mean", a]]
    over = {q: [loss[q, "two-stage", a] / loss[q, "optimum", a] for a in alphas] for q in PRIORS}
    useless = [loss[q, name, a] > loss[q, "no data", a] for q in PRIORS for name in NAMES[:5] for a in alphas]
    silent = {q: [a for a in alphas if loss[q, "optimum", a] > (1 - 1e-6) * loss[q, "no data", a]] for q in PRIORS}
    unknown = {mu: [moved[mu, "two-stage, open", a] < moved[mu, "staircase", a] for a in low] for mu in CENTRES}
    first, last = alphas[0], low[-1]
    claims = [
        Claim(
            "section 5.2.3",
            "for mean and maximum the heuristic is significantly better than the staircase at a < 0.5",
            "; ".join(
                f"{q}: by {gain[q, first]:.0%} at a = {float(first)}, {gain[q, last]:.0%} at {float(last)}"
                for q in PRIORS
            )
            + f"; the 95 % intervals of {draws:,} draws lie apart in {sum(clear.values())} of {len(clear)} cells",
            verdict([gain[key] > 0 and clear[key] for key in clear]),
        ),
        Claim(
            "section 5.2.3, observation 1",
            "it helps without knowing the actual prior, but only N(mu, s) with mu in -2..2",
            "; ".join(
                f"N({mu}, 1): better at {sum(cells)} of {len(cells)} levels below 0.5" for mu, cells in unknown.items()
            )
            + f"; for N(2, 1) at a = {float(first)} it has {moved[2, 'two-stage, open', first]:.3f}, "
            f"the staircase {moved[2, 'staircase', first]:.3f}",
            verdict([better for cells in unknown.values() for better in cells]),
        ),
        Claim(
            "section 6",
            "conjecture: with side information the heuristic betters staircase and Laplace for scalar queries",
            "with reports clamped to the range, which is public and costs nothing, on both sides: "
            + (f"for the mean not at a = {', '.join(str(float(a)) for a in lost)}; " if lost else "for the mean; ")
            + (
                "for the maximum at every a"
                if all(kept["max", a] for a in alphas)
                else "for the maximum not at every a"
            ),
            verdict(list(kept.values())),
        ),
        Claim(
            "section 5.2.3",
            "the heuristic is not optimal",
            "; ".join(f"{q}: {min(ratios):.0f} to {max(ratios):.0f} times the optimum" for q, ratios in over.items()),
            verdict([min(ratios) > 1.01 for ratios in over.values()]),
        ),
        Claim(
            "beyond the paper",
            "answering without a look at the data is better than each of them",
            f"in {sum(useless)} of {len(useless)} cells: 0 for the mean has {loss['mean', 'no data', first]:.3f}, 10 for the "
            f"maximum {loss['max', 'no data', first]:.3f}, at every a",
            verdict(useless),
        ),
        Claim(
            "R3 and section 5.2.3, observation 3",
            "open question: is there an optimal mechanism for the side information, in a single stage?",
            f"there is, with a certificate: at a = {float(first)} it has {loss['mean', 'optimum', first]:.3f} (mean) and "
            f"{loss['max', 'optimum', first]:.4f} (max); for any mixture of N(-2, 1), N(0, 1) and N(2, 1) "
            f"{robust[first][0]:.3f} at most. "
            + "; ".join(
                f"from a = {float(min(found))} the best for the {q} does not use the data"
                for q, found in silent.items()
                if found
            ),
            verdict(
                [loss[q, "optimum", a] <= loss[q, name, a] + 1e-9 for q in PRIORS for name in NAMES for a in alphas]
            ),
        ),
    ]
    quarter = Fraction(1, 4)
    values = {f"{q}, {name} at 1/20": loss[q, name, first] for q in PRIORS for name in ("two-stage, open", "two-stage")}
    values |= {f"{q}, optimum at 1/4": loss[q, "optimum", quarter] for q in PRIORS}
    values |= {f"{q}, no data": loss[q, "no data", first] for q in PRIORS}
    values["N(2, 1), two-stage, open at 1/20"] = moved[2, "two-stage, open", first]
    tables = [
        View.of(
            f"mean |error| / {D} for the {q}, prior {prior}",
            [{"alpha": float(a), **{WORDS.get(n, n): loss[q, n, a] for n in NAMES}} for a in alphas],
        )
        for q, prior in PRIORS.items()
    ]
    tables.append(
        View.of(
            f"drawn {draws:,} times, with half of a 95 % interval",
            [
                {
                    "query": q,
                    "mechanism": WORDS.get(n, n),
                    "alpha": float(a),
                    "sum": loss[q, n, a],
                    "drawn": p.drawn,
                    "within": p.within,
                }
                for (q, n, a), p in drawn.items()
            ],
        )
    )
    tables.append(
        View.of(
            "best against any mixture of N(-2, 1), N(0, 1) and N(2, 1), / 10",
            [{"alpha": float(a), "at most": worst, "under N(0, 1)": centre} for a, (worst, centre) in robust.items()],
        )
    )
    return Found(claims, tables, [Picture("side-information", lambda: _draw(loss, drawn, alphas, draws))], values)


def _robust(alphas: Sequence[Fraction]) -> dict[Fraction, tuple[float, float]]:
    """The least loss that can be promised for every mixture of three centres, and what is then lost at the middle one."""
    found = {}
    for a in alphas:
        best = design(ANSWERS, alpha=a, loss="l1", priors=[f"normal({mu}, 1)" for mu in (-2, 0, 2)], sensitivity=D)
        found[a] = best.objective / D, expected_loss(best.mechanism, "l1", "normal(0, 1)") / D
    return found


def _below(one: Point, other: Point) -> bool:
    """Do the intervals lie apart, the first below?"""
    return float(one.drawn or 0) + float(one.within or 0) < float(other.drawn or 0) - float(other.within or 0)


def _draw(loss: dict[Key, float], drawn: dict[Key, Point], alphas: Sequence[Fraction], draws: int) -> Any:
    shown = ("laplace", "staircase", "two-stage, open", "two-stage", "no data", "optimum")
    charts = []
    for query, prior in (("mean", "N(0, 1)"), ("max", "Beta(100, 1)")):
        bands = {}
        for name in DRAWN:
            ends = [(float(drawn[query, name, a].drawn or 0), float(drawn[query, name, a].within or 0)) for a in alphas]
            bands[WORDS.get(name, name)] = (alphas, [x - w for x, w in ends], [x + w for x, w in ends])
        charts.append(
            plot.curves(
                {WORDS.get(name, name): (alphas, [loss[query, name, a] for a in alphas]) for name in shown},
                f"{'Mean' if query == 'mean' else 'Maximum'}, prior {prior}",
                x="alpha (more private to the right)",
                y="mean |error| / sensitivity",
                log_y=True,
                bands=bands,
                width=350,
                height=340,
            )
        )
    return plot.beside(
        *charts,
        title="The heuristic beats the staircase, but a guess without the data beats both",
        subtitle=f"Figure 3 with side information, and the optimum: answers on -10..10, sensitivity 10; bands: {draws:,} draws",
    )


STUDY = Study(
    "side-information",
    "The heuristic with side information, and the optimum",
    PAPER,
    "figure 3, section 5.2",
    work,
    EXPECTED,
    4,
)
