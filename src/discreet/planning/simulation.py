"""How many reports a recovered distribution needs to come near the truth, by simulation.

There is no formula for it: reports are drawn from a guess of the truth, the distribution is recovered from them, and
its distance to the guess is measured, for numbers of reports on a ladder.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..errors import DiscreetError
from ..exact.aliases import Rational
from ..exact.arithmetic import show
from ..exact.given import whole
from ..measure.distances import kantorovich
from ..mechanism import Procedure
from ..recovery.likelihood import Floats
from ..recovery.recover import recover

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


@dataclass(frozen=True)
class Simulation:
    """How distributions are recovered, how often at each number of reports, and the seed of the draws."""

    method: str = "auto"
    iterations: int | None = None
    runs: int | None = None
    seed: int = 0

    @classmethod
    def of(
        cls, method: str | None, iterations: Rational | None, runs: Rational | None, seed: Rational | None
    ) -> Simulation:
        """From what people write; what they leave out is chosen."""
        if method not in (None, "auto", "mle", "ibu"):
            raise DiscreetError(f'method = {show(method)} cannot be planned with; use "auto", "mle" or "ibu".')
        if iterations is not None and method != "ibu":
            raise DiscreetError(f'iterations is for method="ibu", not "{method or "auto"}"; leave it out.')
        return cls(
            method or "auto",
            None if iterations is None else whole(iterations, "iterations"),
            None if runs is None else whole(runs, "runs", 2),
            0 if seed is None else whole(seed, "seed", 0),
        )

    @property
    def times(self) -> int:
        """Runs at each number of reports."""
        return (4 if self.method == "auto" else 16) if self.runs is None else self.runs

    def __str__(self) -> str:
        steps = "" if self.iterations is None else f", iterations={self.iterations}"
        return f'recover(method="{self.method}"{steps})'


def for_kantorovich(m: Procedure, law: Floats, wanted: float, way: Simulation) -> Size:
    """The number of reports at which the mean distance of the recovered distribution to the true one falls to `wanted`.

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


def recovered_distance(m: Procedure, law: Floats, number: int, way: Simulation) -> tuple[float, float]:
    """The mean Kantorovich distance of the distribution recovered from so many reports, in the answer's units, and its standard
    error, over the runs; each draws from a seed of its own."""
    found = [
        _one_run(m, law, _chances(m, law), number, way, np.random.default_rng([way.seed, run]))
        for run in range(way.times)
    ]
    return float(np.mean(found)), float(np.std(found, ddof=1) / math.sqrt(len(found)))


def _chances(m: Procedure, law: Floats) -> Floats:
    chances = np.maximum(m.finite().push(law), 0.0)
    return np.asarray(chances / chances.sum())


def _one_run(
    m: Procedure, law: Floats, chances: Floats, number: int, way: Simulation, rng: np.random.Generator
) -> float:
    fit = recover(
        rng.multinomial(number, chances), m, way.method, kind="counts", iterations=way.iterations, ordered=True
    )
    return float(m.inputs.step) * kantorovich(fit.distribution, law)


class _Ladder:
    """Distances between recovered distributions and the true one, run by run, for numbers of reports that are powers of 4."""

    def __init__(self, m: Procedure, law: Floats, way: Simulation) -> None:
        self.m, self.law, self.chances, self.way = m, law, _chances(m, law), way
        self.seen: dict[int, list[float]] = {}

    def run(self, rung: int) -> None:
        """So many runs, or so many more, with so many reports; each draws from a seed of its own."""
        found, way = self.seen.setdefault(rung, []), self.way
        for _ in range(way.times):
            rng = np.random.default_rng([way.seed, rung, len(found)])
            found.append(_one_run(self.m, self.law, self.chances, _RATIO**rung, way, rng))

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
