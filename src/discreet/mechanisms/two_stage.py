"""Rounding before noise: the answer is rounded to a few values, and noise is added to those."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..channels import Map, Then
from ..channels.contract import MATRIX_ENTRIES
from ..channels.ratios import window_extreme
from ..errors import GridError, SizeError
from ..exact.aliases import Rational
from ..exact.arithmetic import parse_exact, show
from ..exact.given import vector
from ..exact.grid import Grid, GridLike
from ..exact.level import Level, LevelLike
from ..exact.neighbours import Neighbours
from ..mechanism import Mechanism, Recipe, mechanism_of
from .additive import geometric, staircase
from .fair import explicit_fair

CITATION = (
    "Chen, Pal, Golubchik, Oblivious mechanisms in differential privacy: experiments, conjectures, and open questions, "
    "IEEE Security and Privacy Workshops 2016 (5.2.2)"
)

SECOND: dict[str, Callable[..., Mechanism]] = {
    "geometric": geometric,
    "staircase": staircase,
    "explicit_fair": explicit_fair,
}
_USE = (
    "write the values that answers are rounded to, cells=[-10, 0, 10], or a value for each part of the range, "
    'cells={(-10, -5): -10, (-5, 5): 0, (5, 10): 10} or cells="-10..-5: -10, -5..5: 0, 5..10: 10"'
)
_CELL = re.compile(r"(.+)\.\.(.+):(.+)")
_LONGEST = 1000  # characters of cells in a recipe

Cell = tuple[Fraction, Fraction, Fraction]  # from, up to but without, rounded to


def rounded(
    n: GridLike,
    cells: Any,
    *,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    sensitivity: Rational = 1,
    then: str | Callable[..., Mechanism] = "geometric",
    outputs: Grid | None = None,
) -> Mechanism:
    """The answer rounded to one of a few values, by any partition of its range, and then noise on those (Chen et al. 2016).

        cells    the values that answers are rounded to. The values alone, and then each answer goes to the nearest, halves
                 upwards; or {(low, high): value}, from low up to but without high, the last one with its end
        then     the second stage: geometric (the default), staircase or explicit-fair. Or any function of a grid, alpha and
                 sensitivity that returns a mechanism
        outputs  a wider (or finer) grid for the reports, which else keep to the range of the values

    Rounding makes what one person changes a jump from cell to cell: the largest one that `sensitivity` allows is found, and the
    second stage is made for it. So the level is the one asked for, whatever the cells, and it is proved on the distribution of
    both stages. Where the values are one sensitivity apart, as in the paper, a jump is one step.

    >>> import discreet as dt
    >>> m = dt.queries.rounded(dt.Grid(-10, 10, "1/2"), [-10, 0, 10], alpha="3/10", sensitivity=10)
    >>> m, m.matrix[m.inputs.place(-5)].round(4).tolist()
    (<rounded -10..10 in steps of 1/2 -> -10..10 in steps of 10, alpha 3/10, epsilon <= 1.20398>, [0.2308, 0.5385, 0.2308])
    """
    grid, level = Grid.of(n), Level.of(alpha=alpha, epsilon=epsilon)
    size = grid.size
    if size is None:
        raise GridError(f"Rounding to cells needs a range with two ends, not {grid}; give both.")
    if size > MATRIX_ENTRIES:
        raise SizeError(f"A map of {size} answers is too long to write out; use a coarser step.")
    steps = grid.steps(sensitivity)
    parts = cells_of(cells, grid)
    reports = _outputs(parts) if outputs is None else Grid.of(outputs)
    if reports.n is None:
        raise GridError(f"The reports of a finite range need a grid with two ends, not {reports}; give both ends.")
    targets = _targets(parts, grid, reports)
    jump = int((window_extreme(targets, steps, np.maximum) - targets).max())
    if jump == 0:
        raise GridError("All answers fall into one cell, so that the report tells nothing; give at least two cells.")
    second = _second(then, reports, level, jump * reports.step)
    name = then if isinstance(then, str) else second.recipe.family
    told = ", ".join(f"{low}..{high}: {value}" for low, high, value in parts)
    recipe = Recipe.made(
        "rounded",
        CITATION,
        level,
        second.recipe.distance,
        grid=grid,
        sensitivity=sensitivity,
        cells=told if len(told) <= _LONGEST else f"{len(parts)} cells",
        then=name,
        outputs=reports,
        jump=jump * reports.step,
    )
    channel = Then(Map(targets, second.inputs.size or 0), second.finite())
    return Mechanism(grid, second.outputs, channel, level, Neighbours.steps(steps), recipe)


def cells_of(cells: Any, grid: Grid) -> list[Cell]:
    """The cells in rising order, without gaps or overlaps, from end to end of the grid."""
    assert grid.low is not None
    assert grid.high is not None
    if isinstance(cells, str):
        cells = _read(cells)
    if isinstance(cells, Mapping):
        parts = sorted(_cell(ends, value) for ends, value in cells.items())
    else:
        # values of the answer are parameters: a float among them is its shortest decimal, which is its text
        values = sorted({Fraction(str(x)) for x in vector(cells, "cells", error=GridError)})
        cuts = [grid.low, *((a + b) / 2 for a, b in pairwise(values)), grid.high]
        if cuts != sorted(cuts):  # a value beyond an end that is nobody's nearest
            raise GridError(f"Some of the cells' values are the nearest to no answer on {grid}; leave them out.")
        parts = list(zip(cuts, cuts[1:], values, strict=False))
    for before, after in pairwise(parts):
        if before[1] != after[0]:
            what = "a gap" if before[1] < after[0] else "an overlap"
            raise GridError(
                f"There is {what} between the cells {_range_text(before)} and {_range_text(after)}; "
                "let each begin where the one before ends."
            )
    if not parts or parts[0][0] > grid.low or parts[-1][1] < grid.high:
        raise GridError(f"The cells must reach from end to end of {grid}; {_USE}.")
    return parts


def _read(text: str) -> Any:
    """Cells as they are written: values alone, or low..high: value."""
    words = [word.strip() for word in re.split("[;,]", text) if word.strip()]
    found = [_CELL.fullmatch(word) for word in words]
    if not any(found):
        return words
    if not all(found):
        raise GridError(f"cells = {show(text)} cannot be read; {_USE}.")
    return {(m[1], m[2]): m[3] for m in found if m}


def _cell(ends: Any, value: Any) -> Cell:
    pair = ends if isinstance(ends, (tuple, list)) and len(ends) == 2 else (None, None)
    low, high, target = (parse_exact(x) for x in (*pair, value))
    if low is None or high is None or target is None or low >= high:
        raise GridError(f"The cell {show(ends)}: {show(value)} is no part of a range with a value; {_USE}.")
    return low, high, target


def _range_text(cell: Cell) -> str:
    return f"{cell[0]}..{cell[1]}"


def _first(cut: Fraction, grid: Grid) -> int:
    """The position of the first answer on the grid that is not below the cut."""
    return max(0, math.ceil((cut - grid.anchor) / grid.step))


def _outputs(parts: list[Cell]) -> Grid:
    """The coarsest grid that has all the cells' values."""
    values = sorted({value for _, _, value in parts})
    if len(values) == 1:
        raise GridError("All answers fall into one cell, so that the report tells nothing; give at least two cells.")
    gaps = [b - a for a, b in pairwise(values)]
    common = math.lcm(*(gap.denominator for gap in gaps))
    step = Fraction(math.gcd(*(int(gap * common) for gap in gaps)), common)
    return Grid(values[0], values[-1], step)


def _targets(parts: list[Cell], grid: Grid, reports: Grid) -> NDArray[np.int64]:
    """For each answer on the grid the position of what it is rounded to."""
    targets = np.empty(grid.size or 0, dtype=np.int64)
    for low, _, value in parts:
        targets[_first(low, grid) :] = reports.place_of(str(value), "The cells' value", GridError)
    return targets


def _second(then: Any, reports: Grid, level: Level, sensitivity: Fraction) -> Mechanism:
    make = SECOND.get(then.strip().lower().replace("-", "_")) if isinstance(then, str) else then
    if not callable(make):
        raise GridError(
            f"then = {show(then)} is not known; use {', '.join(SECOND)} or a function that makes a mechanism."
        )
    made = mechanism_of(make(reports, alpha=level, sensitivity=sensitivity), GridError)
    if made.inputs != reports:
        raise GridError(
            f"The second stage takes {made.inputs}, but answers are rounded to {reports}; make it for that grid."
        )
    return made
