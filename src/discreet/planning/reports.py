"""How many reports are needed: for a standard error by a formula, for a Kantorovich distance by simulation.

For a function f of the truth let h solve Ch = f. The mean of h over N reports is an unbiased estimate of the mean of f
(see estimate.py), and its variance is known before a single report is collected:

    with a guess p of the law   Var h(report) / N, for reports with the law pC
    without one                 at most max_i Var(h(report) | truth i) / N around the average of f over the N people
                                themselves, whatever their values are

so N follows. How near a recovered law comes to the truth has no such formula: reports are drawn from the guess, the law
is recovered from them, and its distance to the guess is measured, for numbers of reports on a ladder.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..channels.contract import MATRIX_ENTRIES
from ..errors import DiscreetError, SizeError
from ..measure.distances import kantorovich
from ..mechanism import Mechanism
from ..numbers.exact import parse_exact, show
from ..numbers.grid import Grid
from ..recovery.likelihood import Floats
from ..recovery.recover import recover

_AT = re.compile(r"\s*(cell|cdf)\s*\(([^()]*)\)\s*")
_ROUNDING = 1e-9  # a number of reports is rounded up, unless it is this part of itself above a whole number
_RATIO = 4  # numbers of reports on the ladder are powers of it
_FIRST, _LEAST, _MOST = 8, 3, 15  # its powers: where to start, and both ends (64 and 10^9 reports)
_JUMP = 4  # rungs at once, at most: with it, six numbers of reports are looked at, or fewer
_STEEPEST, _FLATTEST = -1.0, -0.1  # slopes of the logarithms; one beyond is a whim of the draws
_SMALLEST = 1e-300  # a distance whose logarithm can be taken


@dataclass(frozen=True)
class Size:
    """A number of reports, or None and the reason.

    `spread` is the standard deviation of the estimate from one report. `monte_carlo` is the standard error of the number
    itself where it was found by simulation; `curve` then has (reports, mean distance, its standard error).
    """

    reports: int | None
    spread: float = math.nan
    monte_carlo: float = 0.0
    curve: tuple[tuple[int, float, float], ...] = ()
    note: str = ""


@dataclass(frozen=True, eq=False)
class Functional:
    """The mean of a function over the true law: its name, and its numbers in units of `unit` (from any zero)."""

    name: str
    numbers: Floats
    unit: Fraction = Fraction(1)


@dataclass(frozen=True)
class Simulation:
    """How laws are recovered, how often at each number of reports, and the seed of the draws."""

    method: str = "auto"
    iterations: int | None = None
    runs: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in ("auto", "mle", "ibu"):
            raise DiscreetError(f'method = {show(self.method)} cannot be planned with; use "auto", "mle" or "ibu".')
        if self.iterations is not None and self.method != "ibu":
            raise DiscreetError(f'iterations is for method="ibu", not "{self.method}"; leave it out.')
        steps = 1 if self.iterations is None else self.iterations
        for name, value, least in (("runs", self.times, 2), ("seed", self.seed, 0), ("iterations", steps, 1)):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise DiscreetError(f"{name} = {show(value)} must be a whole number; give {least} or more.")

    @property
    def times(self) -> int:
        """Runs at each number of reports."""
        return (4 if self.method == "auto" else 16) if self.runs is None else self.runs

    def __str__(self) -> str:
        steps = "" if self.iterations is None else f", iterations={self.iterations}"
        return f'recover(method="{self.method}"{steps})'


def functional_of(of: Any, grid: Grid) -> Functional:
    """What is estimated: "mean"; "cell(3)" or "cdf(3)", the probability of 3 or of 3 and less; a function; an array."""
    size = grid.size
    if size is None or size > MATRIX_ENTRIES:
        raise SizeError(
            f"Reports can be planned for on a finite grid of up to 2^24 values, not {grid}; give both ends."
        )
    if isinstance(of, str):
        place = np.arange(size)
        if of.strip() == "mean":
            return Functional("the mean", place.astype(np.float64), grid.step)
        match = _AT.fullmatch(of)
        number = parse_exact(match[2]) if match else None
        if match is None or number is None:
            raise DiscreetError(
                f'of = {show(of)} is not known; use "mean", "cell(3)" or "cdf(3)" with a value of the grid, a function of a '
                "value, or an array with one number for each."
            )
        position = (number - grid.anchor) / grid.step
        if not 0 <= position < size or (match[1] == "cell" and position.denominator != 1):
            raise DiscreetError(f"of = {show(of)}: the value {number} is not on {grid}; name one that is.")
        if match[1] == "cell":
            return Functional(f"Pr[value = {number}]", (place == int(position)).astype(np.float64))
        return Functional(f"Pr[value <= {number}]", (place <= math.floor(position)).astype(np.float64))
    if callable(of):
        of = [of(grid.value(k)) for k in range(size)]
    try:
        numbers = np.asarray(of, dtype=np.float64)
    except (TypeError, ValueError):
        raise DiscreetError("A function of the true value must give a number for each of them; mend it.") from None
    if numbers.shape != (size,) or not np.isfinite(numbers).all():
        raise DiscreetError(f"of must have one finite number for each of the {size} true values; give so many.")
    return Functional("the mean of a function", numbers)


def for_standard_error(m: Mechanism, f: Functional, wanted: Fraction, law: Floats | None) -> Size:
    """N = Var h / wanted^2, rounded up: under the law, or for the worst true value (see above).

    >>> import discreet as dt
    >>> m = dt.geometric(10, alpha="1/2")
    >>> for_standard_error(m, functional_of("mean", m.inputs), Fraction(1, 10), None).reports  # variance up to 2a/(1-a)^2 = 4
    392
    """
    channel = m.finite()
    h = channel.unpull(f.numbers)
    if law is None:
        centre = f.numbers.mean()
        variance = float((channel.pull((h - centre) ** 2) - (f.numbers - centre) ** 2).max())
    else:
        variance = float(channel.push(law) @ (h - law @ f.numbers) ** 2)
    variance = max(variance, 0.0) * float(f.unit) ** 2
    number = Fraction(variance * (1 - _ROUNDING)) / wanted**2
    return Size(max(math.ceil(number), 1), math.sqrt(variance))


def for_kantorovich(m: Mechanism, law: Floats, wanted: float, way: Simulation) -> Size:
    """The number of reports at which the mean distance of the recovered law to the true one falls to `wanted`.

    Powers of 4 are tried until two that follow each other have it between them; these two are run again as often, and a
    straight line through the logarithms gives the number. Seeded: the same question has the same answer.
    """
    ladder = _Ladder(m, law, way)
    rung, low, high = _FIRST, _LEAST - 1, _MOST + 1  # too few reports at `low`, enough at `high`: as far as is known
    jump = 0
    while high - low > 1:
        distance = max(ladder.mean(rung), _SMALLEST)
        low, high = (rung, high) if distance > wanted else (low, rung)
        rungs = round(3 * abs(math.log(distance / wanted)) / math.log(_RATIO))  # at a slope of -1/3
        jump = min(max(rungs, 2 * jump, 1), _JUMP)
        if high > _MOST:
            rung = min(rung + jump, _MOST)
        elif low < _LEAST:
            rung = max(rung - jump, _LEAST)
        else:
            rung = (low + high) // 2
    if low == _MOST:
        _, far, error = ladder.point(_MOST)
        note = f"{_RATIO**_MOST:.0e} reports leave {far:.3g} +- {error:.1g}; allow a larger distance or epsilon, or another method."
        return Size(None, curve=ladder.curve, note=note)
    if high == _LEAST:
        return Size(_RATIO**_LEAST, monte_carlo=math.nan, curve=ladder.curve, note="or fewer: no less was tried")
    for end in (low, high):
        ladder.run(end)
    return _between(ladder, low, high, wanted)


class _Ladder:
    """Distances between recovered laws and the true one, run by run, for numbers of reports that are powers of 4."""

    def __init__(self, m: Mechanism, law: Floats, way: Simulation) -> None:
        chances = np.maximum(m.finite().push(law), 0.0)
        self.m, self.law, self.chances, self.way = m, law, chances / chances.sum(), way
        self.seen: dict[int, list[float]] = {}

    def run(self, rung: int) -> None:
        """So many runs, or so many more, with so many reports; each draws from a seed of its own."""
        found, unit, way = self.seen.setdefault(rung, []), float(self.m.inputs.step), self.way
        for _ in range(way.times):
            rng = np.random.default_rng([way.seed, rung, len(found)])
            counts = rng.multinomial(_RATIO**rung, self.chances)
            fit = recover(counts, self.m, way.method, kind="counts", iterations=way.iterations)
            found.append(unit * kantorovich(fit.distribution, self.law))

    def mean(self, rung: int) -> float:
        if rung not in self.seen:
            self.run(rung)
        return float(np.mean(self.seen[rung]))

    def point(self, rung: int) -> tuple[int, float, float]:
        found = self.seen[rung]
        return _RATIO**rung, float(np.mean(found)), float(np.std(found, ddof=1) / math.sqrt(len(found)))

    @property
    def curve(self) -> tuple[tuple[int, float, float], ...]:
        return tuple(self.point(rung) for rung in sorted(self.seen))


def _between(ladder: _Ladder, low: int, high: int, wanted: float) -> Size:
    """Where the line through the logarithms at two rungs meets what is wanted, with its error by the delta method.

    Runs were added since the rungs were chosen, so what is wanted can lie a little outside of them.
    """
    (fewer, first, first_error), (more, second, second_error) = ladder.point(low), ladder.point(high)
    width = math.log(more / fewer)
    above = math.log(max(first, _SMALLEST))
    below = max(math.log(max(second, _SMALLEST)), above + _STEEPEST * width)
    slope = min((below - above) / width, _FLATTEST)
    middle = math.log(wanted) - (above + below) / 2
    share = min(max(middle / (slope * width) + 0.5, -0.5), 1.5)  # of the way from the one to the other
    errors = (1 - share) * first_error / math.exp(above), share * second_error / math.exp(below)
    reports = math.ceil(fewer * math.exp(share * width))
    return Size(reports, monte_carlo=reports * math.hypot(*errors) / -slope, curve=ladder.curve)
