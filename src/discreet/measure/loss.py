"""Losses: how bad is it to report j when the truth is i? As exact rationals, since certificates rest on them.

    "l0"                  1 when wrong
    "l1", "l2", "lp(3)"   the distance, its square, its third power
    "tail(2)"             1 when off by more than 2
    "threshold(5)"        1 when truth and report lie on different sides of 5 (at least 5, or below)
    "asymmetric(1, 3)"    1 for each unit reported too high, 3 for each unit too low
    a function            of the true value and the report
    a matrix              a row for each true value, a column for each report

A gain is a loss turned around: "identity" (1 when right), "distance" (the longest distance minus the distance), a
function or a matrix.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LossError
from ..numbers.exact import parse_exact, show
from ..numbers.frozen import Frozen, frozen
from ..numbers.grid import Grid

Floats = NDArray[np.float64]
Numerators = NDArray[Any]  # int64 where they fit, else Python integers

_NAMED = re.compile(r"\s*([a-z]+\d?)\s*(?:\(([^()]*)\))?\s*")
_USE = 'use "l0", "l1", "l2", "lp(3)", "tail(2)", "threshold(5)", "asymmetric(1, 3)", a function or a matrix'
_MOST = 2**24  # entries of a loss that is written out


@dataclass(frozen=True, eq=False)
class Loss(Frozen):
    """loss[i, j] = numerators[i, j] / denominator, for true value i and report j, both as positions."""

    name: str
    numerators: Numerators
    denominator: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "numerators", frozen(self.numerators))

    @cached_property
    def floats(self) -> Floats:
        return frozen(np.asarray(self.numerators.astype(np.float64) / float(self.denominator)))

    @cached_property
    def is_monotone(self) -> bool:
        """Does the loss of each true value never fall as the report moves away from it? (On one grid.)"""
        rows, reports = self.numerators.shape
        if rows != reports:
            return False
        step = self.numerators[:, 1:] - self.numerators[:, :-1]
        beyond = np.arange(reports - 1)[None, :] >= np.arange(rows)[:, None]
        return bool((np.where(beyond, step, -step) >= 0).all())

    @cached_property
    def is_zero_one(self) -> bool:
        """Is it 0 for the truth and 1 for everything else?"""
        rows, reports = self.numerators.shape
        return rows == reports and bool(
            (self.numerators == self.denominator * (1 - np.eye(rows, dtype=np.int64))).all()
        )

    @cached_property
    def is_symmetric(self) -> bool:
        """Does turning both grids around change nothing?"""
        return bool((self.numerators == self.numerators[::-1, ::-1]).all())


def loss_of(loss: Any, inputs: Grid, outputs: Grid) -> Loss:
    """A loss between two finite grids, exactly; every entry is a number >= 0."""
    rows, reports = inputs.size, outputs.size
    if rows is None or reports is None or rows * reports > _MOST:
        raise LossError(f"A loss between {inputs} and {outputs} is too large to write out; use smaller grids.")
    if isinstance(loss, Loss):
        if loss.numerators.shape != (rows, reports):
            raise LossError(
                f"The loss is for {loss.numerators.shape[0]} true values and {loss.numerators.shape[1]} reports, "
                f"not for {rows} and {reports}; make one that fits."
            )
        return loss
    if isinstance(loss, str):
        return _named(loss, inputs, outputs, rows, reports)
    if callable(loss):
        entries = [[_called(loss, inputs, outputs, i, j, "loss") for j in range(reports)] for i in range(rows)]
        return _written(entries, f"function {getattr(loss, '__name__', '')}".strip())
    return _matrix(loss, rows, reports, "loss")


def gain_as_loss(gain: Any, inputs: Grid, outputs: Grid) -> tuple[Loss, Fraction]:
    """A gain as (loss, top) with gain = top - loss and top its largest entry."""
    if isinstance(gain, str):
        if gain == "identity":
            return loss_of("l0", inputs, outputs), Fraction(1)
        if gain == "distance":
            loss = loss_of("l1", inputs, outputs)
            return loss, Fraction(int(loss.numerators.max()), loss.denominator)
        raise LossError(f'gain = {show(gain)} is not known; use "identity", "distance", a function or a matrix.')
    rows, reports = inputs.size, outputs.size
    if rows is None or reports is None:
        raise LossError(f"A gain between {inputs} and {outputs} cannot be written out; use finite grids.")
    if callable(gain):
        gain = [[_called(gain, inputs, outputs, i, j, "gain") for j in range(reports)] for i in range(rows)]
    entries = _entries(gain, rows, reports, "gain")
    top = max(x for row in entries for x in row)
    return _written([[top - x for x in row] for row in entries], "gain"), top


def distance_loss(loss: Any, grid: Grid) -> tuple[Floats, Floats] | None:
    """A named loss that depends on report - truth alone, as the losses of 0, 1, 2, ... steps too high, and too low.

    So a loss on a grid of any size has two vectors in place of a matrix. None for every other loss.

    >>> from discreet.numbers.grid import Grid
    >>> high, low = distance_loss("asymmetric(1, 3)", Grid.of(4))
    >>> high.tolist(), low.tolist()
    ([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 3.0, 6.0, 9.0, 12.0])
    """
    if not isinstance(loss, str) or grid.size is None:
        return None
    kind, numbers = _parsed(loss)
    steps = np.arange(grid.size)
    distance: Floats = float(grid.step) * steps.astype(np.float64)
    side: Floats
    match kind:
        case "l0":
            side = (steps > 0).astype(np.float64)
        case "l1" | "asymmetric":
            side = distance
        case "l2" | "lp":
            side = distance ** (2.0 if kind == "l2" else float(numbers[0]))
        case "tail":
            side = (steps > math.floor(numbers[0] / grid.step)).astype(np.float64)
        case _:
            return None
    over, under = (float(x) for x in numbers) if kind == "asymmetric" else (1.0, 1.0)
    return over * side, under * side


def _parsed(text: str) -> tuple[str, list[Fraction]]:
    """The kind of a named loss and its numbers, which make sense."""
    match = _NAMED.fullmatch(text)
    kind = match[1] if match else ""
    given = [parse_exact(part) for part in match[2].split(",")] if match and match[2] is not None else []
    wanted = {"l0": 0, "l1": 0, "l2": 0, "lp": 1, "tail": 1, "threshold": 1, "asymmetric": 2}.get(kind)
    numbers = [x for x in given if x is not None]
    if wanted != len(given) or wanted != len(numbers):
        raise LossError(f"loss = {show(text)} is not known; {_USE}.")
    if kind == "lp" and not 0 < numbers[0] <= 64:
        raise LossError(f"loss = {show(text)}: the power lies above 0 and is at most 64; use for example lp(3).")
    if kind == "tail" and numbers[0] < 0:
        raise LossError(
            f"loss = {show(text)}: the distance beyond which a report is bad is 0 or more; use for example tail(2)."
        )
    if kind == "asymmetric" and min(numbers) < 0:
        raise LossError(
            f"loss = {show(text)}: the two prices of a unit are 0 or more; use for example asymmetric(1, 3)."
        )
    return kind, numbers


def _named(text: str, inputs: Grid, outputs: Grid, rows: int, reports: int) -> Loss:
    kind, numbers = _parsed(text)
    # distances in whole units of 1/unit
    unit = math.lcm(*(x.denominator for g in (inputs, outputs) for x in (g.anchor, g.step)))
    truth, report = inputs.scaled(rows, unit)[:, None], outputs.scaled(reports, unit)[None, :]
    error = report - truth
    name = kind + (f"({', '.join(map(str, numbers))})" if numbers else "")
    match kind:
        case "l0":
            return Loss(name, (error != 0).astype(np.int64), 1)
        case "l1":
            return Loss(name, np.abs(error), unit)
        case "l2":
            return _power(name, error, unit, 2)
        case "lp":
            return _any_power(name, error, unit, numbers[0])
        case "tail":  # whole numbers compare with the floor of the distance: no product can overflow
            return Loss(name, (np.abs(error) > math.floor(numbers[0] * unit)).astype(np.int64), 1)
        case "threshold":
            cut = math.ceil(numbers[0] * unit)
            return Loss(name, ((truth >= cut) != (report >= cut)).astype(np.int64), 1)
    common = math.lcm(*(x.denominator for x in numbers))
    over, under = (int(x * common) for x in numbers)
    distance = _roomy(np.abs(error), int(np.abs(error).max()) * max(over, under, 1))
    return _written_over(name, np.where(error > 0, distance * over, distance * under), unit * common)


def _roomy(numbers: Numerators, largest: int) -> Numerators:
    """The same integers in a type that holds the largest result: 64 bits where they suffice."""
    return numbers if largest < 2**62 else numbers.astype(object)


def _power(name: str, error: Numerators, unit: int, power: int) -> Loss:
    distance = np.abs(error)
    return _written_over(name, _roomy(distance, int(distance.max()) ** power) ** power, unit**power)


def _any_power(name: str, error: Numerators, unit: int, power: Fraction) -> Loss:
    if power.denominator == 1:
        return _power(name, error, unit, int(power))
    # an irrational number: its float is the loss, and that float is exact from here on
    values = (np.abs(error) / unit) ** float(power)
    return _written([[Fraction(x) for x in row] for row in values.tolist()], name)


def _written_over(name: str, numerators: Numerators, denominator: int) -> Loss:
    small = int(numerators.max(initial=0)) < 2**62
    return Loss(name, numerators.astype(np.int64) if small else numerators, denominator)


def _written(entries: list[list[Fraction]], name: str) -> Loss:
    common = math.lcm(*(x.denominator for row in entries for x in row))
    return _written_over(name, np.array([[int(x * common) for x in row] for row in entries], dtype=object), common)


def _called(function: Callable[..., Any], inputs: Grid, outputs: Grid, i: int, j: int, what: str) -> Fraction:
    truth, report = inputs.value(i), outputs.value(j)
    given = function(truth, report)
    value = parse_exact(int(given) if isinstance(given, (bool, np.bool_)) else given)
    if value is None or (what == "loss" and value < 0):
        least = " of 0 or more" if what == "loss" else ""
        raise LossError(
            f"The {what} of reporting {report} when the truth is {truth} is {show(given)}; "
            f"a {what} is a number{least}: give one for every pair."
        )
    return value


def _matrix(loss: Any, rows: int, reports: int, what: str) -> Loss:
    entries = _entries(loss, rows, reports, what)
    bad = next(((i, j) for i, row in enumerate(entries) for j, x in enumerate(row) if x < 0), None)
    if bad is not None:
        raise LossError(f"Row {bad[0]}, column {bad[1]} of the loss is negative; a loss is 0 or more: add a constant.")
    return _written(entries, "matrix")


def _entries(given: Any, rows: int, reports: int, what: str) -> list[list[Fraction]]:
    try:
        lines = [list(row) for row in (given.to_numpy() if hasattr(given, "to_numpy") else given)]
    except TypeError:
        raise LossError(f"{what} = {show(given)} is not known; {_USE}.") from None
    if len(lines) != rows or any(len(line) != reports for line in lines):
        raise LossError(
            f"The {what} must be a matrix of {rows} rows (true values) and {reports} columns (reports); "
            f"check its shape: {len(lines)} rows were given."
        )
    entries = [[parse_exact(x) for x in line] for line in lines]
    bad = next(((i, j) for i, line in enumerate(entries) for j, x in enumerate(line) if x is None), None)
    if bad is not None:
        raise LossError(
            f"Row {bad[0]}, column {bad[1]} of the {what} is {show(lines[bad[0]][bad[1]])}; give a finite number."
        )
    return [[x for x in line if x is not None] for line in entries]
