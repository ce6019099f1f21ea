"""True values that are a list of numbers, equally spaced or not; the reports are the same numbers.

A mechanism for them has a row and a report for each value, numbered from 0. Neighbours are values at most the sensitivity apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

from ..errors import DesignError, DiscreetError, GridError, LossError, OutOfRangeError, PriorError
from ..exact import given
from ..exact.aliases import Rational
from ..exact.arithmetic import parse_exact, parse_value, show
from ..exact.grid import Grid
from ..exact.neighbours import Neighbours
from ..exact.small_files import file_name, is_file
from ..measure.loss import Loss, loss_in_file, loss_of
from ..measure.prior import Prior, prior_given, prior_of

Risk = Literal["average", "worst"]
Scalar = Callable[[Fraction, Fraction], Any]


@dataclass(frozen=True)
class Stated:
    """What a design needs to know of true values that are no grid: its parts by the numbers of rows and reports."""

    grid: Grid
    loss: Loss
    prior: Prior
    neighbours: Neighbours
    reports: tuple[Fraction, ...]
    words: dict[str, str]  # what a recipe says of them
    place: Callable[[object], int]  # the row of a true value


@dataclass(frozen=True, init=False)
class Values:
    """A list of true values in rising order."""

    values: tuple[Fraction, ...]

    def __init__(self, values: Any) -> None:
        items = list(values)
        read = [parse_exact(x) for x in items]
        if None in read:
            wrong = items[read.index(None)]
            raise GridError(f"{show(wrong)} is no true value; give a list of numbers, for example [0, 1, 2, 5, 10].")
        numbers = tuple(x for x in read if x is not None)
        if len(numbers) < 2 or any(b <= a for a, b in pairwise(numbers)):
            raise GridError("True values are at least two numbers, in rising order and each once; sort the list.")
        object.__setattr__(self, "values", numbers)

    @property
    def size(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        return f"{self.size} values from {self.values[0]} to {self.values[-1]}"

    def place(self, value: object, at: int = 0) -> int:
        """The number of a true value's row; the value itself never stands in the refusal."""
        for number in (
            parse_value(value),
            parse_exact(value),
        ):  # a float is itself, or the decimal that it is written as
            if isinstance(number, Fraction) and number in self._places:
                return self._places[number]
        raise OutOfRangeError(
            f"The true value at position {at} is none of the {self.size} values of the design; design for it, too. "
            "Nothing was drawn.",
            position=at,
        )

    @cached_property
    def _places(self) -> dict[Fraction, int]:
        return {value: k for k, value in enumerate(self.values)}

    def stated(self, loss: Any, prior: Any, risk: Risk, sensitivity: Rational, neighbours: Any) -> Stated:
        """The parts of a design for these values."""
        grid = Grid.of(self.size - 1)
        delta = given.positive(sensitivity, "sensitivity", example="1/2", error=GridError)
        if neighbours is None:
            between = near(self.size, lambda i, k: self.values[k] - self.values[i] <= delta, f"within {delta}")
        else:
            between = self._between(neighbours)
        words = {"values": " ".join(map(str, self.values))} | (
            {"sensitivity": str(delta)} if neighbours is None else {}
        )
        law = self._prior(prior)
        return Stated(grid, self.loss(loss), law, between, self.values, words, self.place)

    def loss(self, loss: Any) -> Loss:
        """A loss between the values; of a name or a function, computed from the values themselves."""
        grid = Grid.of(self.size - 1)
        if is_file(loss):

            def place(text: str) -> int:
                return self.place_of(text, "In the loss the value", LossError)

            return loss_in_file(loss, place, place, (self.size, self.size))
        if isinstance(loss, str):
            return by_values(scalar_loss(loss), self.values, self.values, f"{named(loss)} between values")
        if callable(loss):
            return by_values(loss, self.values, self.values, given.function_name(loss))
        return loss_of(loss, grid, grid)

    def _prior(self, prior: Any) -> Prior:
        """A prior on the values: a list, {value: probability} or the uniform one."""
        grid = Grid.of(self.size - 1)
        if is_file(prior):
            return Prior(file_name(prior), self._prior(prior_given(prior)).weights)
        if callable(prior):
            return Prior(given.function_name(prior), prior_of(lambda k: prior(self.values[k]), grid).weights)
        if isinstance(prior, str) and prior.strip().lower() != "uniform":
            raise PriorError(
                f"prior = {show(prior)} has no meaning on a list of values; give a probability for each, or cells of an "
                "interval (dt.designs.Cells)."
            )
        if hasattr(prior, "items"):
            return prior_of({self.place_of(x, "The prior's value", PriorError): p for x, p in prior.items()}, grid)
        return prior_of(prior, grid)

    def _between(self, neighbours: Any) -> Neighbours:
        """Pairs of values, by their places; a number of steps and "any" as they are."""
        if isinstance(neighbours, (str, int, Neighbours)):
            return Neighbours.of(neighbours, Grid.of(self.size - 1))
        edges = getattr(neighbours, "edges", neighbours)
        if is_file(edges) or hasattr(edges, "items"):
            raise DesignError(
                'On a list of values neighbours are a number of steps, "any" or pairs of values; for example [(0, 5), (5, 10)].'
            )
        pairs = [tuple(self.place_of(x, "neighbours: the value", DesignError) for x in pair) for pair in edges]
        return Neighbours.pairs(pairs)

    def place_of(self, value: object, what: str, error: type[DiscreetError]) -> int:
        """The row of a public value; `what` names it in the error."""
        exact = parse_exact(value)
        if exact not in self._places:
            raise error(f"{what} {show(value)} is none of the {self}; name one of them.")
        return self._places[exact]


def near(size: int, are_neighbours: Callable[[int, int], bool], words: str) -> Neighbours:
    """All pairs i < k of places that are neighbours, in their shortest form."""
    pairs = [(i, k) for i in range(size) for k in range(i + 1, size) if are_neighbours(i, k)]
    if not pairs:
        raise DesignError(
            f"No two true values lie {words} of each other, so that there is nothing to protect; give a larger sensitivity, or "
            "more of them."
        )
    return Neighbours.pairs(pairs).reduced(Grid.of(size - 1))


def named(loss: str) -> str:
    """A named loss as it is written, refused if it is not known."""
    return loss_of(loss, Grid.of(1), Grid.of(1)).name


def scalar_loss(text: str) -> Scalar:
    """A named loss as a function of truth and report."""
    kinds = {"l0": 0, "l1": 0, "l2": 0, "lp": 1, "tail": 1, "threshold": 1, "asymmetric": 2}
    called = given.called(named(text), kinds)
    assert called is not None  # `named` refuses what is not known
    kind, numbers = called

    def loss(truth: Fraction, report: Fraction) -> Any:
        distance = abs(report - truth)
        match kind:
            case "l0":
                return int(distance > 0)
            case "l1":
                return distance
            case "l2":
                return distance**2
            case "lp":
                whole = numbers[0].denominator == 1
                return distance ** int(numbers[0]) if whole else float(distance) ** float(numbers[0])
            case "tail":
                return int(distance > numbers[0])
            case "threshold":
                return int((truth >= numbers[0]) != (report >= numbers[0]))
        return distance * (numbers[0] if report > truth else numbers[1])

    return loss


def by_values(loss: Scalar, truths: tuple[Fraction, ...], reports: tuple[Fraction, ...], name: str) -> Loss:
    """The loss of each report for each truth, by their places."""

    def of_places(i: int, k: int) -> Any:
        return loss(truths[i], reports[k])

    found = loss_of(of_places, Grid.of(len(truths) - 1), Grid.of(len(reports) - 1))
    return Loss(name, found.numerators, found.denominator)
