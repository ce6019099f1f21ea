"""Every family of mechanisms in one list: the page of mechanisms, command line, planning, compare, release and the tests read it.

It loads nothing but itself: a family's code is imported when a mechanism of it is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .mechanism import Mechanism, Procedure


@dataclass(frozen=True)
class Family:
    """A function that makes mechanisms: where it is, what it takes besides the grid, what it is for.

    `planned`: of two levels the more private one never keeps nearer to the truth (see discreet.planning.one_report).
    `released`: it serves counts from 0 to any number of people at any level. `collected`: it is made for many reports,
    of which the distribution of the values is recovered. `compared`: the rows that it has beside others, short names with what is
    given besides the level.
    """

    name: str
    home: str
    title: str
    call: str
    purpose: str
    takes: tuple[str, ...] = ("alpha", "epsilon", "sensitivity")
    example: tuple[tuple[str, object], ...] = (("n", 8), ("alpha", "9/10"))
    planned: bool = False
    released: bool = False
    collected: bool = False
    compared: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    @property
    def word(self) -> str:
        """Its name on the command line."""
        return self.name.replace("_", "-")

    def make(self, *given: object, **named: object) -> Mechanism:
        """A mechanism of this family."""
        made: Mechanism = getattr(import_module(f".{self.home}", __package__), self.name)(*given, **named)
        return made

    def build(self, *given: object, **named: object) -> Procedure:
        """The same for any family: those of `discreet.traditional` build methods that are not private."""
        return self.make(*given, **named)


LEVEL = ("alpha", "epsilon")
NOISE = (*LEVEL, "sensitivity", "step")

FAMILIES = (
    Family(
        "geometric",
        "mechanisms.additive",
        "geometric (GM)",
        "dt.geometric(n, alpha=...)",
        "counts of any size, also unbounded: `dt.Grid(None, None)`; optimal for every user after a remap (Ghosh et al. 2009), "
        "and without one for L0 and a uniform prior (Cormode et al. 2018)",
        planned=True,
        released=True,
        compared={"GM": {}},
    ),
    Family(
        "explicit_fair",
        "mechanisms.fair",
        "explicit fair (EM)",
        "dt.explicit_fair(n, alpha=...)",
        "small groups, n up to 1023; all seven properties (Cormode et al. 2018)",
        planned=True,
        released=True,
        compared={"EM": {}},
    ),
    Family(
        "weakly_honest",
        "designs.weakly_honest",
        "weakly honest (WM)",
        "dt.weakly_honest(n, alpha=...)",
        'small groups: the truth at least as often as by guessing; column monotonicity with `require={"CM"}` (Cormode et al. 2018)',
        (*LEVEL, "require"),
        compared={"WM": {}, "WM, CM": {"require": "CM"}},
    ),
    Family(
        "randomized_response",
        "mechanisms.guessing",
        "randomised response",
        "dt.randomized_response(n, epsilon=...)",
        "local privacy: any two values are neighbours",
        LEVEL,
        planned=True,
        released=True,
        compared={"kRR": {}},
    ),
    Family(
        "square_wave",
        "mechanisms.wave",
        "square wave",
        "dt.square_wave(n, epsilon=...)",
        "local privacy for ordered values (ages, incomes): any two values are neighbours, near ones report alike; for "
        "`recover` (Li et al. 2020)",
        (*LEVEL, "width"),
        (("n", 8), ("epsilon", 1)),
        collected=True,
    ),
    Family(
        "projective_response",
        "mechanisms.categories",
        "projective response",
        "dt.projective_response(n, epsilon=...)",
        "local privacy for answers from a long list (brands, diagnoses), in no order: a thousand are recovered as well as ten; "
        "for `recover` (Feldman et al. 2022)",
        LEVEL,
        (("n", 8), ("epsilon", 1)),
    ),
    Family(
        "uniform",
        "mechanisms.guessing",
        "uniform (UM)",
        "dt.uniform(n)",
        "the baseline: perfect privacy, no information",
        (),
        (("n", 8),),
        compared={"UM": {}},
    ),
    Family(
        "laplace",
        "mechanisms.additive",
        "Laplace",
        "dt.laplace(epsilon=..., sensitivity=...)",
        "sums, means and other real answers, on a grid too fine to matter (Dwork et al. 2006)",
        NOISE,
        (("n", 2), ("epsilon", 1)),
    ),
    Family(
        "staircase",
        "mechanisms.additive",
        "staircase",
        "dt.staircase(n, epsilon=..., sensitivity=3)",
        "changes of more than one step by one person: on an unbounded grid the least mean absolute error of all noise "
        "that does not depend on the true value (Geng and Viswanath 2016)",
        (*NOISE, "r"),
        (("n", 8), ("epsilon", 1), ("sensitivity", 3), ("step", 1)),
    ),
    Family(
        "gaussian",
        "mechanisms.additive",
        "discrete Gaussian",
        "dt.gaussian(n, rho=...)",
        "many tables from one budget: rho adds up (zCDP), and with a delta it is worth an epsilon; it claims no pure epsilon "
        "(Canonne et al. 2020)",
        ("rho", "q", "standard_error", "sensitivity"),
        (("n", 8), ("rho", "1/10")),
    ),
    Family(
        "rounded",
        "mechanisms.two_stage",
        "rounded, then noise",
        "dt.queries.rounded(grid, [-10, 0, 10], alpha=..., sensitivity=10)",
        "answers of which the rough size is known: rounded to a few values first (Chen et al. 2016)",
        (*LEVEL, "sensitivity", "cells", "then"),
        (("n", 8), ("cells", "0, 4, 8"), ("alpha", "1/2"), ("sensitivity", 4)),
    ),
    Family(
        "from_matrix",
        "mechanisms.matrix",
        "your own matrix",
        "dt.from_matrix(matrix, alpha=...)",
        "any distribution you can write down, as integers that keep its level and properties, or refused with the reason",
        (*LEVEL, "sensitivity", "require"),
        (("matrix", (("2/3", "1/3"), ("1/3", "2/3"))), ("alpha", "1/2")),
    ),
    Family(
        "random_rounding",
        "traditional.methods",
        "random rounding",
        "dt.traditional.random_rounding(n, base=3)",
        "what offices use today, to be checked: not private",
        ("base",),
        (("n", 8),),
    ),
    Family(
        "suppression",
        "traditional.methods",
        "suppression",
        "dt.traditional.suppression(n, below=5)",
        "small counts hidden, as offices do today: not private",
        ("below", "show_zero"),
        (("n", 8),),
    ),
    Family(
        "cell_key",
        "traditional.methods",
        "cell-key perturbation",
        "dt.traditional.cell_key(n, deviation=5, variance=2)",
        "noise by the key of a cell, as offices use today: not private",
        ("deviation", "variance", "never_report"),
        (("n", 8),),
    ),
)

PLANNED = {f.name: f for f in FAMILIES if f.planned}
COLLECTED = {f.name: f for f in FAMILIES if f.planned or f.collected}
RELEASED = {f.name: f for f in FAMILIES if f.released}


def legend() -> str:
    """What the short names in comparisons stand for."""
    return ", ".join(f"{next(iter(f.compared))} {f.title.partition(' (')[0]}" for f in FAMILIES if f.compared)


def markdown() -> str:
    """The table of mechanisms, in Markdown."""
    lines = ["| mechanism | call | what it is for |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {f.title} | `{f.call}` | {f.purpose} |" for f in FAMILIES)])


def with_table(page: str) -> str:
    """The text of docs/mechanisms.md with the table of mechanisms as it is now, between its two marks."""
    before, start, rest = page.partition("<!-- mechanisms -->\n")
    _, end, after = rest.partition("<!-- /mechanisms -->")
    return f"{before}{start}{markdown()}\n{end}{after}"
