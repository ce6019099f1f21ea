"""An estimate: the recovered distribution, its certificate, and what the reports say directly about sums over the true one.

The recovered distribution is for looking at and for reading off means, quantiles and tails. How sure they are is another
question: at distributions with zeros, the likelihood's curvature and the naive bootstrap of a recovered distribution
both mislead. So standard errors, intervals and bands rest on direct estimates. For a function f of the truth let h
solve Ch = f. Then the mean of h(report) over the reports is an unbiased estimate of the mean of f(truth), whatever the
true distribution, and the spread of h(report) over the reports gives its standard error. The N true values count as
drawn independently from the true distribution (Fernandes, Lefki and Palamidessi, section 3); against their own average
the intervals are, if anything, too wide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ..channels import Finite
from ..errors import DiscreetError, RecoveryError, SingularError, SizeError
from ..exact.arithmetic import show, show_above
from ..exact.frozen import Frozen, frozen
from ..exact.given import number, share, vector, whole
from ..mechanism import Procedure
from ..present.views import Result, View, plain
from .agreement import Agreement, agreement
from .bands import PROGRAMS, as_distribution_functions, band_over_distributions, direct_band, leaning, moments
from .indicators import indicator
from .likelihood import Floats, Trace
from .pictures import drawn
from .shares import NumberDifference, ShareDifferences, Shares

_BLOCK = 2**21  # entries of a block of functions that are solved for together
_MOST = 2**28  # entries of all blocks together
_DRAWS = 100_000  # bootstrap data sets of a band, at most
_CLOSEST = 1e-15  # the least share that an interval may miss: a normal quantile beyond it has no digits
_ROUNDING = 1e-12  # a distribution function reaches a probability up to this
_QUANTILES = (("5 %", 0.05), ("median", 0.5), ("95 %", 0.95))
_TOP = 10  # names that are printed with their intervals and ranks
_LISTED = 5  # names that are printed


class Direct(NamedTuple):
    """A direct estimate and its standard error: numbers, or one of each for every true value."""

    estimate: Any
    standard_error: Any


class _Direct(NamedTuple):
    """The same with what one report more may change, how far the distribution leans to one side (see leaning), the least
    and the most that can be, and how far a curved function of two means moves with them (see _variance)."""

    estimate: Any
    error: Any
    one_more: Any
    lean: Any
    least: Any
    most: Any
    bend: Any = 0.0

    @property
    def counted_error(self) -> Any:
        """The standard error with one report more, of any kind: a few reports that are all alike leave some."""
        return np.hypot(self.error, self.one_more)


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Frozen, Result):
    """The distribution of the true values recovered from counts of reports, and how it was found.

    `gap` certifies it: no distribution has a mean log-likelihood (per report) higher by more. `log_likelihood` is that of all
    reports together. `unique` says whether the maximum likelihood estimate is the only one; None: not known. `ordered` says
    whether the values are numbers in their order; else they are names, of which no mean is printed.
    """

    mechanism: Procedure
    counts: NDArray[np.int64]
    method: str
    distribution: Floats
    gap: float
    log_likelihood: float
    iterations: int
    trace: Trace
    notes: tuple[str, ...]
    unique: bool | None
    places: tuple[tuple[float, float], ...] = ()  # of the atoms, with their probabilities
    ordered: bool = True
    order_given: bool = False  # by the caller; else the mechanism says
    insecure: bool = False  # some reports were drawn from a seed

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", frozen(self.counts))
        object.__setattr__(self, "distribution", frozen(self.distribution))

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Values that stand out, each with a probability of its own, in the best model of "auto"; empty for other methods."""
        return tuple((self._moved(place), mass) for place, mass in self.places)

    @property
    def reports(self) -> int:
        """N, the number of reports."""
        return int(self.counts.sum())

    @cached_property
    def _q(self) -> Floats:
        return frozen(np.asarray(self.counts / self.reports))

    @property
    def _channel(self) -> Finite:
        return self.mechanism.finite()

    @cached_property
    def _values(self) -> Floats:
        return frozen(self.mechanism.inputs.floats(len(self.distribution)))

    @cached_property
    def fit(self) -> Agreement:
        """Could the mechanism have made these reports? A test that holds whatever the true values are; see Agreement.

        It is of the reports and the mechanism alone, the same for every method.
        """
        return agreement(self._channel, self.counts, self.distribution)

    # The recovered distribution

    def mean(self) -> float:
        """The mean of the recovered distribution, in the answer's units."""
        self._need_order("mean")
        return float(self.distribution @ self._values)

    def variance(self) -> float:
        """The variance of the recovered distribution."""
        self._need_order("variance")
        return float(self.distribution @ (self._values - self.mean()) ** 2)

    def quantile(self, p: Any) -> int | Fraction:
        """The smallest value of the grid at or below which the recovered distribution has at least the probability p."""
        self._need_order("quantile")
        wanted = float(share(p, "p", "a probability", closed=True, example="0.5", error=RecoveryError))
        reached = np.flatnonzero(np.cumsum(self.distribution) >= wanted - _ROUNDING)
        return self.mechanism.inputs.value(int(reached[0]) if len(reached) else len(self.distribution) - 1)

    def tail(self, x: Any) -> float:
        """Pr[value > x] under the recovered distribution."""
        grid = self.mechanism.inputs
        self._need_order("tail")
        x = number(x, "x", "be a number in the answer's units", lambda _: True, example=5, error=RecoveryError)
        place = (x - grid.anchor) / grid.step
        return float(self.distribution[max(place.numerator // place.denominator + 1, 0) :].sum())

    # Directly from the reports

    def direct(self, of: Any = "mean") -> Direct:
        """An unbiased estimate from the reports alone, and its standard error.

        `of` is "mean" or "variance" of the true distribution, its "cells" (the probability of each value) or "cdf" (of each value
        or less), "cell(3)" or "cdf(3)" for one of them, a function of a true value, or an array with its numbers: then the mean of
        that function. The variance is E X^2 - (E X)^2; the square of an estimated mean is too large by the variance of
        that estimate, which is taken off again, so it is unbiased too (it can be negative); its standard error is by the delta
        method, to the second order. A few reports that all say the same have a standard error of 0; `interval` counts one more.
        """
        return Direct(*self._direct(of)[:2])

    def _direct(self, of: Any) -> _Direct:
        if self.reports < 2:
            raise RecoveryError("A standard error needs at least two reports; collect more.")
        if isinstance(of, str) and of in ("mean", "variance", "cdf"):
            self._need_order("distribution function" if of == "cdf" else of)
        if isinstance(of, str):
            match of:
                case "mean":
                    found, step = self._linear(self._positions), float(self.mechanism.inputs.step)
                    moved = (self._moved(place) for place in (found.estimate, found.least, found.most))
                    estimate, least, most = moved
                    return _Direct(estimate, step * found.error, step * found.one_more, step * found.lean, least, most)
                case "variance":
                    return self._variance()
                case "cells" if (hits := self._channel.hits(self.counts.astype(np.float64))) is not None:
                    return self._of_hits(*hits)
                case "cells" | "cdf":
                    parts = [self._linear(block) for block in self._blocks(of == "cdf")]
                    return _Direct(*(np.concatenate(side) for side in zip(*(part[:-1] for part in parts), strict=True)))
            named = indicator(of, self.mechanism.inputs, RecoveryError) if self.mechanism.inputs.is_ordered else None
            if named is None:
                raise RecoveryError(
                    f'of = {show(of)} is not known; use "mean", "variance", "cells", "cdf", "cell(3)" or "cdf(3)" with a value '
                    "of the grid, a function or an array."
                )
            return self._linear(named[1])
        return self._linear(self._function(of))

    def interval(self, confidence: Any = 0.95, of: Any = "mean") -> tuple[Any, Any]:
        """A confidence interval around the direct estimate: its two ends, or two arrays for "cells" and "cdf".

        The estimate is an average over independent reports, so its error is close to normal when there are many. For
        cells and distribution functions each interval holds by itself (see band for all together). An interval stays within
        what can be (a mean between the least and the largest value, a probability in [0, 1], a variance between 0 and that
        of the two ends), which loses no coverage: an estimate beyond is moved to the end, and what sticks out is cut off.
        The standard error counts one report more, of any kind, so that a few reports that are all alike do not make a point.
        Where few reports decide, as with 95 % zeros, the estimate and its standard error are small together: the interval then
        reaches farther to the side to which the reports lean (the Cornish-Fisher term of a studentised mean: the third central
        moment over the variance, times (1 + 2 z^2)/6N). For a variance the square of the estimated mean counts, too, and
        moves the interval down.
        """
        miss = 1 - share(confidence, "confidence", "how often the interval covers", error=RecoveryError)
        if miss < _CLOSEST:
            raise RecoveryError(f"confidence = {show(confidence)} is too near 1 for a float; use 0.999999.")
        return self._around(self._direct(of), float(miss))

    def _around(self, found: _Direct, miss: float) -> tuple[Any, Any]:
        """The interval around a direct estimate that misses so often."""
        z = -NormalDist().inv_cdf(miss / 2)
        shift = (found.lean * (1 + 2 * z**2) - 6 * found.bend * (1 + z**2)) / (6 * self.reports)
        centre = np.clip(found.estimate, found.least, found.most) + shift
        reach = np.hypot(shift, z * found.counted_error)
        ends = np.maximum(centre - reach, found.least), np.minimum(centre + reach, found.most)
        return ends if np.ndim(centre) else (float(ends[0]), float(ends[1]))

    def band(
        self, confidence: Any = 0.95, draws: int = 1000, seed: int | None = None, by: str = "auto"
    ) -> tuple[Floats, Floats]:
        """A band that holds the whole true distribution function: its lower and upper curve over the true values.

        by="distributions" goes from the least to the most that any distribution says whose reports fit those seen, and
        covers at least as often as stated, whatever the distribution and the number of reports; by="direct" goes so
        many standard errors from the direct estimate, calibrated by `draws` bootstrap data sets, which needs many
        reports (see discreet.recovery.bands). "auto" takes what both leave, each with half of the error; the direct one
        alone for more than 250 values or where no distribution fits, the other where there is no direct estimate. Draws
        are for analysis; `seed` repeats them.
        """
        self._need_order("distribution function")
        sure = float(share(confidence, "confidence", "how often the band covers", error=RecoveryError))
        seed = None if seed is None else whole(seed, "seed", 0, error=RecoveryError)
        draws = whole(draws, "draws", 20, _DRAWS, example=1000, error=RecoveryError)
        if by not in ("auto", "distributions", "direct"):
            raise RecoveryError(f'by = {show(by)} must be "auto", "distributions" or "direct".')
        if self.reports < 2:
            raise RecoveryError("A band needs at least two reports; collect more.")
        channel, number, rng = self._channel, self.reports, np.random.default_rng(seed)
        small = max(channel.rows, channel.reports) <= PROGRAMS
        if by == "distributions" and not small:
            raise SizeError(f'A band over distributions is for up to {PROGRAMS} values; use by="direct".')
        part = (1 + sure) / 2 if by == "auto" and small else sure
        found = None
        if by == "distributions" or (by == "auto" and small):
            found = band_over_distributions(channel, self._q, number, part)
            if found is None and by == "distributions":
                raise RecoveryError(
                    "No distribution of the true values fits the reports at this confidence: ask for more, use "
                    'by="direct", or check that this mechanism made them.'
                )
        if by != "distributions":
            try:
                direct = direct_band(channel, self._q, self.distribution, number, part, draws, rng)
                both = direct if found is None else (np.maximum(found[0], direct[0]), np.minimum(found[1], direct[1]))
                found = both if found is None or _holds_a_distribution(*both) else found
            except SingularError:
                if found is None:
                    raise
        assert found is not None
        if not _holds_a_distribution(*found):
            raise RecoveryError(
                "No distribution function lies within the band that these reports leave: check that this mechanism "
                "made them, or ask for more confidence."
            )
        return as_distribution_functions(*found)

    # Answers without an order

    def shares(self, confidence: Any = 0.95) -> Shares:
        """Every answer with its share, the most frequent first, with intervals and ranks that hold for all of them together."""
        return Shares.of(self, None, confidence)

    def top(self, number: Any = 10, confidence: Any = 0.95) -> Shares:
        """The `number` most frequent answers, as `shares` has them: intervals and ranks hold for all answers together, so that it
        does not matter that these were chosen by the reports."""
        return Shares.of(self, number, confidence)

    @overload
    def difference(
        self, other: Estimate, confidence: Any = ..., *, of: None = ..., names: tuple[str, str] = ...
    ) -> ShareDifferences: ...
    @overload
    def difference(
        self, other: Estimate, confidence: Any = ..., *, of: Any, names: tuple[str, str] = ...
    ) -> NumberDifference: ...
    def difference(
        self, other: Estimate, confidence: Any = 0.95, *, of: Any = None, names: tuple[str, str] = ("first", "second")
    ) -> ShareDifferences | NumberDifference:
        """The shares here less those of another estimate, of people apart from these, with intervals that hold together.

        With `of`, as in `interval`, one number here less the same there: of="mean" compares two means.
        """
        if not isinstance(other, Estimate):
            raise RecoveryError(f"{show(other)} is no estimate; compare with what recover gives for another group.")
        if self.mechanism.inputs != other.mechanism.inputs:
            raise RecoveryError("The two groups were asked for other answers; compare estimates of the same ones.")
        if of is not None:
            return NumberDifference.between(self, other, of, confidence, names)
        return ShareDifferences.of(self, other, confidence, names)

    def _need_order(self, what: str) -> None:
        if not self.mechanism.inputs.is_ordered:
            raise RecoveryError(
                f"Names have no order, and so no {what}; look at their shares, with shares() and top()."
            )

    @cached_property
    def _positions(self) -> Floats:
        return frozen(np.arange(self._channel.rows, dtype=np.float64))

    def _moved(self, position: float) -> float:
        return float(self.mechanism.inputs.anchor) + float(self.mechanism.inputs.step) * position

    def _linear(self, f: Floats) -> _Direct:
        """The mean of f over the true distribution; of each column where f is a matrix."""
        h = self._channel.unpull(f)
        one_more, lean = np.ptp(h, axis=0) / self.reports, leaning(self._q, h)
        found = *moments(self._q, h, self.reports), one_more, lean, f.min(axis=0), f.max(axis=0)
        return _Direct(*found) if f.ndim > 1 else _Direct(*map(float, found))

    def _of_hits(self, seen: Floats, hit: float, miss: float) -> _Direct:
        """The same for the indicator of each value, where it has a set of reports of its own: all at once."""
        gain, number = hit - miss, self.reports
        seen = np.rint(seen) / number  # a sum that rounding leaves just below 0, or above 1, would have no root
        error = np.sqrt(seen * (1 - seen) / (number - 1)) / gain
        same = np.ones_like(seen)
        return _Direct((seen - miss) / gain, error, same / (gain * number), (1 - 2 * seen) / gain, 0 * same, same)

    def _variance(self) -> _Direct:
        """The mean square around the estimated mean M, less (M - m)^2 for the true mean m.

        That square L has the influence function of the variance itself. Where noise is large and reports are few,
        (M - m)^2 counts as well: with s the standard error of M it adds 2 s^4 to the variance of the estimate,
        -6 cov(L, M)^2 to its third cumulant, and -4 cov(L, M)^2 to how its estimated variance moves with it. By Cornish and
        Fisher the interval moves by ((1 + 2 z^2) E L^3 - 6 (1 + z^2) cov(L, M)^2) / (6 N var(L)), moments of one report.
        """
        mean = self._linear(self._positions)
        around = (self._positions - mean.estimate) ** 2
        square, h = self._linear(around), self._channel.unpull(np.stack([self._positions, around], axis=1))
        apart = h - self._q @ h
        spread, together = self._q @ apart[:, 1] ** 2, self._q @ apart.prod(axis=1)
        error, bend = math.hypot(square.error, math.sqrt(2) * mean.error**2), together**2 / spread if spread else 0.0
        unit, widest = float(self.mechanism.inputs.step) ** 2, (mean.most - mean.least) ** 2 / 4
        found = square.estimate + mean.error**2, error, square.one_more, square.lean, 0.0, widest, bend
        return _Direct(*(float(unit * part) for part in found))

    def _blocks(self, cumulative: bool) -> Iterator[Floats]:
        """The indicators of {value} or of {value or less} for all values, as columns, some at a time."""
        rows = self._channel.rows
        if rows**2 > _MOST:
            raise SizeError(f"{rows} values are too many to estimate one by one; ask for a function of them.")
        width, place = max(_BLOCK // rows, 1), np.arange(rows)
        for start in range(0, rows, width):
            here = place[start : start + width]
            hit = place[:, None] <= here[None, :] if cumulative else place[:, None] == here[None, :]
            yield hit.astype(np.float64)

    def _function(self, of: Any) -> Floats:
        rows = self._channel.rows
        if callable(of):
            function: Callable[[Any], Any] = of
            of = [function(self.mechanism.inputs.value(k)) for k in range(rows)]
        return np.array(
            vector(of, "A function of the true value", size=rows, bools=True, error=RecoveryError), dtype=np.float64
        )

    def plot(self, kind: str = "distribution", *, confidence: Any = 0.95, truth: Any = None, seed: int = 0) -> Any:
        """A picture: the recovered "distribution" beside the noisy reports and with intervals, or its distribution function ("cdf")
        within its band; with the `truth`, a distribution, where that is known.

        The intervals are direct ones, each for the mean probability of a few values next to each other.
        """

        return drawn(self, kind, confidence, truth, seed)

    # For people and for machines

    def _title(self) -> str:
        ways = f"{self.method}, {self.iterations} iterations" if self.iterations else self.method
        number = "1 report" if self.reports == 1 else f"{self.reports} reports"
        where = f"{self.mechanism.recipe.family} on {self.mechanism.inputs}"
        return f"{number} of {where}, by {ways}; {self._order_words()}"

    def _order_words(self) -> str:
        if not self.mechanism.inputs.is_ordered:
            return "answers are names"
        if self.ordered:
            return "values in their order" + (" (ordered=True)" if self.order_given else "")
        why = "(ordered=False)" if self.order_given else "(the mechanism treats all alike; of numbers say ordered=True)"
        return f"values are names {why}"

    def _numbers(self) -> list[str]:
        """Mean, spread and quantiles, for values in their order."""
        lines = [
            f"mean {self.mean():.6g}, standard deviation {math.sqrt(max(self.variance(), 0.0)):.6g}; "
            + ", ".join(f"{name} {self.quantile(p)}" for name, p in _QUANTILES)
        ]
        try:
            found = self._direct("mean")
            lines.append(
                f"the mean directly from the reports: {found.estimate:.6g} +- {found.counted_error:.2g} (standard error)"
            )
            low, high = self._around(found, 0.05)
            if high - low > (found.most - found.least) / 2:
                lines.append(
                    "Too few reports: they leave the mean anywhere "
                    f"from {low:.4g} to {high:.4g} (95 % confidence), and the distribution is hardly more than a guess"
                )
        except SingularError:
            lines.append("these reports do not determine the mean: no unbiased estimate exists")
        except DiscreetError:
            pass  # a single report has no standard error
        return lines

    def _names(self) -> str:
        """The most frequent values, with intervals from the reports alone where there are some."""
        listed = []
        for place in self.most_frequent():
            text = f"{self.mechanism.inputs.value(place)}: {self.distribution[place]:.2%}"
            try:
                low, high = self.interval(0.95, np.eye(1, len(self.distribution), place)[0])
                text += f" ({low:.2%} to {high:.2%})"
            except DiscreetError:
                pass  # no unbiased estimate, or a single report
            listed.append(text)
        intervals = ", with 95 % intervals from the reports alone" if any("(" in text for text in listed) else ""
        return f"most frequent{intervals}: {', '.join(listed)}"

    def most_frequent(self, number: int = _LISTED) -> list[int]:
        """The positions of the values with the largest probabilities."""
        order = np.argsort(-self.distribution, kind="stable")[:number]
        return [place for place in order.tolist() if self.distribution[place] > 0]

    def view(self) -> View:
        lines = [self._title()] if self.fit.holds else [self._title(), str(self.fit)]
        named = not self.mechanism.inputs.is_ordered
        lines += self._numbers() if self.ordered else [] if named and self._is_known else [self._names()]
        if self.atoms:
            lines.append("atoms: " + ", ".join(f"{value:g} ({mass:.2%})" for value, mass in self.atoms))
        if self.method != "auto":
            lines.append(
                f"log-likelihood {self.log_likelihood:.8g}; it could be higher by at most {show_above(self.gap, 2)} per report"
            )
        if self.unique is False:
            lines.append("other distributions are as likely: the reports do not distinguish them")
        parts = (self.top(_TOP).view(),) if named and self._is_known else ()
        return View("\n".join(lines), notes=self.notes, parts=parts)

    @cached_property
    def _is_known(self) -> bool:
        """Do the reports say something about each share by itself?"""
        try:
            self.top(1)
        except DiscreetError:
            return False
        return True

    def rows(self) -> list[dict[str, Any]]:
        """The recovered distribution: a probability for each true value."""
        grid = self.mechanism.inputs
        return [{"value": grid.value(k), "probability": p} for k, p in enumerate(self.distribution.tolist())]

    def to_dict(self, confidence: Any = "0.95") -> dict[str, Any]:
        """Everything but the mechanism's own distribution, ready for JSON; what is infinite is null.

        `direct` has the unbiased mean with its interval; null where the reports do not determine it, and for names.
        """
        return {
            "mechanism": {
                "family": self.mechanism.recipe.family,
                "inputs": str(self.mechanism.inputs),
                "outputs": str(self.mechanism.outputs),
                "digest": self.mechanism.digest,
            },
            "reports": self.reports,
            "counts": self.counts.tolist(),
            **({} if self.mechanism.inputs.is_ordered else {"names": [row["value"] for row in self.rows()]}),
            "method": self.method,
            "ordered": self.ordered,
            "distribution": self.distribution.tolist(),
            "gap": plain(self.gap),
            "log_likelihood": plain(self.log_likelihood),
            "iterations": self.iterations,
            "trace": plain(self.trace),
            "unique": self.unique,
            "atoms": [list(atom) for atom in self.atoms],
            "notes": list(self.notes),
            "fit": self.fit.to_dict(),
            "direct": self._direct_mean(confidence),
        }

    def _direct_mean(self, confidence: Any) -> dict[str, Any] | None:
        if not self.ordered:
            return None
        try:
            found = self._direct("mean")
        except DiscreetError:
            return None
        error, ends = found.counted_error, list(self.interval(confidence, "mean"))
        numbers = {"mean": found.estimate, "standard_error": error, "confidence": confidence, "interval": ends}
        return {name: plain(value) for name, value in numbers.items()}


def _holds_a_distribution(low: Floats, high: Floats) -> bool:
    """Is there a rising curve between the two?"""
    return bool((np.maximum.accumulate(low) <= high + _ROUNDING).all())
