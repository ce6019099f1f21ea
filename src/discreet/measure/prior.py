"""Priors: what is publicly known about the true value before a report, as exact rationals.

    None, "uniform"            every value equally likely
    "binomial(0.3)"            on 0..n
    "normal(40, 10)"           mean and standard deviation, cut off at the grid's ends
    "beta(2, 5)"               its shape stretched over the grid
    "maximum(100)"             the largest of 100 records, alike between the ends: Beta(100, 1) from end to end;
                               "minimum(100)" is the smallest
    a list                     one probability for each value
    a mapping                  {value: probability}, 0 for the others: side information
    a function                 of a value: its weight, a number of 0 or more; weights are divided by their sum
    a file                     Path("prior.csv") with the columns value and probability (or weight), or with probabilities
                               alone; Path("prior.json") with a list, {"0": 0.2, "1": 0.8}, or {"weights": ...} of either
    from_counts(...)           estimated from a histogram that is public or has been released
    Prior.binned(grid, cdf)    any distribution of a real answer, rounded to the grid

A prior must rest on public or already released facts: one that is taken from private data reveals them.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import PriorError
from ..exact import given
from ..exact.arithmetic import parse_entry, show
from ..exact.frozen import Frozen, frozen
from ..exact.grid import Grid
from ..exact.small_files import Sheet, did_you_mean_file, each_once, file_name, is_file, read_small
from .loss import PRIORS

Floats = NDArray[np.float64]

_USE = (
    'use "uniform", "binomial(0.3)", "normal(40, 10)", "beta(2, 5)", "maximum(100)", a list of probabilities, '
    "{value: probability}, a function of a value, or the Path of a file with them"
)
_EXAMPLE = "a line value,probability and then a line for each value, such as 0,0.2"
_WEIGHT: given.Bounds = (0.0, float("inf"), "; a weight is a finite number of 0 or more")
_MOST = 2**24
_RECORDS = 10**5
_PARTS = (
    2**60
)  # a binned distribution's weights in all, about: floats and powers are rounded to that, alike on every machine


@dataclass(frozen=True, eq=False, repr=False)
class Prior(Frozen):
    """Pr[value i] = weights[i] / sum(weights): integers, so that nothing is rounded from here on.

    >>> import discreet as dt
    >>> dt.expected_loss(dt.geometric(1, alpha="1/2"), "l0", prior=dt.Prior("mostly 0", (9, 1)))
    0.3333333333333333
    """

    name: str
    weights: tuple[int, ...]
    source: str = "declared"

    def __post_init__(self) -> None:
        if not self.weights or min(self.weights) < 0 or not any(self.weights):
            raise PriorError("A prior needs weights of 0 or more that are not all 0; give one for each true value.")

    @classmethod
    def binned(cls, grid: Grid | int, cdf: Callable[[Any], Any], name: str = "binned") -> Prior:
        """A real answer's distribution on a grid: each value gets the probability of what rounds to it, half a step either way.

        `cdf(x)` is the probability of at most x, for exact x; what lies beyond the ends is cut off.

        >>> import discreet as dt
        >>> dt.Prior.binned(dt.Grid(0, 2), lambda x: x / 2).floats.tolist()
        [0.25, 0.5, 0.25]
        """
        grid = Grid.of(grid)
        size = grid.size
        if not callable(cdf):
            raise PriorError(f"cdf = {show(cdf)} is not a function; give for example lambda x: x / 100.")
        if size is None or grid.low is None or grid.high is None or size > _MOST:
            raise PriorError(f"A prior needs a finite grid of at most 2^24 values, not {grid}; give both ends.")
        cuts = [grid.low, *(grid.low + (k + Fraction(1, 2)) * grid.step for k in range(size - 1)), grid.high]
        levels = [parse_entry(cdf(x)) for x in cuts]
        chances = [None if a is None or b is None else b - a for a, b in pairwise(levels)]
        known = [x for x in chances if x is not None and x >= 0]
        if len(known) < size or not 0 < sum(known) <= 1:
            raise PriorError(
                "A cdf must rise from 0 to 1 and return a number everywhere; give for example lambda x: x / 100."
            )
        total = sum(known)
        return cls(name, given.weights([Fraction(round(x / total * _PARTS)) for x in known]))

    @cached_property
    def total(self) -> int:
        return sum(self.weights)

    @cached_property
    def floats(self) -> Floats:
        return frozen(np.array([w / self.total for w in self.weights]))

    @cached_property
    def is_symmetric(self) -> bool:
        return self.weights == self.weights[::-1]

    def __repr__(self) -> str:
        """The first chances; the weights may have many digits."""
        chances = " ".join(f"{w / self.total:.4g}" for w in self.weights[:8])
        return f"<Prior {self} on {len(self.weights)} values: {chances}{' ...' if len(self.weights) > 8 else ''}>"

    def __str__(self) -> str:
        return self.name if self.source == "declared" else f"{self.name} ({self.source})"


def prior_of(prior: Any, grid: Grid) -> Prior:
    """A prior on a finite grid, validated. Names are read in any case."""
    size = grid.size
    if size is None or size > _MOST:
        raise PriorError(f"A prior needs a finite grid of at most 2^24 values, not {grid}; give both ends.")
    if isinstance(prior, Prior):
        if len(prior.weights) != size:
            raise PriorError(
                f"The prior is for {len(prior.weights)} values, but {grid} has {size}; make one that fits."
            )
        return prior
    if is_file(prior):
        return Prior(file_name(prior), prior_of(prior_given(prior), grid).weights)
    if prior is None or isinstance(prior, str):
        return _named("uniform" if prior is None else prior, grid, size)
    if isinstance(prior, Mapping):
        return _mapped(prior, grid, size)
    if callable(prior):
        return _called(prior, [grid.value(k) for k in range(size)])
    if not hasattr(prior, "__iter__"):
        raise PriorError(f"prior = {show(prior)} is not known; {_USE}.")
    return Prior("list", _law(prior, grid, range(size)))


def prior_given(prior: Any) -> Any:
    """What the file of a prior holds, a list of probabilities or {value: probability}; anything else as it is."""
    if not is_file(prior):
        return prior
    found, name = read_small(prior, "the prior", _EXAMPLE, PriorError), file_name(prior)
    weighted = False
    if isinstance(found, Sheet):
        found, weighted = _of_sheet(found, name)
    elif isinstance(found, dict) and len(found) == 1 and isinstance(next(iter(found.values())), (list, dict)):
        kind, found = next(iter(found.items()))
        if kind not in ("weights", "probabilities"):
            raise PriorError(f'{name} has {show(kind)}; call it "weights" or "probabilities".')
        weighted = kind == "weights"
    if not weighted:
        return found
    values = list(found.values()) if isinstance(found, dict) else found
    exact = [Fraction(x) for x in given.vector(values, f"The prior in {name}", bounds=_WEIGHT, error=PriorError)]
    total = sum(exact)
    if not total:
        raise PriorError(f"All weights in {name} are 0; give one that is not.")
    chances = [x / total for x in exact]
    return dict(zip(found, chances, strict=True)) if isinstance(found, dict) else chances


def _of_sheet(sheet: Sheet, name: str) -> tuple[Any, bool]:
    """A list or a mapping of the numbers in a CSV file, and whether these are weights."""
    if sheet.heading is None:
        return [part for line in sheet.lines for cell in line for part in cell.split()], False
    names = [part.lower() for part in sheet.heading]
    kind = next((part for part in ("probability", "weight") if part in names), None)
    if kind is None or sorted(names) not in ([kind], sorted(["value", kind])):
        raise PriorError(
            f"The columns of {name} are called {', '.join(map(show, sheet.heading))}; call them value and probability, or "
            "value and weight."
        )
    if any(len(line) != len(names) for line in sheet.lines):
        raise PriorError(f"Some line of {name} has not {len(names)} cells; give each line a value and its {kind}.")
    numbers = [line[names.index(kind)] for line in sheet.lines]
    if len(names) == 1:
        return numbers, kind == "weight"
    values = [line[names.index("value")] for line in sheet.lines]
    return dict(zip(each_once(values, values, name, "value", PriorError), numbers, strict=True)), kind == "weight"


def _called(function: Callable[[Any], Any], values: Sequence[Any]) -> Prior:
    """The weights that a function gives the values."""
    try:
        inspect.signature(function).bind(0)
    except TypeError:
        raise PriorError("A prior is a function of one value, which gives its weight; this one is not.") from None
    except ValueError:  # some of Python's own do not say what they take
        pass
    weights = []
    for value in values:
        found = function(value)
        weight = parse_entry(found)
        if weight is None or weight < 0:
            raise PriorError(
                f"The prior's weight of the value {value} is {show(found)}; a function gives each value a number of 0 or "
                "more."
            )
        weights.append(weight)
    if not any(weights):
        raise PriorError("The prior gives every value the weight 0; give one of them more.")
    return Prior(given.function_name(function), given.weights(weights))


def is_prior(value: Any) -> bool:
    """Can this only be a prior, where a loss or a prior is accepted? A loss has another name, or is a matrix."""
    if isinstance(value, (Prior, Mapping)):
        return True
    if isinstance(value, str):
        return given.called(value, PRIORS) is not None
    if callable(value) or not hasattr(value, "__len__"):
        return False
    return bool((value.ndim if hasattr(value, "ndim") else np.ndim(next(iter(value), 0)) + 1) == 1)


def from_counts(counts: Any, *, source: Literal["public", "released"], grid: Grid | int | None = None) -> Prior:
    """A prior estimated from a histogram of the true values: public data, or counts that have been released before.

    `source` says which, and is recorded with every mechanism that is designed for it. Negative counts, which noise
    makes, count as 0.

    >>> from discreet.measure.prior import from_counts
    >>> from_counts([12, 30, 8], source="public").floats.tolist()
    [0.24, 0.6, 0.16]
    """
    if source not in ("public", "released"):
        raise PriorError(f'source = {show(source)} must say where the counts come from: "public" or "released".')
    size = None if grid is None else Grid.of(grid).size
    exact = [max(x, Fraction(0)) for x in given.vector(counts, "The histogram", size=size, error=PriorError)]
    if not any(exact):
        raise PriorError("A histogram of zeros determines no prior; use the uniform one.")
    return Prior("histogram", given.weights(exact), source)


def _named(text: str, grid: Grid, size: int) -> Prior:
    found = given.called(text, PRIORS)
    if found is None:
        raise PriorError(f"prior = {show(text)} is not known; {_USE}{did_you_mean_file(text)}.")
    kind, numbers = found
    if kind == "uniform":
        return Prior(kind, (1,) * size)
    if kind in ("maximum", "minimum"):
        return _extreme(kind, numbers[0], grid, text)
    from scipy import special  # a slow import, kept out of the way of those who do not need it

    place, values = np.arange(size), grid.floats(size)
    if max(map(abs, numbers)) > 2**62:
        raise PriorError(f"prior = {show(text)}: its numbers lie beyond any grid; write for example normal(40, 10).")
    first, second = float(numbers[0]), float(numbers[-1])
    if kind == "binomial":
        if not 0 < first < 1:
            raise PriorError(
                f"prior = {show(text)}: the chance of each person lies between 0 and 1; write binomial(0.3)."
            )
        from scipy import stats  # slower still

        chances = stats.binom.pmf(place, size - 1, first)
    elif second <= 0 or (kind == "beta" and first <= 0):
        raise PriorError(
            f"prior = {show(text)}: a spread or shape must be positive; write normal(40, 10) or beta(2, 5)."
        )
    elif kind == "normal":  # each value gets the mass of the half steps around it, what lies beyond is cut off
        half = float(grid.step) / 2
        near, far = np.abs(values - first) - half, np.abs(values - first) + half  # the upper tail keeps its digits
        chances = special.ndtr(-near / second) - special.ndtr(-far / second)
    else:
        chances = np.diff(special.betainc(first, second, np.arange(size + 1) / size))
    if not np.isfinite(chances).all() or chances.sum() <= 0:
        raise PriorError(f"prior = {show(text)} leaves no probability on {grid}; move it or widen the grid.")
    return Prior(f"{kind}({', '.join(map(str, numbers))})", given.weights(chances.tolist()))


def _extreme(kind: str, records: Fraction, grid: Grid, text: str) -> Prior:
    """The largest or smallest of a number of records, uniform between the ends: ((x - low)/(high - low))^records."""
    if records.denominator != 1 or not 1 <= records <= _RECORDS:
        raise PriorError(f'prior = {show(text)} must be of 1 to {_RECORDS} records; write for example "{kind}(100)".')
    many = int(records)
    low, width = grid.anchor, (grid.n or 0) * grid.step
    if kind == "maximum":
        return Prior.binned(grid, lambda x: ((x - low) / width) ** many, f"maximum({many})")
    return Prior.binned(grid, lambda x: 1 - (1 - (x - low) / width) ** many, f"minimum({many})")


def _mapped(prior: Mapping[Any, Any], grid: Grid, size: int) -> Prior:
    chances: dict[int, Any] = {}
    for value, chance in prior.items():
        place = grid.place_of(value, "The prior's value", PriorError)
        if place in chances:
            raise PriorError(f"The prior names the value {grid.value(place)} twice; name each value once.")
        chances[place] = chance
    weights = [0] * size
    for k, weight in zip(chances, _law(list(chances.values()), grid, list(chances)), strict=True):
        weights[k] = weight
    return Prior("list", tuple(weights))


def _law(chances: Any, grid: Grid, places: Sequence[int]) -> tuple[int, ...]:
    """Probabilities of the values at these places as integer weights; they must sum to 1."""
    read = given.law(
        chances,
        f"The prior on {grid}",
        size=len(places),
        at=lambda k: f"the value {grid.value(places[k])}",
        error=PriorError,
    )
    return given.weights(read)


# a name, probabilities, {value: probability}, a function of a value, or a file
PriorLike = str | os.PathLike[str] | Prior | Callable[[Any], Any] | Iterable[Any]
