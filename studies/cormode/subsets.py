"""All 127 sets of properties: how many different optima are there, and which set has which?"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

from discreet.channels.properties import LETTERS
from discreet.present import plot
from discreet.present.views import View

from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER
from .mechanisms import best_rescaled

EXPECTED = {
    "different values": (4, 0),
    "sets like EM": (64, 0),
    "sets like WM, CM": (48, 0),
    "sets like WM": (8, 0),
    "sets like GM": (7, 0),
    "value EM": (0.967195, 1e-6),
    "value WM, CM": (0.965432, 1e-6),
    "value WM": (0.964198, 1e-6),
    "value GM": (0.947368, 1e-6),
    "sets against the rule": (0, 0),
}
CLASSES = ("GM", "WM", "WM, CM", "EM")
_SAME = 1e-7


def subsets() -> Iterator[frozenset[str]]:
    """Every set of at least one of the seven properties."""
    for size in range(1, 8):
        yield from map(frozenset, combinations(LETTERS, size))


def like(letters: frozenset[str]) -> str:
    """Whose score the best mechanism with these properties has, by the rule."""
    return "EM" if "F" in letters else "WM, CM" if letters & {"CH", "CM"} else "WM" if "WH" in letters else "GM"


def work(setting: Setting) -> Found:
    cells = [(4, Fraction(9, 10))]
    cells += (
        []
        if setting.quick
        else [
            (3, Fraction(4, 5)),
            (5, Fraction(7, 10)),
            (7, Fraction(31, 50)),
            (8, Fraction(9, 10)),
            (4, Fraction(1, 2)),
        ]
    )
    tables, against, different = [], 0, []
    first: dict[str, float] = {}
    for k, (n, alpha) in enumerate(cells):
        found = {}
        for j, letters in enumerate(subsets()):
            setting.tell("127 sets of properties", (k + j / 127) / len(cells))
            found[letters] = best_rescaled(n, alpha, *letters)
        pattern = {
            name: best_rescaled(n, alpha, *need)
            for name, need in (("GM", ()), ("WM", ("WH",)), ("WM, CM", ("CM",)), ("EM", ("F",)))
        }
        wrong = sum(abs(value - pattern[like(letters)]) > _SAME for letters, value in found.items())
        against += wrong
        kinds = _kinds(sorted(found.values()))
        different.append(len(kinds))
        counts = {name: sum(like(letters) == name for letters in found) for name in CLASSES}
        if not first:
            first = (
                {"different values": len(kinds)}
                | {f"sets like {c}": counts[c] for c in CLASSES}
                | {f"value {c}": pattern[c] for c in CLASSES}
            )
        tables.append(
            {
                "n": n,
                "alpha": str(alpha),
                "different values": len(kinds),
                "against the rule": wrong,
                **{f"L0 {c}": pattern[c] for c in CLASSES},
            }
        )
    rule = (
        "with F: EM's (64 sets); else with CH or CM: WM's, column monotone (48); else with WH: WM's (8); else GM's (7)"
    )
    claims = [
        Claim(
            "finding optimal mechanisms",
            "of 127 possibilities, only few distinct outcomes",
            f"{' or '.join(map(str, sorted(set(different))))} different scores at (n, alpha) = "
            f"{', '.join(f'({n}, {a})' for n, a in cells)}: {rule}",
            verdict([d <= 4 for d in different]),
            quote="Patterns emerge: of 127 possibilities, only few distinct outcomes",
            refuted_if="the 127 optima had more than four different scores",
        ),
        Claim(
            "summary of mechanisms",
            "GM, EM and two variants of WM are the outcomes, by their scores",
            f"{against} of {127 * len(cells)} optima are against this rule",
            verdict([against == 0]),
            quote=(
                "Fair Mechanism (EM) and Geometric Mechanism (GM) have explicit forms ... Two Weak Mechanism variants"
                " (WM) found by solving LPs"
            ),
            refuted_if="one of the 127 optima had a score that is none of these four's, or another's than the rule says",
        ),
        Claim(
            "mechanism properties",
            "symmetry is achievable with no loss",
            "adding S (or RM, or RH) changes no score, in all of them",
            verdict([against == 0]),
            quote="Symmetry is achievable with no loss of objective function",
            refuted_if="adding S to a set of properties raised its score",
        ),
    ]
    return Found(
        claims,
        [View.of("the least rescaled L0 over all sets of properties", tables)],
        [Picture("subsets", lambda: _draw(first))],
        first | {"sets against the rule": against},
    )


def _kinds(values: list[float]) -> list[float]:
    kinds: list[float] = []
    for value in values:
        if not kinds or value - kinds[-1] > _SAME:
            kinds.append(value)
    return kinds


def _draw(first: dict[str, float]) -> object:
    told = {
        "GM": "only RH, RM, S",
        "WM": "WH, perhaps RH, RM, S",
        "WM, CM": "CH or CM, no F",
        "EM": "F and anything else",
    }
    rows = [
        {"name": f"{told[c]}: {first[f'sets like {c}']:.0f} sets", "series": c, "value": first[f"value {c}"]}
        for c in CLASSES
    ]
    return plot.dots(
        rows,
        "127 sets of properties have four scores",
        "n = 4, alpha = 0.9",
        x="least L0 (rescaled: guessing has 1)",
        zero=False,
    )


STUDY = Study(
    "subsets", "The optima of all 127 sets of properties", PAPER, "finding optimal mechanisms", work, EXPECTED, 6
)
