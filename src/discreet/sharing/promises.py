"""Mechanisms of which an epsilon with a delta is known, for composition: each as two pairs of distributions, for analysis.

What a report can tell about two neighbours is the set of points (Q(S), P(S)), S any set of reports. Its upper edge is concave and
rises from Q = 0 to (1, 1). A promise (epsilon, delta), kept in both directions, is two lines above it:

    P <= delta + e^epsilon Q    and    P <= 1 - (1 - delta - Q) e^-epsilon,

the second one from Q(S') <= delta + e^epsilon P(S') of the complement. The least of such lines is the edge of a pair of
distributions whose curve is at least the mechanism's own in both directions: a dominating pair. With one promise alone it is
that of Kairouz, Oh and Viswanath (2015), which some mechanism has. docs/theory/composition.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import flint

from ..errors import DiscreetError, SizeError
from ..exact.aliases import Rational
from ..exact.arithmetic import ball, log_of, precision, show, show_rational
from ..exact.given import positive, share
from ..exact.level import Epsilon
from ..mechanism import Procedure
from ..noise import Gauss, GaussianNoise
from ..present.views import Result, View, plain
from ..randomness.digits import floor_of
from .losses import Losses, losses_of
from .pairs import upper_hull

_BITS = 160  # of the places of corners, where they have no short common denominator
_SHORT = 512  # bits of a common denominator that is kept
_WRITTEN = 2**12  # bits of a power that is written out
_POINTS = 600  # of the curve of normal noise
_FARTHEST = 16  # standard deviations: what lies beyond is below 10^-56
_MOST_EVENTS = 2000  # of the curve of discrete Gaussian noise
_NOTHING = Fraction(1, 10**56)
_MOST_POINTS = 1000  # that people give
_WIDEST = 2**10  # the sensitivity in standard deviations, and the inverse of the smallest one

Point = tuple[Fraction, Fraction]  # Q and P
Corners = list[Point]
Pair = tuple[list[int], list[int], int]  # two distributions, in integers over a total


@final
@dataclass(frozen=True, repr=False)
class Approximate(Result):
    """A mechanism of which a privacy curve is known, and nothing else; `compose` takes it like a mechanism.

    `pair` dominates it in both directions.
    """

    what: str
    level: Fraction  # 1 / e^epsilon where delta is 0; 0 where there is a delta
    pair: Pair = field(compare=False)

    @cached_property
    def losses(self) -> Losses:
        return losses_of(*self.pair)

    def view(self) -> View:
        return View(
            self.what,
            notes=("Analysis: no release, level or charge of discreet rests on a delta. Compose it for its curve.",),
        )

    def to_dict(self) -> dict[str, Any]:
        return {"what": self.what, "pure": plain(self.level) if self.level else None}


def approximate_dp(
    noise: Gauss | None = None,
    *,
    sensitivity: Rational = 1,
    epsilon: Rational | Sequence[Rational] | None = None,
    delta: Rational | Sequence[Rational] | None = None,
) -> Approximate:
    """A mechanism that keeps an epsilon but for a delta, as `compose` takes it: for analysis.

    Give what is known: `epsilon` and `delta`, or lists of as many of both, which all hold at once; or normal noise,
    dt.noise.gauss(scale), with the `sensitivity` of what it is added to.

    >>> import discreet as dt
    >>> ten = dt.sharing.compose(dt.sharing.approximate_dp(epsilon="1/10", delta="1e-7"), 10)
    >>> f"{ten.delta(1):.3g} {ten.epsilon('1e-5'):.4g}"                    # the sums are 1 and 1e-06
    '1e-06 0.9943'
    >>> normal = dt.sharing.compose(dt.sharing.approximate_dp(dt.noise.gauss(10)), 25)       # as one of scale 2
    >>> f"{normal.epsilon('1e-6'):.3f}"
    '2.254'
    """
    if noise is not None:
        if not isinstance(noise, Gauss):
            raise DiscreetError(
                "The curve with a delta is known for normal noise; give for example dt.noise.gauss(10), or epsilon and delta."
            )
        if epsilon is not None or delta is not None:
            raise DiscreetError("Give normal noise, or epsilon and delta, not both.")
        return _normal(noise, positive(sensitivity, "sensitivity", "in the answer's units"))
    promises = _promises(epsilon, delta)
    known = [(_exp_above(e), d) for e, d in promises]
    pure = [power for power, d in known if d == 0]
    told = ", ".join(f"epsilon {e} with delta {show_rational(d)}" for e, d in promises)
    return Approximate(told, 1 / min(pure) if pure else Fraction(0), _pair(edge(known)))


def _promises(epsilon: Any, delta: Any) -> list[tuple[Epsilon, Fraction]]:
    given = [list(x) if isinstance(x, (list, tuple)) else [x] for x in (epsilon, delta)]
    if len(given[0]) != len(given[1]) or not 1 <= len(given[0]) <= _MOST_POINTS:
        raise DiscreetError(
            f'epsilon and delta are one number each, or up to {_MOST_POINTS} of both; write for example epsilon=1, delta="1e-6".'
        )
    found = []
    for e, d in zip(*given, strict=True):
        read = Epsilon.parse(e)
        if e is None or read is None or read.factor < 0 or float(read) > 2**10:
            raise DiscreetError(f"epsilon = {show(e)} must be a number from 0 to 1024; write for example epsilon=1.")
        found.append((read, share(d, "delta", "how likely a report may tell more", closed=True, example="1e-6")))
    return found


def edge(promises: Sequence[tuple[Fraction, Fraction]]) -> Corners:
    """The corners (Q, P) of the least of all lines that promises (e^epsilon, delta) set, from Q = 0 to (1, 1).

    >>> [(str(q), str(p)) for q, p in edge([(Fraction(2), Fraction(0))])]
    [('0', '0'), ('1/3', '2/3'), ('1', '1')]
    """
    lines = (
        [(r, d) for r, d in promises] + [(1 / r, 1 - (1 - d) / r) for r, d in promises] + [(Fraction(0), Fraction(1))]
    )
    least: list[Point] = []  # slope and height at Q = 0, the steepest first
    for slope, height in sorted(lines, key=lambda line: (-line[0], line[1])):
        if least and least[-1][0] == slope:
            continue
        while least and height <= least[-1][1]:  # lower from the start on
            least.pop()
        while len(least) > 1 and _meet(least[-2], (slope, height)) <= _meet(least[-2], least[-1]):
            least.pop()
        least.append((slope, height))
    corners = [(Fraction(0), min(Fraction(1), least[0][1]))]
    for one, other in itertools.pairwise(least):
        q = _meet(one, other)
        if 0 < q < 1:
            corners.append((q, other[0] * q + other[1]))
    return [*corners, (Fraction(1), Fraction(1))]


def _meet(one: Point, other: Point) -> Fraction:
    """Where two lines, the first one steeper, have one height."""
    return (other[1] - one[1]) / (one[0] - other[0])


def _pair(corners: Corners) -> Pair:
    """The pair of distributions with this edge, in integers; else one with an edge a little above it."""
    common = math.lcm(*(x.denominator for corner in corners for x in corner))
    total = common if common.bit_length() <= _SHORT else 1 << _BITS
    points: dict[int, int] = {0: 0, total: total}
    for q, p in corners:
        at = math.floor(q * total)
        points[at] = max(math.ceil(p * total), points.get(at, 0))
    return (*upper_hull(points), total)


def _normal(noise: Gauss, sensitivity: Fraction) -> Approximate:
    """Normal noise at two places mu standard deviations apart: Pr[loss > l] is Phi(mu/2 - l/mu) under P, Phi(-mu/2 - l/mu) under Q.

    What it keeps at many l dominates it.
    """
    mu = sensitivity / Fraction(noise.scale)
    if not Fraction(1, _WIDEST) <= mu <= _WIDEST:
        raise DiscreetError(
            f"To be composed, normal noise needs a sensitivity from 1/{_WIDEST} to {_WIDEST} times its scale; give another scale."
        )
    most = mu * mu / 2 + _FARTHEST * mu
    places = [most * k / _POINTS for k in range(_POINTS + 1)]
    with precision(_BITS + 64 + 2 * math.ceil(most)):  # e^loss is below 4^loss
        events = [
            (ball(x).exp(), _beyond(ball(x / mu) - ball(mu) / 2), _beyond(ball(x / mu) + ball(mu) / 2)) for x in places
        ]
        pair = _promised(events)
    what = f"normal noise of scale {noise.scale:g}, sensitivity {show_rational(sensitivity)}"
    return Approximate(what, Fraction(0), pair)


def of_gaussian(m: Procedure, steps: int) -> Approximate:
    """Gaussian noise on a grid at two truths so many steps apart, or what follows it: dominated by the open grid's own pair.

    Reports from k on have a loss of at least (2kd - d^2) ln(1/q): the events whose chances set the curve, all of them where they
    are few.
    """
    told = m.channel.concentration(steps)
    assert told is not None
    q, power = told
    noise, distance = GaussianNoise(q), math.isqrt(power)  # a map before it may have moved the truths
    reach = min(noise.reach(_NOTHING), _FARTHEST * math.ceil(math.sqrt(noise.variance)) + 2) + distance
    if power > _WIDEST**2 * noise.variance:
        raise SizeError(f"Neighbours {steps} steps apart are too far to compose; use a coarser grid.")
    starts = range((distance + 1) // 2, reach + 1, max(1, -(-reach // _MOST_EVENTS)))
    bits = _BITS + 64 + 3 * math.ceil(2 * reach * distance * -log_of(q))
    with precision(bits):
        rate = -ball(q).log()
        events = [((rate * (2 * k * distance - power)).exp(), noise.tail(k - distance), noise.tail(k)) for k in starts]
        pair = _promised(events)
    return Approximate(f"{m.recipe.family} {m.outputs}", Fraction(0), pair)


def _promised(events: Sequence[tuple[flint.arb, flint.arb, flint.arb]]) -> Pair:
    """The pair above what events (e^loss, P, Q) promise."""
    return _pair(edge([(_rational_above(power), _rational_above(p - power * q)) for power, p, q in events]))


def _beyond(z: flint.arb) -> flint.arb:
    """Pr[a standard normal number > z]."""
    return (z / flint.arb(2).sqrt()).erfc() / 2


def _rational_above(x: flint.arb) -> Fraction:
    """A rational of _BITS binary digits that is no less than a number, and hardly more."""
    return Fraction(-floor_of(-x * flint.arb(2) ** _BITS), 1 << _BITS)


def _exp_above(epsilon: Epsilon) -> Fraction:
    """e^epsilon itself where that is rational and short, else a rational that is hardly more."""
    base, factor = epsilon.base, epsilon.factor
    if factor == 0:
        return Fraction(1)
    if base is not None and factor.denominator == 1 and factor * base.numerator.bit_length() <= _WRITTEN:
        return base ** int(factor)
    with precision(_BITS + 64 + 2 * math.ceil(float(epsilon))):
        return _rational_above(epsilon._ball().exp())
