"""The type of what statistics offices use: it reports like a mechanism, but it has no level, since it is not private."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from fractions import Fraction

from ..channels import Channel
from ..exact.grid import Grid
from ..exact.level import Level
from ..exact.neighbours import Neighbours
from ..mechanism import Procedure, Recipe

METHODS = ("random_rounding", "suppression", "cell_key")  # families that are no mechanisms


@dataclass(frozen=True, eq=False, repr=False)
class Method(Procedure):
    """A channel from a grid of true counts to a grid of reports, with no privacy promised.

    It can be drawn from, measured, pictured, saved, compared and recovered from like a mechanism. What spends a budget
    (release, Ledger.spend, perturb) refuses it by its type. A check of its privacy is between counts one apart unless
    other neighbours are given, and without a level it does not hold: nothing is claimed.
    """

    inputs: Grid
    outputs: Grid
    channel: Channel
    recipe: Recipe
    neighbours: Neighbours = field(init=False, default=Neighbours.steps(1))

    def __post_init__(self) -> None:
        self._check_grids()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Method:
        """Read a method from a file; discreet.load reads mechanisms alone."""
        from ..files import load_method

        return load_method(path)

    @property
    def claim(self) -> Level:
        """Nothing."""
        return Level(Fraction(0))

    def __repr__(self) -> str:
        places = f"{self.inputs}" if self.inputs == self.outputs else f"{self.inputs} -> {self.outputs}"
        return f"<{self.recipe.family} {places}, not private>"
