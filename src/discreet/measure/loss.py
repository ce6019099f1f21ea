"""Losses: how bad is it to report j when the truth is i? As exact rationals, since certificates rest on them.

    "l0"                  1 when wrong
    "l1", "l2", "lp(3)"   the distance, its square, its third power
    "tail(2)"             1 when off by more than 2
    "threshold(5)"        1 when truth and report lie on different sides of 5 (at least 5, or below)
    "asymmetric(1, 3)"    1 for each unit reported too high, 3 for each unit too low
    a function            of the true value and the report
    a matrix              a row for each true value, a column for each report
    a file                of that matrix, CSV or JSON: Path("loss.csv"). In CSV a heading and a first column may name the reports
                          and the true values, in any order; numbers are read exactly as they are written

A gain is a loss reversed: "identity" (1 when right), "distance" (the longest distance minus the distance), a
function or a matrix.
"""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LossError
from ..exact import given
from ..exact.arithmetic import parse_entry, show
from ..exact.frozen import Frozen, frozen
from ..exact.grid import Grid
from ..exact.small_files import Sheet, did_you_mean_file, file_name, is_file, read_small, square_of

Floats = NDArray[np.float64]
Numerators = NDArray[Any]  # int64 where they fit, else Python integers

_KINDS = {"l0": 0, "l1": 0, "l2": 0, "lp": 1, "tail": 1, "threshold": 1, "asymmetric": 2}  # how many numbers each takes
_USE = (
    'use "l0", "l1", "l2", "lp(3)", "tail(2)", "threshold(5)", "asymmetric(1, 3)", a function, a matrix or the Path of a file '
    "with one"
)
# distributions, which people put in the place of a loss
PRIORS = {"uniform": 0, "binomial": 1, "normal": 2, "beta": 2, "maximum": 1, "minimum": 1}
_MOST = 2**24  # entries of a loss that is written out


@dataclass(frozen=True, eq=False)
class Loss(Frozen):
    """loss[i, j] = numerators[i, j] / denominator, for true value i and report j, both as positions.

    >>> import discreet as dt
    >>> import numpy as np
    >>> late = dt.Loss("twice if too low", np.array([[0, 1], [2, 0]], dtype=object), 1)
    >>> round(dt.expected_loss(dt.geometric(1, alpha="1/2"), late), 12)
    0.5
    """

    name: str
    numerators: Numerators
    denominator: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "numerators", frozen(self.numerators))

    @property
    def told(self) -> str:
        """The name in a sentence: "l1", and of a loss of your own "loss (loss.csv)"."""
        return self.name if given.called(self.name, _KINDS) else f"loss ({self.name})"

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
    def is_by_distance(self) -> bool:
        """Is it monotone, and the same for two reports that are equally far from the true value? (Ghosh et al. 2009 ask for it.)"""
        if not self.is_monotone:
            return False
        near = [(min(k, len(row) - 1 - k), k, row) for k, row in enumerate(self.numerators)]
        return all((row[k - least : k][::-1] == row[k + 1 : k + 1 + least]).all() for least, k, row in near)

    @cached_property
    def is_zero_one(self) -> bool:
        """Is it 0 for the truth and 1 for everything else?"""
        rows, reports = self.numerators.shape
        return rows == reports and bool(
            (self.numerators == self.denominator * (1 - np.eye(rows, dtype=np.int64))).all()
        )

    @cached_property
    def is_symmetric(self) -> bool:
        """Is the loss symmetric under reversing both grids?"""
        return bool((self.numerators == self.numerators[::-1, ::-1]).all())


def loss_of(loss: Any, inputs: Grid, outputs: Grid) -> Loss:
    """A loss between two finite grids, exactly; every entry is a number >= 0. Names are read in any case."""
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
    if is_file(loss):
        return loss_in_file(
            loss,
            lambda text: inputs.place_of(text, "In the loss the true value", LossError),
            lambda text: outputs.place_of(text, "In the loss the report", LossError),
            (rows, reports),
        )
    if isinstance(loss, str):
        return _named(loss, inputs, outputs, rows, reports)
    if callable(loss):
        _takes_two(loss, "loss")
        entries = [[_called(loss, truth, report, "loss") for report in _values(outputs)] for truth in _values(inputs)]
        return _written(entries, given.function_name(loss))
    if not hasattr(loss, "__iter__"):
        raise LossError(f"loss = {show(loss)} is not known; {_USE}.")
    return _of_matrix(loss, (rows, reports), "The loss", "matrix")


def loss_in_file(loss: Any, rows: Callable[[str], int], columns: Callable[[str], int], shape: tuple[int, int]) -> Loss:
    """The loss that a file has a matrix of; `rows` and `columns` say where a true value or a report stands that it names."""
    name = file_name(loss)
    found = read_small(loss, "the loss", "0,1,2 in a line for each true value", LossError)
    if isinstance(found, Sheet):
        found = found.lines if found.heading is None else square_of(found, name, rows, columns, shape, LossError)
    return _of_matrix(found, shape, f"The loss in {name}", name)


def _of_matrix(entries: Any, shape: tuple[int, int], what: str, name: str) -> Loss:
    bounds = given.NOT_NEGATIVE
    return _written(given.matrix(entries, what, shape=shape, bounds=bounds, bools=True, error=LossError), name)


def loss_name(loss: Any) -> str:
    """A loss's name as it is kept, "l1" for " L1", that of its file; empty for a loss that has none."""
    if is_file(loss):
        return file_name(loss)
    return loss.strip().lower() if isinstance(loss, str) else ""


def gain_as_loss(gain: Any, inputs: Grid, outputs: Grid) -> tuple[Loss, Fraction]:
    """A gain as (loss, top) with gain = top - loss and top its largest entry."""
    if inputs.size is None or outputs.size is None:
        raise LossError(f"A gain between {inputs} and {outputs} cannot be written out; use finite grids.")
    entries = gains_of(gain, _values(inputs), _values(outputs))
    top = max(x for row in entries for x in row)
    return _written([[top - x for x in row] for row in entries], "gain"), top


def gains_of(gain: Any, truths: Sequence[Any], guesses: Sequence[Any]) -> list[list[Fraction]]:
    """The gain of each guess, a column, for each truth, a row; both are numbers in rising order."""
    if isinstance(gain, str):
        if loss_name(gain) not in ("identity", "distance"):
            raise LossError(f'gain = {show(gain)} is not known; use "identity", "distance", a function or a matrix.')
        span = Fraction(max(truths[-1], guesses[-1]) - min(truths[0], guesses[0]))
        if loss_name(gain) == "identity":
            return [[Fraction(int(truth == guess)) for guess in guesses] for truth in truths]
        return [[span - abs(truth - guess) for guess in guesses] for truth in truths]
    if callable(gain):
        _takes_two(gain, "gain")
        return [[_called(gain, truth, guess, "gain") for guess in guesses] for truth in truths]
    read = given.matrix(gain, "The gain", shape=(len(truths), len(guesses)), bools=True, error=LossError)
    return [[Fraction(x) for x in row] for row in read]


def distance_loss(loss: Any, grid: Grid) -> tuple[Floats, Floats] | None:
    """A named loss that depends on report - truth alone, as the losses of 0, 1, 2, ... steps too high, and too low.

    So a loss on a grid of any size has two vectors in place of a matrix. None for every other loss.

    >>> from discreet.exact.grid import Grid
    >>> high, low = distance_loss("asymmetric(1, 3)", Grid.of(4))
    >>> high.tolist(), low.tolist()
    ([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 3.0, 6.0, 9.0, 12.0])
    """
    if not isinstance(loss, str) or grid.size is None:
        return None
    kind, numbers = _parsed(loss)
    steps = np.arange(grid.size)
    if not grid.is_ordered:
        return None if kind != "l0" else ((steps > 0).astype(np.float64), (steps > 0).astype(np.float64))
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
    found = given.called(text, _KINDS)
    if found is None:
        prior = f"; if it is the prior, say prior={show(text)}" if given.called(text, PRIORS) else ""
        raise LossError(f"loss = {show(text)} is not known; {_USE}{prior}{did_you_mean_file(text)}.")
    kind, numbers = found
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
    if not (inputs.is_ordered and outputs.is_ordered):
        if kind != "l0" or inputs != outputs:
            raise LossError(
                f"loss = {show(text)} needs numbers, and names have none; of names use l0 where true values and reports are the "
                "same names, a function of a name and a report, or a matrix."
            )
        return Loss(kind, 1 - np.eye(rows, dtype=np.int64), 1)
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


def _written(entries: Sequence[Sequence[given.Number]], name: str) -> Loss:
    whole, common = given.whole_parts([x for row in entries for x in row])
    return _written_over(name, np.array(whole, dtype=object).reshape(len(entries), -1), common)


def _values(grid: Grid) -> list[int | Fraction]:
    return [grid.value(k) for k in range(grid.size or 0)]


def _takes_two(function: Callable[..., Any], what: str) -> None:
    try:
        inspect.signature(function).bind(0, 0)
    except TypeError:
        raise LossError(f"A {what} is a function of two values, the truth and the report; this one is not.") from None
    except ValueError:  # some of Python's own do not say what they take
        return


def _called(function: Callable[..., Any], truth: Any, report: Any, what: str) -> Fraction:
    found = function(truth, report)
    value = parse_entry(int(found) if isinstance(found, (bool, np.bool_)) else found)
    if value is None or (what == "loss" and value < 0):
        least = " of 0 or more" if what == "loss" else ""
        raise LossError(
            f"The {what} of reporting {report} when the truth is {truth} is {show(found)}; "
            f"a {what} is a number{least}: give one for every pair."
        )
    return value


# a name, a function of truth and report, a matrix, or a file of one
LossLike = str | os.PathLike[str] | Loss | Callable[[Any, Any], Any] | Iterable[Any]
