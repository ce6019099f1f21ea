"""What is asked of a design: values, level, loss, prior, risk and properties, as exact numbers.

Pr[report i | truth j] is entry (j, i) of a matrix. A design minimises the mean loss under the prior (risk "average"), or
the largest mean loss of the values `among` which the truth is (risk "worst"), or the largest mean loss under any prior of a
set (risk "family"), over all matrices with

    rows that sum to 1, entries >= 0
    P[j, i] >= alpha P[k, i]        for neighbours j and k, both ways round, and every report i
    the required properties         (see discreet.channels.properties)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..channels.contract import Integers
from ..exact.grid import Grid
from ..exact.level import Level
from ..exact.neighbours import Neighbours
from ..measure.loss import Loss
from ..measure.prior import Prior
from .families import PriorFamily, RiskProgram, Worst
from .rational import Floats as Floats
from .values import Stated

Risk = Literal["average", "worst", "family"]


@dataclass(frozen=True, eq=False)
class Problem:
    """A design problem, as `design` read it: what risk is to be least, at which level, between which neighbours."""

    grid: Grid
    level: Level
    loss: Loss
    prior: Prior
    risk: Risk = "average"
    among: tuple[int, ...] = ()
    require: frozenset[str] = frozenset()
    neighbours: Neighbours = Neighbours.steps(1)  # noqa: RUF009 (a frozen value)
    then: str | None = None  # the name of the loss that breaks ties
    family: PriorFamily | None = None  # the set of priors, for that risk
    support: Stated | None = None  # of a list of values or cells: what the places of the grid stand for

    @property
    def size(self) -> int:
        return len(self.prior.weights)

    @property
    def risk_name(self) -> str:
        """The risk in words."""
        if self.family is not None:
            return "worst average"
        return "worst-case mean" if self.risk == "worst" else self.risk

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Every pair of neighbours once, as positions in order."""
        return self.neighbours.places(self.grid)

    @property
    def is_path(self) -> bool:
        return self.neighbours.span(self.grid) == 1

    @property
    def reach(self) -> int:
        """How many steps apart neighbours are at most, where all such values are neighbours."""
        span = self.neighbours.span(self.grid)
        assert span is not None
        return span

    @cached_property
    def is_mirrored(self) -> bool:
        """Does turning the grid around change nothing, so that a symmetric matrix is among the best?"""
        if not self.has_mirrored_neighbours:
            return False
        if self.family is not None:
            fair = self.family.is_symmetric
        else:
            fair = self.prior.is_symmetric if self.risk == "average" else self._among_is_mirrored
        return fair and self.loss.is_symmetric

    @cached_property
    def risk_program(self) -> RiskProgram | None:
        """The risk as a linear program in the mean losses of all truths; None for the average, which needs none."""
        if self.family is not None:
            return self.family.program()
        return None if self.risk == "average" else RiskProgram.plain(np.eye(self.size)[list(self.among)])

    @cached_property
    def has_mirrored_neighbours(self) -> bool:
        last = self.size - 1
        mirrored = self.neighbours.span(self.grid) is not None
        return mirrored or {(last - k, last - j) for j, k in self.edges} == set(self.edges)

    @property
    def _among_is_mirrored(self) -> bool:
        return {self.size - 1 - j for j in self.among} == set(self.among)

    def costs(self, prior: Prior | None = None) -> tuple[Integers, int]:
        """Integers over one denominator: prior times loss, made symmetric where symmetry is required.

        A symmetric matrix has the same mean loss under the mirror image of the costs, and so under their mean.
        """
        law = self.prior if prior is None else prior
        cost = np.array(law.weights, dtype=object)[:, None] * self.loss.numerators.astype(object)
        denominator = law.total * self.loss.denominator
        if "S" in self.require:
            cost, denominator = cost + cost[::-1, ::-1], 2 * denominator
        return cost, denominator

    def objective(self, weights: Integers, total: int) -> Worst:
        """The risk of a table, exactly; within limits of the prior with what proves it."""
        numerators = self.loss.numerators.astype(object) * weights.astype(object)
        rows = numerators.sum(axis=1)
        if self.family is not None:
            return self.family.worst([Fraction(int(x), self.loss.denominator * total) for x in rows])
        if self.risk == "worst":
            return Worst(Fraction(max(int(rows[j]) for j in self.among), self.loss.denominator * total))
        law = np.array(self.prior.weights, dtype=object)
        return Worst(Fraction(int((law * rows).sum()), self.prior.total * self.loss.denominator * total))

    def describe(self) -> dict[str, Any]:
        """The problem in words, for a recipe."""
        told = {"loss": self.loss.name, "risk": self.risk, "require": " ".join(sorted(self.require)) or "none"}
        if self.family is not None:
            told["priors"] = str(self.family)
        elif self.risk == "average":
            told["prior"] = str(self.prior)
        elif len(self.among) < self.size:
            told["among"] = " ".join(str(self.grid.value(j)) for j in self.among)
        span = self.neighbours.span(self.grid)
        if self.support is not None:
            told |= self.support.words
        elif span is None:
            told["neighbours"] = " ".join(f"{self.grid.value(j)}-{self.grid.value(k)}" for j, k in self.edges)
        elif span > 1:
            told["sensitivity"] = str(span * self.grid.step)
        if self.then is not None:
            told["then"] = self.then
        return told
