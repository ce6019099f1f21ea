"""Releases with smooth sensitivity, on a fixed grid: drawn from integers, and nothing told that depends on the noise's size.

Records are moved to the grid first, so that the true value is a pair of integers: the answer f in steps, and the level j of
the noise, whose scale is c_j / s steps with c_(j+1) <= q c_j. Neighbouring data sets have levels at most 1 apart and answers
at most c_j apart. The report is f plus noise of that scale, rounded to the grid and clamped to its ends: post-processing.
Its distribution is integers over 2^bits, so many of them that rounding costs less than 2^-64 of epsilon. Proofs:
docs/theory/smooth.md.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from ..channels.contract import Ratio
from ..channels.ratios import pair_ratio
from ..errors import GridError, SizeError, SourceError
from ..exact.arithmetic import ball, precision, show
from ..exact.grid import Grid
from ..exact.level import Level
from ..exact.positions import positions
from ..present.views import Result, View, plain
from ..randomness.source import Source, fork_mark, secure_source, warn_of_seed
from .exact_records import array_of, whole_sum
from .queries import Query, reach_of
from .reach import best_of
from .splits import Admissible, floor_of

_FIXED = 128  # binary places of the scales
_MOST_STEPS = 2**40
_MOST_LEVELS = 2**16
_MOST_ENTRIES = 2**16  # of all rows, where every pair of neighbours is looked at
_RELATIVE = 72  # bits: no probability is off by more than 2^-70 of itself


@dataclass(frozen=True, repr=False)
class SmoothReport(Result):
    """What is told of a release: the report, and how it was asked for. How large the noise was is private."""

    report: int | Fraction
    query: Query
    step: Fraction
    level: Level
    distribution: str
    insecure: bool = False  # drawn from a seed

    def __float__(self) -> float:
        return float(self.report)

    def view(self) -> View:
        note = (
            f"{self.distribution} noise with smooth sensitivity, in steps of {self.step}; its size is private, so there is "
            "no interval."
        )
        return View(f"{self.query._title()}: {self.report} at {self.level}", notes=(note,))

    def to_dict(self) -> dict[str, Any]:
        return {
            "report": self.report if isinstance(self.report, int) else str(self.report),
            "step": str(self.step),
            "alpha": str(self.level.alpha),
            "epsilon": self.level.epsilon,
            "distribution": self.distribution,
            "query": self.query.to_dict(),
        }


@dataclass(frozen=True, repr=False)
class PairVerdict(Result):
    """Whether the level holds between all neighbouring pairs (answer, noise level), on the integers that are drawn from."""

    holds: bool
    alpha: Fraction
    claimed: Level
    pairs: int
    witness: tuple[tuple[int, int], tuple[int, int], int]

    def __bool__(self) -> bool:
        return self.holds

    def view(self) -> View:
        (f, j), (g, k), report = self.witness
        told = "holds" if self.holds else "does NOT hold"
        epsilon = Level(self.alpha).epsilon if self.alpha else math.inf
        return View(
            f"{self.claimed} {told} between {self.pairs} pairs of neighbours; the tight epsilon is {epsilon:.9g}",
            notes=(
                f"reached at report {report} between (answer {f}, level {j}) and (answer {g}, level {k}), in steps",
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "holds": self.holds,
            "alpha": str(self.alpha),
            "claimed": str(self.claimed.alpha),
            "pairs": self.pairs,
            "witness": plain(self.witness),
        }


@dataclass(frozen=True, repr=False)
class SmoothNoise(Result):
    """The distribution of a report given the true answer and the level of the noise, all in steps of a grid. It knows no data."""

    query: Query
    step: Fraction
    noise: Admissible

    def __post_init__(self) -> None:
        steps = self.outputs.n
        if steps is None or steps > _MOST_STEPS:
            raise GridError(f"The answers lie on more than 2^40 steps of {self.step}; give a coarser step.")
        levels = math.log(max(self._farthest, 1)) / float(self.noise.beta)
        if levels > _MOST_LEVELS:
            raise GridError(
                f"The noise would have more than 2^16 levels; give a beta above {float(self.noise.beta):.3g}, or a coarser step."
            )

    @cached_property
    def inputs(self) -> Grid:
        """Where records are moved to."""
        return Grid(self.query.low, self.query.high, self.step)

    @cached_property
    def outputs(self) -> Grid:
        """Where answers and reports live."""
        return self.query.grid(self.step)

    @property
    def level(self) -> Level:
        return self.noise.level

    @property
    def _top(self) -> int:
        assert self.outputs.n is not None
        return self.outputs.n

    @property
    def _farthest(self) -> int:
        """The global sensitivity in steps, rounded up."""
        return math.ceil(self.query.global_sensitivity / self.step)

    @cached_property
    def scales(self) -> tuple[int, ...]:
        """c_0 = 1 step, c_1, ... up to the global sensitivity, as multiples of 2^-128: each q times the one before, rounded up."""
        q, found = self.noise.growth, [1 << _FIXED]
        while found[-1] >> _FIXED < self._farthest:
            found.append(-(-found[-1] * q.numerator // q.denominator))
        return tuple(found)

    @cached_property
    def reaches(self) -> tuple[int, ...]:
        """The whole steps that each level covers: floor(c_j)."""
        return tuple(c >> _FIXED for c in self.scales)

    @cached_property
    def bits(self) -> int:
        """The distribution's weights sum to 2^bits: so many that the rarest report has a weight above 2^71.

        No report is farther than `top` + 1 steps from the truth, and the density there is smallest for the smallest or
        the largest scale.
        """
        d, far = float(self._freedom), self._top + 1.0
        norm = 0.5 * math.log(d) + math.lgamma(d / 2) + math.lgamma(0.5) - math.lgamma(d / 2 + 0.5)

        def log_density(scale: int) -> float:
            sigma = math.ldexp(scale >> 64, 64 - _FIXED) / float(self.noise.s)
            return -math.log(sigma) - norm - (d + 1) / 2 * math.log1p((far / sigma) ** 2 / d)

        rarest = min(log_density(self.scales[0]), log_density(self.scales[-1])) / math.log(2)
        return 64 * math.ceil((_RELATIVE + 1 - rarest) / 64)

    @property
    def _freedom(self) -> Fraction:
        return self.noise.freedom or Fraction(1)

    def true_pair(self, data: Any, *, clamp: bool = False) -> tuple[int, int]:
        """PRIVATE: the answer in steps and the level of the noise.

        The level is the largest J(A_k) - k, or 0, where J(A) is the first level that covers A steps.
        """
        if self.query.name == "count":
            self.query._read(data, clamp)  # zeros and ones, before anything is rounded to some
        places = positions(self.inputs, array_of(data, self.query.records), clamp=clamp)
        reach = reach_of(self.query, places, 0, self.inputs.n)

        def score(size: Any, k: int) -> int:
            return bisect_left(self.reaches, math.ceil(size)) - k

        return self._answer(places), max(best_of(reach, score, 0)[0], 0)

    def _answer(self, places: NDArray[np.int64]) -> int:
        if self.query.rank is not None:
            return int(np.partition(places, self.query.rank - 1)[self.query.rank - 1])
        total, n = whole_sum(places), self.query.records
        return (2 * total + n) // (2 * n) if self.query.name == "mean" else total

    def below(self, answer: int, level: int, report: int) -> int:
        """The weight of all reports up to this one: an integer within 2 of 2^bits times its probability."""
        if report < 0 or report >= self._top:
            return 0 if report < 0 else 1 << self.bits
        z = Fraction(2 * (report - answer) + 1, 2) * self.noise.s * Fraction(1 << _FIXED, self.scales[level])
        extra = 64
        while True:
            with precision(self.bits + extra):
                scaled = self._cdf(z) * flint.arb(2) ** self.bits
                if scaled.rad() < 0.5:
                    return floor_of(scaled.mid())
            extra *= 2

    def _cdf(self, z: Fraction) -> flint.arb:
        x = ball(z)
        if self._freedom == 1:
            return flint.arb(1) / 2 + x.atan() / flint.arb.pi()
        d = ball(self._freedom)
        tail = (d / (d + x * x)).beta_lower(d / 2, flint.arb(1) / 2, regularized=True) / 2
        return tail if z < 0 else 1 - tail

    def weights(self, answer: int, level: int) -> list[int]:
        """The distribution of the report for one true pair, as integers that sum to 2^bits."""
        sums = [self.below(answer, level, report) for report in range(-1, self._top + 1)]
        return [b - a for a, b in itertools.pairwise(sums)]

    def release(self, data: Any, *, clamp: bool = False, source: Any = None) -> SmoothReport:
        """One report about the data. With clamp=True records outside the range are moved to its ends, and none is refused."""
        if source is None:
            source = secure_source()
        if not isinstance(source, Source):
            raise SourceError(
                f"source = {show(source)} is no source of words; leave it out to draw securely, "
                "or use insecure_source(seed) in tests."
            )
        insecure = warn_of_seed(source)
        answer, level = self.true_pair(data, clamp=clamp)
        while True:
            process = fork_mark()
            report = self.draw(answer, level, source)
            if process == fork_mark():  # else a child holds words of its parent: it draws anew
                return SmoothReport(
                    self.outputs.value(report), self.query, self.step, self.level, self.noise.name, insecure
                )

    def draw(self, answer: int, level: int, source: Source) -> int:
        """The report, in steps, whose weights hold a uniform number of so many bits; found by bisection."""
        drawn = int.from_bytes(source.words(self.bits // 64).astype("<u8").tobytes(), "little")
        report = 0
        for power in reversed(range(self._top.bit_length())):  # as many looks for every truth and every report
            trial = report + (1 << power)
            reached = self.below(answer, level, min(trial, self._top) - 1) <= drawn
            report = trial if reached and trial <= self._top else report
        return report

    def verify(self) -> PairVerdict:
        """The level between all neighbouring pairs (answer, level), exactly, on the integers themselves; for small grids.

        Neighbours: levels at most 1 apart, answers at most as many steps as the smaller of their levels covers. All that
        neighbouring data sets have are among them (docs/theory/smooth.md).
        """
        size, levels = self._top + 1, len(self.scales)
        if size * size * levels > _MOST_ENTRIES:
            raise SizeError(
                f"{size} answers at {levels} levels are too many to look at every pair; the level is proved for all sizes: "
                "give a coarser step to see it on the integers."
            )
        rows = {(f, j): np.array(self.weights(f, j), dtype=object) for j in range(levels) for f in range(size)}
        worst: tuple[Ratio, Any, Any] | None = None
        count = 0
        for (f, j), row in rows.items():
            for k in range(max(j - 1, 0), min(j + 2, levels)):
                near = self.reaches[min(j, k)]
                for g in range(max(f - near, 0), min(f + near, self._top) + 1):
                    if (g, k) != (f, j):
                        ratio, count = pair_ratio(np.array([row, rows[g, k]]), 0, 1), count + 1
                        if worst is None or ratio.alpha < worst[0].alpha:
                            worst = ratio, (f, j), (g, k)
        assert worst is not None
        alpha = worst[0].alpha
        witness = worst[1], worst[2], worst[0].report or 0
        return PairVerdict(self.level.admits(alpha), alpha, self.level, count // 2, witness)

    def _title(self) -> str:
        return f"{self.query._title()}, {self.noise.name} noise in steps of {self.step}, {self.level}"

    def view(self) -> View:
        rows = ((str(self.outputs), len(self.scales), float(self.noise.beta), float(self.noise.s), self.bits),)
        return View(
            self._title(),
            ("reports", "levels of noise", "beta", "s", "bits"),
            rows,
            ("Which level a data set has is private.",),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "query": self.query.to_dict(),
            "step": str(self.step),
            "noise": self.noise.to_dict(),
            "levels": len(self.scales),
            "bits": self.bits,
        }
