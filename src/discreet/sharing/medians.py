"""The median of k reports: a report of the middle rank, so its distribution follows from the distribution of one report
and the binomial.

Of k independent reports the r-th smallest is at most t where at least r of them are. r = (k+1)//2 is the median; of an even
number of reports the lower of the two in the middle. Clamping keeps the order, so the median of clamped reports is the
clamped median.

`median_noise` is the median of k draws of noise on the line, as a distribution of noise itself: for analysis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..channels import Finite
from ..channels.contract import MATRIX_ENTRIES, Integers
from ..channels.table import merge_columns
from ..errors import SizeError
from ..measure.privacy import Verdict
from ..mechanism import Procedure
from ..noise import ContinuousNoise, NoiseDistribution, RationalNoise
from ..noise.distributions import LOSSES
from ..noise.expectation import Floats
from .guarantee import Guarantee

_MOST_STEPS = 2**24  # of noise that is summed one by one
_EXACT_BITS = 2**20  # of one number, where few are needed
_EXACT_WORK = 2**30  # bits of all products, when the distribution of the median is written out in integers


def rank(k: int) -> int:
    """The rank of the median from below; the lower one of two."""
    return (k + 1) // 2


def at_least(k: int, need: int, chance: Floats) -> Floats:
    """Pr[Bin(k, chance) >= need] for 1 <= need <= k, as the incomplete beta function: tails keep their digits."""
    from scipy.special import betainc  # a slow import, kept out of the way of those who do not need it

    return np.asarray(betainc(need, k - need + 1, chance))


def needs(k: int) -> tuple[int, int]:
    """How many of k reports must be at least so high, or so low, for their median to be."""
    return k - rank(k) + 1, rank(k)


def noise_tails(noise: NoiseDistribution, k: int, far: int, unit: float = 1.0) -> tuple[Floats, Floats]:
    """Pr[median >= m units] and Pr[median <= -m units] of k draws of symmetric noise on the multiples of a unit, m = 0..far."""
    one = noise.sf((np.arange(far + 1) - 1) * unit)
    up, down = needs(k)
    higher = at_least(k, up, one)
    return higher, higher if up == down else at_least(k, down, one)


def farthest(noise: NoiseDistribution, k: int, depth: float, unit: float = 1.0) -> int:
    """Beyond so many units the median lies with a probability below e^-depth."""
    down = rank(k)
    room = (depth + math.lgamma(k + 1) - math.lgamma(down + 1) - math.lgamma(k - down + 1)) / down
    high = 1
    while high <= _MOST_STEPS and float(noise.sf(high * unit)) > math.exp(-min(room, 700.0)):
        high *= 2
    if high > _MOST_STEPS:
        raise SizeError(
            "The noise reaches over more than 2^24 steps of its grid, too many to sum; give a coarser step or a larger epsilon."
        )
    return high


def table_law(channel: Finite, k: int) -> Floats:
    """Pr[median = y | x] of a finite channel, in floats."""
    if channel.rows * channel.reports > MATRIX_ENTRIES:
        raise SizeError(
            f"Reports of {channel.rows} values that are not added noise need too large a matrix (at most 2^24 entries); "
            "use a coarser grid."
        )
    below = np.minimum(np.cumsum(channel.matrix, axis=1), 1.0)
    below[:, -1] = 1.0
    return np.maximum(np.diff(at_least(k, rank(k), below), axis=1, prepend=0.0), 0.0)


def exact_law(channel: Finite, k: int) -> tuple[Integers, int] | None:
    """The same as integer weights over one total; None where that is too much work."""
    if channel.rows * channel.reports > 2**16:
        return None
    exact = channel.integers()
    if exact is None:
        return None
    weights, total = exact
    sums = np.cumsum(weights.astype(object), axis=1)
    different = set(sums.ravel().tolist())
    if len(different) * k * total.bit_length() * k > _EXACT_WORK:
        return None
    if total.bit_length() * k * weights.size > _EXACT_WORK // 8:
        return None
    known = {s: at_least_exact(k, rank(k), s, total) for s in different}
    law = np.array([[known[s] for s in row] for row in sums.tolist()], dtype=object)
    law[:, 1:] -= law[:, :-1].copy()
    return law, total**k


def at_least_exact(k: int, need: int, part: int, total: int) -> int:
    """Pr[Bin(k, part/total) >= need] times total^k: the sum over j >= need of C(k, j) part^j (total - part)^(k-j)."""
    hit, miss = flint.fmpz(part), flint.fmpz(total - part)
    found, power = flint.fmpz(1), flint.fmpz(1)
    for j in range(k - 1, need - 1, -1):  # Horner's rule
        power *= miss
        found = found * hit + math.comb(k, j) * power
    return int(found * hit**need)


def median_level(m: Procedure, k: int, one: Verdict, merged: tuple[NDArray[np.int64], int] | None = None) -> Guarantee:
    """The tight level of the channel from the truth to the median of k reports, or a bound of it. `merged` says what becomes
    of each report, and of how many estimates, where the median is not left as it is.

    The distribution of the r-th smallest of k reports is that of a beta variable, whose density is c u^(r-1) (1-u)^(k-r), between
    two values of the distribution function. Where a larger truth makes larger reports likelier (noise that is added), u
    moves to one side alone. Then r factors of a report's ratio bound that of the median, or k-r+1 on the other
    side: the median costs (k+1)/2 reports, not k. Far out on an open grid the bound is approached, so it is tight.
    That geometric noise on 0..n keeps it is proved in Coq: proofs/Median.v, geometric_median.
    """
    noise, span = m.channel.noise, m.neighbours.span(m.inputs)
    channel = m.channel.finite()
    if channel is None:
        assert noise is not None
        whole = isinstance(noise, RationalNoise) and span is not None and span % noise.stride == 0
        return Guarantee.power(one, max(needs(k)), exact=whole)
    if span is not None and channel.decay is not None and noise is not None and merged is None:
        found = _at_the_ends(channel.rows - 1, channel.decay, k, span)
        if found is not None:
            return found
    law = exact_law(channel, k)
    if law is not None:
        return Guarantee.between(m, law[0] if merged is None else merge_columns(law[0], *merged))
    return Guarantee.power(one, k if noise is None else max(needs(k)), exact=False)


def _at_the_ends(n: int, a: Fraction, k: int, span: int) -> Guarantee | None:
    """The tight level of the median of k truncated geometric reports: Pr[median = n] at the truths 0 and `span`, or the same
    at the other end.

    Likelihood ratios of the median are monotone in its value, as those of one report are, so an end is the worst report.
    There the ratio is Pr[Bin(k, a^-s q) >= r] / Pr[Bin(k, q) >= r], which grows as q falls: the truth farthest away is the worst.
    """
    top, bottom, distance = a.numerator, a.denominator, min(span, n)
    if n * k * bottom.bit_length() > _EXACT_BITS:
        return None
    total = (top + bottom) * bottom**n
    far, near = top**n * bottom, top ** (n - distance) * bottom ** (distance + 1)
    ends = [
        Guarantee.ratio(at_least_exact(k, need, far, total), at_least_exact(k, need, near, total))
        for need in set(needs(k))
    ]
    return min(ends, key=lambda kept: kept.alpha)


def median_noise(one: ContinuousNoise, k: int) -> ContinuousNoise:
    """The distribution of the median of k draws; of an even number, either of the two in the middle, by a fair coin.

    That coin makes the median of k draws as good as that of k - 1: with q = Pr[one draw > x] the mean of
    Pr[Bin(k, q) >= k/2] and Pr[Bin(k, q) >= k/2 + 1] is Pr[Bin(k-1, q) >= k/2]. Wherever the loss is symmetric, the lower
    and the upper one have that expected loss as well.
    """
    odd = k - 1 + k % 2
    return one if odd == 1 else MedianNoise(one, odd)


@final
@dataclass(frozen=True)
class MedianNoise(ContinuousNoise):
    """The median of an odd number k of independent draws: Pr[X > x] = Pr[Bin(k, Pr[one draw > x]) >= (k+1)/2].

    So E|X| is twice the integral of that over x > 0.
    """

    one: ContinuousNoise
    k: int

    @property
    def _need(self) -> int:
        return rank(self.k)

    def density(self, x: ArrayLike) -> Floats:
        from scipy.special import betaln  # a slow import, kept out of the way of those who do not need it

        value = np.abs(np.asarray(x, dtype=np.float64))
        q = self.one._beyond(value)
        with np.errstate(divide="ignore"):
            log = (self._need - 1) * (np.log(q) + np.log1p(-q)) - betaln(self._need, self._need)
        return np.asarray(self.one.density(value) * np.exp(log))

    def _beyond(self, x: Floats) -> Floats:
        return at_least(self.k, self._need, self.one._beyond(x))

    def _place(self, q: Floats) -> Floats:
        from scipy.special import betaincinv, betaln

        chance = np.asarray(q, dtype=np.float64)
        found = betaincinv(self._need, self._need, chance)
        with np.errstate(
            divide="ignore"
        ):  # next to 0 it gives up now and then; there the first term of the series is all
            first = np.exp((np.log(chance) + math.log(self._need) + betaln(self._need, self._need)) / self._need)
        return self.one._place(np.minimum(np.where(np.isnan(found), first, found), 0.5))

    def _kinks(self) -> Floats:
        chances = at_least(self.k, self._need, np.exp(-self.one._kinks()))
        return np.asarray(-np.log(chances[chances > 1e-300]))

    @property
    def mean_absolute(self) -> float:
        return self._numerical(LOSSES["l1"])

    @property
    def variance(self) -> float:
        return self._numerical(LOSSES["l2"])
