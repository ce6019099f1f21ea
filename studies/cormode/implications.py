"""The slides' sentences on what follows from what: GM alone is best for L0, and properties that imply others.

An implication is refuted by a private mechanism that has the premises and breaks the rest most: a linear program, solved by SciPy.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from discreet import design
from discreet.present.views import View
from discreet.theory import uniqueness

from ..frame import Claim, Found, Setting, Study, verdict
from . import PAPER

IMPLIED = {"RM": ("RM", "RH"), "F and RH": ("F RH", "CH"), "CM": ("CM", "CH")}
QUOTES = {
    "RM": "Row Monotonicity implies Row Honesty",
    "F and RH": "Fairness and row honesty implies column honesty",
    "CM": "Row Monotonicity implies Row Honesty ... Column Honesty CH and Column Monotonicity CM, symmetrically",
}
PROOFS = {
    "RM": "Pr[i|j] falls with the distance from Pr[i|i]",
    "F and RH": "Pr[i|j] <= Pr[i|i] by RH, and Pr[i|i] = Pr[j|j] by F",
    "CM": "Pr[i|j] falls with the distance from Pr[j|j]",
}
NOT_IMPLIED = {"RH": ("RH", "CH"), "F": ("F", "CH"), "RH, RM": ("RH", "RM")}  # the controls
SAME = 1e-7
EXPECTED = {  # by the proofs; always answering 0 has RH, and breaks CH by 1
    "CH broken under RH alone, n = 3, a = 9/10": (1, SAME),
    "most that an implication is broken by": (0, SAME),
    "spread of the best mechanisms": (0, SAME),
}

Floats = NDArray[np.float64]


def rows_of(letters: str, n: int) -> Floats:
    """RH, CH, RM, CM and F as the slides have them: rows with row.x <= 0, where x[j (n+1) + i] is Pr[i|j]."""
    size = n + 1
    found: list[Floats] = []

    def less(small: tuple[int, int], large: tuple[int, int]) -> None:
        row = np.zeros(size * size)
        row[small[0] * size + small[1]] += 1
        row[large[0] * size + large[1]] -= 1
        found.append(row)

    for letter in letters.split():
        for i in range(size):
            for j in range(size):
                if letter == "RH" and i != j:
                    less((j, i), (i, i))
                elif letter == "CH" and i != j:
                    less((j, i), (j, j))
                elif letter == "F" and i != j:
                    less((i, i), (j, j))
                elif (
                    letter in ("RM", "CM") and i != j
                ):  # one step farther from the diagonal, for a report or for a truth
                    near = j + (1 if j < i else -1)
                    less((j, i) if letter == "RM" else (i, j), (near, i) if letter == "RM" else (i, near))
    return np.array(found)


def private(n: int, alpha: float) -> Floats:
    """The level, in both directions, for every report."""
    size, found = n + 1, []
    for i in range(size):
        for j in range(n):
            for one, other in ((j, j + 1), (j + 1, j)):
                row = np.zeros(size * size)
                row[one * size + i], row[other * size + i] = alpha, -1
                found.append(row)
    return np.array(found)


def most_broken(premises: str, conclusion: str, n: int, alpha: float) -> float:
    """By how much a private mechanism with the premises can break an inequality of the conclusion at most."""
    limits = np.vstack([private(n, alpha), rows_of(premises, n)])
    sums = np.kron(np.eye(n + 1), np.ones(n + 1))
    rest = {"A_ub": limits, "b_ub": np.zeros(len(limits)), "A_eq": sums, "b_eq": np.ones(n + 1), "bounds": (0, 1)}
    return max(-float(linprog(-row, **rest).fun) for row in rows_of(conclusion, n))


def spread(n: int, alpha: float, fair: bool = False, seed: int = 0) -> float:
    """How far the mechanisms with the least L0 (of all, or of the fair ones) lie apart, in random directions."""
    size, rng = n + 1, np.random.default_rng(seed)
    limits = np.vstack([private(n, alpha), *([rows_of("F", n)] if fair else [])])
    sums = np.kron(np.eye(size), np.ones(size))
    right = np.eye(size).ravel()
    top = -linprog(-right, A_ub=limits, b_ub=np.zeros(len(limits)), A_eq=sums, b_eq=np.ones(size), bounds=(0, 1)).fun
    far = 0.0
    for _ in range(6):
        way = rng.normal(size=size * size)
        ends = [
            linprog(
                sign * way,
                A_ub=np.vstack([limits, -right]),
                b_ub=np.append(np.zeros(len(limits)), -top + 1e-10),
                A_eq=sums,
                b_eq=np.ones(size),
                bounds=(0, 1),
            ).x
            for sign in (1, -1)
        ]
        far = max(far, float(np.abs(ends[0] - ends[1]).max()))
    return far


def work(setting: Setting) -> Found:
    sizes, levels = ((2, 3), ("1/2", "9/10")) if setting.quick else ((1, 2, 3, 4, 5), ("1/5", "1/2", "3/4", "9/10"))
    cells = [(n, Fraction(level)) for n in sizes for level in levels]
    setting.tell("one best mechanism")
    alone = [uniqueness(design(n, alpha=a, loss="l0")).is_unique for n, a in cells]
    apart = max(spread(n, float(a)) for n, a in cells)
    fair = spread(3, 0.9, fair=True)
    setting.tell("implications", 1 / 2)
    broken = {name: max(most_broken(*pair, n, float(a)) for n, a in cells) for name, pair in IMPLIED.items()}
    controls = {name: most_broken(*pair, 3, 0.9) for name, pair in NOT_IMPLIED.items()}
    where = f"n = {', '.join(map(str, sizes))} and a = {', '.join(levels)}"
    claims = [
        Claim(
            "unconstrained mechanism",
            "GM alone has the least L0",
            f"in {sum(alone)} of {len(alone)} cells, {where}, in exact arithmetic; by linear programs of their own the best "
            f"mechanisms lie within {apart:.0e} of each other. Of the fair ones, of which EM is one, the best lie up to "
            f"{fair:.2f} apart. Proved for every n and a, with the condition for other priors, in docs/theory/unique.md",
            verdict([*alone, apart < SAME]),
            "We prove this is the unique such optimal mechanism for L0",
            "another mechanism were as good at some n and a",
        ),
        *(
            Claim(
                "mechanism properties",
                f"{name} {'imply' if ' ' in name else 'implies'} {conclusion}",
                f"{PROOFS[name]}. By linear programs no private mechanism with {name} breaks an inequality of {conclusion} by "
                f"more than {max(broken[name], 0):.0e}, {where}",
                verdict([broken[name] < SAME]),
                QUOTES[name],
                f"a private mechanism had {name} and not {conclusion}",
            )
            for name, (_, conclusion) in IMPLIED.items()
        ),
    ]
    values = {
        "most that an implication is broken by": max(broken.values()),
        "spread of the best mechanisms": apart,
        "CH broken under RH alone, n = 3, a = 9/10": controls["RH"],
    }
    rows = [
        {"premises": pair[0], "conclusion": pair[1], "broken by at most": broken[name]}
        for name, pair in IMPLIED.items()
    ]
    rows += [
        {"premises": p[0], "conclusion": p[1], "broken by at most": controls[name]} for name, p in NOT_IMPLIED.items()
    ]
    table = View.of("by how much a private mechanism with the premises can break the conclusion", rows)
    return Found(claims, [table], [], values)


STUDY = Study(
    "implications",
    "One best mechanism, and properties that imply others",
    PAPER,
    "mechanism properties",
    work,
    EXPECTED,
    2,
)
